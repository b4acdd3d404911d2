"""Whether two fields ask for the same: for a row that stays when the conditions around it change."""

from __future__ import annotations

from dataclasses import fields as attributes

from inspector.schema.fields import Field, ListField, MapField, Member, ObjectField, TupleField, UnionField

_DEEPEST = 3
# Compared part by part, or not comparable.
_PARTS = frozenset(
    (
        "item",
        "items",
        "rest",
        "value",
        "patterns",
        "key",
        "members",
        "variants",
        "conditions",
        "under",
        "union",
    )
)


def alike(one: Field | None, other: Field | None, depth: int = 0) -> bool:
    """Return whether two fields look the same without opening them, and some levels deeper."""
    if one is other or one is None or other is None:
        return one is other
    if type(one) is not type(other):
        return False
    if not isinstance(one, ListField | TupleField | MapField | ObjectField | UnionField):
        return one == other
    names = [each.name for each in attributes(one) if each.name not in _PARTS]
    if any(getattr(one, name) != getattr(other, name) for name in names):
        return False
    return depth >= _DEEPEST or _alike_inside(one, other, depth + 1)


def _alike_inside(one: Field, other: Field, depth: int) -> bool:
    match one, other:
        case ListField(), ListField():
            return alike(one.item, other.item, depth)
        case TupleField(), TupleField():
            return alike(one.rest, other.rest, depth) and _all_alike(one.items, other.items, depth)
        case MapField(), MapField():
            return alike(one.value, other.value, depth) and alike(one.key, other.key, depth)
        case UnionField(), UnionField():
            titles = [[each.title for each in side.variants] for side in (one, other)]
            parts = [tuple(each.field for each in side.variants) for side in (one, other)]
            return titles[0] == titles[1] and _all_alike(parts[0], parts[1], depth)
        case ObjectField(), ObjectField():
            inner = [tuple(each.field for each in side.members) for side in (one, other)]
            return _same_places(one.members, other.members) and _all_alike(inner[0], inner[1], depth)
    return False


def _same_places(ones: tuple[Member, ...], others: tuple[Member, ...]) -> bool:
    return [(one.name, one.required) for one in ones] == [(other.name, other.required) for other in others]


def _all_alike(ones: tuple[Field, ...], others: tuple[Field, ...], depth: int) -> bool:
    return len(ones) == len(others) and all(alike(*pair, depth) for pair in zip(ones, others, strict=True))
