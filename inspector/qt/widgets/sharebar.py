"""A share from 0 to 1 as a small bar with its number."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.theme import SPACE_2, Theme

_BAR = QSize(64, 6)


class ShareBar(QWidget):
    """A label, a bar and a number; the bar is full at 1 and never shows more."""

    def __init__(self, theme: Theme, word: str, share: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._word, self._share = word, share
        self._number = f"{share:.3g}"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{word} {self._number}")
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._theme.ui_font())
        words = metrics.horizontalAdvance(self._word) + metrics.horizontalAdvance(self._number)
        return QSize(words + _BAR.width() + 2 * SPACE_2 + 2, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.ui_font())
        painter.setPen(self._theme.color("muted"))
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), int(left), self._word)
        at = QFontMetrics(self._theme.ui_font()).horizontalAdvance(self._word) + SPACE_2
        bar = QRectF(at, (self.height() - _BAR.height()) / 2, _BAR.width(), _BAR.height())
        self._fill(painter, bar, self._theme.tokens.tint("accent", 0.18))
        full = bar.width() * min(max(self._share, 0.0), 1.0)
        self._fill(painter, QRectF(bar.x(), bar.y(), full, bar.height()), self._theme.color("accent"))
        painter.setPen(self._theme.color("text"))
        rest = self.rect().adjusted(round(bar.right()) + SPACE_2, 0, 0, 0)
        painter.drawText(rest, int(left), self._number)

    def _fill(self, painter: QPainter, rect: QRectF, color: QColor) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRoundedRect(rect, _BAR.height() / 2, _BAR.height() / 2)
