"""Times as they are typed: of a day, of a date, or before now.

A time of day fits that time on every day, so that a filter means the same on a capture of last week.
Times without a zone are in the reader's own.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TypeAlias

from inspector.traffic.query.values import read_duration

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
_OF_DAY = re.compile(_CLOCK)
_DATE = r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_OF_DATE = re.compile(rf"{_DATE}(?:[T ]{_CLOCK}\s*(?P<zone>Z|[+-][0-9]{{2}}:[0-9]{{2}})?)?")
_FIRST_YEAR, _LAST_YEAR = 1970, 2261  # range of 64-bit nanoseconds
_EXPECTED = "Expected a time such as 14:03, 14:03:07.482, 2026-11-16T14:03 or -5m."


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """Nanoseconds since midnight in the local time zone, from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Moment:
    """Nanoseconds since 1970, from the first instant that is written so, up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ago:
    """Nanoseconds before now."""

    distance: int


When: TypeAlias = TimeOfDay | Moment | Ago


def read_time(text: str) -> When:
    """Parse a time. Raises ValueError with a sentence."""
    if text.startswith("-"):
        return Ago(read_duration(text[1:].strip()))
    match = _OF_DAY.fullmatch(text)
    if match is not None:
        start = _clock_ns(match)
        return TimeOfDay(start, start + _precision(match))
    match = _OF_DATE.fullmatch(text)
    if match is None:
        raise ValueError(_EXPECTED)
    return _moment(match)


def time_of_day_ns(wall_ns: int) -> int:
    """Return the nanoseconds since midnight in the local time zone."""
    return (wall_ns + zone_offset_ns(wall_ns)) % DAY


def zone_offset_ns(wall_ns: int) -> int:
    """Return the local zone's offset from UTC at a time; 0 if it has no local time."""
    try:
        return time.localtime(wall_ns // SECOND).tm_gmtoff * SECOND
    except (OverflowError, OSError, ValueError):
        return 0


def _moment(match: re.Match[str]) -> Moment:
    year, month, day = (int(match[name]) for name in ("year", "month", "day"))
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError(f"Expected a year from {_FIRST_YEAR} to {_LAST_YEAR}.")
    try:
        midnight = datetime(year, month, day)
    except ValueError:
        raise ValueError(f"There is no day {year:04}-{month:02}-{day:02}.") from None
    if match["hour"] is None:
        return Moment(_ns(midnight), _ns(midnight + timedelta(days=1)))
    clock = _clock_ns(match)
    whole = (midnight + timedelta(seconds=clock // SECOND)).replace(tzinfo=_zone(match["zone"]))
    start = _ns(whole) + clock % SECOND
    return Moment(start, start + _precision(match))


def _ns(moment: datetime) -> int:
    return round(moment.timestamp()) * SECOND


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"There is no zone {text}.")
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=hours, minutes=minutes))


def _clock_ns(match: re.Match[str]) -> int:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("Expected a time from 00:00 to 23:59:59.999.")
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    return ((hour * 60 + minute) * 60 + second) * SECOND + fraction


def _precision(match: re.Match[str]) -> int:
    """Return the length of a time as written: `14:03` is a whole minute."""
    if match["second"] is None:
        return 60 * SECOND
    return int(10 ** (9 - len(match["fraction"] or "")))
