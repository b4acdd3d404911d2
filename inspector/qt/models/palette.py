"""Fuzzy-searchable item model of the command palette and smaller pickers.

Items are read and searched in slices of 6 ms, however many there are; the best 200 become rows.
Past and saved calls are items too.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from PySide6.QtCore import QObject, Qt

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.config.calls.history import RecordedCall
from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.calls.library import SavedFolder
from inspector.qt.models.record_table import ROOT, Index, SearchedList, plain_tip
from inspector.qt.theme import Tone

NoteRole = Qt.ItemDataRole.UserRole + 1
ToneRole = Qt.ItemDataRole.UserRole + 2
IconRole = Qt.ItemDataRole.UserRole + 3
PositionsRole = Qt.ItemDataRole.UserRole + 4

MAX_SHOWN = 200
_SLICE_S = 0.006
_STRIDE = 64
_RECENT_BONUS = 4
_MAX_ITEMS = 1 << 32

_BOUNDARY = re.compile(r"(?:^|(?<=[\W_]))\w|(?<=[a-z0-9])[A-Z]")
_IN_REST = 6  # worse than anywhere in the name
_INITIALS = 2  # `gi` for get_issue
_SCATTERED = 12


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """An entry of the palette.

    `key` identifies it in the history; `text` and `note` must be safe to show (`one_line`). `search` is
    found by the query, but not shown.
    """

    key: str
    text: str
    note: str = ""
    icon: str = ""
    tone: Tone = "muted"
    tip: str = ""
    search: str = ""


class PaletteModel(SearchedList):
    """The best matches first; without a query, the most recent first, then the given order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_SLICE_S, parent)
        self._items: list[PaletteItem] = []
        self._haystacks: list[str] = []
        self._coming: Iterator[PaletteItem] = iter(())
        self._recent: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._query = Query("")
        self._found = 0

    def set_items(self, items: Iterable[PaletteItem], recent: Sequence[str] = ()) -> None:
        """Replace the entries. `recent` are keys, latest first.

        The iterable is consumed bit by bit.
        """
        self._items, self._haystacks = [], []
        self._coming = iter(items)
        self._recent = {key: position for position, key in enumerate(recent)}
        self._begin()

    def add_items(self, items: Iterable[PaletteItem]) -> None:
        self._coming = chain(self._coming, items)
        self._begin()

    def set_text(self, text: str) -> None:
        self._query = Query(text)
        self._begin()

    @property
    def total(self) -> int:
        return len(self._items)

    @property
    def found(self) -> int:
        """The number of matches, shown or not."""
        return self._found

    def finish(self) -> None:
        """Finish the search now, for a choice made before it was done."""
        if self.is_searching:
            for _ in self._search:
                pass

    def item(self, row: int) -> PaletteItem | None:
        return self._rows[row].item if 0 <= row < len(self._rows) else None

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.item.text
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(row.item.tip) if row.item.tip else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{row.item.text}, {row.item.note}" if row.item.note else row.item.text
        values = {
            int(NoteRole): row.item.note,
            int(ToneRole): row.item.tone,
            int(IconRole): row.item.icon,
            int(PositionsRole): row.positions,
        }
        return values.get(int(role))

    def _begin(self) -> None:
        self._start_search(self._run())

    def _run(self) -> Iterator[None]:
        yield from self._read_items()
        yield from self._matching() if self._query else self._in_order()

    def _read_items(self) -> Iterator[None]:
        for item in self._coming:
            self._items.append(item)
            if len(self._items) % _STRIDE == 0:
                yield

    def _in_order(self) -> Iterator[None]:
        yield
        recent = [item for item in self._items if item.key in self._recent] if self._recent else []
        recent.sort(key=lambda item: self._recent[item.key])
        rest = (item for item in self._items if item.key not in self._recent)
        shown = [*recent, *(item for item, _ in zip(rest, range(MAX_SHOWN), strict=False))]
        self._show([_Row(item) for item in shown[:MAX_SHOWN]], len(self._items))

    def _matching(self) -> Iterator[None]:
        # An int each, not a tuple: the garbage collector would scan thousands of them.
        found: list[int] = []
        query, recent = self._query, self._recent
        for position, item in enumerate(self._items):
            if position % _STRIDE == 0:
                yield
            if position == len(self._haystacks):
                self._haystacks.append(haystack(item.text, f"{item.note}\n{item.search}"))
            match = query.match(item.text, self._haystacks[position])
            if match is not None:
                used = recent.get(item.key)
                score = match.score if used is None else match.score - _RECENT_BONUS
                age = len(recent) if used is None else used
                found.append(_rank(score, age, len(item.text), position))
        best = [rank % _MAX_ITEMS for rank in heapq.nsmallest(MAX_SHOWN, found)]
        self._show([self._matched(position) for position in best], len(found))

    def _matched(self, position: int) -> _Row:
        item = self._items[position]
        match = self._query.match(item.text, self._haystacks[position])
        return _Row(item, match.positions if match is not None else ())

    def _show(self, rows: list[_Row], found: int) -> None:
        self._timer.stop()
        self.beginResetModel()
        self._rows, self._found = rows, found
        self.endResetModel()
        self.searched.emit()


@dataclass(frozen=True, slots=True)
class _Row:
    item: PaletteItem
    positions: tuple[int, ...] = ()


def _rank(score: int, age: int, length: int, position: int) -> int:
    """Pack the criteria into one number that sorts by each of them in turn."""
    return (
        (((score + _RECENT_BONUS) << 16) + min(age, 0xFFFF) << 16) + min(length, 0xFFFF)
    ) * _MAX_ITEMS + position


class Query:
    """A query of words that must all match, in any order: verbatim, or as a subsequence.

    Subsequences are searched in the name only; whole words also in the rest.
    """

    def __init__(self, text: str) -> None:
        self._terms = [word for word in text.lower().split() if word][:8]
        self._scattered = [re.compile("[^\n]*?".join(map(re.escape, word))) for word in self._terms]

    def __bool__(self) -> bool:
        return bool(self._terms)

    def match(self, name: str, haystack: str) -> Match | None:
        """Match a name; `haystack` is the result of `haystack()` for it and the rest."""
        end, score = len(name), 0
        positions: list[int] = []
        for word, scattered in zip(self._terms, self._scattered, strict=True):
            start = haystack.find(word)
            if start >= 0:
                score += _position_score(haystack, start, end)
                positions += range(start, min(start + len(word), end))
            elif scattered.search(haystack, 0, end):
                starts = {start.start() for start in _BOUNDARY.finditer(name)}
                found = _best_letters(word, haystack, starts, end)
                score += _INITIALS if starts.issuperset(found) else _SCATTERED + _gaps(found)
                positions += found
            else:
                return None
        return Match(score, tuple(sorted(set(positions))))


@dataclass(frozen=True, slots=True)
class Match:
    """A match; a lower score is better. `positions` are the matching letters of the name, in order."""

    score: int
    positions: tuple[int, ...]


def haystack(name: str, rest: str) -> str:
    """Return the lower-case search text, with the name's letters at their original positions."""
    lowered = name.lower()
    return f"{lowered if len(lowered) == len(name) else name}\n{rest.lower()}"


def _position_score(text: str, start: int, end: int) -> int:
    if start >= end:
        return _IN_REST
    if start == 0:
        return 0
    return 3 if text[start - 1].isalnum() else 1


def _best_letters(word: str, text: str, starts: set[int], end: int) -> list[int]:
    """Match letters at word beginnings where the rest still matches after, else anywhere."""
    positions: list[int] = []
    at = 0
    for position, char in enumerate(word):
        here = text.find(char, at)
        if here not in starts and not (positions and here == positions[-1] + 1):
            better = next((start for start in sorted(starts) if start >= at and text[start] == char), None)
            if better is not None and _matches(word[position + 1 :], text, better + 1, end):
                here = better
        positions.append(here)
        at = here + 1
    return positions


def _matches(letters: str, text: str, at: int, end: int) -> bool:
    for char in letters:
        at = text.find(char, at, end) + 1
        if not at:
            return False
    return True


def _gaps(positions: list[int]) -> int:
    """Score the scatter: the number of runs, and a little for the distance."""
    runs = sum(later != earlier + 1 for earlier, later in pairwise(positions))
    return 2 * runs + min((positions[-1] - positions[0]) // 8, 8)


_MAX_LENGTH = 160
_TONES: dict[str, Tone] = {"result": "muted", "tool error": "warn", "error": "error", "failed": "error"}

_OPTIONS = {"task": "task", "capabilities": "capabilities", "meta": "_meta"}


def history_items(calls: Sequence[RecordedCall], today: str) -> Iterator[PaletteItem]:
    """Yield past calls, newest first; the key is the number.

    `today` is a date such as 2026-11-16.
    """
    for number, call in enumerate(calls):
        when = full_time(call.at_ns)
        moment = time_of_day(call.at_ns)[:8] if when.startswith(today) else when[:16]
        arguments = one_line(shorten(call.text, _MAX_LENGTH)) or "(too long to save)"
        options = call.recorded_options() or {}
        how = " · ".join(label for name, label in _OPTIONS.items() if name in options)
        note = f"{how} · " if how else ""
        note += f"{call.outcome} · {duration(call.elapsed_ns)} · {moment}"
        tone = _TONES.get(call.outcome, "muted")
        yield PaletteItem(str(number), arguments, note, "", tone, f"{when}\n{arguments}")


SAVED_PREFIX = "saved:"


def saved_key(call: SavedCall) -> str:
    return f"{SAVED_PREFIX}{call.path}"


def calls_in(folders: Sequence[SavedFolder]) -> list[SavedCall]:
    return [call for folder in folders for call in folder.loaded.calls]


def saved_items(folders: Sequence[SavedFolder], calls: Sequence[SavedCall]) -> Iterator[PaletteItem]:
    """Yield saved calls as items, with the folder's name if there are several."""
    names = {folder.path: folder.name for folder in folders} if len(folders) > 1 else {}
    for call in calls:
        position = names.get(call.folder, "") if call.folder is not None else ""
        parts = (call.server, "saved call", call.tool, position, call.description)
        note = one_line(" · ".join(part for part in parts if part))
        yield PaletteItem(saved_key(call), one_line(call.name), note, "bookmark", tip=str(call.path or ""))


def without_folder(folder: SavedFolder, message: str) -> str:
    """Remove the folder's path from a message about a file: it is known where it is shown."""
    return message.replace(f"{one_line(str(folder.path))}{os.sep}", "")
