"""One painting of all bars that are in view."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from inspector.qt.widgets.barpainting import LEAST_BAR, BarPainter
from inspector.qt.widgets.barsource import BarSource
from inspector.qt.widgets.timescale import TimeScale
from inspector.traffic.lanes import Piece
from inspector.traffic.records import Status
from inspector.traffic.timeline import Mark, Wait

_LEAST_INSIDE = 12.0  # pixels of a bar whose inner parts can be told apart
_MOST_LABELS = 400  # more than that nobody reads, and they would take longer than the bars
_MOST_MARKS = 1_500
_MARKS_APART = 3.0
_NO_BLOCK = (0, 0, 0, Status.NONE)  # top, left, right, status
FINEST = 2  # pixels of the smallest bar


class BarPass:
    """Paints piece by piece; afterwards `paint_insides`. `operations` are those whose inside can be seen."""

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
        self._block = _NO_BLOCK
        self._wide: list[tuple[int, QRectF, float]] = []

    @property
    def operations(self) -> list[int]:
        return [operation for operation, _, _ in self._wide]

    def paint(self, painter: QPainter, piece: Piece, y: int) -> None:
        end = self._now if piece.end_ns is None else piece.end_ns
        left = max(-8.0, (piece.start_ns - self._start) * self._factor)
        right = min(self._right, (end - self._start) * self._factor)
        if piece.bars > 1 or right - left < LEAST_BAR:
            self._add_block(painter, y, int(left), max(int(right), int(left) + FINEST), piece.status)
            return
        box = QRectF(round(left), y, round(right) - round(left), self._height)
        self._look.bar(painter, box, piece.status, is_open=piece.end_ns is None)
        taken = self._look.end_mark(painter, box, piece.status)
        if box.width() >= _LEAST_INSIDE:
            self._wide.append((piece.operation, box, taken))

    def _add_block(self, painter: QPainter, y: int, left: int, right: int, status: Status) -> None:
        """Blocks that touch and look alike are painted as one: in a crowd that saves most of the time."""
        top, start, end, kind = self._block
        if top == y and kind is status and start <= left <= end:
            self._block = y, start, max(right, end), status
            return
        self._flush(painter)
        self._block = y, left, right, status

    def _flush(self, painter: QPainter) -> None:
        top, left, right, status = self._block
        if right > left:
            self._look.block(painter, left, top, right - left, self._height, status)
        self._block = _NO_BLOCK

    def paint_insides(self, painter: QPainter) -> None:
        """Over the bars: waits, then labels, then moments."""
        self._flush(painter)
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
        """Of marks of one kind that would cover one another, the first."""
        last: dict[object, float] = {}
        for mark in marks:
            x = (mark.at_ns - self._start) * self._factor
            if not -8.0 <= x <= self._right or self._marks >= _MOST_MARKS:
                continue
            if x - last.get(mark.kind, -_MARKS_APART) >= _MARKS_APART:
                last[mark.kind] = x
                self._marks += 1
                self._look.mark(painter, min(x, box.right()), box.top(), box.height(), mark.kind)
