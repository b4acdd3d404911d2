"""What fits into a field, in a few words: the schema's own, as a developer knows them."""

from __future__ import annotations

from inspector.base.numbers import write_number
from inspector.base.units import plural
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)


def summary(field: Field) -> str:
    """Describe a field: "integer, 1 to 100", "string, date, at most 10 characters or null"."""
    words = ", ".join(word for word in (_kind(field), *_limits(field)) if word)
    has_null = field.nullable and not (isinstance(field, UnionField) and field.is_any)
    return f"{words} or null" if has_null else words


def _kind(field: Field) -> str:
    match field:
        case TextField():
            return "string"
        case IntegerField():
            return "integer"
        case NumberField():
            return "number"
        case BooleanField():
            return "boolean"
        case ConstField():
            return "constant"
        case ChoiceField():
            return "enum"
        case ListField():
            return f"array of {_kind(field.item)}"
        case TupleField():
            return f"array of {plural(len(field.items), 'place')}"
        case ObjectField():
            return "object"
        case MapField():
            return f"object of {_kind(field.value)}" if field.value is not None else "object"
        case UnionField(is_any=True):
            return "any value"
        case UnionField():
            return f"one of {plural(len(field.variants), 'variant')}"
        case JsonField():
            return "JSON"
    return ""


def _limits(field: Field) -> list[str]:
    match field:
        case TextField():
            kind = field.format or field.content_encoding
            return [kind, _range(field.min_length, field.max_length, "character")]
        case NumberField():
            return _number_limits(field)
        case MapField() | ObjectField():
            return [_range(field.min_properties, field.max_properties, "key")]
        case ListField() | TupleField():
            unique = "all different" if field.unique_items else ""
            return [_range(field.min_items, field.max_items, "item"), unique]
    return []


def _number_limits(field: NumberField) -> list[str]:
    limits = []
    if field.minimum is not None and field.maximum is not None:
        limits.append(f"{write_number(field.minimum)} to {write_number(field.maximum)}")
    elif field.minimum is not None:
        limits.append(f"≥ {write_number(field.minimum)}")
    elif field.maximum is not None:
        limits.append(f"≤ {write_number(field.maximum)}")
    if field.exclusive_minimum is not None:
        limits.append(f"> {write_number(field.exclusive_minimum)}")
    if field.exclusive_maximum is not None:
        limits.append(f"< {write_number(field.exclusive_maximum)}")
    if field.multiple_of is not None:
        limits.append(f"multiple of {write_number(field.multiple_of)}")
    return limits


def _range(least: int | None, most: int | None, noun: str) -> str:
    if least is not None and most is not None:
        return plural(least, noun) if least == most else f"{least:,} to {plural(most, noun)}"
    if least is not None and least > 0:
        return f"at least {plural(least, noun)}"
    return f"at most {plural(most, noun)}" if most is not None else ""
