"""One painting of all bars that are in view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from inspector.qt.widgets.barpainting import LEAST_BAR, BarPainter
from inspector.qt.widgets.barsource import BarSource
from inspector.qt.widgets.timescale import TimeScale
from inspector.traffic.lanes import Piece
from inspector.traffic.records import Status
from inspector.traffic.timeline import Mark, Wait

_LEAST_INSIDE = 12.0  # pixels from which a bar's inner parts are distinguishable
_MOST_LABELS = 400  # more are unreadable and would take longer than the bars
_MOST_MARKS = 1_500
_MARKS_APART = 3.0
FINEST = 2  # pixels of the smallest bar


class BarPass:
    """Paints lane by lane, then `paint_insides`.

    `operations` are those whose details are visible.
    """

    def __init__(
        self, bars: BarSource, look: BarPainter, scale: TimeScale, now_ns: int, bar_height: int
    ) -> None:
        self._bars = bars
        self._look = look
        self._start, self._factor = scale.start_ns, scale.width / scale.length_ns
        self._right = scale.width + 8.0
        self._now = now_ns
        self._height = bar_height
        self._labels = 0
        self._marks = 0
        self._wide: list[tuple[int, QRectF, float]] = []

    @property
    def operations(self) -> list[int]:
        return [operation for operation, _, _ in self._wide]

    def paint(
        self, painter: QPainter, pieces: Iterable[Piece], tops: Sequence[int], *, is_closed: bool = False
    ) -> None:
        """Paint the pieces of a lane, whose sub-rows are at `tops`.

        One long loop, because this is most of the painting time. Adjacent blocks that look the same are
        painted as one. In a closed lane bars overlap, so all of them are blocks without text.
        """
        least = inf if is_closed else LEAST_BAR
        origin, factor, farthest, now = self._start, self._factor, self._right, self._now
        height, block = self._height, self._look.block
        last_top, last_left, last_right, last_status = 0, 0, 0, Status.NONE
        for subrow, start, end, status, bars, operation in pieces:
            left = (start - origin) * factor
            right = ((now if end is None else end) - origin) * factor
            left, right = left if left > -8.0 else -8.0, right if right < farthest else farthest
            top = tops[subrow]
            if bars == 1 and right - left >= least:
                self._paint_bar(painter, left, right, top, status, operation, is_open=end is None)
                continue
            first, after = int(left), max(int(right), int(left) + FINEST)
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
        self._look.bar(painter, box, status, is_open=is_open)
        taken = self._look.end_mark(painter, box, status)
        if box.width() >= _LEAST_INSIDE:
            self._wide.append((operation, box, taken))

    def paint_insides(self, painter: QPainter) -> None:
        """Paint waits, then labels, then marks over the bars."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for operation, box, taken in self._wide:
            inside = self._bars.inside(operation)
            if inside is not None:
                self._paint_waits(painter, box, inside[0])
            if self._labels < _MOST_LABELS:
                self._labels += 1
                seen = box.adjusted(max(0.0, -box.left()), 0, -taken, 0)
                self._look.label(painter, seen, self._bars.label(operation))
            if inside is not None:
                self._paint_marks(painter, box, inside[1])

    def _paint_waits(self, painter: QPainter, box: QRectF, waits: tuple[Wait, ...]) -> None:
        for wait in waits:
            end = self._now if wait.end_ns is None else wait.end_ns
            left = max(box.left(), (wait.start_ns - self._start) * self._factor)
            right = min(box.right(), (end - self._start) * self._factor)
            if right > left:
                stretch = QRectF(left, box.top() + 1, max(1.0, right - left), box.height() - 1)
                self._look.wait(painter, stretch)

    def _paint_marks(self, painter: QPainter, box: QRectF, marks: tuple[Mark, ...]) -> None:
        """Paint the marks; of overlapping ones of the same kind, only the first."""
        last: dict[object, float] = {}
        for mark in marks:
            x = (mark.at_ns - self._start) * self._factor
            if not -8.0 <= x <= self._right or self._marks >= _MOST_MARKS:
                continue
            if x - last.get(mark.kind, -_MARKS_APART) >= _MARKS_APART:
                last[mark.kind] = x
                self._marks += 1
                self._look.mark(painter, min(x, box.right()), box.top(), box.height(), mark.kind)
