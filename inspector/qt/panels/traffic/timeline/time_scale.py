"""Visible time range, the pixel scale with its ticks, and the time ruler.

All parts of a timeline share one `TimeRange`. Times are nanoseconds since 1970, labeled in the local
time zone. `TimeScale` does not use Qt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from PySide6.QtCore import QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.qt.theme import Theme

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
MIN_NS = 10_000
_MAX_NS = 2**62
_MARGIN = 0.02  # share of the content
_LEFT = (Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft).value | Qt.TextFlag.TextSingleLine.value
# Round steps: 1, 2, 5 below a second; parts of a minute, an hour, a day above it.
_STEPS: tuple[int, ...] = (
    *(10**power * times for power in range(9) for times in (1, 2, 5)),
    *(unit * times for unit in (SECOND, MINUTE) for times in (1, 2, 5, 10, 15, 30)),
    *(HOUR * times for times in (1, 2, 3, 6, 12)),
    *(DAY * times for times in (1, 2, 7, 14, 30, 90, 365, 3650)),
)  # fmt: skip
_MAX_TICKS = 200


class Mode(Enum):
    FIT = "fit"  # everything, also as it grows
    FOLLOW = "follow"  # a fixed length at the moving end
    STAY = "stay"  # where the user went


class TimeRange(QObject):
    """The visible time range `shown` within `whole`; `content` is the range with data.

    Signals:
        changed: `shown` or `whole` changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.whole = (0, MIN_NS)
        self.content = (0, MIN_NS)
        self.shown = (0, MIN_NS)
        self.mode = Mode.FIT
        self.is_live = False

    @property
    def length(self) -> int:
        return self.shown[1] - self.shown[0]

    def set_content(self, whole: tuple[int, int], content: tuple[int, int]) -> None:
        """Set the ranges. `shown` stays, unless it fits everything or follows the end."""
        before = self.whole, self.shown
        self.whole, self.content = _at_least(*whole), _at_least(*content)
        if self.mode is Mode.FIT:
            self.shown = self._fitting()
        elif self.mode is Mode.FOLLOW:
            end = max(self.shown[1], self.content[1] + round(self.length * _MARGIN))
            self.shown = end - self.length, end
        if (self.whole, self.shown) != before:
            self.changed.emit()

    def fit(self) -> None:
        """Show everything, from now on."""
        self.mode = Mode.FIT
        self._show(*self._fitting())

    def show_span(self, start: int, end: int) -> None:
        """Show another range; one that reaches the live end follows it."""
        self._show(*_at_least(start, end))
        reaches_end = self.is_live and self.shown[1] >= self.content[1]
        self.mode = Mode.FOLLOW if reaches_end else Mode.STAY

    def zoom(self, factor: float, at: int) -> None:
        """Show `factor` times as much, keeping the moment `at` in place."""
        start, end = self.limits()
        length = min(max(round(self.length * factor), MIN_NS), end - start)
        share = (at - self.shown[0]) / self.length
        first = at - round(length * share)
        self.show_span(*self._clamped(first, length))

    def pan(self, by: int) -> None:
        self.show_span(*self._clamped(self.shown[0] + by, self.length))

    def reveal(self, start: int, end: int) -> None:
        """Move, and zoom out only if needed, until a range is in view."""
        if self.shown[0] <= start and end <= self.shown[1]:
            return
        length = max(self.length, round((end - start) * 1.25))
        middle = (start + end) // 2
        self.show_span(middle - length // 2, middle - length // 2 + length)

    def limits(self) -> tuple[int, int]:
        """Return the limit of scrolling and zooming: everything, with a small margin."""
        start, end = min(self.whole[0], self.content[0]), max(self.whole[1], self.content[1])
        margin = round((end - start) * _MARGIN)
        return start - margin, end + margin

    def _show(self, start: int, end: int) -> None:
        if (start, end) != self.shown:
            self.shown = (start, end)
            self.changed.emit()

    def _fitting(self) -> tuple[int, int]:
        start, end = self.content
        margin = round((end - start) * _MARGIN)
        return start - margin, end + margin

    def _clamped(self, first: int, length: int) -> tuple[int, int]:
        start, end = self.limits()
        first = max(start, min(first, end - length))
        return first, first + length


def _at_least(start: int, end: int) -> tuple[int, int]:
    """Return the range in order, within computable bounds and long enough to divide into pixels."""
    start, end = sorted((max(0, min(start, _MAX_NS)), max(0, min(end, _MAX_NS))))
    return start, max(end, start + MIN_NS)


class Tick(NamedTuple):
    at_ns: int
    label: str
    is_major: bool  # begins a larger unit: a second among milliseconds, a day among hours


@dataclass(frozen=True, slots=True)
class TimeScale:
    """A time range over a width in pixels. Both are at least one."""

    start_ns: int
    end_ns: int
    width: int

    @property
    def length_ns(self) -> int:
        return max(1, self.end_ns - self.start_ns)

    def x(self, at_ns: int) -> float:
        return (at_ns - self.start_ns) * self.width / self.length_ns

    def at(self, x: float) -> int:
        return self.start_ns + round(x * self.length_ns / max(1, self.width))

    def ns(self, pixels: float) -> int:
        """Convert pixels to nanoseconds."""
        return round(pixels * self.length_ns / max(1, self.width))

    def ticks(self, spacing: int = 96) -> list[Tick]:
        """Return ticks at round moments, at least `spacing` pixels apart."""
        step = _step(self.ns(spacing))
        offset = _utc_offset_ns(self.start_ns)
        first = -(-(self.start_ns + offset) // step) * step - offset
        moments = range(first, min(self.end_ns + 1, first + _MAX_TICKS * step), step)
        return [_tick(at, step, offset, is_first=at == first) for at in moments]


def moment(at_ns: int) -> datetime | None:
    """Convert to local time; None if out of bounds, as in a hostile file."""
    try:
        return datetime.fromtimestamp(at_ns // SECOND)
    except (OverflowError, OSError, ValueError):
        return None


def day_text(at_ns: int) -> str:
    """Format a day: 16 Nov 2026."""
    when = moment(at_ns)
    return f"{when.day} {when:%b %Y}" if when is not None else ""


def clock_text(at_ns: int, step_ns: int) -> str:
    """Format the time of day with the precision that the step needs."""
    when = moment(at_ns)
    if when is None:
        return ""
    if step_ns >= DAY:
        return f"{when.day} {when:%b}" if step_ns < 365 * DAY else f"{when:%b %Y}"
    if step_ns >= MINUTE:
        return f"{when:%H:%M}"
    return f"{when:%H:%M:%S}{_fraction(at_ns, step_ns)}"


def _fraction(at_ns: int, step_ns: int) -> str:
    if step_ns >= SECOND:
        return ""
    digits = 3 if step_ns >= MS else 6 if step_ns >= US else 9
    return f".{at_ns % SECOND:09d}"[: digits + 1]


def _tick(at_ns: int, step_ns: int, utc_offset_ns: int, *, is_first: bool) -> Tick:
    larger = SECOND if step_ns < SECOND else DAY if MINUTE <= step_ns < DAY else 0
    is_major = larger > 0 and (at_ns + utc_offset_ns) % larger == 0
    if larger == DAY and is_major:
        return Tick(at_ns, clock_text(at_ns, DAY), True)
    if larger == SECOND and not is_major and not is_first:
        return Tick(at_ns, _fraction(at_ns, step_ns), False)
    return Tick(at_ns, clock_text(at_ns, step_ns), is_major)


def _step(min_ns: int) -> int:
    for step in _STEPS:
        if step >= min_ns:
            return step
    return _STEPS[-1]


def _utc_offset_ns(at_ns: int) -> int:
    """Return the UTC offset, so that hours and days begin at local ones."""
    try:
        offset = datetime.fromtimestamp(at_ns // SECOND).astimezone().utcoffset()
    except (OverflowError, OSError, ValueError):
        return 0
    return round(offset.total_seconds()) * SECOND if offset is not None else 0


class TimeRuler(QWidget):
    """A time axis. Asks for the scale when painted.

    The day is in the `left` pixels before the scale.
    """

    def __init__(self, theme: Theme, scale: Callable[[], TimeScale], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._scale = scale
        self.left = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(200, self._theme.row_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:  # also ends on an error: a painter left open crashes
            self._paint(painter)

    def _paint(self, painter: QPainter) -> None:
        painter.setFont(self._theme.ui_font(0.9))
        scale, bottom = self._scale(), self.height() - 1
        painter.fillRect(0, bottom, self.width(), 1, self._theme.color("line"))
        painter.setPen(self._theme.color("muted"))
        painter.drawText(QRectF(12, 0, self.left - 14, bottom), _LEFT, day_text(scale.start_ns))
        painter.setClipRect(QRectF(self.left - 1, 0, scale.width + 1, self.height()))
        for tick in scale.ticks():
            x = self.left + round(scale.x(tick.at_ns))
            painter.setPen(QPen(self._theme.color("edge"), 1))
            painter.drawLine(x, bottom - 5, x, bottom)
            painter.setPen(self._theme.color("text" if tick.is_major else "muted"))
            painter.drawText(QRectF(x + 4, 0, 120, bottom), _LEFT, tick.label)
