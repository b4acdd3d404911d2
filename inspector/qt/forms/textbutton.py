"""A small button that is only words: for what stands beside every field and must cost next to nothing."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFont, QFontMetrics, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

_PADDING = 4
_RADIUS = 4.0


class TextButton(QAbstractButton):
    """Text in a palette role's color, with a subtle background on hover."""

    def __init__(
        self, text: str, font: QFont, role: QPalette.ColorRole, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._role = role
        self.setFont(font)
        self.setText(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self.text()) + 2 * _PADDING, metrics.height() + 2)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()
        super().enterEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.underMouse() or self.isDown():
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self.palette().color(QPalette.ColorRole.Midlight))
            painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)
        painter.setPen(self.palette().color(self._role))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter.value, self.text())
