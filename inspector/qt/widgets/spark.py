"""Small plots in the cells of a table: how many answers took how long."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, sqrt

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.qt.theme import Theme, Tone
from inspector.traffic.statistics import MethodStats

_WIDEST = 220


class LatencyPlots(QStyledItemDelegate):
    """Durations from left to right, logarithmic, over the same axis in every row; lines at p50 and p95."""

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
        rect.setWidth(min(rect.width(), _WIDEST))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(QRectF(rect.left(), rect.bottom(), rect.width(), 1), self._theme.color("edge"))
        self._paint_bins(painter, rect, stats)
        self._paint_line(painter, rect, stats.p95_ns, "warn")
        self._paint_line(painter, rect, stats.p50_ns, "text")
        painter.restore()

    def _paint_bins(self, painter: QPainter, rect: QRectF, stats: MethodStats) -> None:
        """By the root of their counts: the few slow ones are what is looked for."""
        fill = self._theme.tokens.tint("outbound", 0.55)
        most = max(each.count for each in stats.histogram)
        for each in stats.histogram:
            if each.count:
                left = rect.left() + rect.width() * self._place(each.start_ns)
                right = rect.left() + rect.width() * self._place(each.end_ns)
                height = max(2.0, rect.height() * sqrt(each.count / most))
                painter.fillRect(QRectF(left, rect.bottom() - height, max(2.0, right - left), height), fill)

    def _paint_line(self, painter: QPainter, rect: QRectF, at_ns: int | None, tone: Tone) -> None:
        if at_ns is not None:
            x = round(rect.left() + rect.width() * self._place(at_ns))
            painter.fillRect(QRectF(x, rect.top(), 1, rect.height() + 1), self._theme.color(tone))

    def _place(self, ns: int) -> float:
        """From 0 to 1."""
        first, last = (log2(max(1, end)) for end in self._axis())
        return min(max((log2(max(1, ns)) - first) / max(0.001, last - first), 0.0), 1.0)
