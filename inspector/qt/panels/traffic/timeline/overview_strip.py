"""Overview strip of the full time range: message density and the visible range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import log1p

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.panels.traffic.timeline.bar_painter import FAILED, STATUS_TONES
from inspector.qt.panels.traffic.timeline.time_scale import Mode, TimeRange, TimeScale
from inspector.qt.theme import Theme
from inspector.traffic.records import Status

COLUMN = 3  # pixels
_HEIGHT = 44
_COUNT_MS = 250  # counting takes longer than painting
_EDGE_TOLERANCE = 5  # pixels from an edge that still hit it
_MIN_DRAG = 4  # pixels


@dataclass(frozen=True, slots=True)
class Density:
    """Counts per column: log rows, operations started among those shown, and their worst status."""

    rows: Sequence[int] = ()
    operations: Sequence[int] = ()
    statuses: Sequence[Status] = ()


class _Grip(Enum):
    NEW = "new"
    MOVE = "move"
    START = "start"
    END = "end"


_CURSORS = {
    _Grip.NEW: Qt.CursorShape.CrossCursor,
    _Grip.MOVE: Qt.CursorShape.OpenHandCursor,
    _Grip.START: Qt.CursorShape.SplitHCursor,
    _Grip.END: Qt.CursorShape.SplitHCursor,
}


class OverviewStrip(QWidget):
    """The full time range. Drag to select a part, or drag that part or its edges.

    Signals:
        range_chosen: The user selected a part, by dragging or with Enter; carries (start, end).
        all_requested: The user wants to see everything.
    """

    range_chosen = Signal(object)
    all_requested = Signal()

    def __init__(
        self,
        theme: Theme,
        span: TimeRange,
        density: Callable[[TimeScale], Density],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._span = span
        self._find_density = density
        self._density: tuple[TimeScale, Density] | None = None
        self._is_outdated = False
        self._count_timer = QTimer(self, singleShot=True, interval=_COUNT_MS)
        self._count_timer.timeout.connect(self._on_count_due)
        self._grip: _Grip | None = None
        self._pressed = 0
        self._before = (0, 0)
        self.left, self.right = 0, 0  # pixels that are beside the strip
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Overview of the full time range")
        self.setAccessibleDescription(
            "Arrow keys move the visible range, plus and minus zoom, Enter shows only that range."
        )
        span.changed.connect(self.update)
        theme.changed.connect(self.update)

    def refresh(self) -> None:
        """Repaint with new counts."""
        self._is_outdated = True
        self.update()

    def scale(self) -> TimeScale:
        """Return the scale from shortly before the beginning to shortly after the end."""
        start, end = self._span.limits()
        return TimeScale(start, end, max(1, self.width() - self.left - self.right))

    def sizeHint(self) -> QSize:
        return QSize(200, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        scale = self.scale()
        painter.fillRect(self.left, 0, scale.width, self.height() - 1, self._theme.color("sunken"))
        painter.save()
        painter.translate(self.left, 0)
        painter.save()
        self._paint_density(painter, scale)
        painter.restore()
        self._paint_window(painter, scale)
        painter.restore()
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def _paint_density(self, painter: QPainter, scale: TimeScale) -> None:
        """Paint the last counts, scaled to the current range."""
        counted, density = self._current_density(scale)
        painter.translate(scale.x(counted.start_ns), 0)
        painter.scale(counted.length_ns / scale.length_ns, 1)
        gray = self._theme.tokens.tint("muted", 0.2, over="sunken")
        self._paint_columns(painter, density.rows, gray)
        self._paint_columns(painter, density.operations, self._theme.tokens.tint("outbound", 0.8))
        for position, status in enumerate(density.statuses):
            if status in FAILED:  # marked separately: failures are few, and what users look for
                color = self._theme.color(STATUS_TONES[status])
                painter.fillRect(position * COLUMN, 3, COLUMN, 4, color)

    def _paint_columns(self, painter: QPainter, counts: Sequence[int], color: QColor) -> None:
        """Paint the columns, logarithmically: one operation must be visible beside a thousand."""
        base, room = self.height() - 3, self.height() - 14
        tallest = log1p(max(counts, default=0)) or 1.0
        for position, count in enumerate(counts):
            if count:
                height = max(3, round(room * log1p(count) / tallest))
                painter.fillRect(position * COLUMN, base - height, COLUMN - 1, height, color)

    def _current_density(self, scale: TimeScale) -> tuple[TimeScale, Density]:
        if self._density is None or (self._is_stale(scale) and not self._count_timer.isActive()):
            columns = TimeScale(scale.start_ns, scale.end_ns, -(-scale.width // COLUMN))
            self._density = scale, self._find_density(columns)
            self._is_outdated = False
            self._count_timer.start()
        return self._density

    def _is_stale(self, scale: TimeScale) -> bool:
        return self._is_outdated or self._density is None or self._density[0] != scale

    def _on_count_due(self) -> None:
        if self._is_stale(self.scale()):
            self.update()

    def _paint_window(self, painter: QPainter, scale: TimeScale) -> None:
        left, right = self._edges(scale)
        shade = self._theme.color("surface")
        shade.setAlphaF(0.6)
        painter.fillRect(QRectF(0, 0, left, self.height() - 1), shade)
        painter.fillRect(QRectF(right, 0, scale.width - right, self.height() - 1), shade)
        painter.setPen(QPen(self._theme.color("accent"), 2 if self.hasFocus() else 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(left, 0.5, max(2.0, right - left - 1), self.height() - 2.5))
        for x in (left, right - 1):
            middle = self.height() / 2
            painter.fillRect(QRectF(x - 1.5, middle - 7, 4, 14), self._theme.color("accent"))

    def _edges(self, scale: TimeScale) -> tuple[float, float]:
        start, end = self._span.shown
        left = min(max(scale.x(start), 0.0), scale.width - 2.0)
        return left, min(max(scale.x(end), left + 2.0), float(scale.width))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = self._x(event.position().toPoint())
            self._grip = self._grip_at(self._pressed)
            self._before = self._span.shown

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        x = self._x(event.position().toPoint())
        if self._grip is None:
            self.setCursor(_CURSORS[self._grip_at(x)])
        elif abs(x - self._pressed) >= _MIN_DRAG or self._span.shown != self._before:
            self._span.show_span(*self._dragged_to(x))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        grip, self._grip = self._grip, None
        if grip is not None and self._span.shown != self._before:
            self.range_chosen.emit(self._span.shown)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._grip = None
        self.all_requested.emit()

    def _dragged_to(self, x: int) -> tuple[int, int]:
        scale, (start, end) = self.scale(), self._before
        at = scale.at(min(max(x, 0), scale.width))
        by = at - scale.at(self._pressed)
        match self._grip:
            case _Grip.MOVE:
                by = max(scale.start_ns - start, min(by, scale.end_ns - end))
                return start + by, end + by
            case _Grip.START:
                return min(at, end), end
            case _Grip.END:
                return start, max(at, start)
        first = scale.at(self._pressed)
        return min(first, at), max(first, at)

    def _grip_at(self, x: int) -> _Grip:
        """Return what a drag at `x` does; if everything is in view, it always selects a part."""
        left, right = self._edges(self.scale())
        if self._span.mode is Mode.FIT or not left - _EDGE_TOLERANCE <= x <= right + _EDGE_TOLERANCE:
            return _Grip.NEW
        if x <= left + _EDGE_TOLERANCE:
            return _Grip.START
        return _Grip.END if x >= right - _EDGE_TOLERANCE else _Grip.MOVE

    def _x(self, at: QPoint) -> int:
        return at.x() - self.left

    def keyPressEvent(self, event: QKeyEvent) -> None:
        tenth, middle = max(1, self._span.length // 10), sum(self._span.shown) // 2
        match event.key():
            case Qt.Key.Key_Left:
                self._span.pan(-tenth)
            case Qt.Key.Key_Right:
                self._span.pan(tenth)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self._span.zoom(0.8, middle)
            case Qt.Key.Key_Minus:
                self._span.zoom(1.25, middle)
            case Qt.Key.Key_0:
                self.all_requested.emit()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.range_chosen.emit(self._span.shown)
            case _:
                super().keyPressEvent(event)
