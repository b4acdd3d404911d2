"""Values in a few words, for one line of a comparison: plain, bounded, nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON, compact, shorten
from inspector.base.numbers import write_number
from inspector.base.plaintext import one_line
from inspector.base.units import plural
from inspector.traffic.compare.diff import Cut
from inspector.traffic.compare.paths import Key

LONGEST = 300


def one_line_of(value: JSON | Cut) -> str:
    """Return a line of text, shortened."""
    return shorten(one_line(value[: LONGEST + 1]), LONGEST) if isinstance(value, str) else ""


def value_text(value: JSON | Cut) -> str:
    """Format a value on one line: JSON for scalars, a count for containers."""
    if isinstance(value, Cut):
        return value.text
    if isinstance(value, dict):
        return f"{{{plural(len(value), 'member')}}}" if value else "{}"
    if isinstance(value, list):
        return f"[{plural(len(value), 'item')}]" if value else "[]"
    if isinstance(value, str):
        return shorten(one_line(compact(value[: LONGEST + 1])), LONGEST)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return shorten(write_number(value) if is_number else compact(value), LONGEST)  # type: ignore[arg-type]


def called(item: JSON | Cut) -> str:
    """Return what identifies an array item."""
    if isinstance(item, Cut):
        return f" {item.name}" if item.name else ""
    if isinstance(item, dict):
        for member in ("name", "uri", "uriTemplate", "id", "type"):
            name = item.get(member)
            if isinstance(name, str):
                return f" {shorten(one_line(name), 80)}"
    return ""


def children(value: JSON | Cut) -> Iterator[tuple[Key, JSON]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)
