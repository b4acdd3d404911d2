"""Table model of the traffic, its rows by arrival or sorted; live and capture sources."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter

from PySide6.QtCore import (
    QAbstractTableModel,
    QObject,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor

from inspector.qt.bridge import Bridge
from inspector.qt.models.record_table import ROOT, Index
from inspector.qt.models.traffic.columns import HEADERS, NUMERIC, Column, TrafficCells
from inspector.qt.models.traffic.row_search import Matcher, RowSearch, sort_in_steps, sort_now
from inspector.qt.theme import Theme
from inspector.traffic.log import TrafficLog

# Created once: combining two Qt flags takes longer than the rest of a cell lookup.
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter

_COLUMNS = len(Column)
_SORTED_AT_ONCE = 4_096
_TURN_S = 0.008
# A growing table is sorted repeatedly, for at most a quarter of the time.
_PAUSE_FACTOR = 3


class TrafficModel(QAbstractTableModel):
    """The rows found by its `search`. Cells are read from the log on demand.

    `tint` returns the background of a row (color rules), or None.

    Signals:
        reordering: The rows are about to be reordered: save the selection.
        reordered: The rows were reordered: select them again at their new positions (`positions_of`).
    """

    reordering = Signal()
    reordered = Signal()

    def __init__(self, log: TrafficLog, theme: Theme) -> None:
        super().__init__()
        self._log = log
        self.search = RowSearch(log, self)
        self.cells = TrafficCells(log, theme, self.search.operations)
        self.tint: Callable[[int], QColor | None] = lambda number: None
        self._rows = array("q")
        self._is_paused = False
        self._recorded = 0
        self._sorted_by: tuple[int, bool] | None = None
        self._sorting: Iterator[array[int] | None] | None = None
        self._began = 0.0
        self._has_removed = False  # rows were removed since the sort started
        self._sort_timer = QTimer(self, interval=0)
        self._sort_timer.timeout.connect(self._sort_some)
        self._resort_timer = QTimer(self, singleShot=True, interval=0)
        self._resort_timer.timeout.connect(self._resort)
        # By role: a view asks for seven roles per painted cell, most of which have no value.
        self._responses: dict[int, Callable[[int, int], object]] = {
            Qt.ItemDataRole.DisplayRole: self.cells.text,
            Qt.ItemDataRole.ForegroundRole: self.cells.color,
            Qt.ItemDataRole.BackgroundRole: lambda number, column: self.tint(number),
            Qt.ItemDataRole.TextAlignmentRole: lambda number, column: self.alignment(column),
            Qt.ItemDataRole.DecorationRole: self.cells.icon,
            Qt.ItemDataRole.ToolTipRole: self.cells.tip,
            Qt.ItemDataRole.AccessibleTextRole: self.cells.spoken,
        }
        self.search.restarted.connect(self._on_restarted)
        self.search.found.connect(self._on_found)
        self.search.moved_in.connect(self._on_moved_in)
        self.search.moved_out.connect(self._on_moved_out)
        self.search.retouched.connect(self._on_retouched)
        self.search.dropped.connect(self._on_dropped)

    def set_server(self, name: str | None) -> None:
        self.search.set_condition(self.search.condition._replace(server=name))

    def set_with_events(self, shown: bool) -> None:
        self.search.set_condition(self.search.condition._replace(with_events=shown))

    def set_with_logins(self, shown: bool) -> None:
        self.search.set_condition(self.search.condition._replace(with_logins=shown))

    def set_matcher(self, matcher: Matcher | None, *, any_kind: bool = False) -> None:
        """Show only rows that match. With `any_kind`, the matcher alone decides about kinds."""
        condition = self.search.condition._replace(matcher=matcher, any_kind=any_kind)
        self.search.set_condition(condition)

    def set_span(self, span: tuple[int, int] | None) -> None:
        """Show only rows between two wall times."""
        self.search.set_condition(self.search.condition._replace(span=span))

    def set_by_operation(self, by_operation: bool) -> None:
        """Show one row per operation instead of one per message."""
        self.cells.is_by_operation = by_operation
        self.search.set_condition(self.search.condition._replace(operations=by_operation))

    @property
    def is_filtered(self) -> bool:
        """True if a server, filter or time range hides rows."""
        return self.search.condition.narrows

    def extend(self, length: int) -> None:
        """Update to this length of the log and its changed rows."""
        self._recorded = max(self._recorded, length)
        if not self._is_paused:
            self.search.extend(length)
        else:
            self.search.drop_old_rows()

    def set_paused(self, paused: bool) -> None:
        """Pause or resume: while paused, no rows are added or removed; they appear afterwards."""
        self._is_paused = paused
        if not paused:
            self.search.extend(self._recorded)

    @property
    def new_while_paused(self) -> int:
        return self._recorded - self.search.length if self._is_paused else 0

    def clear_view(self) -> None:
        """Show only rows from now on. The log keeps everything."""
        self.search.begin_at(self.search.length)

    def show_cleared(self) -> None:
        self.search.begin_at(0)

    @property
    def cleared_count(self) -> int:
        """The number of log rows hidden by `clear_view`."""
        return max(0, self.search.first - self._log.first)

    @property
    def is_cleared(self) -> bool:
        return self.cleared_count > 0

    def number(self, row: int) -> int:
        """Return the log row number of a shown row."""
        return self._rows[row]

    def positions_of(self, numbers: Iterable[int]) -> list[int]:
        """Return the positions of those log rows that are shown, in one pass."""
        wanted = set(numbers)
        if self._sorted_by is not None and len(wanted) > 4:
            return [position for position, number in enumerate(self._rows) if number in wanted]
        return [position for position in map(self.find_row, wanted) if position is not None]

    def new_among(self, first: int, last: int) -> int:
        """Return how many of these shown rows were recorded after the search started."""
        if self._sorted_by is not None:
            return 0
        return last + 1 - bisect_left(self._rows, self.search.backlog, first, last + 1)

    def shown_as(self, number: int) -> int:
        """Return the log row that represents another: that of its operation, if grouped."""
        operation = self._log.operation(number) if self.cells.is_by_operation else None
        return number if operation is None else operation

    def find_row(self, number: int) -> int | None:
        """Return the position of a log row, None if it is not shown."""
        if self._sorted_by is None:
            return self.search.position_of(number)
        try:
            return self._rows.index(number)
        except ValueError:
            return None

    def _on_restarted(self) -> None:
        self._stop_sorting()
        self.beginResetModel()
        self._rows = array("q")
        self.endResetModel()

    def _on_found(self, new: array[int]) -> None:
        first = len(self._rows)
        self.beginInsertRows(ROOT, first, first + len(new) - 1)
        self._rows.extend(new)
        self.endInsertRows()
        self._sort_again()

    def _on_moved_in(self, position: int, number: int) -> None:
        if self._sorted_by is not None:
            position = len(self._rows)
        self.beginInsertRows(ROOT, position, position)
        self._rows.insert(position, number)
        self.endInsertRows()
        self._sort_again()

    def _on_moved_out(self, position: int, number: int) -> None:
        if self._sorted_by is not None:
            position = self._rows.index(number)
        self.beginRemoveRows(ROOT, position, position)
        del self._rows[position]
        self.endRemoveRows()
        self._has_removed = True
        self._sort_again()

    def _on_dropped(self, count: int) -> None:
        if self._sorted_by is None:
            self.beginRemoveRows(ROOT, 0, count - 1)
            del self._rows[:count]
            self.endRemoveRows()
            return
        first = self.search.rows[0] if self.search.rows else self.search.length
        self._stop_sorting()
        self.beginResetModel()
        self._rows = array("q", (number for number in self._rows if number >= first))
        self.endResetModel()

    def _on_retouched(self, numbers: array[int]) -> None:
        # No `dataChanged`: the visible part is repainted after every batch anyway.
        self._sort_again()

    @property
    def sorted_by(self) -> tuple[int, bool] | None:
        """The sort column and whether it is descending. None for the order of arrival."""
        return self._sorted_by

    def sort_by(self, column: int | None, *, is_descending: bool = False) -> None:
        self._stop_sorting()
        self._sorted_by = None if column is None else (column, is_descending)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, _COLUMNS - 1)
        if column is None:
            self._put_in_order(array("q", self.search.rows))
        else:
            self._resort()

    def finish(self) -> None:
        """Finish searching and sorting now, for tests and counting."""
        self.search.finish()
        while self._sorting is not None or self._resort_timer.isActive():
            if self._resort_timer.isActive():
                self._resort()
            self._sort_some()

    def _sort_again(self) -> None:
        """Sort again soon, once for many changes."""
        if self._sorted_by is not None and self._sorting is None and not self._resort_timer.isActive():
            self._resort_timer.start()

    def _stop_sorting(self) -> None:
        self._sort_timer.stop()
        self._resort_timer.stop()
        self._sorting = None

    def _resort(self) -> None:
        self._stop_sorting()
        if self._sorted_by is None:
            return
        column, is_descending = self._sorted_by
        key = self.cells.sort_key(column)
        if len(self._rows) <= _SORTED_AT_ONCE:
            self._put_in_order(sort_now(self.search.rows, key, is_descending=is_descending))
            return
        self._began, self._has_removed = perf_counter(), False
        rows = array("q", self.search.rows)
        self._sorting = sort_in_steps(rows, key, is_descending=is_descending)
        self._sort_timer.start()

    def _sort_some(self) -> None:
        until = perf_counter() + _TURN_S
        while self._sorting is not None and perf_counter() < until:
            done = next(self._sorting)
            if done is not None:
                self._on_sorted(done)

    def _on_sorted(self, rows: array[int]) -> None:
        self._stop_sorting()
        self._resort_timer.setInterval(round((perf_counter() - self._began) * 1000 * _PAUSE_FACTOR))
        if self._has_removed:
            self._sort_again()
            return
        new_rows = self._rows[len(rows) :]
        self._put_in_order(rows + new_rows)
        if new_rows:
            self._sort_again()

    def _put_in_order(self, rows: array[int]) -> None:
        """Reorder the rows as changed data.

        `layoutChanged` would make a view measure a million rows.
        """
        self.reordering.emit()
        self._rows = rows
        if rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, _COLUMNS - 1))
        self.reordered.emit()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        response = self._responses.get(role)
        if response is None or not index.isValid():
            return None
        return response(self._rows[index.row()], index.column())

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADERS[Column(section)][0] + self._arrow_of(section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(section)
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return HEADERS[Column(section)][1]
        return None

    def _arrow_of(self, column: int) -> str:
        """Return the sort arrow as text: Qt would draw its own over a narrow column's title."""
        if self._sorted_by is None or self._sorted_by[0] != column:
            return ""
        return " ↓" if self._sorted_by[1] else " ↑"

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        """Return the alignment of a column's cells and header."""
        return _RIGHT if column in NUMERIC else _LEFT

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else _COLUMNS


class TrafficSource(QObject):
    """A log and its name. An opened log does not grow, but its notes may change.

    Signals:
        grew: Rows were added to the log or changed; carries its length.
    """

    grew = Signal(int)

    def __init__(
        self, log: TrafficLog, title: str, *, is_live: bool = False, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.log = log
        self.title = title
        self.is_live = is_live


class LiveSource(TrafficSource):
    """The traffic being recorded by the engine."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(bridge.log, "Traffic", is_live=True, parent=parent)
        bridge.traffic_grew.connect(self.grew)
