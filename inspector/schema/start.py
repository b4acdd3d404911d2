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
    """Return the initial draft of a field: its default, else the simplest value.

    A number must be entered. An object starts with its required constants, so that picking a variant is
    enough to identify it.
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
    """Return the draft of a newly picked variant."""
    return Picked(variant, start(field.variants[variant].field, depth + 1))


def prefilled(field: ObjectField, depth: int = 0) -> JSONObject:
    """Return the defaults of an object's members and of its required objects.

    For replies to server requests, where an untouched default is part of the reply. Tool arguments start
    empty instead: the server knows its defaults, and leaving them out is worth testing.
    """
    value: JSONObject = {}
    for member in field.members:
        inner = member.field
        if inner.default is not ABSENT:
            value[member.name] = inner.default
        elif isinstance(inner, ObjectField) and member.required and depth < _DEEPEST:
            value[member.name] = prefilled(inner, depth + 1)
    return value
