"""Badges, state dots and share bars.

A dot shows a state by its shape and color. A share bar shows a value from 0 to 1.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QIcon, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.base.plain_text import one_line
from inspector.qt.theme import ICON_SIZE, SPACE_2, Theme, Tone
from inspector.qt.widgets.text.labels import plain_tooltip, shortened

_PADDING = 6
_BADGE_LIMIT = 48
_BAR_SIZE = QSize(64, 6)


class Badge(QWidget):
    """A small pill: text in a tone's color on a tint of it. Hidden while it has no text."""

    def __init__(
        self, theme: Theme, text: str = "", tone: Tone = "muted", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.set_text(text)
        theme.changed.connect(self._on_theme_changed)

    @property
    def text(self) -> str:
        return self._text

    def set_text(self, text: str, tone: Tone | None = None) -> None:
        self._text = shortened(one_line(text), _BADGE_LIMIT)
        self._tone = tone or self._tone
        self.setAccessibleName(self._text)
        self._hide_without_text()
        self._on_theme_changed()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ParentChange:
            self._hide_without_text()
        return super().event(event)

    def sizeHint(self) -> QSize:
        return badge_size(self._theme, self._text)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_badge(painter, self.rect(), self._theme, self._text, self._tone)

    def _hide_without_text(self) -> None:
        if self.parentWidget() is not None:  # without a parent, it would open as a window
            self.setVisible(bool(self._text))

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()


def badge_size(theme: Theme, text: str) -> QSize:
    metrics = QFontMetrics(_badge_font(theme))
    return QSize(metrics.horizontalAdvance(text) + 2 * _PADDING, metrics.height() + 4)


def paint_badge(painter: QPainter, rect: QRect, theme: Theme, text: str, tone: Tone) -> None:
    """Paint a badge; for delegates. The text must already be safe to show (`one_line`)."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.tokens.tint(tone))
    radius = min(rect.height() / 2, 8)
    painter.drawRoundedRect(QRectF(rect), radius, radius)
    painter.setPen(theme.color(tone))
    painter.setFont(_badge_font(theme))
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter.value, text)
    painter.restore()


def _badge_font(theme: Theme) -> QFont:
    return theme.ui_font(0.88, QFont.Weight.Medium)


class DotShape(Enum):
    """Shapes that are distinguishable without color."""

    FILLED = "filled circle"
    RING = "ring"
    TRIANGLE = "triangle"
    CROSS = "cross"
    DASH = "dash"


class StateDot(QWidget):
    """A state dot, described by its accessible name and tool tip."""

    def __init__(
        self, theme: Theme, shape: DotShape, tone: Tone, text: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFixedSize(ICON_SIZE, ICON_SIZE)
        self.set_state(shape, tone, text)
        theme.changed.connect(self.update)

    def set_state(self, shape: DotShape, tone: Tone, text: str) -> None:
        self._shape, self._tone = shape, tone
        self.setAccessibleName(one_line(text))
        self.setToolTip(plain_tooltip(text))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_dot(painter, QRectF(self.rect()), self._shape, self._theme.color(self._tone))


def dot_icon(theme: Theme, shape: DotShape, tone: Tone) -> QIcon:
    """Return a dot as an icon, for a model's decoration role. Create it again on theme changes."""
    icon = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(ICON_SIZE * ratio, ICON_SIZE * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        paint_dot(painter, QRectF(0, 0, ICON_SIZE, ICON_SIZE), shape, theme.color(tone))
        painter.end()
        icon.addPixmap(pixmap)
        icon.addPixmap(pixmap, QIcon.Mode.Selected)  # else Qt tints it with the selection color
    return icon


def paint_dot(painter: QPainter, rect: QRectF, shape: DotShape, color: QColor) -> None:
    """Paint a dot centered in `rect`, for delegates."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(rect.center())
    pen = QPen(color, 1.75, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    solid = shape in (DotShape.FILLED, DotShape.TRIANGLE)
    painter.setPen(pen if shape is not DotShape.FILLED else Qt.PenStyle.NoPen)
    painter.setBrush(color if solid else Qt.BrushStyle.NoBrush)
    match shape:
        case DotShape.FILLED:
            painter.drawEllipse(QPointF(), 4, 4)
        case DotShape.RING:
            painter.drawEllipse(QPointF(), 3.4, 3.4)
        case DotShape.TRIANGLE:
            painter.drawPolygon(QPolygonF([QPointF(0, -3.8), QPointF(3.9, 3.1), QPointF(-3.9, 3.1)]))
        case DotShape.CROSS:
            painter.drawLine(QPointF(-3.2, -3.2), QPointF(3.2, 3.2))
            painter.drawLine(QPointF(-3.2, 3.2), QPointF(3.2, -3.2))
        case DotShape.DASH:
            painter.drawLine(QPointF(-3.4, 0), QPointF(3.4, 0))
    painter.restore()


class ShareBar(QWidget):
    """A label, a bar and a number; the bar is full at 1."""

    def __init__(self, theme: Theme, label: str, share: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._label, self._share = label, share
        self._number = f"{share:.3g}"
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{label} {self._number}")
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._theme.ui_font())
        text = metrics.horizontalAdvance(self._label) + metrics.horizontalAdvance(self._number)
        return QSize(text + _BAR_SIZE.width() + 2 * SPACE_2 + 2, metrics.height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.ui_font())
        painter.setPen(self._theme.color("muted"))
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), int(left), self._label)
        at = QFontMetrics(self._theme.ui_font()).horizontalAdvance(self._label) + SPACE_2
        bar = QRectF(at, (self.height() - _BAR_SIZE.height()) / 2, _BAR_SIZE.width(), _BAR_SIZE.height())
        self._fill(painter, bar, self._theme.tokens.tint("accent", 0.18))
        full = bar.width() * min(max(self._share, 0.0), 1.0)
        self._fill(painter, QRectF(bar.x(), bar.y(), full, bar.height()), self._theme.color("accent"))
        painter.setPen(self._theme.color("text"))
        rest = self.rect().adjusted(round(bar.right()) + SPACE_2, 0, 0, 0)
        painter.drawText(rest, int(left), self._number)

    def _fill(self, painter: QPainter, rect: QRectF, color: QColor) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRoundedRect(rect, _BAR_SIZE.height() / 2, _BAR_SIZE.height() / 2)
