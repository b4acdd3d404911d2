"""Statistics view: messages and errors per second as a chart, methods and tools as a table."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from math import floor, log2, log10, sqrt
from time import perf_counter

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QHeaderView,
    QMenu,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from inspector.base.units import duration, plural
from inspector.qt.models.traffic.statistics import Column, StatisticsModel
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.row_commands import SUBJECT_FIELDS
from inspector.qt.panels.traffic.timeline.time_scale import MS, SECOND, TimeScale, clock_text, day_text
from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.traffic.analysis.statistics import OTHERS, MethodStats, Rate, Statistics

_REFRESH_MS = 250
# Summarizing thousands of tools takes a while: spend at most this share of the time on it.
_MAX_LOAD = 0.1
_WIDTHS = {
    Column.SERVER: 110,
    Column.COUNT: 72,
    Column.ERRORS: 64,
    Column.INCOMPLETE: 72,
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
_HIDDEN_FIRST = (Column.INCOMPLETE, Column.P99, Column.BYTES_OUT, Column.BYTES_IN, Column.MAX)
_MAX_EXPANDED = 20  # subjects up to which a method is expanded automatically
_MIN_SPAN_NS = 1_000_000_000
_FAILED_TERM = 'status in (error, "tool error")'
_CHART_HEIGHT = 148
_CHART_TOP = 30
_CHART_LEFT = 60
MIN_BUCKET_NS = 100 * MS  # a shorter bucket would turn one message into a high rate
_BUCKET_PIXELS = 4
_NO_RATE = Rate(0, SECOND, (), ())
_ONE_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value
_LEFT_ALIGNED = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_MAX_PLOT_WIDTH = 220


class StatisticsView(QWidget):
    """Statistics of the rows passed to it.

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
        self._is_restarted = False
        self.chart = RateChart(theme)
        self.model = StatisticsModel(theme, self)
        self.tree = QTreeView()
        self._apply_theme(theme)
        page = QWidget()
        vbox(page, self.chart, (self.tree, 1), gap=0)
        self.gate = ContentStack(theme, page)
        vbox(self, self.gate)
        self._refresh_timer = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._connect()
        self._update()

    def _apply_theme(self, theme: Theme) -> None:
        tree = self.tree
        tree.setModel(self.model)
        style_tree(tree, theme)
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
        self._refresh_timer.timeout.connect(self._on_refresh_due)
        self.chart.moment_chosen.connect(self._on_moment_chosen)
        self.model.rowsInserted.connect(self._on_inserted)
        self.tree.doubleClicked.connect(self._filter_on)
        self.tree.customContextMenuRequested.connect(self._on_menu_requested)
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            enter = QShortcut(QKeySequence(key), self.tree)
            enter.setContext(Qt.ShortcutContext.WidgetShortcut)
            enter.activated.connect(lambda: self._filter_on(self.tree.currentIndex()))

    def reset(self) -> None:
        """Remove all rows."""
        self._statistics = Statistics(self._source.log)
        self._rows = array("q")
        self._is_restarted = True  # show the old numbers until there are new ones
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

    def _change(self) -> None:
        """Refresh now, or when enough time has passed since the last refresh."""
        self._is_due = True
        if self.isVisible() and not self._refresh_timer.isActive():
            self._refresh_timer.start(_REFRESH_MS if self.gate.is_open() else 0)

    def _on_refresh_due(self) -> None:
        if self._is_due and self.isVisible():
            self._update()

    def _update(self) -> None:
        began = perf_counter()
        self._is_due = False
        if self._is_restarted:
            self._is_restarted = False
            self.model.clear()
        self.model.update(self._statistics.summary())
        self._draw_rate()
        self._explain_or_open()
        self._fit_columns()
        took_ms = (perf_counter() - began) * 1000
        self._refresh_timer.setInterval(max(_REFRESH_MS, round(took_ms / _MAX_LOAD)))

    def _draw_rate(self) -> None:
        """Draw the rate over at least a second: that of a single message means nothing."""
        whole = self._statistics.rate(1)
        length = max(whole.width_ns, _MIN_SPAN_NS)
        buckets = max(1, min(self.chart.max_buckets, length // MIN_BUCKET_NS))
        end = whole.start_ns + length if whole.messages else None
        self.chart.set_rate(self._statistics.rate(buckets, end_ns=end))

    def _explain_or_open(self) -> None:
        if self.model.rowCount():
            self.gate.open()
        elif len(self._source.log):
            sentence = "None of the matching rows is a message with a method. Try another filter."
            self.gate.explain("empty", "traffic", "No statistics", sentence)
        else:
            sentence = (
                "Shows how often each method and tool is called, how long it takes and how often it fails."
            )
            self.gate.explain("empty", "traffic", "No statistics yet", sentence)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._refresh_timer.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()
        self._draw_rate()

    def _fit_columns(self) -> None:
        """Give the method column the remaining width; if that is too little, hide columns."""
        hidden = set() if len(self._source.log.servers()) > 1 else {Column.SERVER}
        minimum, maximum = _METHOD_WIDTH
        room = self.tree.viewport().width() - sum(_WIDTHS[each] for each in _WIDTHS if each not in hidden)
        for column in _HIDDEN_FIRST:
            if room >= minimum:
                break
            hidden.add(column)
            room += _WIDTHS[column]
        for each in Column:
            self.tree.setColumnHidden(each, each in hidden)
        self.tree.setColumnWidth(Column.METHOD, max(minimum, min(maximum, room)))

    def _on_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        """Expand a method's tools, which users look for, unless there are very many."""
        if parent.isValid() and first == 0 and last < _MAX_EXPANDED:
            self.tree.expand(parent)

    def _on_moment_chosen(self, at_ns: int) -> None:
        wall = self._source.log.columns.wall
        position = bisect_left(self._rows, at_ns, key=wall.__getitem__)
        if position < len(self._rows):
            self.row_chosen.emit(self._rows[position])

    def _filter_on(self, index: QModelIndex) -> None:
        if index.isValid() and not self.model.is_total(index):
            self._request(self.model.stats(index))

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.tree.indexAt(at)
        if not index.isValid() or self.model.is_total(index):
            return
        menu = self.make_menu(self.model.stats(index))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def make_menu(self, stats: MethodStats) -> QMenu:
        """Create the context menu for some numbers."""
        menu = QMenu(self)
        menu.addAction("Show these messages", partial(self._request, stats))
        if stats.errors or stats.tool_errors:
            menu.addAction("Show failed messages", partial(self._request, stats, _FAILED_TERM))
        if stats.p95_ns is not None:
            slow = f"dur >= {stats.p95_ns}ns"
            menu.addAction(
                f"Show messages that took {duration(stats.p95_ns)} or longer",
                partial(self._request, stats, slow),
            )
        return menu

    def _request(self, stats: MethodStats, besides: str = "") -> None:
        several = len(self._source.log.servers()) > 1
        text = filter_for(stats, with_server=several)
        self.filter_requested.emit(f"{text} and {besides}" if besides else text)


def filter_for(stats: MethodStats, *, with_server: bool) -> str:
    """Return a filter for the rows behind these numbers."""
    from inspector.traffic.filter.builder import narrow

    text = narrow("", "method", stats.method)
    if stats.subject and stats.subject != OTHERS:
        text = narrow(text, SUBJECT_FIELDS.get(stats.method, "subject"), stats.subject)
    return narrow(text, "server", stats.server) if with_server else text


class RateChart(QWidget):
    """Messages as an area, errors as columns in front. The numbers under the pointer are shown.

    Signals:
        moment_chosen: The user clicked a moment or pressed Enter on it; carries nanoseconds since 1970.
    """

    moment_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rate = _NO_RATE
        self._position: int | None = None  # of the bucket under the pointer
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Messages and errors per second over time")
        theme.changed.connect(self.update)

    @property
    def max_buckets(self) -> int:
        """The number of distinguishable buckets."""
        return max(1, self._plot().width() // _BUCKET_PIXELS)

    def set_rate(self, rate: Rate) -> None:
        self._rate = rate
        if self._position is not None and self._position >= len(rate.messages):
            self._position = None
        self.update()

    def text(self) -> str:
        """Return the numbers of the bucket under the pointer, or of the busiest one."""
        rate = self._rate
        if not rate.messages:
            return ""
        position = self._position
        if position is None:
            maximum = max(rate.messages)
            return f"max {_per_second(maximum, rate.width_ns)} messages/s"
        at, messages, errors = self._moment(position), rate.messages[position], rate.errors[position]
        per_second = f"{_per_second(messages, rate.width_ns)} messages/s"
        per_second += f", {_per_second(errors, rate.width_ns)} errors/s"
        counted = f"{plural(messages, 'message')}, {plural(errors, 'error')} in {duration(rate.width_ns)}"
        return f"{day_text(at)}, {clock_text(at, rate.width_ns)}:  {per_second}  ({counted})"

    def sizeHint(self) -> QSize:
        return QSize(300, _CHART_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setFont(self._theme.ui_font(0.9))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
        self._paint_legend(painter)
        if not self._rate.messages:
            return
        plot, top = self._plot(), self._nice_top()
        self._paint_axes(painter, plot, top)
        self._paint_messages(painter, plot, top)
        self._paint_errors(painter, plot, top)
        self._paint_pointer(painter, plot)

    def _paint_legend(self, painter: QPainter) -> None:
        x, tokens, metrics = SPACE_3, self._theme.tokens, painter.fontMetrics()
        for text, tone in (("messages/s", "outbound"), ("errors/s", "error")):
            is_area = tone == "outbound"
            painter.fillRect(
                x, 12, 12, 9, tokens.tint("outbound", 0.25) if is_area else tokens.color("error")
            )
            if is_area:
                painter.fillRect(x, 11, 12, 2, tokens.color("outbound"))
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QPointF(x + 18, 21), text)
            x += 18 + metrics.horizontalAdvance(text) + SPACE_3
        room = self.width() - x - SPACE_3
        shown = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        painter.setPen(self._theme.color("text" if self._position is not None else "muted"))
        painter.drawText(QRectF(x, 6, room, 20), _RIGHT, shown)

    def _paint_axes(self, painter: QPainter, plot: QRect, top: float) -> None:
        for share in (0.0, 0.5, 1.0):
            y = round(plot.bottom() - plot.height() * share)
            painter.fillRect(plot.left(), y, plot.width(), 1, self._theme.color("line" if share else "edge"))
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QRectF(0, y - 9, _CHART_LEFT - SPACE_2, 18), _RIGHT, _short(top * share))
        scale = self._scale()
        for tick in scale.ticks():
            x = plot.left() + round(scale.x(tick.at_ns))
            painter.fillRect(x, plot.bottom(), 1, 5, self._theme.color("edge"))
            if x + 60 < self.width():
                painter.drawText(QRectF(x + 3, plot.bottom() + 2, 120, 18), _LEFT_ALIGNED, tick.label)

    def _paint_messages(self, painter: QPainter, plot: QRect, top: float) -> None:
        line = QPolygonF()
        for position, count in enumerate(self._rate.messages):
            y = self._y(plot, top, count)
            line.append(QPointF(self._x(position), y))
            line.append(QPointF(self._x(position + 1), y))
        area = QPolygonF(line)
        area.append(QPointF(self._x(len(self._rate.messages)), plot.bottom()))
        area.append(QPointF(self._x(0), plot.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint("outbound", 0.22))
        painter.drawPolygon(area)
        painter.setPen(QPen(self._theme.color("outbound"), 1.5))
        painter.drawPolyline(line)

    def _paint_errors(self, painter: QPainter, plot: QRect, top: float) -> None:
        for position, count in enumerate(self._rate.errors):
            if count:
                left, right = self._x(position), self._x(position + 1)
                y = min(self._y(plot, top, count), plot.bottom() - 4.0)  # one is visible beside thousands
                box = QRectF(left, y, max(2.0, right - left - 1), plot.bottom() - y)
                painter.fillRect(box, self._theme.color("error"))

    def _paint_pointer(self, painter: QPainter, plot: QRect) -> None:
        if self._position is None:
            return
        x = (self._x(self._position) + self._x(self._position + 1)) / 2
        painter.fillRect(QRectF(x, plot.top(), 1, plot.height()), self._theme.color("text"))

    def _plot(self) -> QRect:
        return QRect(
            _CHART_LEFT,
            _CHART_TOP + 4,
            max(1, self.width() - _CHART_LEFT - SPACE_3),
            self.height() - _CHART_TOP - 28,
        )

    def _scale(self) -> TimeScale:
        rate = self._rate
        end = rate.start_ns + rate.width_ns * max(1, len(rate.messages))
        return TimeScale(rate.start_ns, end, self._plot().width())

    def _x(self, position: int) -> float:
        plot = self._plot()
        return plot.left() + plot.width() * position / max(1, len(self._rate.messages))

    def _y(self, plot: QRect, top: float, count: int) -> float:
        return plot.bottom() - plot.height() * min(1.0, count * SECOND / self._rate.width_ns / top)

    def _nice_top(self) -> float:
        maximum = max(self._rate.messages) * SECOND / self._rate.width_ns
        power = 10.0 ** floor(log10(maximum)) if maximum > 0 else 1.0
        return next(power * times for times in (1, 2, 4, 6, 8, 10, 20) if power * times >= maximum)

    def _moment(self, position: int) -> int:
        return self._rate.start_ns + position * self._rate.width_ns

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        plot, count = self._plot(), len(self._rate.messages)
        share = (event.position().x() - plot.left()) / plot.width()
        self._point_at(int(share * count) if 0 <= share < 1 and count else None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._choose()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is not None and self._rate.messages:
            last = len(self._rate.messages) - 1
            start = -1 if step > 0 else last + 1
            self._point_at(min(max((start if self._position is None else self._position) + step, 0), last))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose()
        else:
            super().keyPressEvent(event)

    def _choose(self) -> None:
        if self._position is not None:
            self.moment_chosen.emit(self._moment(self._position))

    def _point_at(self, position: int | None) -> None:
        if position != self._position:
            self._position = position
            self.setAccessibleDescription(self.text())
            self.update()


def _per_second(count: int, width_ns: int) -> str:
    return _short(count * SECOND / width_ns)


def _short(number: float) -> str:
    """Format a number: 0.05, 2.5, 12, 3,400, 120k."""
    if number >= 100_000:
        return f"{number / 1000:,.0f}k"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.2g}"


class LatencyPlots(QStyledItemDelegate):
    """Histograms of durations on a common logarithmic axis, with lines at p50 and p95."""

    def __init__(
        self,
        theme: Theme,
        stats: Callable[[QModelIndex | QPersistentModelIndex], MethodStats],
        axis: Callable[[], tuple[int, int]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._stats = stats
        self._axis = axis

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        stats = self._stats(index)
        if not stats.histogram:
            return
        rect = QRectF(option.rect).adjusted(6, 4, -8, -4)
        rect.setWidth(min(rect.width(), _MAX_PLOT_WIDTH))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(QRectF(rect.left(), rect.bottom(), rect.width(), 1), self._theme.color("edge"))
        self._paint_bins(painter, rect, stats)
        self._paint_line(painter, rect, stats.p95_ns, "warn")
        self._paint_line(painter, rect, stats.p50_ns, "text")
        painter.restore()

    def _paint_bins(self, painter: QPainter, rect: QRectF, stats: MethodStats) -> None:
        """Paint by the square root of the counts, so that the few slow ones are visible."""
        fill = self._theme.tokens.tint("outbound", 0.55)
        maximum = max(each.count for each in stats.histogram)
        for each in stats.histogram:
            if each.count:
                left = rect.left() + rect.width() * self._position(each.start_ns)
                right = rect.left() + rect.width() * self._position(each.end_ns)
                height = max(2.0, rect.height() * sqrt(each.count / maximum))
                painter.fillRect(QRectF(left, rect.bottom() - height, max(2.0, right - left), height), fill)

    def _paint_line(self, painter: QPainter, rect: QRectF, at_ns: int | None, tone: Tone) -> None:
        if at_ns is not None:
            x = round(rect.left() + rect.width() * self._position(at_ns))
            painter.fillRect(QRectF(x, rect.top(), 1, rect.height() + 1), self._theme.color(tone))

    def _position(self, ns: int) -> float:
        """Return the position on the axis, from 0 to 1."""
        first, last = (log2(max(1, end)) for end in self._axis())
        return min(max((log2(max(1, ns)) - first) / max(0.001, last - first), 0.0), 1.0)
