"""Small plots: latency histograms in table cells, and a metric over the last minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import log2, sqrt

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.qt.theme import Theme, Tone
from inspector.traffic.analysis.statistics import MethodStats

_MAX_WIDTH = 220


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
        rect.setWidth(min(rect.width(), _MAX_WIDTH))
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


class SparkLine(QWidget):
    """The last values of a metric as a small area, newest on the right. Unitless."""

    def __init__(self, theme: Theme, maximum: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._min_top = 0.0
        self._values: deque[float] = deque(maxlen=maximum)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def set_min_top(self, value: float) -> None:
        """Set the minimum top of the axis, so that small variations do not look large."""
        self._min_top = value

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(self._values)

    def add(self, value: float) -> None:
        self._values.append(value)
        self.update()

    def clear(self) -> None:
        self._values.clear()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(96, 28)

    def minimumSizeHint(self) -> QSize:
        return QSize(48, 28)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
            if len(self._values) > 1:
                self._paint_area(painter)

    def _paint_area(self, painter: QPainter) -> None:
        top = max(self._min_top, *self._values) or 1.0
        step = (self.width() - 2) / max(1, (self._values.maxlen or 2) - 1)
        right, height = self.width() - 1.0, self.height() - 3.0
        line = QPolygonF()
        for age, value in enumerate(reversed(self._values)):
            line.append(QPointF(right - age * step, 1 + height * (1 - value / top)))
        area = QPolygonF(line)
        area.append(QPointF(line.last().x(), self.height() - 1))
        area.append(QPointF(right, self.height() - 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint("outbound", 0.22))
        painter.drawPolygon(area)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self._theme.color("outbound"), 1.25))
        painter.drawPolyline(line)
