"""What went on, in numbers: a graph over time, and a table of methods and tools."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import partial
from time import perf_counter

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QTreeView, QVBoxLayout, QWidget

from inspector.base.units import duration
from inspector.qt.models.source import TrafficSource
from inspector.qt.models.statistics import StatisticsModel
from inspector.qt.models.statisticscells import Column
from inspector.qt.theme import Theme
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_tree
from inspector.qt.widgets.ratechart import LEAST_NS, RateChart
from inspector.qt.widgets.spark import LatencyPlots
from inspector.traffic.statistics import OTHERS, MethodStats, Statistics

_REST_MS = 250
# Summarizing thousands of tools takes a while: at most this share of the time.
_SHARE = 0.1
_SUBJECT_WORDS = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
_WIDTHS = {
    Column.SERVER: 110,
    Column.COUNT: 72,
    Column.ERRORS: 64,
    Column.GIVEN_UP: 72,
    Column.BYTES_OUT: 76,
    Column.BYTES_IN: 76,
    Column.P50: 72,
    Column.P95: 72,
    Column.P99: 72,
    Column.MAX: 76,
    Column.PLOT: 150,
}
_METHOD_WIDTH = (150, 320)
# Hidden in this order when there is little room.
_LEAST_WANTED = (Column.GIVEN_UP, Column.P99, Column.BYTES_OUT, Column.BYTES_IN, Column.MAX)
_MOST_OPENED = 20  # subjects up to which a method is expanded automatically
_LEAST_SPAN_NS = 1_000_000_000
_FAILED = 'status in (error, "tool error")'


class StatisticsView(QWidget):
    """Statistics of the rows it is given.

    Signals:
        row_chosen: The user clicked a moment of the graph; carries the first row at it.
        filter_requested: The user wants to see the rows behind some numbers; carries a filter.
    """

    row_chosen = Signal(int)
    filter_requested = Signal(str)

    def __init__(self, source: TrafficSource, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._statistics = Statistics(source.log)
        self._rows = array("q")
        self._is_due = False
        self._begins_anew = False
        self.chart = RateChart(theme)
        self.model = StatisticsModel(theme, self)
        self.tree = QTreeView()
        self._dress(theme)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(self.chart)
        inner.addWidget(self.tree, 1)
        self.gate = Gate(theme, page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.gate)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._connect()
        self._update()

    def _dress(self, theme: Theme) -> None:
        tree = self.tree
        tree.setModel(self.model)
        dress_tree(tree, theme)
        tree.setIndentation(24)  # indents a tool's name past its method's, which has an icon
        tree.setFont(theme.mono_font(0.95))
        tree.setAccessibleName("Statistics by method")
        tree.setSelectionMode(QTreeView.SelectionMode.SingleSelection)
        tree.setExpandsOnDoubleClick(False)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.setItemDelegateForColumn(
            Column.PLOT, LatencyPlots(theme, self.model.stats, self.model.axis, tree)
        )
        header = tree.header()
        header.setMinimumSectionSize(48)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in _WIDTHS.items():
            tree.setColumnWidth(column, width)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self.model.sort_by)

    def _connect(self) -> None:
        self._rest.timeout.connect(self._on_rested)
        self.chart.moment_chosen.connect(self._on_moment_chosen)
        self.model.rowsInserted.connect(self._on_inserted)
        self.tree.doubleClicked.connect(self._filter_on)
        self.tree.customContextMenuRequested.connect(self._on_menu_requested)
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            enter = QShortcut(QKeySequence(key), self.tree)
            enter.setContext(Qt.ShortcutContext.WidgetShortcut)
            enter.activated.connect(lambda: self._filter_on(self.tree.currentIndex()))

    # -------------------------------------------------------------- rows

    def reset(self) -> None:
        """Remove all rows."""
        self._statistics = Statistics(self._source.log)
        self._rows = array("q")
        self._begins_anew = True  # the old numbers stay until there are new ones
        self._change()

    def extend(self, rows: array[int]) -> None:
        """Append rows, in order."""
        self._statistics.extend(rows)
        self._rows.extend(rows)
        self._change()

    def retouch(self, rows: array[int]) -> None:
        """Update changed rows."""
        if self._statistics.refresh(rows):
            self._change()

    # -------------------------------------------------------------- keeping up

    def _change(self) -> None:
        """Refresh at once, or once enough time has passed since the last time."""
        self._is_due = True
        if self.isVisible() and not self._rest.isActive():
            self._rest.start(_REST_MS if self.gate.is_open() else 0)

    def _on_rested(self) -> None:
        if self._is_due and self.isVisible():
            self._update()

    def _update(self) -> None:
        began = perf_counter()
        self._is_due = False
        if self._begins_anew:
            self._begins_anew = False
            self.model.clear()
        self.model.update(self._statistics.summary())
        self._draw_rate()
        self._explain_or_open()
        self._fit_columns()
        took_ms = (perf_counter() - began) * 1000
        self._rest.setInterval(max(_REST_MS, round(took_ms / _SHARE)))

    def _draw_rate(self) -> None:
        """Draw the rate over at least a second: that of a single message means nothing."""
        whole = self._statistics.rate(1)
        length = max(whole.width_ns, _LEAST_SPAN_NS)
        buckets = max(1, min(self.chart.most_buckets, length // LEAST_NS))
        end = whole.start_ns + length if whole.messages else None
        self.chart.set_rate(self._statistics.rate(buckets, end_ns=end))

    def _explain_or_open(self) -> None:
        if self.model.rowCount():
            self.gate.open()
        elif len(self._source.log):
            sentence = "None of the rows that fit is a message with a method. Another filter may find some."
            self.gate.explain("empty", "traffic", "Nothing to count", sentence)
        else:
            sentence = "How often each method and tool is called, how long it takes and how often it fails."
            self.gate.explain("empty", "traffic", "Nothing to count yet", sentence)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._rest.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()
        self._draw_rate()

    def _fit_columns(self) -> None:
        """Give the method column the remaining width; if that is too little, hide columns."""
        hidden = set() if len(self._source.log.servers()) > 1 else {Column.SERVER}
        least, most = _METHOD_WIDTH
        room = self.tree.viewport().width() - sum(_WIDTHS[each] for each in _WIDTHS if each not in hidden)
        for column in _LEAST_WANTED:
            if room >= least:
                break
            hidden.add(column)
            room += _WIDTHS[column]
        for each in Column:
            self.tree.setColumnHidden(each, each in hidden)
        self.tree.setColumnWidth(Column.METHOD, max(least, min(most, room)))

    def _on_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        """Expand a method's tools, which users look for, unless there are very many."""
        if parent.isValid() and first == 0 and last < _MOST_OPENED:
            self.tree.expand(parent)

    # -------------------------------------------------------------- the way to the rows

    def _on_moment_chosen(self, at_ns: int) -> None:
        wall = self._source.log.columns.wall
        place = bisect_left(self._rows, at_ns, key=wall.__getitem__)
        if place < len(self._rows):
            self.row_chosen.emit(self._rows[place])

    def _filter_on(self, index: QModelIndex) -> None:
        if index.isValid() and not self.model.is_sum(index):
            self._request(self.model.stats(index))

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.tree.indexAt(at)
        if not index.isValid() or self.model.is_sum(index):
            return
        menu = self.make_menu(self.model.stats(index))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def make_menu(self, stats: MethodStats) -> QMenu:
        """Create the context menu for some numbers."""
        menu = QMenu(self)
        menu.addAction("Show these messages", partial(self._request, stats))
        if stats.errors or stats.tool_errors:
            menu.addAction("Show those that failed", partial(self._request, stats, _FAILED))
        if stats.p95_ns is not None:
            slow = f"dur >= {stats.p95_ns}ns"
            menu.addAction(
                f"Show those that took {duration(stats.p95_ns)} or longer",
                partial(self._request, stats, slow),
            )
        return menu

    def _request(self, stats: MethodStats, besides: str = "") -> None:
        several = len(self._source.log.servers()) > 1
        text = filter_for(stats, with_server=several)
        self.filter_requested.emit(f"{text} and {besides}" if besides else text)


def filter_for(stats: MethodStats, *, with_server: bool) -> str:
    """Return a filter for the rows behind these numbers."""
    from inspector.traffic.query.build import narrow

    text = narrow("", "method", stats.method)
    if stats.subject and stats.subject != OTHERS:
        text = narrow(text, _SUBJECT_WORDS.get(stats.method, "subject"), stats.subject)
    return narrow(text, "server", stats.server) if with_server else text
