"""Numbers formatted for display: durations, sizes, counts, dates and times."""

from __future__ import annotations

import time


def duration(nanoseconds: int) -> str:
    """Format a duration: 0.8 ms, 42 ms, 1.24 s, 3 min 05 s."""
    seconds = nanoseconds / 1e9
    # Each limit is where rounding would reach the next unit: there is no "1000 ms" and no "60.00 s".
    if seconds < 0.009_95:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 0.999_5:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.995:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def size(count: int) -> str:
    """Format a size in bytes: 312 B, 4.1 KiB, 50 MiB."""
    if count < 1024:
        return f"{count} B"
    value, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB"):
        if round(value) < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def three_digits(value: float) -> str:
    """Format with three significant digits and no exponent: 0.0167, 1.5, 29.8, 1,470."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: 1 tool, 250 tools, 10,000 properties, 2 branches."""
    return f"{count:,} {noun if count == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in ("", "a", "e", "i", "o", "u"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def time_of_day(wall_ns: int) -> str:
    """Format a time of day in the local time zone: 14:03:07.482."""
    moment = time.localtime(wall_ns // 1_000_000_000)
    return f"{time.strftime('%H:%M:%S', moment)}.{wall_ns // 1_000_000 % 1000:03d}"


def full_time(wall_ns: int) -> str:
    """Format a full timestamp for a tooltip: 2026-11-16 14:03:07.482193512 +01:00."""
    moment = time.localtime(wall_ns // 1_000_000_000)
    zone = time.strftime("%z", moment)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', moment)}.{wall_ns % 1_000_000_000:09d} {zone[:3]}:{zone[3:]}"


def day(wall_ns: int, now_ns: int) -> str:
    """Format a date for a sentence: 14:03 if today, 12 Nov if this year, else 12 Nov 2025."""
    moment, today = (time.localtime(each // 1_000_000_000) for each in (wall_ns, now_ns))
    if moment[:3] == today[:3]:
        return time.strftime("%H:%M", moment)
    date = f"{moment.tm_mday} {_MONTHS[moment.tm_mon - 1]}"
    return date if moment.tm_year == today.tm_year else f"{date} {moment.tm_year}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
