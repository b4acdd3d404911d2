"""Values and choices as they are named in a message."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.base.jsonvalue import JSON, shorten
from inspector.schema.drafts import Draft, Pairs, Picked
from inspector.schema.jsontext import write_line

MOST_CHOICES_NAMED = 6


def shown(value: Draft) -> str:
    """Format a value in a few characters; a container by its type."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict | Pairs):
        return "an object"
    if isinstance(value, Picked):
        return shown(value.draft)
    if isinstance(value, str):
        return f"'{shorten(value, 60)}'"
    return shorten(write_line(value), 60)  # type: ignore[arg-type]


def one_of(choices: Sequence[JSON]) -> str:
    """Format choices: "one of 'a', 'b' or 12 more"; a single choice stands alone."""
    named = ", ".join(shown(choice) for choice in choices[:MOST_CHOICES_NAMED])
    if len(choices) == 1:
        return named
    more = len(choices) - MOST_CHOICES_NAMED
    return f"one of {named}" + (f" or {more:,} more" if more > 0 else "")
