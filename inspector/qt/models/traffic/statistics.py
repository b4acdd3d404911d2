"""Tree model of statistics: methods, and below them their tools, prompts and resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, Qt

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural, size
from inspector.qt.models.record_table import ROOT, Index, plain_tip
from inspector.qt.theme import Theme
from inspector.traffic.analysis.statistics import MethodStats

Key: TypeAlias = tuple[str, str, bool]
_MIN_RATIO = 8

MAX_LENGTH = 120
_ABSENT = "–"

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class Column(IntEnum):
    METHOD = 0
    SERVER = 1
    COUNT = 2
    ERRORS = 3
    INCOMPLETE = 4
    BYTES_OUT = 5
    BYTES_IN = 6
    P50 = 7
    P95 = 8
    P99 = 9
    MAX = 10
    PLOT = 11


HEADERS = {
    Column.METHOD: ("Method", "Methods, and below them their tools, prompts and resources"),
    Column.SERVER: ("Server", "Server"),
    Column.COUNT: ("Count", "Requests and notifications"),
    Column.ERRORS: ("Errors", "Error responses, and results with isError"),
    Column.INCOMPLETE: (
        "Incomplete",
        "Requests that were cancelled, timed out, were not sent, or lost their connection",
    ),
    Column.BYTES_OUT: ("Sent", "Message bytes sent to the server"),
    Column.BYTES_IN: ("Received", "Message bytes received from the server"),
    Column.P50: ("p50", "Median response time (within 1.6 %)"),
    Column.P95: ("p95", "95th percentile of response times (within 1.6 %)"),
    Column.P99: ("p99", "99th percentile of response times (within 1.6 %)"),
    Column.MAX: ("Max", "Slowest response"),
    Column.PLOT: (
        "Latency",
        (
            "Distribution of response times, with lines at p50 and p95; time spent waiting for user input "
            "is excluded"
        ),
    ),
}
VALUES: dict[Column, Callable[[MethodStats], int | None]] = {
    Column.COUNT: lambda stats: stats.count,
    Column.ERRORS: lambda stats: stats.errors + stats.tool_errors,
    Column.INCOMPLETE: lambda stats: stats.incomplete,
    Column.BYTES_OUT: lambda stats: stats.bytes_out,
    Column.BYTES_IN: lambda stats: stats.bytes_in,
    Column.P50: lambda stats: stats.p50_ns,
    Column.P95: lambda stats: stats.p95_ns,
    Column.P99: lambda stats: stats.p99_ns,
    Column.MAX: lambda stats: stats.max_ns,
    Column.PLOT: lambda stats: stats.p50_ns,
}
_SIZES = (Column.BYTES_OUT, Column.BYTES_IN)
_COUNTS = (Column.COUNT, Column.ERRORS, Column.INCOMPLETE)


class StatisticsModel(QAbstractItemModel):
    """Statistics by method and subject. The total stays on top in any sort order."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._groups: list[_Group] = []  # the first is the total
        self._by_number: list[_Group] = []
        self._positions: dict[int, int] = {}  # row of each group, by number
        self._numbers: dict[Key, int] = {}
        self._sorting = (int(Column.COUNT), Qt.SortOrder.DescendingOrder)
        self._axis = (1, 2)
        self._bold = theme.mono_font(0.95)
        self._bold.setBold(True)

    def clear(self) -> None:
        self.beginResetModel()
        self._groups, self._by_number, self._positions, self._numbers = [], [], {}, {}
        self.endResetModel()

    def update(self, summary: Sequence[MethodStats]) -> None:
        """Update and add statistics. Rows are only removed by `clear`."""
        if not summary:
            self.clear()
            return
        fresh = [(stats, list(subjects)) for stats, subjects in _by_method(summary)]
        self._axis = _axis_of(stats for stats, _ in fresh)
        self._set_total([stats for stats, _ in fresh])
        for stats, subjects in fresh:
            self._set_group(stats, subjects)
        self._sort()
        last = len(Column) - 1
        self.dataChanged.emit(self.index(0, 0), self.index(len(self._groups) - 1, last))
        for group in self._groups:
            if group.subjects:
                parent = self.index(self._positions[group.number], 0)
                self.dataChanged.emit(
                    self.index(0, 0, parent), self.index(len(group.subjects) - 1, last, parent)
                )

    def stats(self, index: Index) -> MethodStats:
        if index.internalId():
            return self._by_number[index.internalId() - 1].subjects[index.row()]
        return self._groups[index.row()].stats

    def is_total(self, index: Index) -> bool:
        return not index.internalId() and index.row() == 0

    def axis(self) -> tuple[int, int]:
        """Return the shortest and longest duration: a common axis for all plots."""
        return self._axis

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        if not 0 <= row < self.rowCount(parent) or not 0 <= column < len(Column):
            return QModelIndex()
        number = self._groups[parent.row()].number + 1 if parent.isValid() else 0
        return self.createIndex(row, column, number)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        if not index.isValid() or not index.internalId():
            return QModelIndex()
        return self.createIndex(self._positions[index.internalId() - 1], 0, 0)

    def rowCount(self, parent: Index = ROOT) -> int:
        if not parent.isValid():
            return len(self._groups)
        if parent.internalId() or parent.column():
            return 0
        return len(self._groups[parent.row()].subjects)

    def columnCount(self, parent: Index = ROOT) -> int:
        return len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        column = Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(index, column)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _LEFT if column in (Column.METHOD, Column.SERVER) else _RIGHT
            case Qt.ItemDataRole.FontRole if self.is_total(index):
                return self._bold
            case Qt.ItemDataRole.ForegroundRole:
                return self._theme.color(self._tone(index, column))
            case Qt.ItemDataRole.DecorationRole if column is Column.METHOD and not (
                index.internalId() or self.is_total(index)
            ):
                is_ours = self.stats(index).is_ours
                return self._theme.icon(
                    "arrow-out" if is_ours else "arrow-in", "outbound" if is_ours else "inbound"
                )
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(tip_text(self.stats(index), column))
            case Qt.ItemDataRole.AccessibleTextRole if column in (Column.METHOD, Column.PLOT):
                return accessible_text(self.stats(index), column)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        head, description = HEADERS[Column(section)]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return head + self._arrow_of(section)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _LEFT if section in (Column.METHOD, Column.SERVER, Column.PLOT) else _RIGHT
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(description)
        return None

    def _arrow_of(self, section: int) -> str:
        """Return the sort arrow as text: Qt would draw its own over a narrow column's title."""
        column, order = self._sorting
        return "" if column != section else " ↓" if order == Qt.SortOrder.DescendingOrder else " ↑"

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorting = (column, order)
        self._sort()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)

    def sort_by(self, column: int) -> None:
        """Sort as a click on the header does.

        Numbers start descending, names ascending; a second click reverses the order.
        """
        is_name = column in (Column.METHOD, Column.SERVER)
        order = Qt.SortOrder.AscendingOrder if is_name else Qt.SortOrder.DescendingOrder
        if self._sorting == (column, order):
            order = Qt.SortOrder.DescendingOrder if is_name else Qt.SortOrder.AscendingOrder
        self.sort(column, order)

    def _set_total(self, methods: list[MethodStats]) -> None:
        if self._groups:
            self._groups[0].stats = _total(methods)
        else:
            self._add_group(_total(methods))

    def _set_group(self, stats: MethodStats, subjects: list[MethodStats]) -> None:
        key = (stats.server, stats.method, stats.is_ours)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._add_group(stats)
        group = self._by_number[number]
        group.stats = stats
        self._set_subjects(group, subjects)

    def _add_group(self, stats: MethodStats) -> int:
        number, position = len(self._by_number), len(self._groups)
        self.beginInsertRows(ROOT, position, position)
        group = _Group(number, stats)
        self._by_number.append(group)
        self._groups.append(group)
        self._positions[number] = position
        self.endInsertRows()
        return number

    def _set_subjects(self, group: _Group, subjects: list[MethodStats]) -> None:
        """Update subjects in place, for now; append new ones."""
        fresh = {stats.subject: stats for stats in subjects}
        group.subjects = [fresh.pop(stats.subject) for stats in group.subjects]
        if fresh:
            first = len(group.subjects)
            parent = self.index(self._positions[group.number], 0)
            self.beginInsertRows(parent, first, first + len(fresh) - 1)
            group.subjects.extend(fresh.values())
            self.endInsertRows()

    def _sort(self) -> None:
        column, order = self._sorting
        key, is_down = sort_key(Column(column)), order == Qt.SortOrder.DescendingOrder
        groups = self._groups[:1] + sorted(
            self._groups[1:], key=lambda group: key(group.stats), reverse=is_down
        )
        subjects = [sorted(group.subjects, key=key, reverse=is_down) for group in groups]
        if groups == self._groups and all(
            new == group.subjects for new, group in zip(subjects, groups, strict=True)
        ):
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        known = [(self.stats(index), index.internalId(), index.column()) for index in before]
        self._groups = groups
        for group, ordered in zip(groups, subjects, strict=True):
            group.subjects = ordered
        self._positions = {group.number: position for position, group in enumerate(groups)}
        self.changePersistentIndexList(before, [self._index_of(*each) for each in known])
        self.layoutChanged.emit()

    def _index_of(self, stats: MethodStats, id: int, column: int) -> QModelIndex:
        """Return a row's new index. Rows are compared by identity: their numbers may be equal."""
        siblings = self._by_number[id - 1].subjects if id else [group.stats for group in self._groups]
        row = next(position for position, each in enumerate(siblings) if each is stats)
        return self.createIndex(row, column, id)

    def _text(self, index: Index, column: Column) -> str | None:
        stats = self.stats(index)
        if column is Column.METHOD:
            return shorten(one_line(stats.subject if index.internalId() else stats.method), MAX_LENGTH)
        if column is Column.SERVER:
            return "" if index.internalId() else one_line(stats.server)
        return None if column is Column.PLOT else cell_text(stats, column)

    def _tone(self, index: Index, column: Column) -> Literal["error", "warn", "muted", "text"]:
        stats = self.stats(index)
        if column is Column.ERRORS and stats.errors + stats.tool_errors:
            return "error" if stats.errors else "warn"
        if column is Column.SERVER or (column in VALUES and not VALUES[column](stats)):
            return "muted"
        return "text"


@dataclass(slots=True)
class _Group:
    """A method of a server. `number` stays the same when the groups are sorted."""

    number: int
    stats: MethodStats
    subjects: list[MethodStats] = field(default_factory=list)


def _by_method(summary: Sequence[MethodStats]) -> Iterable[tuple[MethodStats, Iterable[MethodStats]]]:
    """Group the summary into methods and the subjects that follow each."""
    methods: list[tuple[MethodStats, list[MethodStats]]] = []
    for stats in summary:
        if stats.subject and methods:
            methods[-1][1].append(stats)
        else:
            methods.append((stats, []))
    return methods


def _total(methods: list[MethodStats]) -> MethodStats:
    """Return the total, without percentiles: those make no sense across methods."""

    def total(name: str) -> int:
        return sum(getattr(stats, name) for stats in methods)

    names = (
        "count",
        "errors",
        "tool_errors",
        "cancelled",
        "timed_out",
        "no_response",
        "waiting",
        "bytes_out",
        "bytes_in",
        "user_wait_ns",
    )
    slowest = max((stats.max_ns for stats in methods if stats.max_ns is not None), default=None)
    return MethodStats(
        server="",
        method="All",
        subject="",
        is_ours=True,
        p50_ns=None,
        p95_ns=None,
        p99_ns=None,
        max_ns=slowest,
        mean_ns=None,
        histogram=(),
        **{name: total(name) for name in names},
    )


def _axis_of(methods: Iterable[MethodStats]) -> tuple[int, int]:
    bins = [(stats.histogram[0].start_ns, stats.histogram[-1].end_ns) for stats in methods if stats.histogram]
    if not bins:
        return 1, 2
    first, last = max(1, min(start for start, _ in bins)), max(2, *(end for _, end in bins))
    # Nearly equal durations should look equal.
    return (first, last) if last > _MIN_RATIO * first else (max(1, first // 4), last * 4)


def sort_key(column: Column) -> Callable[[MethodStats], tuple[int, str]]:
    if column is Column.METHOD:
        return lambda stats: (0, (stats.subject or stats.method).casefold())
    if column is Column.SERVER:
        return lambda stats: (0, stats.server.casefold())
    value = VALUES[column]

    def key(stats: MethodStats) -> tuple[int, str]:
        found = value(stats)
        return (-1 if found is None else found), ""

    return key


def cell_text(stats: MethodStats, column: Column) -> str:
    """Format a cell, with its unit."""
    value = VALUES[column](stats)
    if value is None:
        return _ABSENT
    if column in _COUNTS:
        return f"{value:,}" if value or column is Column.COUNT else _ABSENT
    return size(value) if column in _SIZES else duration(value)


def tip_text(stats: MethodStats, column: Column) -> str:
    match column:
        case Column.METHOD:
            return f"{stats.method} {stats.subject}".strip()
        case Column.SERVER:
            return stats.server
        case Column.COUNT:
            return f"{stats.count:,}, of which {stats.waiting:,} are pending"
        case Column.ERRORS:
            share = (stats.errors + stats.tool_errors) / max(1, stats.count)
            return f"{plural(stats.errors, 'error')}, {plural(stats.tool_errors, 'tool error')}: {share:.1%}"
        case Column.INCOMPLETE:
            return (
                f"{stats.cancelled:,} cancelled, {stats.timed_out:,} timed out, "
                f"{stats.no_response:,} without a response or not sent"
            )
        case Column.BYTES_OUT | Column.BYTES_IN:
            return f"{VALUES[column](stats):,} bytes"
    return _latency_text(stats)


def _latency_text(stats: MethodStats) -> str:
    if stats.p50_ns is None or stats.mean_ns is None:
        return "No response times"
    text = f"p50 {cell_text(stats, Column.P50)}, p95 {cell_text(stats, Column.P95)}, "
    text += f"p99 {cell_text(stats, Column.P99)}, max {cell_text(stats, Column.MAX)}, "
    text += f"mean {duration(stats.mean_ns)}"
    return (
        f"{text}; plus {duration(stats.user_wait_ns)} waiting for user input" if stats.user_wait_ns else text
    )


def accessible_text(stats: MethodStats, column: Column) -> str:
    """Return accessible text for cells that are graphics."""
    if column is Column.PLOT:
        return _latency_text(stats)
    sender = (
        "" if stats.method == "All" else ", sent by MCP Lens" if stats.is_ours else ", sent by the server"
    )
    return one_line(shorten(stats.subject or stats.method, MAX_LENGTH)) + sender
