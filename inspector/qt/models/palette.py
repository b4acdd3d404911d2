"""Things to pick from, found by a few letters: for the command palette and the smaller lists like it.

However many there are, they are taken in and searched in slices of a few milliseconds; the best are rows.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, QTimer, Signal

from inspector.qt.models.fuzzy import Query, haystack
from inspector.qt.models.logrows import Index
from inspector.qt.models.tips import plain_tip
from inspector.qt.theme import Tone

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
IconRole = Qt.ItemDataRole.UserRole + 3
PlacesRole = Qt.ItemDataRole.UserRole + 4

MOST_SHOWN = 200
_TURN_S = 0.006
_STRIDE = 64
_NOWHERE = QModelIndex()
_RECENT_BONUS = 4
_MOST_PICKS = 1 << 32


@dataclass(frozen=True, slots=True)
class Pick:
    """An entry of the palette.

    `key` identifies it in the history; `text` and `note` must be safe to show (`one_line`).
    """

    key: str
    text: str
    note: str = ""
    icon: str = ""
    tone: Tone = "muted"
    tip: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    pick: Pick
    places: tuple[int, ...] = ()


class PickModel(QAbstractListModel):
    """The best matches first; without a query, the most recent first, then the given order.

    Signals:
        searched: The rows now match the query.
    """

    searched = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._picks: list[Pick] = []
        self._haystacks: list[str] = []
        self._coming: Iterator[Pick] = iter(())
        self._recent: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._query = Query("")
        self._found = 0
        self._search: Iterator[None] = iter(())
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._go_on)

    def set_picks(self, picks: Iterable[Pick], recent: Sequence[str] = ()) -> None:
        """Replace the entries. `recent` are keys, latest first.

        The iterable is consumed bit by bit.
        """
        self._picks, self._haystacks = [], []
        self._coming = iter(picks)
        self._recent = {key: place for place, key in enumerate(recent)}
        self._begin()

    def add_picks(self, picks: Iterable[Pick]) -> None:
        self._coming = chain(self._coming, picks)
        self._begin()

    def set_words(self, words: str) -> None:
        self._query = Query(words)
        self._begin()

    @property
    def total(self) -> int:
        return len(self._picks)

    @property
    def found(self) -> int:
        """The number of matches, shown or not."""
        return self._found

    @property
    def is_searching(self) -> bool:
        return self._timer.isActive()

    def finish(self) -> None:
        """Finish the search now, for a choice made before it was done."""
        if self.is_searching:
            for _ in self._search:
                pass

    def pick(self, row: int) -> Pick | None:
        return self._rows[row].pick if 0 <= row < len(self._rows) else None

    # -------------------------------------------------------------- for views

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.pick.text
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(row.pick.tip) if row.pick.tip else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{row.pick.text}, {row.pick.note}" if row.pick.note else row.pick.text
        values = {
            int(NoteRole): row.pick.note,
            int(ToneRole): row.pick.tone,
            int(IconRole): row.pick.icon,
            int(PlacesRole): row.places,
        }
        return values.get(int(role))

    # -------------------------------------------------------------- searching

    def _begin(self) -> None:
        """Start searching; the first slice runs at once."""
        self._search = self._run()
        self._timer.start()
        self._go_on()

    def _go_on(self) -> None:
        until = time.perf_counter() + _TURN_S
        for _ in self._search:
            if time.perf_counter() > until:
                return
        self._timer.stop()

    def _run(self) -> Iterator[None]:
        yield from self._take_in()
        yield from self._matching() if self._query else self._in_order()

    def _take_in(self) -> Iterator[None]:
        for pick in self._coming:
            self._picks.append(pick)
            if len(self._picks) % _STRIDE == 0:
                yield

    def _in_order(self) -> Iterator[None]:
        yield
        recent = [pick for pick in self._picks if pick.key in self._recent] if self._recent else []
        recent.sort(key=lambda pick: self._recent[pick.key])
        rest = (pick for pick in self._picks if pick.key not in self._recent)
        shown = [*recent, *(pick for pick, _ in zip(rest, range(MOST_SHOWN), strict=False))]
        self._show([_Row(pick) for pick in shown[:MOST_SHOWN]], len(self._picks))

    def _matching(self) -> Iterator[None]:
        # An int each, not a tuple: the garbage collector would scan thousands of them.
        found: list[int] = []
        query, recent = self._query, self._recent
        for place, pick in enumerate(self._picks):
            if place % _STRIDE == 0:
                yield
            if place == len(self._haystacks):
                self._haystacks.append(haystack(pick.text, pick.note))
            match = query.match(pick.text, self._haystacks[place])
            if match is not None:
                used = recent.get(pick.key)
                score = match.score if used is None else match.score - _RECENT_BONUS
                age = len(recent) if used is None else used
                found.append(_rank(score, age, len(pick.text), place))
        best = [rank % _MOST_PICKS for rank in heapq.nsmallest(MOST_SHOWN, found)]
        self._show([self._matched(place) for place in best], len(found))

    def _matched(self, place: int) -> _Row:
        pick = self._picks[place]
        match = self._query.match(pick.text, self._haystacks[place])
        return _Row(pick, match.places if match is not None else ())

    def _show(self, rows: list[_Row], found: int) -> None:
        self._timer.stop()
        self.beginResetModel()
        self._rows, self._found = rows, found
        self.endResetModel()
        self.searched.emit()


def _rank(score: int, age: int, length: int, place: int) -> int:
    """Pack the criteria into one number that sorts by each of them in turn."""
    return (
        (((score + _RECENT_BONUS) << 16) + min(age, 0xFFFF) << 16) + min(length, 0xFFFF)
    ) * _MOST_PICKS + place
