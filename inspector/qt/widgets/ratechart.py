"""Messages and errors per second over time."""

from __future__ import annotations

from math import floor, log10

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.base.units import duration, plural
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.timescale import MS, SECOND, TimeScale, clock_text, day_text
from inspector.traffic.rate import Rate

_HEIGHT = 148
_TOP = 30
_LEFT = 60
LEAST_NS = 100 * MS  # a shorter bucket would turn one message into a high rate
_BUCKET_PIXELS = 4
_NOTHING = Rate(0, SECOND, (), ())


class RateChart(QWidget):
    """Messages as an area, errors as columns in front. The numbers under the pointer are shown.

    Signals:
        moment_chosen: The user clicked a moment or pressed Enter on it; carries nanoseconds since 1970.
    """

    moment_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rate = _NOTHING
        self._place: int | None = None  # of the bucket under the pointer
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Messages and errors per second over time")
        theme.changed.connect(self.update)

    @property
    def most_buckets(self) -> int:
        """The number of distinguishable buckets."""
        return max(1, self._plot().width() // _BUCKET_PIXELS)

    def set_rate(self, rate: Rate) -> None:
        self._rate = rate
        if self._place is not None and self._place >= len(rate.messages):
            self._place = None
        self.update()

    def words(self) -> str:
        """Return the numbers of the bucket under the pointer, or of the busiest one."""
        rate = self._rate
        if not rate.messages:
            return ""
        place = self._place
        if place is None:
            most = max(rate.messages)
            return f"at most {_per_second(most, rate.width_ns)} messages/s"
        at, messages, errors = self._moment(place), rate.messages[place], rate.errors[place]
        per_second = f"{_per_second(messages, rate.width_ns)} messages/s"
        per_second += f", {_per_second(errors, rate.width_ns)} errors/s"
        counted = f"{plural(messages, 'message')}, {plural(errors, 'error')} in {duration(rate.width_ns)}"
        return f"{day_text(at)}, {clock_text(at, rate.width_ns)}:  {per_second}  ({counted})"

    def sizeHint(self) -> QSize:
        return QSize(300, _HEIGHT)

    # -------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setFont(self._theme.ui_font(0.9))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
        self._paint_legend(painter)
        if not self._rate.messages:
            return
        plot, top = self._plot(), self._nice_top()
        self._paint_axes(painter, plot, top)
        self._paint_messages(painter, plot, top)
        self._paint_errors(painter, plot, top)
        self._paint_pointer(painter, plot)

    def _paint_legend(self, painter: QPainter) -> None:
        x, tokens, metrics = SPACE_3, self._theme.tokens, painter.fontMetrics()
        for words, tone in (("messages/s", "outbound"), ("errors/s", "error")):
            is_area = tone == "outbound"
            painter.fillRect(
                x, 12, 12, 9, tokens.tint("outbound", 0.25) if is_area else tokens.color("error")
            )
            if is_area:
                painter.fillRect(x, 11, 12, 2, tokens.color("outbound"))
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QPointF(x + 18, 21), words)
            x += 18 + metrics.horizontalAdvance(words) + SPACE_3
        room = self.width() - x - SPACE_3
        shown = metrics.elidedText(self.words(), Qt.TextElideMode.ElideRight, room)
        painter.setPen(self._theme.color("text" if self._place is not None else "muted"))
        painter.drawText(QRectF(x, 6, room, 20), _RIGHT, shown)

    def _paint_axes(self, painter: QPainter, plot: QRect, top: float) -> None:
        for share in (0.0, 0.5, 1.0):
            y = round(plot.bottom() - plot.height() * share)
            painter.fillRect(plot.left(), y, plot.width(), 1, self._theme.color("line" if share else "edge"))
            painter.setPen(self._theme.color("muted"))
            painter.drawText(QRectF(0, y - 9, _LEFT - SPACE_2, 18), _RIGHT, _short(top * share))
        scale = self._scale()
        for tick in scale.ticks():
            x = plot.left() + round(scale.x(tick.at_ns))
            painter.fillRect(x, plot.bottom(), 1, 5, self._theme.color("edge"))
            if x + 60 < self.width():
                painter.drawText(QRectF(x + 3, plot.bottom() + 2, 120, 18), _LEFT_ALIGNED, tick.label)

    def _paint_messages(self, painter: QPainter, plot: QRect, top: float) -> None:
        line = QPolygonF()
        for place, count in enumerate(self._rate.messages):
            y = self._y(plot, top, count)
            line.append(QPointF(self._x(place), y))
            line.append(QPointF(self._x(place + 1), y))
        area = QPolygonF(line)
        area.append(QPointF(self._x(len(self._rate.messages)), plot.bottom()))
        area.append(QPointF(self._x(0), plot.bottom()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint("outbound", 0.22))
        painter.drawPolygon(area)
        painter.setPen(QPen(self._theme.color("outbound"), 1.5))
        painter.drawPolyline(line)

    def _paint_errors(self, painter: QPainter, plot: QRect, top: float) -> None:
        for place, count in enumerate(self._rate.errors):
            if count:
                left, right = self._x(place), self._x(place + 1)
                y = min(self._y(plot, top, count), plot.bottom() - 4.0)  # one is visible beside thousands
                box = QRectF(left, y, max(2.0, right - left - 1), plot.bottom() - y)
                painter.fillRect(box, self._theme.color("error"))

    def _paint_pointer(self, painter: QPainter, plot: QRect) -> None:
        if self._place is None:
            return
        x = (self._x(self._place) + self._x(self._place + 1)) / 2
        painter.fillRect(QRectF(x, plot.top(), 1, plot.height()), self._theme.color("text"))

    # -------------------------------------------------------------- geometry

    def _plot(self) -> QRect:
        return QRect(_LEFT, _TOP + 4, max(1, self.width() - _LEFT - SPACE_3), self.height() - _TOP - 28)

    def _scale(self) -> TimeScale:
        rate = self._rate
        end = rate.start_ns + rate.width_ns * max(1, len(rate.messages))
        return TimeScale(rate.start_ns, end, self._plot().width())

    def _x(self, place: int) -> float:
        plot = self._plot()
        return plot.left() + plot.width() * place / max(1, len(self._rate.messages))

    def _y(self, plot: QRect, top: float, count: int) -> float:
        return plot.bottom() - plot.height() * min(1.0, count * SECOND / self._rate.width_ns / top)

    def _nice_top(self) -> float:
        most = max(self._rate.messages) * SECOND / self._rate.width_ns
        power = 10.0 ** floor(log10(most)) if most > 0 else 1.0
        return next(power * times for times in (1, 2, 4, 6, 8, 10, 20) if power * times >= most)

    def _moment(self, place: int) -> int:
        return self._rate.start_ns + place * self._rate.width_ns

    # -------------------------------------------------------------- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        plot, count = self._plot(), len(self._rate.messages)
        share = (event.position().x() - plot.left()) / plot.width()
        self._point_at(int(share * count) if 0 <= share < 1 and count else None)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._choose()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is not None and self._rate.messages:
            last = len(self._rate.messages) - 1
            start = -1 if step > 0 else last + 1
            self._point_at(min(max((start if self._place is None else self._place) + step, 0), last))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose()
        else:
            super().keyPressEvent(event)

    def _choose(self) -> None:
        if self._place is not None:
            self.moment_chosen.emit(self._moment(self._place))

    def _point_at(self, place: int | None) -> None:
        if place != self._place:
            self._place = place
            self.setAccessibleDescription(self.words())
            self.update()


_ONE_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value
_LEFT_ALIGNED = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value


def _per_second(count: int, width_ns: int) -> str:
    return _short(count * SECOND / width_ns)


def _short(number: float) -> str:
    """Format a number: 0.05, 2.5, 12, 3,400, 120k."""
    if number >= 100_000:
        return f"{number / 1000:,.0f}k"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.2g}"
