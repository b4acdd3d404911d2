"""The labels of a time axis, above or below what is painted over it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.theme import Theme
from inspector.qt.widgets.timescale import TimeScale, day_text


class TimeRuler(QWidget):
    """A time axis. Asks for the scale when painted.

    The day is in the `left` pixels before the scale.
    """

    def __init__(self, theme: Theme, scale: Callable[[], TimeScale], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._scale = scale
        self.left = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(200, self._theme.row_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setFont(self._theme.ui_font(0.9))
        scale, bottom = self._scale(), self.height() - 1
        painter.fillRect(0, bottom, self.width(), 1, self._theme.color("line"))
        painter.setPen(self._theme.color("muted"))
        painter.drawText(QRectF(12, 0, self.left - 14, bottom), _LEFT, day_text(scale.start_ns))
        painter.setClipRect(QRectF(self.left - 1, 0, scale.width + 1, self.height()))
        for tick in scale.ticks():
            x = self.left + round(scale.x(tick.at_ns))
            painter.setPen(QPen(self._theme.color("edge"), 1))
            painter.drawLine(x, bottom - 5, x, bottom)
            painter.setPen(self._theme.color("text" if tick.is_major else "muted"))
            painter.drawText(QRectF(x + 4, 0, 120, bottom), _LEFT, tick.label)


_LEFT = (Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft).value | Qt.TextFlag.TextSingleLine.value
