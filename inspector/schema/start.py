"""What a field starts as when a person adds it: `start`."""

from __future__ import annotations

from inspector.schema.drafts import ABSENT, Draft, Pairs, Picked
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    ListField,
    MapField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.values import draft_of


def start(field: Field, depth: int = 0) -> Draft:
    """The default; else the plainest value there is. A number must be written.

    An object starts with the constants that it must have, so that picking a variant is enough to name it.
    """
    if field.default is not ABSENT:
        return draft_of(field, field.default)
    match field:
        case TextField():
            return ""
        case BooleanField():
            return False
        case ChoiceField():
            return field.choices[0]
        case ListField():
            return []
        case TupleField():
            return [ABSENT] * len(field.items)
        case MapField():
            return Pairs()
        case UnionField() if field.variants and depth < 4:
            return start_variant(field, 0, depth)
        case ObjectField():
            given = ((member.name, member.field) for member in field.members if member.required)
            return {name: one.value for name, one in given if isinstance(one, ConstField)}
    return ABSENT


def start_variant(field: UnionField, variant: int, depth: int = 0) -> Picked:
    """What a union holds after the person has picked a variant in which nothing was typed before."""
    return Picked(variant, start(field.variants[variant].field, depth + 1))
