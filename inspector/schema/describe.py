"""What fits into a field, in a few words: the schema's own, as a developer knows them."""

from __future__ import annotations

from inspector.base.numbers import write_number
from inspector.base.units import plural
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    NumberField,
    ObjectField,
    TextField,
)


def summary(field: Field) -> str:
    """ "integer, 1 to 100", "array of string", "string, date, at most 10 characters or null"."""
    words = ", ".join(word for word in (_kind(field), *_limits(field)) if word)
    return f"{words} or null" if field.nullable else words


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
        case ChoiceField():
            return "constant" if len(field.choices) == 1 else "enum"
        case ListField():
            return f"array of {_kind(field.item)}"
        case ObjectField():
            return "object"
        case JsonField():
            return "JSON"
    return ""


def _limits(field: Field) -> list[str]:
    match field:
        case TextField():
            return [field.format, _range(field.min_length, field.max_length, "character")]
        case NumberField():
            return _number_limits(field)
        case ListField():
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
