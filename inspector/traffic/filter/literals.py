"""Literals of the filter language: patterns, times, durations, sizes and numbers.

Each reader raises ValueError with a sentence. Patterns run on the window's thread over text from a
server, so their cost is bounded: only the start of a value is searched, and an expression that may take
exponential time is rejected (`may_take_forever`). That is a repeated group which can match the same text
in several ways: an unbounded repeat inside, `(a+)+`, or alternatives of which one may start another,
`(a|ab)*`. The check is conservative: it rejects some harmless ones.

A time of day matches that time on every day, so that a filter means the same on last week's capture.
Times without a zone are local.
"""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import combinations
from typing import TypeAlias

from inspector.base.json import values

SEARCHED = 64 * 1024  # characters of a value that are searched
_LEADING_DOTS = re.compile(r"(?:\.\*\??)+(?![*+?{])")


class PatternError(ValueError):
    """An invalid regular expression; `position` is where in it."""

    def __init__(self, sentence: str, position: int = 0) -> None:
        super().__init__(sentence)
        self.position = position


def regular_expression(text: str) -> re.Pattern[str]:
    """Compile a regular expression for `searches`. Raises PatternError with a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that a later Python may interpret differently
            re.compile(text)
            pattern = re.compile(_without_leading_dots(text))
    except re.error as exc:
        raise PatternError(f"Invalid regular expression: {exc.msg}.", exc.pos or 0) from exc
    except (RecursionError, OverflowError) as exc:
        raise PatternError("The regular expression is too large.") from exc
    if may_take_forever(text):
        raise PatternError(
            "Ambiguous repeats, such as (a+)+ or (a|ab)*, can take forever: use a single repeat, or a "
            "set such as [ab]*."
        )
    return pattern


def _without_leading_dots(text: str) -> str:
    """Strip leading `.*`: implied by a search anyway, and it takes seconds per long line."""
    leading = _LEADING_DOTS.match(text)
    return text[leading.end() :] if leading else text


def searches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text, 0, SEARCHED) is not None


def glob(text: str) -> re.Pattern[str]:
    """Compile a glob for `fullmatch` on folded text; `*` matches any characters.

    Case-insensitive. Pieces match at their first occurrence, which for `*` loses nothing and never
    backtracks.
    """
    first, *pieces = (re.escape(piece) for piece in text.casefold().split("*"))
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[:-1])
    return re.compile(f"{first}{middle}.*{pieces[-1]}" if pieces else first, re.DOTALL)


_TOKEN = re.compile(
    r"""\\.                                        # an escaped character
    |\[\^?\]?(?:\\.|[^\]\\])*\]                    # a set
    |\(\?(?:\#[^)]*|P=\w+|[a-zA-Z-]+)\)            # no group, though it looks like one: a comment, flags
    |\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|<?[=!]|>))?     # a group begins
    |\{[0-9]*,?[0-9]*\}                            # a repeat; without a number behind the comma it has no end
    |.                                             # anything else""",
    re.VERBOSE | re.DOTALL,
)
_UNBOUNDED = re.compile(r"[*+]|\{[0-9]*,\}")
_TEN_OR_MORE = re.compile(r"[*+]|\{[0-9]*,\}|\{[0-9,]*[0-9]{2}\}")  # ten times or more
_OPTIONAL = re.compile(r"[*?]|\{0?,")


@dataclass(slots=True)
class _Group:
    """An open group: the literal prefixes of its alternatives so far."""

    beginnings: list[str] = field(default_factory=lambda: [""])
    is_plain: bool = True  # so far, in the current alternative
    is_ambiguous: bool = False

    def next_alternative(self) -> None:
        self.beginnings.append("")
        self.is_plain = True

    def take(self, part: str) -> None:
        char = part[1:] if part[0] == "\\" and not part[1:].isalnum() else part
        self.is_plain = self.is_plain and len(char) == 1 and (char != part or char not in ".^$")
        if self.is_plain:
            self.beginnings[-1] += char

    def repeat(self, part: str) -> None:
        """Handle a quantifier: the last item occurs several times, or not at all."""
        if self.is_plain and _OPTIONAL.match(part):
            self.beginnings[-1] = self.beginnings[-1][:-1]
        self.is_plain = False
        self.is_ambiguous = self.is_ambiguous or _UNBOUNDED.match(part) is not None

    def has_overlapping_alternatives(self) -> bool:
        folded = [beginning.casefold() for beginning in self.beginnings]
        return any(one.startswith(two) or two.startswith(one) for one, two in combinations(folded, 2))


def may_take_forever(pattern: str) -> bool:
    """True if a regular expression may take exponential time."""
    groups = [_Group()]
    closed: _Group | None = None  # the group that ended just before
    for match in _TOKEN.finditer(pattern):
        part, before, closed = match[0], closed, None
        if part == ")" and len(groups) > 1:
            closed = groups.pop()
            closed.is_ambiguous = closed.is_ambiguous or closed.has_overlapping_alternatives()
            groups[-1].is_ambiguous = groups[-1].is_ambiguous or closed.is_ambiguous
            groups[-1].is_plain = False
        elif part[0] == "(" and part[-1] != ")":
            groups.append(_Group())
        elif part == "|":
            groups[-1].next_alternative()
        elif part in ("*", "+", "?") or part[0] == "{":
            if before is not None and before.is_ambiguous and _TEN_OR_MORE.match(part):
                return True
            groups[-1].repeat(part)
        else:
            groups[-1].take(part)
    return False


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
        raise ValueError(f"The date {year:04}-{month:02}-{day:02} does not exist.") from None
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
        raise ValueError(f"Unknown time zone {text}.")
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


NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # MICRO SIGN
    "μs": 1_000,  # GREEK SMALL LETTER MU
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
}
BYTES = {
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "m": 10**6,
    "mb": 10**6,
    "g": 10**9,
    "gb": 10**9,
    "ki": 2**10,
    "kib": 2**10,
    "mi": 2**20,
    "mib": 2**20,
    "gi": 2**30,
    "gib": 2**30,
}
# Digits are bounded: more are not needed, and computing must not take minutes.
_WITH_UNIT = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(?P<unit>[A-Za-zµμ]*)")


def read_duration(text: str) -> int:
    """Parse a duration to nanoseconds."""
    match = _WITH_UNIT.fullmatch(text)
    if match is not None and match["unit"] in NANOSECONDS:
        return int(Decimal(match["number"]) * NANOSECONDS[match["unit"]])
    if match is not None and not match["unit"] and Decimal(match["number"]) == 0:
        return 0
    if match is not None and not match["unit"]:
        raise ValueError(f"{text} has no unit: write {text}ms or {text}s.")
    raise ValueError("Expected a duration such as 500ms, 1.5s or 2m.")


def read_size(text: str) -> int:
    """Parse a size to bytes."""
    match = _WITH_UNIT.fullmatch(text)
    unit = match["unit"].lower() if match is not None else ""
    if match is None or (unit and unit not in BYTES):
        raise ValueError("Expected a size such as 800, 10k, 1.5MB or 64KiB.")
    return int(Decimal(match["number"]) * BYTES.get(unit, 1))


def read_number(text: str) -> int | float:
    number = values.read_number(text)
    if number is None:
        raise ValueError("Expected a number such as 200 or -32602.")
    return number


def read_amount(text: str) -> int | float | None:
    """Parse a plain number, or one with a size unit; None if it is neither."""
    number = values.read_number(text)
    if number is not None:
        return number
    try:
        return read_size(text)
    except ValueError:
        return None
