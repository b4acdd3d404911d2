"""The parts of a tool's result as rows: what each begins with, and what it is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import plural, size
from inspector.engine.contents import Content, ContentKind
from inspector.engine.results import Part
from inspector.qt.models.logrows import Index
from inspector.qt.models.tips import plain_tip

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
_NOWHERE = QModelIndex()
_LONGEST = 120
_MOST_JOINED = 4 * 1024 * 1024


class PartsModel(QAbstractListModel):
    """A row for each part; before them, where there are several texts, one for all of them together."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._parts: Sequence[Part] = ()
        self._joined: Content | None = None

    def set_parts(self, parts: Sequence[Part]) -> None:
        self.beginResetModel()
        self._parts = parts
        self._joined = _joined(parts)
        self.endResetModel()

    @property
    def has_joined(self) -> bool:
        return self._joined is not None

    def content(self, row: int) -> Content | None:
        part = self.part(row)
        return part.content if part is not None else self._joined if row == 0 else None

    def part(self, row: int) -> Part | None:
        """None for the row of all texts."""
        place = row - self.has_joined
        return self._parts[place] if 0 <= place < len(self._parts) else None

    def first_row(self) -> int:
        """Where to begin: all texts together if there is nothing else."""
        return 0 if all(part.type == "text" for part in self._parts) else int(self.has_joined)

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._parts) + self.has_joined

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        part = self.part(index.row())
        if part is None:
            is_text = role == Qt.ItemDataRole.DisplayRole
            return f"All {plural(_texts(self._parts), 'text')}" if is_text else None
        number = index.row() + 1 - self.has_joined
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{number:,}  {title(part.content)}"
        if role == NoteRole:
            return note(part.content)
        if role == ToneRole:
            return "warn" if part.content.problem else "muted"
        if role == Qt.ItemDataRole.ToolTipRole and part.remarks:
            return plain_tip("\n".join(part.remarks))
        return None


def title(content: Content) -> str:
    """What a part is called: its name or address, else how its text begins."""
    if content.title or content.uri:
        return one_line(shorten(content.title or content.uri, _LONGEST))
    if not content.is_text:
        return content.kind.value.capitalize()
    beginning = content.data[: 4 * _LONGEST].decode(errors="replace").strip()
    return one_line(shorten(beginning, _LONGEST)) or "(empty)"


def note(content: Content) -> str:
    """`Markdown · 4.1 KiB`."""
    kind = one_line(content.mime_type) if content.mime_type and not content.is_text else content.kind.value
    # A link's bytes are our own rendering of it: how many there are says nothing.
    return kind if content.kind is ContentKind.LINK else f"{kind} · {size(len(content.data))}"


def _texts(parts: Sequence[Part]) -> int:
    return sum(part.type == "text" for part in parts)


def _joined(parts: Sequence[Part]) -> Content | None:
    """All texts, one below the other; None when there are not several, or they are very long."""
    texts = [part.content.data for part in parts if part.type == "text"]
    if len(texts) < 2 or sum(map(len, texts)) > _MOST_JOINED:
        return None
    return Content(ContentKind.TEXT, b"\n\n".join(texts))
