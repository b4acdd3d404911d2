"""Lanes of bars, one per server, navigated by mouse, wheel and keys, and their layout.

The cost of painting depends on the number of pixels, not on the number of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.panels.traffic.timeline.bar_painter import STATUS_TONES, BarPainter
from inspector.qt.panels.traffic.timeline.bar_pass import MIN_BLOCK, BarPass, BarSource
from inspector.qt.panels.traffic.timeline.time_scale import TimeRange, TimeScale
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.text.labels import plain_tooltip
from inspector.traffic.analysis.lanes import RANKS
from inspector.traffic.analysis.timeline import LaneView
from inspector.traffic.records import Status

_HIT_TOLERANCE = 4  # pixels beside a bar that still hit it
_MIN_DRAG = 4
_ZOOM_STEP = 1.25
_ANY_DISTANCE = 2**62
_MANY_OPERATIONS = 10_000  # in view; from here on, bars are painted more coarsely
_FAILURES = {Status.ERROR: "errors", Status.TOOL_ERROR: "tool errors", Status.NOT_SENT: "not sent"}
_PADDING = 6
_MAX_NAME_LENGTH = 120


class LanesView(QAbstractScrollArea):
    """Paints `span` of `bars`. `now` returns the current end of open operations.

    Signals:
        chosen: The user clicked a bar or pressed Enter on it; carries its operation.
        moved: The keys moved to another bar; carries its operation.
        painted: Carries whether any visible operation is open.
        gutter_changed: The width of the names on the left changed.
    """

    chosen = Signal(int)
    moved = Signal(int)
    painted = Signal(bool)
    gutter_changed = Signal()

    def __init__(
        self,
        theme: Theme,
        bars: BarSource,
        span: TimeRange,
        now: Callable[[], int],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bars = bars
        self._span = span
        self._now = now
        self._closed: set[int] = set()
        self._layout = LaneLayout()
        self._bar_painter = BarPainter(theme)
        self._pressed: QPoint | None = None
        self._dragged: QPoint | None = None
        self._note = ""
        self.current: int | None = None
        self.gutter = 0
        self._pitch = max(20, theme.row_height() - 3)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Timeline of operations")
        self.viewport().setMouseTracking(True)
        span.changed.connect(self.refresh)
        theme.changed.connect(self._on_theme_changed)

    def refresh(self) -> None:
        """Lay out the lanes again after bars changed, and repaint."""
        self._layout = LaneLayout(self._bars.lanes(*self._span.shown), self._closed, self._pitch)
        self._fit_gutter()
        self._fit_scrolling()
        self.viewport().update()

    def set_note(self, note: str) -> None:
        """Set the text shown when there are no lanes."""
        self._note = note
        self.viewport().update()

    def scale(self) -> TimeScale:
        start, end = self._span.shown
        return TimeScale(start, end, max(1, self.viewport().width() - self.gutter))

    def set_current(self, operation: int | None) -> None:
        """Highlight one bar."""
        if operation != self.current:
            self.current = operation
            text = self._bars.text(operation, self._now()) if operation is not None else ""
            self.setAccessibleDescription(text)
            self.viewport().update()

    def reveal(self, operation: int) -> None:
        """Bring a bar into view."""
        position = self._bars.where(operation)
        if position is None:
            return
        end = position.end_ns if position.end_ns is not None else max(self._now(), position.start_ns)
        self._span.reveal(position.start_ns, end)
        box = self._layout.of(position.server)
        if box is not None:
            top, bar = box.y_of(position.subrow), self.verticalScrollBar()
            bar.setValue(max(min(bar.value(), top - 8), top + self._pitch + 8 - self.viewport().height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setFont(self._bar_painter.font)
        scale, top = self.scale(), self.verticalScrollBar().value()
        painter.translate(0, -top)
        boxes = self._layout.between(top, top + self.viewport().height())
        self._paint_grid(painter, scale, top)
        painter.save()
        painter.setClipRect(self.gutter, top, scale.width, self.viewport().height())
        painter.translate(self.gutter, 0)
        self._paint_bars(painter, scale, boxes)
        painter.restore()
        for box in boxes:
            self._paint_name(painter, box)
        if not self._layout.boxes:
            painter.setPen(self._theme.color("muted"))
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, self._note)
        self.painted.emit(any(box.open_count for box in self._layout.boxes))

    def _paint_grid(self, painter: QPainter, scale: TimeScale, top: int) -> None:
        painter.setPen(QPen(self._theme.color("line"), 1))
        for tick in scale.ticks():
            x = self.gutter + round(scale.x(tick.at_ns))
            painter.drawLine(x, top, x, top + self.viewport().height())

    def _paint_bars(self, painter: QPainter, scale: TimeScale, boxes: Sequence[LaneBox]) -> None:
        start, end = self._span.shown
        block = MIN_BLOCK if sum(box.count for box in boxes) < _MANY_OPERATIONS else MIN_BLOCK + 1
        width = max(1, scale.width // block)
        views = self._bars.window(start, end, width, [box.server for box in boxes])
        painting = BarPass(self._bars, self._bar_painter, scale, self._now(), self._pitch - 5)
        for box, view in zip(boxes, views, strict=False):
            tops = [box.y_of(subrow) + 2 for subrow in range(view.subrows)]
            painting.paint(painter, view.pieces, tops, is_closed=box.is_closed)
        painting.paint_details(painter)
        self._paint_current(painter, scale)
        self._bars.request(painting.operations)

    def _paint_current(self, painter: QPainter, scale: TimeScale) -> None:
        position = self._bars.where(self.current) if self.current is not None else None
        box = self._layout.of(position.server) if position is not None else None
        if position is None or box is None:
            return
        end = position.end_ns if position.end_ns is not None else self._now()
        left, right = max(-4.0, scale.x(position.start_ns)), min(scale.width + 4.0, scale.x(end))
        width = 2.5 if self.hasFocus() else 2
        painter.setPen(QPen(self._theme.color("accent"), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        outline = QRectF(left - 2.5, box.y_of(position.subrow) - 0.5, max(2.0, right - left) + 5, self._pitch)
        painter.drawRoundedRect(outline, 3, 3)

    def _paint_name(self, painter: QPainter, box: LaneBox) -> None:
        """Paint the gutter: the expander, the server and the number of its visible operations."""
        theme, middle = self._theme, box.top + 6 + self._pitch // 2
        painter.fillRect(0, box.top, self.gutter, box.height, theme.color("surface"))
        arrow = theme.pixmap(
            "chevron-right" if box.is_closed else "chevron-down", "muted", 12, self._pixel_ratio()
        )
        painter.drawPixmap(4, middle - 6, arrow)
        room = self.gutter - 22 - SPACE_2
        painter.setPen(theme.color("text"))
        self._paint_text(painter, box.name, 22, middle, room)
        painter.setPen(theme.color(STATUS_TONES[box.status] if box.status in _FAILURES else "muted"))
        if not box.is_closed and box.subrows > 1:
            self._paint_text(painter, lane_text(box), 22, middle + self._pitch - 4, room)
        painter.fillRect(0, box.top + box.height, self.viewport().width(), 1, theme.color("line"))
        painter.fillRect(self.gutter - 1, box.top, 1, box.height, theme.color("line"))

    def _paint_text(self, painter: QPainter, text: str, x: int, middle: int, room: int) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room)
        flags = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
        painter.drawText(QRectF(x, middle - 10, room, 20), flags, shown)

    def _pixel_ratio(self) -> float:
        return self.viewport().devicePixelRatioF()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            at = self.scale().at(event.position().x() - self.gutter)
            self._span.zoom(_ZOOM_STEP ** (-delta.y() / 120), at)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(delta.x()) > abs(delta.y()):
            self._span.pan(self.scale().ns(-(delta.x() or delta.y())))
        else:
            super().wheelEvent(event)
            return
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position().toPoint()
            self._dragged = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        if self._pressed is None or self._pressed.x() < self.gutter:
            self._show_cursor(at)
            return
        if self._dragged is None and (at - self._pressed).manhattanLength() < _MIN_DRAG:
            return
        before, self._dragged = self._dragged or self._pressed, at
        self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() - (at.y() - before.y()))
        self._span.pan(self.scale().ns(before.x() - at.x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, was_dragged = self._pressed, self._dragged is not None
        self._pressed = self._dragged = None
        at = event.position().toPoint()
        self._show_cursor(at)
        if pressed is None or was_dragged:
            return
        box = self._layout.at(self._y(at))
        if pressed.x() < self.gutter and box is not None:
            self.toggle(box.server)
            return
        operation = self.operation_at(at)
        if operation is not None:
            self.set_current(operation)
            self.chosen.emit(operation)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), plain_tooltip(self.tip_at(event.pos())), self.viewport())
            return True
        return super().viewportEvent(event)

    def operation_at(self, at: QPoint) -> int | None:
        box = self._layout.at(self._y(at))
        if box is None or at.x() < self.gutter:
            return None
        scale = self.scale()
        moment, slack = scale.at(at.x() - self.gutter), scale.ns(_HIT_TOLERANCE)
        for near in (0, slack):
            for subrow in box.subrows_at(self._y(at)):
                operation = self._bars.at(moment, box.server, subrow, near)
                if operation is not None:
                    return operation
        return None

    def tip_at(self, at: QPoint) -> str:
        box = self._layout.at(self._y(at))
        if box is not None and at.x() < self.gutter:
            return f"{box.name}\n{lane_text(box)}"
        operation = self.operation_at(at)
        return self._bars.text(operation, self._now()) if operation is not None else ""

    def toggle(self, server: int) -> None:
        self._closed ^= {server}
        self.refresh()

    def _show_cursor(self, at: QPoint) -> None:
        is_on = at.x() < self.gutter or self.operation_at(at) is not None
        shape = Qt.CursorShape.PointingHandCursor if is_on else Qt.CursorShape.ArrowCursor
        self.viewport().setCursor(shape)

    def _y(self, at: QPoint) -> int:
        return at.y() + self.verticalScrollBar().value()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, middle = event.key(), sum(self._span.shown) // 2
        match key:
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self._span.zoom(1 / _ZOOM_STEP**2, self._zoom_center(middle))
            case Qt.Key.Key_Minus:
                self._span.zoom(_ZOOM_STEP**2, self._zoom_center(middle))
            case Qt.Key.Key_0:
                self._span.fit()
            case Qt.Key.Key_Left | Qt.Key.Key_Right:
                self._go_to_neighbor(1 if key == Qt.Key.Key_Right else -1)
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                self._go_to_subrow(1 if key == Qt.Key.Key_Down else -1)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self.current is not None:
                self.chosen.emit(self.current)
            case Qt.Key.Key_Space if self.current is not None:
                position = self._bars.where(self.current)
                if position is not None:
                    self.toggle(position.server)
            case _:
                super().keyPressEvent(event)

    def _zoom_center(self, middle: int) -> int:
        """Return where keys zoom: at the highlighted bar if it is in view, else in the middle."""
        position = self._bars.where(self.current) if self.current is not None else None
        start, end = self._span.shown
        return position.start_ns if position is not None and start <= position.start_ns <= end else middle

    def _go_to_neighbor(self, step: int) -> None:
        position = self._bars.where(self.current) if self.current is not None else None
        if self.current is None or position is None:
            self._go_to(self._first_in_view())
        else:
            self._go_to(self._bars.neighbor(self.current, step))

    def _go_to_subrow(self, step: int) -> None:
        position = self._bars.where(self.current) if self.current is not None else None
        if position is None:
            self._go_to(self._first_in_view())
            return
        start, end = self._span.shown
        at = min(max(position.start_ns, start), end)
        for other in self._layout.neighbors(SubRowPlace(position.server, position.subrow), step):
            operation = self._bars.at(at, other.server, other.subrow, _ANY_DISTANCE)
            if operation is not None:
                self._go_to(operation)
                return

    def _first_in_view(self) -> int | None:
        views = self._bars.lanes(*self._span.shown)
        return next((piece.operation for view in views for piece in view.pieces), None)

    def _go_to(self, operation: int | None) -> None:
        if operation is not None:
            self.set_current(operation)
            self.reveal(operation)
            self.moved.emit(operation)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.refresh()

    def _fit_gutter(self) -> None:
        metrics = self.fontMetrics()
        max_width = max((metrics.horizontalAdvance(box.name[:40]) for box in self._layout.boxes), default=0)
        maximum = max(72, min(200, self.viewport().width() // 4))
        gutter = min(max(max_width + 22 + SPACE_2, 112), maximum)
        if gutter != self.gutter:
            self.gutter = gutter
            self.gutter_changed.emit()

    def _fit_scrolling(self) -> None:
        bar, page = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, self._layout.height - page))
        bar.setPageStep(page)
        bar.setSingleStep(self._pitch)

    def _on_theme_changed(self) -> None:
        self._bar_painter = BarPainter(self._theme)
        self.refresh()


def lane_text(box: LaneBox) -> str:
    """Return what is in view: `1,204 operations, errors, 2 open`."""
    text = [plural(box.count, "operation")]
    text += [_FAILURES[box.status]] if box.status in _FAILURES else []
    text += [f"{box.open_count:,} open"] if box.open_count else []
    return ", ".join(text)


@dataclass(frozen=True, slots=True)
class LaneBox:
    """One server's lane. A closed one has all of its sub-rows on one line."""

    server: int
    name: str
    top: int
    height: int
    pitch: int  # distance between sub-rows
    subrows: int
    is_closed: bool
    count: int  # of operations in view
    open_count: int
    status: Status  # the worst of them

    def y_of(self, subrow: int) -> int:
        return self.top + _PADDING + (0 if self.is_closed else subrow * self.pitch)

    def subrows_at(self, y: int) -> Sequence[int]:
        if self.is_closed:
            return range(self.subrows)
        subrow = (y - self.top - _PADDING) // self.pitch
        return (subrow,) if 0 <= subrow < self.subrows else ()


class SubRowPlace(NamedTuple):
    server: int
    subrow: int


class LaneLayout:
    """The stacked lanes. `y` counts from the first one, regardless of scrolling."""

    def __init__(self, lanes: Sequence[LaneView] = (), closed: Collection[int] = (), pitch: int = 20) -> None:
        self.boxes: list[LaneBox] = []
        top = 0
        for lane in lanes:
            rows = 1 if lane.server in closed else max(1, lane.subrows)
            height = rows * pitch + 2 * _PADDING
            self.boxes.append(_box(lane, top, height, pitch, lane.server in closed))
            top += height + 1  # a line between lanes
        self.height = top

    def at(self, y: int) -> LaneBox | None:
        return next((box for box in self.boxes if box.top <= y < box.top + box.height), None)

    def of(self, server: int) -> LaneBox | None:
        return next((box for box in self.boxes if box.server == server), None)

    def between(self, top: int, bottom: int) -> list[LaneBox]:
        return [box for box in self.boxes if box.top < bottom and box.top + box.height > top]

    def neighbors(self, place: SubRowPlace, step: int) -> Iterator[SubRowPlace]:
        """Yield the sub-rows below (1) or above (-1) one, nearest first."""
        places = [SubRowPlace(box.server, subrow) for box in self.boxes for subrow in range(box.subrows)]
        if place in places:
            here = places.index(place)
            yield from places[here + 1 :] if step > 0 else reversed(places[:here])


def _box(lane: LaneView, top: int, height: int, pitch: int, is_closed: bool) -> LaneBox:
    return LaneBox(
        server=lane.server,
        name=shorten(one_line(lane.name), _MAX_NAME_LENGTH),
        top=top,
        height=height,
        pitch=pitch,
        subrows=lane.subrows,
        is_closed=is_closed,
        count=sum(piece.bars for piece in lane.pieces),
        open_count=sum(piece.end_ns is None for piece in lane.pieces),
        status=max((piece.status for piece in lane.pieces), key=lambda one: RANKS[one], default=Status.NONE),
    )
