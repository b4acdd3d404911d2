"""What the colours and shapes on a timeline mean."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.barpainting import BarPainter
from inspector.traffic.query.choices import STATUS_WORDS
from inspector.traffic.records import Status
from inspector.traffic.timeline import MarkKind

_STATUSES = (Status.OK, Status.ERROR, Status.TOOL_ERROR, Status.PENDING, Status.GIVEN_UP)
_MARK_WORDS = {
    MarkKind.FIRST_BYTE: "first byte",
    MarkKind.SSE: "event of a stream",
    MarkKind.PROGRESS: "progress",
    MarkKind.ROUND: "next round",
    MarkKind.POLL: "task poll",
    MarkKind.QUESTION: "server asks",
    MarkKind.LOG: "log",
}
_PERSON = "waiting for a person"
_SAMPLE = 26
_GAP = 6


class BarLegend(QWidget):
    """Samples with labels, in as many lines as the width needs."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._samples: list[tuple[Status | MarkKind | None, str]] = [
            *((status, STATUS_WORDS[status]) for status in _STATUSES),
            (None, _PERSON),
            *_MARK_WORDS.items(),
        ]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend: " + ", ".join(words for _, words in self._samples))
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        lines = max((line for line, _, _, _ in self._places()), default=0) + 1
        return QSize(200, lines * self._line() + 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        look = BarPainter(self._theme)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))
        painter.setFont(look.font)
        for line, x, sample, words in self._places():
            top = 4 + line * self._line()
            box = QRectF(x, top + 4, _SAMPLE, self._line() - 9)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            self._paint_sample(painter, look, box, sample)
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QPointF(self._words_at(x, sample), top + self._line() - 7), words)

    def _paint_sample(
        self, painter: QPainter, look: BarPainter, box: QRectF, sample: Status | MarkKind | None
    ) -> None:
        if sample is None:
            look.wait(painter, box)
        elif isinstance(sample, Status):
            look.bar(painter, box, sample, is_open=False)
            look.end_mark(painter, box, sample)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            height = box.height() if sample is MarkKind.FIRST_BYTE else 0.0
            look.mark(painter, box.left() + 5, box.center().y() - height / 2, height, sample)

    def _places(self) -> Iterator[tuple[int, float, Status | MarkKind | None, str]]:
        """Yield line, left edge, sample and label of each."""
        metrics = self.fontMetrics()
        line, x = 0, float(SPACE_3)
        for sample, words in self._samples:
            end = self._words_at(x, sample) + metrics.horizontalAdvance(words)
            if end > self.width() - SPACE_3 and x > SPACE_3:
                line, x = line + 1, float(SPACE_3)
                end = self._words_at(x, sample) + metrics.horizontalAdvance(words)
            yield line, x, sample, words
            x = end + SPACE_4

    def _words_at(self, x: float, sample: Status | MarkKind | None) -> float:
        return x + (12 if isinstance(sample, MarkKind) else _SAMPLE) + _GAP

    def _line(self) -> int:
        return max(20, self.fontMetrics().height() + 5)
