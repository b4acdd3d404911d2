"""A list of what a server offers, with search: tools, resources, templates, prompts.

Words are looked for in slices of a few milliseconds; a list of ten thousand is done in the first one or two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, QTimer, Signal

from inspector.base.plaintext import one_line
from inspector.protocol.types import Malformed, Prompt, Resource, ResourceTemplate, Tool
from inspector.qt.models.listnews import ListNews, Sources, list_news
from inspector.qt.models.logrows import Index
from inspector.qt.models.tips import plain_tip
from inspector.qt.theme import Tone

Item: TypeAlias = Tool | Resource | ResourceTemplate | Prompt | Malformed

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
_NOWHERE = QModelIndex()
_TURN_S = 0.010
_NEW: tuple[str, Tone] = ("new", "ok")
_MOST_SEARCHED = 4_000  # characters of one item


@dataclass(frozen=True, slots=True)
class Describe:
    """How items of one kind are named: `key` for good, `text` on the row, `note` beside it, `rest` to search.

    Only ever asked about items of that kind.
    """

    key: Callable[[Item], str]
    text: Callable[[Item], str]
    note: Callable[[Item], str]
    rest: Callable[[Item], str]


class OfferedModel(QAbstractListModel):
    """Names that begin with the words come first, then names that hold them, then everything else.

    What could not be used stands at the end, marked. `marks` are words beside a row, by the item's key.

    Signals:
        searched: The rows are those that fit the words; until then they were others.
    """

    searched = Signal()

    def __init__(self, describe: Describe, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._describe = describe
        self._all: tuple[Item, ...] = ()
        self._haystacks: list[tuple[str, str]] = []
        self._shown: list[Item] = []
        self._words = ""
        self._sources: Sources | None = None
        self._before: Sources | None = None
        self._by_key: dict[str, Item] | None = None  # made when asked for, like the next
        self._row_by_key: dict[str, int] | None = None
        self._marks: dict[str, tuple[str, Tone]] = {}
        self._search: Iterator[None] = iter(())
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._go_on)

    # -------------------------------------------------------------- what is shown

    def set_items(self, items: Sequence[Item], malformed: Sequence[Malformed]) -> None:
        """Show a new list. `news` tells what is new in it."""
        self._before = self._sources
        self._all = (*items, *malformed)
        self._by_key = None
        self._sources = None
        self._haystacks = []
        self._begin()

    def news(self) -> ListNews:
        """What is different from the list before. Nothing is, in one that is the first."""
        keyed = self._keyed().items()
        self._sources = {key: item.source for key, item in keyed if not isinstance(item, Malformed)}
        return ListNews() if self._before is None else list_news(self._before, self._sources)

    def set_words(self, words: str) -> None:
        if words.casefold() != self._words:
            self._words = words.casefold()
            self._begin()

    @property
    def words(self) -> str:
        return self._words

    @property
    def total(self) -> int:
        return len(self._all)

    @property
    def is_searching(self) -> bool:
        return self._timer.isActive()

    def items(self) -> Sequence[Item]:
        """Those on the rows, in their order."""
        return self._shown

    def item(self, row: int) -> Item | None:
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def find(self, key: str) -> Item | None:
        """An item by its key, also one that the words hide."""
        row = self.row_of(key)
        if row is not None:
            return self._shown[row]
        return self._keyed().get(key) if key else None

    def _keyed(self) -> dict[str, Item]:
        if self._by_key is None:
            self._by_key = {self.key(item): item for item in reversed(self._all)}
        return self._by_key

    def row_of(self, key: str) -> int | None:
        if self._row_by_key is None:
            self._row_by_key = {self.key(item): row for row, item in reversed([*enumerate(self._shown)])}
        return self._row_by_key.get(key) if key else None

    def key(self, item: Item) -> str:
        return "" if isinstance(item, Malformed) else self._describe.key(item)

    # -------------------------------------------------------------- marks

    def set_marks(self, marks: Mapping[str, tuple[str, Tone]]) -> None:
        """Words beside items, in place of their notes; empty ones to take them away."""
        for key, (words, tone) in marks.items():
            if words:
                self._marks[key] = (words, tone)
            else:
                self._marks.pop(key, None)
        self._repaint()

    def mark_new(self, keys: Sequence[str]) -> None:
        """These came with the latest list, and are marked unless they are otherwise."""
        self._marks = {key: mark for key, mark in self._marks.items() if mark != _NEW}
        for key in keys:
            self._marks.setdefault(key, _NEW)
        self._repaint()

    def mark_of(self, key: str) -> str:
        return self._marks.get(key, ("", "muted"))[0]

    def _repaint(self) -> None:
        if self._shown:
            self.dataChanged.emit(self.index(0), self.index(len(self._shown) - 1), [NoteRole, ToneRole])

    # -------------------------------------------------------------- for views

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        return self.item_data(self._shown[index.row()], role) if index.isValid() else None

    def item_data(self, item: Item, role: int) -> object:
        """What a row about an item says: for a tree of the same items, too."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(item)
        if isinstance(item, Malformed):
            return None
        key = self.key(item)
        if role == NoteRole:
            return one_line(self._marks[key][0] if key in self._marks else self._describe.note(item))
        if role == ToneRole:
            return self._marks[key][1] if key in self._marks else "muted"
        if role == Qt.ItemDataRole.AccessibleTextRole and key in self._marks:
            return f"{self.text(item)}, {self._marks[key][0]}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(key)
        return None

    def text(self, item: Item) -> str:
        if isinstance(item, Malformed):
            return f"⚠ not usable: {one_line(item.reason)}"
        return one_line(self._describe.text(item))

    # -------------------------------------------------------------- searching

    def _begin(self) -> None:
        """The first slice is taken at once."""
        if not self._words:
            self._show(list(self._all))
            return
        self._search = self._ranked()
        self._timer.start()
        self._go_on()

    def _go_on(self) -> None:
        until = time.perf_counter() + _TURN_S
        for _ in self._search:
            if time.perf_counter() > until:
                return
        self._timer.stop()

    def _ranked(self) -> Iterator[None]:
        words = self._words
        ranks: tuple[list[Item], ...] = ([], [], [])
        for place, item in enumerate(self._all):
            if place % 256 == 0:
                yield
            if place == len(self._haystacks):
                self._haystacks.append(self._haystack(item))
            name, rest = self._haystacks[place]
            if name.startswith(words):
                ranks[0].append(item)
            elif words in name:
                ranks[1].append(item)
            elif words in rest:
                ranks[2].append(item)
        self._show([item for rank in ranks for item in rank])

    def _show(self, items: list[Item]) -> None:
        self._timer.stop()
        self._search = iter(())
        self.beginResetModel()
        self._shown = items
        self._row_by_key = None
        self.endResetModel()
        self.searched.emit()

    def _haystack(self, item: Item) -> tuple[str, str]:
        if isinstance(item, Malformed):
            return "", item.reason[:_MOST_SEARCHED].casefold()
        describe = self._describe
        return describe.text(item).casefold(), describe.rest(item)[:_MOST_SEARCHED].casefold()
