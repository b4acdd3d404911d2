"""Time along a width: which moment is at which pixel, and where the ticks are.

Moments are nanoseconds since 1970, labelled in the reader's zone. Knows nothing of Qt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND

# Round steps: 1, 2, 5 below a second; parts of a minute, an hour, a day above it.
_STEPS: tuple[int, ...] = (
    *(10**power * times for power in range(9) for times in (1, 2, 5)),
    *(unit * times for unit in (SECOND, MINUTE) for times in (1, 2, 5, 10, 15, 30)),
    *(HOUR * times for times in (1, 2, 3, 6, 12)),
    *(DAY * times for times in (1, 2, 7, 14, 30, 90, 365, 3650)),
)  # fmt: skip
_MOST_TICKS = 200


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

    def ticks(self, apart: int = 96) -> list[Tick]:
        """Return ticks at round moments, at least `apart` pixels apart."""
        step = _step(self.ns(apart))
        zone = _zone_ns(self.start_ns)
        first = -(-(self.start_ns + zone) // step) * step - zone
        moments = range(first, min(self.end_ns + 1, first + _MOST_TICKS * step), step)
        return [_tick(at, step, zone, is_first=at == first) for at in moments]


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


def _tick(at_ns: int, step_ns: int, zone_ns: int, *, is_first: bool) -> Tick:
    larger = SECOND if step_ns < SECOND else DAY if MINUTE <= step_ns < DAY else 0
    is_major = larger > 0 and (at_ns + zone_ns) % larger == 0
    if larger == DAY and is_major:
        return Tick(at_ns, clock_text(at_ns, DAY), True)
    if larger == SECOND and not is_major and not is_first:
        return Tick(at_ns, _fraction(at_ns, step_ns), False)
    return Tick(at_ns, clock_text(at_ns, step_ns), is_major)


def _step(least_ns: int) -> int:
    for step in _STEPS:
        if step >= least_ns:
            return step
    return _STEPS[-1]


def _zone_ns(at_ns: int) -> int:
    """Return the UTC offset, so that hours and days begin at local ones."""
    try:
        offset = datetime.fromtimestamp(at_ns // SECOND).astimezone().utcoffset()
    except (OverflowError, OSError, ValueError):
        return 0
    return round(offset.total_seconds()) * SECOND if offset is not None else 0
