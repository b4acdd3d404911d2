"""The tools of one server that fit what is typed into the search field."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt

from inspector.base.plaintext import one_line
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.qt.models.logrows import Index

_NOWHERE = QModelIndex()


class ToolsModel(QAbstractListModel):
    """Names that begin with the words come first, then names and titles that hold them, then descriptions."""

    def __init__(self) -> None:
        super().__init__()
        self._all: tuple[Tool | Malformed, ...] = ()
        self._haystacks: list[tuple[str, str]] = []
        self._shown: list[Tool | Malformed] = []
        self._words = ""

    def set_listing(self, listing: Listing[Tool]) -> None:
        """Show a new list; what could not be used stands at its end, marked."""
        self._all = (*listing.items, *listing.malformed)
        self._haystacks = [_haystack(item) for item in self._all]
        self._refilter()

    def set_words(self, words: str) -> None:
        if words.casefold() != self._words:
            self._words = words.casefold()
            self._refilter()

    @property
    def total(self) -> int:
        return len(self._all)

    def item(self, row: int) -> Tool | Malformed | None:
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def row_of(self, name: str) -> int | None:
        return next(
            (row for row, item in enumerate(self._shown) if isinstance(item, Tool) and item.name == name),
            None,
        )

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        item = self._shown[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(item.name) if isinstance(item, Tool) else f"⚠ not usable: {one_line(item.reason)}"
        return None

    def _refilter(self) -> None:
        self.beginResetModel()
        self._shown = list(self._all) if not self._words else self._ranked()
        self.endResetModel()

    def _ranked(self) -> list[Tool | Malformed]:
        ranks: tuple[list[Tool | Malformed], ...] = ([], [], [])
        for item, (name, rest) in zip(self._all, self._haystacks, strict=True):
            if name.startswith(self._words):
                ranks[0].append(item)
            elif self._words in name:
                ranks[1].append(item)
            elif self._words in rest:
                ranks[2].append(item)
        return [item for rank in ranks for item in rank]


def _haystack(item: Tool | Malformed) -> tuple[str, str]:
    if isinstance(item, Malformed):
        return "", item.reason.casefold()
    return item.name.casefold(), f"{item.title}\n{item.description}".casefold()
