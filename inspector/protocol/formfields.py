"""The fields that a form of an elicitation may have: text, numbers, yes or no, and choices. Nothing nested.

2025-06-18 has the first ones, 2025-11-25 adds titled choices, several choices, and defaults for all.
A field outside of this set is no `FormField`; the form may still be shown, by its schema alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.members import is_number, number_of, shown, text_of

FORMATS = ("email", "uri", "date", "date-time")

# Keywords of nested schemas, which the primitive subset excludes.
_NESTING = ("properties", "$ref", "$dynamicRef", "allOf", "not", "if", "patternProperties", "prefixItems")


class FieldKind(Enum):
    TEXT = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CHOICE = "one of a list"
    CHOICES = "several of a list"


@dataclass(frozen=True, slots=True)
class FormField:
    """A form field. `choices` are values and titles; the title defaults to the value."""

    name: str
    title: str
    kind: FieldKind
    choices: tuple[tuple[str, str], ...]
    is_titled: bool
    source: JSONObject

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(value for value, _ in self.choices)


def read_field(name: str, schema: JSON) -> FormField:
    """Parse a field. Raises ValueError with a short reason if a form may not have it."""
    if not isinstance(schema, dict):
        raise ValueError("the schema is not an object")
    nesting = next((keyword for keyword in _NESTING if keyword in schema), "")
    if nesting:
        raise ValueError(f"“{nesting}” is nothing that a form may use")
    kind, choices, is_titled = _kind(schema)
    return FormField(name, text_of(schema, "title") or name, kind, choices, is_titled, schema)


_Kind = tuple[FieldKind, tuple[tuple[str, str], ...], bool]


def _kind(schema: JSONObject) -> _Kind:
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "array":
            return _array(schema)
        case "number" | "integer" | "boolean" as kind:
            return FieldKind(kind), (), False
        case "object":
            raise ValueError("nested; a form has plain fields only")
        case None:
            raise ValueError("the type is missing")
        case other:
            raise ValueError(f"the type {shown(other)} is none that a form may have")


def _string(schema: JSONObject) -> _Kind:
    if "oneOf" in schema:
        return FieldKind.CHOICE, _titled(schema["oneOf"], "oneOf"), True
    if "anyOf" in schema:
        raise ValueError("“anyOf” stands where a form has “oneOf”")
    if "enum" not in schema:
        return FieldKind.TEXT, (), False
    values = _values(schema["enum"])
    names = schema.get("enumNames")
    titles = [one for one in names if isinstance(one, str)] if isinstance(names, list) else []
    if len(titles) != len(values):
        return FieldKind.CHOICE, tuple((value, value) for value in values), False
    return FieldKind.CHOICE, tuple(zip(values, titles, strict=True)), True


def _array(schema: JSONObject) -> _Kind:
    items = schema.get("items")
    if not isinstance(items, dict):
        raise ValueError("a list of anything; a form has lists of given choices only")
    # The older keyword is accepted too: it means the same.
    for keyword in ("anyOf", "oneOf"):
        if keyword in items:
            return FieldKind.CHOICES, _titled(items[keyword], keyword), True
    if "enum" not in items:
        raise ValueError("a list without given choices; a form has lists of given choices only")
    return FieldKind.CHOICES, tuple((value, value) for value in _values(items["enum"])), False


def _values(value: JSON) -> list[str]:
    values = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or not values or len(values) != len(value):
        raise ValueError("the choices (“enum”) are not a list of strings")
    return values


def _titled(value: JSON, keyword: str) -> tuple[tuple[str, str], ...]:
    branches = value if isinstance(value, list) else []
    pairs = [
        (constant, text_of(branch, "title") or constant)
        for branch in branches
        if isinstance(branch, dict) and isinstance(constant := branch.get("const"), str)
    ]
    if not pairs or len(pairs) != len(branches):
        raise ValueError(f"the choices (“{keyword}”) are not a list of titled strings")
    return tuple(pairs)


# ------------------------------------------------------------------ values


def misfit(field: FormField, value: JSON) -> str:
    """Return why a value is invalid for a field, as the end of a sentence; "" if it is valid.

    `pattern` is not checked: a hostile one takes forever, and the specification has none.
    """
    match field.kind:
        case FieldKind.TEXT:
            return _text_misfit(field.source, value)
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return _number_misfit(field, value)
        case FieldKind.BOOLEAN:
            return "" if isinstance(value, bool) else "must be true or false"
        case FieldKind.CHOICE:
            return "" if isinstance(value, str) and value in field.values else "must be one of the choices"
        case FieldKind.CHOICES:
            return _choices_misfit(field, value)


def _text_misfit(schema: JSONObject, value: JSON) -> str:
    if not isinstance(value, str):
        return "must be a text"
    least, most = number_of(schema, "minLength"), number_of(schema, "maxLength")
    if least is not None and len(value) < least:
        return f"must have at least {shown_number(least)} characters"
    if most is not None and len(value) > most:
        return f"must have at most {shown_number(most)} characters"
    format = text_of(schema, "format")
    return "" if _has_format(value, format) else f"must be {_FORMAT_WORDS[format]}"


def _number_misfit(field: FormField, value: JSON) -> str:
    if not is_number(value):
        return "must be a number"
    if field.kind is FieldKind.INTEGER and isinstance(value, float) and not value.is_integer():
        return "must be a whole number"
    least, most = number_of(field.source, "minimum"), number_of(field.source, "maximum")
    if least is not None and value < least:
        return f"must be at least {shown_number(least)}"
    return f"must be at most {shown_number(most)}" if most is not None and value > most else ""


def _choices_misfit(field: FormField, value: JSON) -> str:
    if not isinstance(value, list):
        return "must be a list"
    if any(not isinstance(one, str) or one not in field.values for one in value):
        return "must hold only the given choices"
    least, most = number_of(field.source, "minItems"), number_of(field.source, "maxItems")
    if least is not None and len(value) < least:
        return f"must have at least {shown_number(least)} choices"
    return f"must have at most {shown_number(most)} choices" if most is not None and len(value) > most else ""


def shown_number(number: int | float) -> str:
    return shown(number)[1:-1]


_FORMAT_WORDS = {
    "email": "an e-mail address",
    "uri": "a URI, such as https://example.com",
    "date": "a date, such as 2026-07-28",
    "date-time": "a date and time, such as 2026-07-28T12:00:00Z",
}
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


def _has_format(value: str, format: str) -> bool:
    """Check a format: RFC 3339 for times, loosely for emails and URIs. Others pass."""
    match format:
        case "email":
            return _EMAIL.fullmatch(value) is not None
        case "uri":
            return _URI.fullmatch(value) is not None
        case "date":
            return _DATE.fullmatch(value) is not None and _is_date(value)
        case "date-time":
            found = _DATE_TIME.fullmatch(value)
            # Leap seconds are valid, but not for Python.
            return found is not None and _is_date(f"{found[1]}T{found[2].replace(':60', ':59')}")
        case _:
            return True


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return False
    return True
