"""One paint pass over the visible bars, and the protocol of its data source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Protocol

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from inspector.qt.panels.traffic.timeline.bar_painter import MIN_BAR, BarPainter
from inspector.qt.panels.traffic.timeline.time_scale import TimeScale
from inspector.traffic.analysis.lanes import Piece
from inspector.traffic.analysis.timeline import BarPosition, LaneView, Mark, Wait
from inspector.traffic.records import Status

_MIN_DETAIL_WIDTH = 12.0  # pixels from which the details in a bar are distinguishable
_MAX_LABELS = 400  # more are unreadable and would take longer than the bars
_MAX_MARKS = 1_500
_MARKS_APART = 3.0
MIN_BLOCK = 2  # pixels of the smallest bar


class BarPass:
    """Paints lane by lane, then `paint_details`.

    `operations` are those whose details are visible.
    """

    def __init__(
        self, bars: BarSource, bar_painter: BarPainter, scale: TimeScale, now_ns: int, bar_height: int
    ) -> None:
        self._bars = bars
        self._bar_painter = bar_painter
        self._start, self._factor = scale.start_ns, scale.width / scale.length_ns
        self._right = scale.width + 8.0
        self._now = now_ns
        self._height = bar_height
        self._labels = 0
        self._marks = 0
        self._with_details: list[tuple[int, QRectF, float]] = []

    @property
    def operations(self) -> list[int]:
        return [operation for operation, _, _ in self._with_details]

    def paint(
        self, painter: QPainter, pieces: Iterable[Piece], tops: Sequence[int], *, is_closed: bool = False
    ) -> None:
        """Paint the pieces of a lane, whose sub-rows are at `tops`.

        One long loop, because this is most of the painting time. Adjacent blocks that look the same are
        painted as one. In a closed lane bars overlap, so all of them are blocks without text.
        """
        minimum = inf if is_closed else MIN_BAR
        origin, factor, farthest, now = self._start, self._factor, self._right, self._now
        height, block = self._height, self._bar_painter.block
        last_top, last_left, last_right, last_status = 0, 0, 0, Status.NONE
        for subrow, start, end, status, bars, operation in pieces:
            left = (start - origin) * factor
            right = ((now if end is None else end) - origin) * factor
            left, right = left if left > -8.0 else -8.0, right if right < farthest else farthest
            top = tops[subrow]
            if bars == 1 and right - left >= minimum:
                self._paint_bar(painter, left, right, top, status, operation, is_open=end is None)
                continue
            first, after = int(left), max(int(right), int(left) + MIN_BLOCK)
            if top == last_top and status is last_status and last_left <= first <= last_right:
                last_right = max(after, last_right)
                continue
            if last_right > last_left:
                block(painter, last_left, last_top, last_right - last_left, height, last_status)
            last_top, last_left, last_right, last_status = top, first, after, status
        if last_right > last_left:
            block(painter, last_left, last_top, last_right - last_left, height, last_status)

    def _paint_bar(
        self,
        painter: QPainter,
        left: float,
        right: float,
        top: int,
        status: Status,
        operation: int,
        *,
        is_open: bool,
    ) -> None:
        box = QRectF(round(left), top, round(right) - round(left), self._height)
        self._bar_painter.bar(painter, box, status, is_open=is_open)
        mark_width = self._bar_painter.end_mark(painter, box, status)
        if box.width() >= _MIN_DETAIL_WIDTH:
            self._with_details.append((operation, box, mark_width))

    def paint_details(self, painter: QPainter) -> None:
        """Paint waits, then labels, then marks over the bars."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for operation, box, mark_width in self._with_details:
            inside = self._bars.inside(operation)
            if inside is not None:
                self._paint_waits(painter, box, inside[0])
            if self._labels < _MAX_LABELS:
                self._labels += 1
                visible = box.adjusted(max(0.0, -box.left()), 0, -mark_width, 0)
                self._bar_painter.label(painter, visible, self._bars.label(operation))
            if inside is not None:
                self._paint_marks(painter, box, inside[1])

    def _paint_waits(self, painter: QPainter, box: QRectF, waits: tuple[Wait, ...]) -> None:
        for wait in waits:
            end = self._now if wait.end_ns is None else wait.end_ns
            left = max(box.left(), (wait.start_ns - self._start) * self._factor)
            right = min(box.right(), (end - self._start) * self._factor)
            if right > left:
                span = QRectF(left, box.top() + 1, max(1.0, right - left), box.height() - 1)
                self._bar_painter.wait(painter, span)

    def _paint_marks(self, painter: QPainter, box: QRectF, marks: tuple[Mark, ...]) -> None:
        """Paint the marks; of overlapping ones of the same kind, only the first."""
        last: dict[object, float] = {}
        for mark in marks:
            x = (mark.at_ns - self._start) * self._factor
            if not -8.0 <= x <= self._right or self._marks >= _MAX_MARKS:
                continue
            if x - last.get(mark.kind, -_MARKS_APART) >= _MARKS_APART:
                last[mark.kind] = x
                self._marks += 1
                self._bar_painter.mark(painter, min(x, box.right()), box.top(), box.height(), mark.kind)


class BarSource(Protocol):
    """The source of operations (`inspector.qt.models.traffic.timeline_bars`). Times are ns since 1970."""

    def lanes(self, t0: int, t1: int) -> tuple[LaneView, ...]:
        """Return the lanes; each sub-row merged into one piece, except for open operations."""
        ...

    def window(self, t0: int, t1: int, width: int, servers: Sequence[int]) -> tuple[LaneView, ...]:
        """Return what to paint in `width` pixels."""
        ...

    def where(self, row: int) -> BarPosition | None:
        """Return the bar of a row."""
        ...

    def at(self, at: int, server: int, subrow: int, slack: int) -> int | None:
        """Return the operation at a moment, or within `slack` of it."""
        ...

    def label(self, operation: int) -> tuple[str, str]:
        """Return a bar's label, and a detail to add if there is room."""
        ...

    def text(self, operation: int, now_ns: int) -> str:
        """Return a summary of an operation in a few lines."""
        ...

    def inside(self, operation: int) -> tuple[tuple[Wait, ...], tuple[Mark, ...]] | None:
        """Return the waits and marks of an operation; None while they are not loaded."""
        ...

    def request(self, operations: Sequence[int]) -> None:
        """Load the details of these visible operations, if not known yet."""
        ...

    def neighbor(self, operation: int, step: int) -> int | None:
        """Return the next (1) or previous (-1) operation in the same sub-row."""
        ...
