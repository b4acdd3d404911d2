"""Painting of timeline bars by status and of the details inside them; legend.

No state is shown by color alone: failed bars are taller when small and end in a mark when large,
cancelled and timed-out ones are hatched, open ones have a dashed edge and no end.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.theme import SPACE_3, SPACE_4, Theme, Tone
from inspector.traffic.analysis.timeline import MarkKind
from inspector.traffic.records import STATUS_LABELS, Status

_STATUSES = (Status.OK, Status.ERROR, Status.TOOL_ERROR, Status.PENDING, Status.CANCELLED, Status.TIMED_OUT)
_MARK_LABELS = {
    MarkKind.FIRST_BYTE: "first byte",
    MarkKind.SSE: "stream event",
    MarkKind.PROGRESS: "progress",
    MarkKind.ROUND: "next round",
    MarkKind.POLL: "task poll",
    MarkKind.SERVER_REQUEST: "server request",
    MarkKind.LOG: "log",
}
_WAIT_LABEL = "waiting for user input"
_SAMPLE_WIDTH = 26
_GAP = 6
STATUS_TONES: dict[Status, Tone] = {
    Status.NONE: "muted",
    Status.PENDING: "accent",
    Status.OK: "outbound",
    Status.TOOL_ERROR: "warn",
    Status.ERROR: "error",
    Status.NO_RESPONSE: "muted",
    Status.NOT_SENT: "error",
    Status.CANCELLED: "muted",
    Status.TIMED_OUT: "warn",
    Status.LATE: "muted",
}
FAILED = frozenset((Status.ERROR, Status.TOOL_ERROR, Status.NOT_SENT))
# Narrower bars are blocks without an edge.
MIN_BAR = 7.0
_MIN_END_MARK = 14.0
_MIN_LABEL = 30.0
_MAX_CACHED = 2_000
# Ended without a response.
_INCOMPLETE = (Status.CANCELLED, Status.TIMED_OUT, Status.NO_RESPONSE)
_END_MARKS = {
    Status.ERROR: "×",
    Status.TOOL_ERROR: "!",
    Status.NOT_SENT: "⊘",
    **dict.fromkeys(_INCOMPLETE, "⊘"),
}
_CENTER = Qt.AlignmentFlag.AlignCenter.value | Qt.TextFlag.TextSingleLine.value
_LEFT = (Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft).value | Qt.TextFlag.TextSingleLine.value


class BarPainter:
    """Pens and brushes of the current theme, created once for all bars."""

    def __init__(self, theme: Theme) -> None:
        tokens = theme.tokens
        self.font: QFont = theme.ui_font(0.9)
        self._metrics = QFontMetricsF(self.font)
        self._elided_texts: dict[tuple[str, int], str] = {}
        self._text = tokens.color("text")
        self._solid: dict[Status, QColor] = {}
        self._fills: dict[Status, QBrush] = {}
        self._edges: dict[Status, QPen] = {}
        for status, tone in STATUS_TONES.items():
            self._solid[status] = tokens.tint(tone, 0.8)
            self._fills[status] = QBrush(tokens.tint(tone, 0.2))
            self._edges[status] = QPen(tokens.tint(tone, 0.75), 1)
        for status in _INCOMPLETE:
            hatch = QBrush(tokens.tint(STATUS_TONES[status], 0.4), Qt.BrushStyle.BDiagPattern)
            self._fills[status] = hatch
        self._fills[Status.PENDING] = QBrush(tokens.tint("accent", 0.1))
        self._fills[Status.NOT_SENT] = QBrush(Qt.BrushStyle.NoBrush)
        for status in (Status.PENDING, Status.NOT_SENT, *_INCOMPLETE):
            self._edges[status].setStyle(Qt.PenStyle.DashLine)
        self._wait_fill = QBrush(tokens.tint("wait", 0.22))
        self._wait_hatch = QBrush(tokens.tint("wait", 0.7), Qt.BrushStyle.FDiagPattern)
        self._wait_edge = QPen(tokens.color("wait"), 1)
        self._mark = tokens.color("text")
        self._mark_edge = QPen(tokens.color("surface"), 1)

    def block(self, painter: QPainter, x: int, y: int, width: int, height: int, status: Status) -> None:
        """Paint one or several bars that are too small for an edge."""
        inset = 0 if status in FAILED else 3
        painter.fillRect(x, y + inset, width, height - 2 * inset, self._solid[status])

    def bar(self, painter: QPainter, box: QRectF, status: Status, *, is_open: bool) -> None:
        painter.setPen(self._edges[status])
        painter.setBrush(self._fills[status])
        painter.drawRect(box.adjusted(0, 0, 8 if is_open else 0, 0))
        painter.fillRect(QRectF(box.left(), box.top(), 3, box.height() + 1), self._solid[status])

    def end_mark(self, painter: QPainter, box: QRectF, status: Status) -> float:
        """Mark at the end of a bar how it failed. Returns the width of the mark."""
        text = _END_MARKS.get(status)
        if text is None or box.width() < _MIN_END_MARK:
            return 0.0
        side = box.height()
        painter.setPen(self._solid[status])
        painter.drawText(QRectF(box.right() - side, box.top(), side, side), _CENTER, text)
        return side

    def label(self, painter: QPainter, box: QRectF, text: tuple[str, str]) -> None:
        """Paint both texts if they fit, else as much of the first as fits."""
        room = box.width() - 10
        if room >= _MIN_LABEL:
            painter.setPen(self._text)
            shown = self._elided(text, int(room))
            painter.drawText(QRectF(box.left() + 7, box.top(), room, box.height()), _LEFT, shown)

    def _elided(self, text: tuple[str, str], room: int) -> str:
        """Return the elided text, cached: eliding takes longer than painting."""
        key = (text[0], room)
        if key not in self._elided_texts:
            if len(self._elided_texts) > _MAX_CACHED:
                self._elided_texts.clear()
            both = " · ".join(filter(None, text))
            shown = both if self._metrics.horizontalAdvance(both) <= room else text[0]
            self._elided_texts[key] = self._metrics.elidedText(shown, Qt.TextElideMode.ElideRight, room)
        return self._elided_texts[key]

    def wait(self, painter: QPainter, box: QRectF) -> None:
        """Paint a wait for the user across the bar, in a distinct color."""
        painter.fillRect(box, self._wait_fill)
        painter.fillRect(box.adjusted(0, box.height() / 2, 0, 0), self._wait_hatch)
        painter.setPen(self._wait_edge)
        painter.drawLine(box.topLeft(), box.bottomLeft())
        painter.drawLine(box.topRight(), box.bottomRight())

    def mark(self, painter: QPainter, x: float, top: float, height: float, kind: MarkKind) -> None:
        """Paint a moment in a bar; each kind has a shape, mostly at the edges, off the text."""
        bottom, middle = top + height, top + height / 2
        painter.setPen(self._mark_edge)
        painter.setBrush(self._mark)
        match kind:
            case MarkKind.FIRST_BYTE:
                painter.fillRect(QRectF(x - 0.75, top, 1.5, height + 1), self._mark)
            case MarkKind.SSE:
                painter.drawEllipse(QPointF(x, bottom), 3, 3)
            case MarkKind.PROGRESS:
                painter.fillRect(QRectF(x - 0.75, bottom - 3, 1.5, 6), self._mark)
            case MarkKind.LOG:
                painter.fillRect(QRectF(x - 0.75, top - 2, 1.5, 5), self._mark)
            case MarkKind.ROUND:
                _draw(painter, (x, middle - 5), (x + 5, middle), (x, middle + 5), (x - 5, middle))
            case MarkKind.POLL:
                painter.drawRect(QRectF(x - 3, bottom - 3, 6, 6))
            case MarkKind.SERVER_REQUEST:
                _draw(painter, (x - 5, top - 3), (x + 5, top - 3), (x, top + 5))


def _draw(painter: QPainter, *corners: tuple[float, float]) -> None:
    painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))


class BarLegend(QWidget):
    """Samples with labels, in as many lines as the width needs."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._samples: list[tuple[Status | MarkKind | None, str]] = [
            *((status, STATUS_LABELS[status]) for status in _STATUSES),
            (None, _WAIT_LABEL),
            *_MARK_LABELS.items(),
        ]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Legend: " + ", ".join(text for _, text in self._samples))
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        lines = max((line for line, _, _, _ in self._positions()), default=0) + 1
        return QSize(200, lines * self._line() + 8)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        bars = BarPainter(self._theme)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))
        painter.setFont(bars.font)
        for line, x, sample, text in self._positions():
            top = 4 + line * self._line()
            box = QRectF(x, top + 4, _SAMPLE_WIDTH, self._line() - 9)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            self._paint_sample(painter, bars, box, sample)
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QPointF(self._text_at(x, sample), top + self._line() - 7), text)

    def _paint_sample(
        self, painter: QPainter, bars: BarPainter, box: QRectF, sample: Status | MarkKind | None
    ) -> None:
        if sample is None:
            bars.wait(painter, box)
        elif isinstance(sample, Status):
            bars.bar(painter, box, sample, is_open=False)
            bars.end_mark(painter, box, sample)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            height = box.height() if sample is MarkKind.FIRST_BYTE else 0.0
            bars.mark(painter, box.left() + 5, box.center().y() - height / 2, height, sample)

    def _positions(self) -> Iterator[tuple[int, float, Status | MarkKind | None, str]]:
        """Yield line, left edge, sample and label of each."""
        metrics = self.fontMetrics()
        line, x = 0, float(SPACE_3)
        for sample, text in self._samples:
            end = self._text_at(x, sample) + metrics.horizontalAdvance(text)
            if end > self.width() - SPACE_3 and x > SPACE_3:
                line, x = line + 1, float(SPACE_3)
                end = self._text_at(x, sample) + metrics.horizontalAdvance(text)
            yield line, x, sample, text
            x = end + SPACE_4

    def _text_at(self, x: float, sample: Status | MarkKind | None) -> float:
        return x + (12 if isinstance(sample, MarkKind) else _SAMPLE_WIDTH) + _GAP

    def _line(self) -> int:
        return max(20, self.fontMetrics().height() + 5)
