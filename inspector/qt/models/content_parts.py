"""List model of a tool result's content parts; sampling content converted to messages.

Each part has a title (name, URI or first words) and a note (type and size). A sampling message becomes
one message per content block; tool uses and tool results are rendered as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QObject, Qt

from inspector.base.json.values import JSON, JSONObject, pretty, shorten, text_of
from inspector.base.plain_text import one_line
from inspector.base.units import plural, size
from inspector.engine.content.content import Content, ContentKind, Message, Part, block_content, unknown
from inspector.protocol.server_requests.sampling import TOOL_RESULT, TOOL_USE, kind_of, read_blocks
from inspector.qt.models.record_table import ROOT, Index, plain_tip

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
_MAX_LENGTH = 120
_MAX_JOINED = 4 * 1024 * 1024


class PartsModel(QAbstractListModel):
    """One row per content part.

    If there are several, a row for all parts and one for all texts come first; a text-only result has just
    the latter.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._parts: Sequence[Part] = ()
        self._joined: Content | None = None
        self._has_overview = False

    def set_parts(self, parts: Sequence[Part]) -> None:
        self.beginResetModel()
        self._parts = parts
        self._joined = _joined(parts)
        is_text = self._joined is not None and _texts(parts) == len(parts)
        self._has_overview = len(parts) > 1 and not is_text
        self.endResetModel()

    @property
    def parts(self) -> Sequence[Part]:
        return self._parts

    def is_overview(self, row: int) -> bool:
        """Return whether it is the row of all parts."""
        return self._has_overview and row == 0

    def content(self, row: int) -> Content | None:
        """Return the content of a row; None for the row of all parts."""
        part = self.part(row)
        return part.content if part is not None else None if self.is_overview(row) else self._joined

    def part(self, row: int) -> Part | None:
        """Return the part of a row; None for rows of several parts."""
        position = row - self._lead
        return self._parts[position] if 0 <= position < len(self._parts) else None

    def row_of(self, position: int) -> int:
        return position + self._lead

    @property
    def _lead(self) -> int:
        return self._has_overview + (self._joined is not None)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._parts) + self._lead

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        part = self.part(index.row())
        if part is None:
            if role != Qt.ItemDataRole.DisplayRole:
                return None
            if self.is_overview(index.row()):
                return f"All {plural(len(self._parts), 'part')}"
            return f"All {plural(_texts(self._parts), 'text')}"
        number = index.row() + 1 - self._lead
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{number:,}  {title(part.content)}"
        if role == NoteRole:
            return note(part.content)
        if role == ToneRole:
            return "warn" if part.content.problem else "muted"
        if role == Qt.ItemDataRole.ToolTipRole and part.notes:
            return plain_tip("\n".join(part.notes))
        return None


def title(content: Content) -> str:
    """Return a part's title: its name or URI, else the beginning of its text."""
    if content.title or content.uri:
        return one_line(shorten(content.title or content.uri, _MAX_LENGTH))
    if not content.is_text:
        return content.kind.value.capitalize()
    beginning = content.data[: 4 * _MAX_LENGTH].decode(errors="replace").strip()
    return one_line(shorten(beginning, _MAX_LENGTH)) or "(empty)"


def note(content: Content) -> str:
    """Return type and size, e.g. `Markdown · 4.1 KiB`."""
    kind = one_line(content.mime_type) if content.mime_type and not content.is_text else content.kind.value
    # A link's bytes are rendered by MCP Lens: their number means nothing.
    return kind if content.kind is ContentKind.LINK else f"{kind} · {size(len(content.data))}"


def _texts(parts: Sequence[Part]) -> int:
    return sum(part.type == "text" for part in parts)


def _joined(parts: Sequence[Part]) -> Content | None:
    """Return all texts joined; None if there are fewer than two or they are too long."""
    texts = [part.content.data for part in parts if part.type == "text"]
    if len(texts) < 2 or sum(map(len, texts)) > _MAX_JOINED:
        return None
    return Content(ContentKind.TEXT, b"\n\n".join(texts))


def messages_of(role: str, content: JSON) -> list[Message]:
    """Convert sampling content to messages. Raises ValueError if it is not valid content."""
    found: list[Message] = []
    for block in read_blocks(content):
        found += _messages(role, block)
    return found or [Message(role, Content(ContentKind.TEXT), "no content")]


def _messages(role: str, block: JSONObject) -> list[Message]:
    kind = kind_of(block)
    if kind == TOOL_USE:
        about = f"uses the tool {_named(block, 'name')}{_id(block, 'id')}"
        return [Message(role, _json(block.get("input")), about)]
    if kind == TOOL_RESULT:
        return _results(role, block)
    return [Message(role, block_content(block))]


def _results(role: str, block: JSONObject) -> list[Message]:
    kind_text = "tool error" if block.get("isError") is True else "tool result"
    about = f"{kind_text}{_id(block, 'toolUseId')}"
    inner = block.get("content")
    blocks = inner if isinstance(inner, list) else []
    contents = [block_content(each) for each in blocks]
    structured = block.get("structuredContent")
    if structured is not None:
        contents.append(_json(structured))
    if not contents:
        contents = [unknown(block, "tool result without content")]
    return [Message(role, each, about) for each in contents]


def _json(value: JSON) -> Content:
    return Content(ContentKind.JSON, shown_json(value).encode(errors="surrogatepass"))


def shown_json(value: JSON, limit: int | None = None) -> str:
    """Pretty-print a value, shortened to `limit`."""
    try:
        text = pretty(value)
    except RecursionError:  # parsing it needed less stack than writing it does
        return "… (nested too deeply to show)"
    return text if limit is None else shorten(text, limit)


def _named(block: JSONObject, member: str) -> str:
    return one_line(text_of(block, member)) or "unnamed"


def _id(block: JSONObject, member: str) -> str:
    id = text_of(block, member)
    return f" · {one_line(id)}" if id else ""
