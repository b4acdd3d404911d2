"""Members of a JSON object, read tolerantly: one of the wrong type reads as absent.

And how a value or a few names of the server's are put into a sentence of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

from inspector.base.jsonvalue import JSON, JSONObject, excerpt
from inspector.base.plaintext import one_line

_MOST_NAMES = 3


def text_of(source: JSONObject, name: str) -> str:
    value = source.get(name)
    return value if isinstance(value, str) else ""


def object_of(source: JSONObject, name: str) -> JSONObject | None:
    value = source.get(name)
    return value if isinstance(value, dict) else None


def number_of(source: JSONObject, name: str) -> int | float | None:
    value = source.get(name)
    return value if is_number(value) else None


def strings_of(source: JSONObject, name: str) -> tuple[str, ...]:
    """Return the strings in a list; other items are ignored."""
    value = source.get(name)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def is_number(value: JSON) -> TypeGuard[int | float]:
    """True for numbers, but not for bool, which is an int in Python."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: JSON) -> str:
    """Return a server's value for a sentence: on one line, short, in quotes."""
    return f"“{one_line(excerpt(value, 40))}”"


def some(names: Iterable[str]) -> str:
    """Return names for a sentence: the first few, and how many more there are."""
    every = list(names)
    first = ", ".join(map(shown, every[:_MOST_NAMES]))
    rest = len(every) - _MOST_NAMES
    return f"{first} and {rest:,} more" if rest > 0 else first
