"""A busy mark that costs nothing while it cannot be seen."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QWidget

from inspector.qt.theme import ICON_SIZE, Theme

_STEP_MS = 50
_STEP_DEGREES = 20
_FULL_TURN = 360 * 16  # Qt measures arcs in 1/16 degree


class Spinner(QWidget):
    """A spinning arc; its timer runs only while it is visible."""

    def __init__(self, theme: Theme, size: int = ICON_SIZE, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._angle = 0
        self._timer = QTimer(self)
        self._timer.setInterval(_STEP_MS)
        self._timer.timeout.connect(self._on_tick)
        self.setFixedSize(size, size)
        self.setAccessibleName("Busy")
        theme.changed.connect(self.update)

    @property
    def is_turning(self) -> bool:
        return self._timer.isActive()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        width = max(1.75, self.width() / 11)
        inset = width / 2 + 1
        box = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("line"), width))
        painter.drawEllipse(box)
        painter.setPen(QPen(self._theme.color("accent"), width, c=Qt.PenCapStyle.RoundCap))
        painter.drawArc(box, -self._angle * 16, _FULL_TURN // 4)

    def _on_tick(self) -> None:
        self._angle = (self._angle + _STEP_DEGREES) % 360
        self.update()
