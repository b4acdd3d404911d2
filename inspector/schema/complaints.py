"""What jsonschema-rs found, in plain words and at the places that a form has: `field_errors`.

Of a union that does not fit, the nearest variant is named, with what it lacks: that none of five variants
is valid helps no one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.units import plural
from inspector.schema import keywords
from inspector.schema.check import MISSING, UNKNOWN_KEY
from inspector.schema.jsontext import write_line
from inspector.schema.references import Document
from inspector.schema.unions import titles_of
from inspector.schema.values import FieldError, child, readable
from inspector.schema.wording import MOST_CHOICES_NAMED, one_of, shown

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_DEEPEST = 6  # unions inside unions
_TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_UNIONS = ("AnyOf", "OneOfNotValid")


def field_errors(error: ValidationError, document: Document, depth: int = 0) -> Iterator[FieldError]:
    """Yield a validation error as field errors; for a union, also those of its closest variant."""
    pointer = _pointer(error.instance_path)
    kind = type(error.kind).__name__
    if kind in _UNIONS and depth < _DEEPEST:
        yield from _union_errors(error, document, depth)
    elif kind == "Required":
        yield FieldError(child(pointer, _of(error, "property")), MISSING)
    elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
        yield from (FieldError(child(pointer, name), UNKNOWN_KEY) for name in _of(error, "unexpected"))
    elif kind == "PropertyNames":
        yield from _key_errors(_of(error, "error"), pointer, document, depth)
    else:
        yield FieldError(pointer, _words(kind, error))


def _key_errors(inner: ValidationError, pointer: str, document: Document, depth: int) -> Iterator[FieldError]:
    place = child(pointer, inner.instance) if isinstance(inner.instance, str) else pointer
    for error in field_errors(inner, document, depth + 1):
        yield FieldError(place, f"the key {error.problem}")


# ------------------------------------------------------------------ unions


def _union_errors(error: ValidationError, document: Document, depth: int) -> Iterator[FieldError]:
    pointer = _pointer(error.instance_path)
    branches: list[list[ValidationError]] = _of(error, "context")
    titles = _titles(error, document, len(branches))
    if all(_is_of_other_type(errors, error.instance_path) for errors in branches):
        named = ", ".join(titles[:MOST_CHOICES_NAMED])
        yield FieldError(pointer, f"must be one of: {named}; got {_got(error)}")
        return
    nearest = min(range(len(branches)), key=lambda place: _distance(branches[place], error.instance_path))
    inside = [one for part in branches[nearest] for one in field_errors(part, document, depth + 1)]
    lacks = "; ".join(_relative(one, pointer) for one in inside[:3])
    count = plural(len(branches), "variant")
    yield FieldError(pointer, f"fits none of the {count}. Nearest is {titles[nearest]}: {lacks}")
    yield from (one for one in inside if one.pointer != pointer)


def _is_of_other_type(errors: Sequence[ValidationError], path: Sequence[str | int]) -> bool:
    return any(type(one.kind).__name__ == "Type" and list(one.instance_path) == list(path) for one in errors)


def _distance(errors: Sequence[ValidationError], path: Sequence[str | int]) -> int:
    """Return how far a value is from a variant: a wrong type or discriminator value counts most."""
    far = 1000 if _is_of_other_type(errors, path) else 0
    named = [one for one in errors if type(one.kind).__name__ in ("Constant", "Enum")]
    return far + 20 * len(named) + len(errors)


def _relative(error: FieldError, pointer: str) -> str:
    place = readable(error.pointer.removeprefix(pointer))
    return f"{place} {error.problem}" if place else error.problem


def _titles(error: ValidationError, document: Document, count: int) -> list[str]:
    """Return the titles of the variants, looked up where the union is in the schema."""
    place: JSON = document.root
    for step in error.schema_path:
        if isinstance(place, dict) and isinstance(step, str):
            place = place.get(step)
        elif isinstance(place, list) and isinstance(step, int) and step < len(place):
            place = place[step]
        else:
            place = None
    if isinstance(place, list) and len(place) == count:
        return titles_of(place, document)
    return [f"variant {number}" for number in range(1, count + 1)]


# ------------------------------------------------------------------ words


def _words(kind: str, error: ValidationError) -> str:
    make = _WORDS.get(kind)
    return make(error) if make is not None else shorten(error.message.partition("\n")[0], 200)


def _of(error: ValidationError, name: str) -> Any:
    """Return an attribute of the error's kind; each kind has different ones."""
    return getattr(error.kind, name)


def _got(error: ValidationError) -> str:
    value = error.instance
    return str(value)[:60] if isinstance(value, Decimal) else shown(value)  # type: ignore[arg-type]


def _type(error: ValidationError) -> str:
    wanted = [_TYPES.get(name, name) for name in _of(error, "types")]
    return f"must be {' or '.join(sorted(wanted))}, got {_got(error)}"


def _bound(words: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        return f"must be {words} {_of(error, 'limit')}, got {_got(error)}"

    return say


def _size(words: str, noun: str) -> Callable[[ValidationError], str]:
    def say(error: ValidationError) -> str:
        size = len(error.instance) if isinstance(error.instance, str | list | dict) else 0
        return f"{words} {plural(_of(error, 'limit'), noun)}, has {size:,}"

    return say


def _false(error: ValidationError) -> str:
    last = error.evaluation_path[-1] if error.evaluation_path else ""
    if last in ("items", "additionalItems", "unevaluatedItems"):
        return "is one item more than the schema allows"
    if last in ("additionalProperties", "unevaluatedProperties"):
        return "has a key that the schema does not allow"
    return "is not allowed: the schema takes no value here"


def _not(error: ValidationError) -> str:
    unwanted = _of(error, "schema")
    if isinstance(unwanted, dict) and (names := sorted(keywords.names(unwanted, "required"))):
        return f"must not have {' and '.join(names)}{' together' if len(names) > 1 else ''}"
    return f"must not fit {shorten(write_line(unwanted), 100)}"


_LEAST, _MOST = "needs at least", "takes at most"
_WORDS: Mapping[str, Callable[[ValidationError], str]] = {
    "Type": _type,
    "Enum": lambda error: f"must be {one_of(_of(error, 'options'))}, got {_got(error)}",
    "Constant": lambda error: f"must be {shown(_of(error, 'expected_value'))}, got {_got(error)}",
    "Minimum": _bound("at least"),
    "Maximum": _bound("at most"),
    "ExclusiveMinimum": _bound("more than"),
    "ExclusiveMaximum": _bound("less than"),
    "MultipleOf": lambda error: f"must be a multiple of {_of(error, 'multiple_of')}, got {_got(error)}",
    "MinLength": _size(_LEAST, "character"),
    "MaxLength": _size(_MOST, "character"),
    "MinItems": _size(_LEAST, "item"),
    "MaxItems": _size(_MOST, "item"),
    "MinProperties": _size(_LEAST, "key"),
    "MaxProperties": _size(_MOST, "key"),
    "AdditionalItems": lambda error: f"takes at most {plural(_of(error, 'limit'), 'item')}",
    "UnevaluatedItems": lambda error: "has more items than the schema allows",
    "UniqueItems": lambda error: "two items are the same, but no two may be",
    "Contains": lambda error: "has no item of the kind that the schema asks for, or not the right number",
    "Format": lambda error: f"is not of the format {_of(error, 'format')}, got {_got(error)}",
    "Pattern": lambda error: (
        f"does not match the pattern {shorten(_of(error, 'pattern'), 100)}, got {_got(error)}"
    ),
    "BacktrackLimitExceeded": lambda error: "was not checked against its pattern, which takes too long",
    "RegexEngineFailure": lambda error: "was not checked against its pattern, which takes too long",
    "FalseSchema": _false,
    "Not": _not,
    "OneOfMultipleValid": lambda error: "fits more than one variant, but must fit exactly one",
    "ContentEncoding": lambda error: f"is not {_of(error, 'content_encoding')}",
    "ContentMediaType": lambda error: f"is not {_of(error, 'content_media_type')}",
}


def _pointer(path: Sequence[str | int]) -> str:
    pointer = ""
    for step in path:
        pointer = child(pointer, step)
    return pointer
