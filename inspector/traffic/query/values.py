"""Values with units, as they are typed: durations, sizes, numbers. Each reader raises ValueError with a
sentence that says what it expected."""

from __future__ import annotations

import re
from decimal import Decimal

from inspector.base import numbers

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
    number = numbers.read_number(text)
    if number is None:
        raise ValueError("Expected a number such as 200 or -32602.")
    return number


def read_amount(text: str) -> int | float | None:
    """Parse a plain number, or one with a size unit; None if it is neither."""
    number = numbers.read_number(text)
    if number is not None:
        return number
    try:
        return read_size(text)
    except ValueError:
        return None
