"""When JSON Schema calls two values equal."""

from __future__ import annotations

from inspector.base.jsonvalue import JSON
from inspector.schema.jsontext import same


def equal(one: object, other: JSON) -> bool:
    """True if JSON Schema considers two values equal.

    1 and 1.0 are equal, 1 and true are not; key order does not matter.
    """
    try:
        return _equal(one, other)
    except RecursionError:  # both nested hundreds deep: only identical text counts as equal
        return same(one, other)  # type: ignore[arg-type]  # what is compared to a choice is JSON


def _equal(one: object, other: JSON) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(part, other[name]) for name, part in one.items())
    return one == other
