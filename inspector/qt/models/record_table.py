"""Base models for tables: records under column descriptors, rows of the traffic log, safe tool tips.

`LogRowsModel` keeps its own list of row numbers: a QSortFilterProxyModel is asked about every row one by
one and takes seconds for a million. `plain_tip` escapes text: Qt renders a tool tip that looks like HTML
as HTML and loads the files it names.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, MutableSequence, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from PySide6.QtCore import (
    QAbstractListModel,
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QIcon

from inspector.base.json.values import shorten
from inspector.base.plain_text import escape_html, one_line
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog

T = TypeVar("T")
Index: TypeAlias = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()  # the invisible root, parent of all rows of a table
RecordRole = Qt.ItemDataRole.UserRole + 1

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTER = Qt.AlignmentFlag.AlignCenter
_MAX_RUNS = 20  # runs of rows inserted or removed one by one; more reset the model


class Column(NamedTuple, Generic[T]):
    """A column of a table: functions that return what the cell of a record shows.

    Without a `tone` the text has the color of the view; a tool tip of "" is not shown. `mono` is the scale
    of the monospace font, 0 for the font of the view.
    """

    title: str
    text: Callable[[T], str]
    tone: Tone | Callable[[T], Tone | None] | None = None
    tip: Callable[[T], str] | None = None
    icon: Callable[[T], QIcon | None] | None = None
    accessible: Callable[[T], str] | None = None
    align: Qt.AlignmentFlag = LEFT
    mono: float = 0


class RecordTable(QAbstractTableModel, Generic[T]):
    """One row per record; `RecordRole` is the record itself. `key` identifies a record between updates."""

    def __init__(
        self,
        theme: Theme,
        columns: Sequence[Column[T]],
        key: Callable[[T], Hashable] | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._columns = columns
        self._key = key
        self._records: MutableSequence[T] = []
        self._keys: list[Hashable] = []
        theme.changed.connect(self.refresh)

    def replace(self, records: MutableSequence[T]) -> None:
        """Show other records; this loses the selection and resets the scroll position."""
        self.beginResetModel()
        self._records = records
        self._keys = self._keys_of(records)
        self.endResetModel()

    def update(self, records: Iterable[T]) -> None:
        """Show a new version of the records: rows with the same key remain, and stay selected.

        Only rows whose record is another object are reported as changed.
        """
        fresh = list(records)
        keys = self._keys_of(fresh)
        if keys != self._keys and not self._move_rows(fresh, keys):
            self.replace(fresh)
            return
        before, self._records = self._records, fresh
        for first, last in _runs(row for row, record in enumerate(fresh) if record is not before[row]):
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self._columns) - 1))

    def _move_rows(self, fresh: list[T], keys: list[Hashable]) -> bool:
        """Remove, reorder and insert rows to get these keys; return False if replacing all is cheaper."""
        wanted, known = set(keys), set(self._keys)
        removed = [*_runs(row for row, key in enumerate(self._keys) if key not in wanted)]
        added = [*_runs(row for row, key in enumerate(keys) if key not in known)]
        is_unique = len(wanted) == len(keys) and len(known) == len(self._keys)
        if not is_unique or len(removed) + len(added) > _MAX_RUNS:
            return False
        for first, last in reversed(removed):
            self.beginRemoveRows(ROOT, first, last)
            del self._records[first : last + 1], self._keys[first : last + 1]
            self.endRemoveRows()
        self._reorder([key for key in keys if key in known])
        for first, last in added:
            self.beginInsertRows(ROOT, first, last)
            self._records[first:first] = fresh[first : last + 1]
            self._keys[first:first] = keys[first : last + 1]
            self.endInsertRows()
        return True

    def _reorder(self, keys: list[Hashable]) -> None:
        """Bring the rows into the order of these keys."""
        if keys == self._keys:
            return
        self.layoutAboutToBeChanged.emit()
        rows = {key: row for row, key in enumerate(keys)}
        before = self.persistentIndexList()
        after = [self.index(rows[self._keys[index.row()]], index.column()) for index in before]
        records = dict(zip(self._keys, self._records, strict=True))
        self._keys, self._records = keys, [records[key] for key in keys]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def refresh(self, first: int = 0) -> None:
        """Report all cells as changed, from a column on."""
        if self._records:
            last = self.index(len(self._records) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, first), last)

    @property
    def records(self) -> Sequence[T]:
        return self._records

    def record(self, row: int) -> T:
        return self._records[row]

    def find(self, row: int) -> T | None:
        """Return the record of a row that may not exist, such as the current row of a view."""
        return self._records[row] if 0 <= row < len(self._records) else None

    def row_of(self, key: Hashable) -> int | None:
        return self._keys.index(key) if key in self._keys else None

    def _keys_of(self, records: Sequence[T]) -> list[Hashable]:
        return [self._key(record) for record in records] if self._key is not None else []

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._records)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].title
        return self._columns[section].align if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        record, column = self.record(index.row()), self._columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(record)
            case Qt.ItemDataRole.TextAlignmentRole:
                return column.align
            case Qt.ItemDataRole.FontRole if column.mono:
                return self._theme.mono_font(column.mono)
            case Qt.ItemDataRole.ForegroundRole if column.tone is not None:
                tone = column.tone if isinstance(column.tone, str) else column.tone(record)
                return self._theme.color(tone) if tone is not None else None
            case Qt.ItemDataRole.DecorationRole if column.icon is not None:
                return column.icon(record)
            case Qt.ItemDataRole.ToolTipRole if column.tip is not None:
                return plain_tip(tip) if (tip := column.tip(record)) else None
            case Qt.ItemDataRole.AccessibleTextRole if column.accessible is not None:
                return column.accessible(record) or None
        return record if role == RecordRole else None


class SearchedList(QAbstractListModel):
    """A list whose rows are the result of a search, which runs in slices between events.

    Signals:
        searched: The rows now match the query.
    """

    searched = Signal()

    def __init__(self, slice_s: float, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._slice_s = slice_s
        self._search: Iterator[None] = iter(())
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._search_some)

    @property
    def is_searching(self) -> bool:
        return self._timer.isActive()

    def _start_search(self, search: Iterator[None]) -> None:
        """Start searching; the first slice runs at once."""
        self._search = search
        self._timer.start()
        self._search_some()

    def _search_some(self) -> None:
        until = time.perf_counter() + self._slice_s
        for _ in self._search:
            if time.perf_counter() > until:
                return
        self._timer.stop()


class LogRowsModel(RecordTable[int]):
    """A table over some rows of the log, by number. Subclasses say which."""

    def __init__(self, log: TrafficLog, theme: Theme, columns: Sequence[Column[int]]) -> None:
        super().__init__(theme, columns)
        self._log = log
        self._records = self._rows = array("q")
        self._seen = 0
        self._first = 0

    def matching(self, numbers: range) -> Iterable[int]:
        """Return which of these log rows belong here, in order."""
        raise NotImplementedError

    def replace(self, records: Iterable[int]) -> None:
        self._rows = array("q", records)
        super().replace(self._rows)

    def refilter(self) -> None:
        """Select the rows again after the condition changed."""
        self._seen = len(self._log)
        first = max(self._first, self._log.first)
        self.replace(self.matching(range(first, self._seen)))

    def extend(self, length: int) -> None:
        """Extend to this length of the log. A stale, smaller length is ignored."""
        self._drop_old_rows()
        first = max(self._seen, self._first, self._log.first)
        new = array("q", self.matching(range(first, length)))
        self._seen = max(self._seen, length)
        if new:
            first = len(self._rows)
            self.beginInsertRows(ROOT, first, first + len(new) - 1)
            self._rows.extend(new)
            self.endInsertRows()

    def _drop_old_rows(self) -> None:
        """Remove the rows that the log has dropped from memory."""
        count = bisect_left(self._rows, self._log.first)
        if count:
            self.beginRemoveRows(ROOT, 0, count - 1)
            del self._rows[:count]
            self.endRemoveRows()

    def find_row(self, number: int) -> int | None:
        """Return where a log row is shown, by binary search."""
        position = bisect_left(self._rows, number)
        return position if position < len(self._rows) and self._rows[position] == number else None


def plain_tip(text: str) -> str:
    """Return a tool tip that shows exactly this text."""
    return f"<span>{escape_html(one_line(shorten(text, 500)))}</span>"


def _runs(rows: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last row of each run of consecutive rows."""
    first = last = -1
    for row in rows:
        if row != last + 1 or first < 0:
            if first >= 0:
                yield first, last
            first = row
        last = row
    if first >= 0:
        yield first, last
