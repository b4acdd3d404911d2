"""What a field starts as when a person adds it: `start`; what an answer starts with: `prefilled`."""

from __future__ import annotations

from inspector.base.jsonvalue import JSONObject
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

_DEEPEST = 4


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
        case UnionField() if field.variants and depth < _DEEPEST:
            return start_variant(field, 0, depth)
        case ObjectField():
            given = ((member.name, member.field) for member in field.members if member.required)
            return {name: one.value for name, one in given if isinstance(one, ConstField)}
    return ABSENT


def start_variant(field: UnionField, variant: int, depth: int = 0) -> Picked:
    """What a union holds after the person has picked a variant in which nothing was typed before."""
    return Picked(variant, start(field.variants[variant].field, depth + 1))


def prefilled(field: ObjectField, depth: int = 0) -> JSONObject:
    """The defaults of an object's members, and of the objects that it must have: what an answer starts with.

    For what a server asks a person, where a default that was not touched is part of the answer. Arguments of
    a tool start empty instead: a server knows its defaults, and leaving them out is worth trying.
    """
    value: JSONObject = {}
    for member in field.members:
        inner = member.field
        if inner.default is not ABSENT:
            value[member.name] = inner.default
        elif isinstance(inner, ObjectField) and member.required and depth < _DEEPEST:
            value[member.name] = prefilled(inner, depth + 1)
    return value
