"""Immediate checks of a draft against its fields, with error messages by JSON pointer.

Not a JSON Schema validator: formats and patterns are not checked here, because a pattern from a server
may run forever and belongs in a worker with a time limit (`validation.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from inspector.base.json.text import write, write_line
from inspector.base.json.values import JSON, shorten, write_number
from inspector.base.units import plural
from inspector.schema.drafts import (
    ABSENT,
    Draft,
    InactiveDraft,
    Pairs,
    Picked,
    Unreadable,
    accepts_type,
    duplicate_keys,
    effective,
    with_variant,
)
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.keywords import as_decimal, equal, is_integer, is_multiple
from inspector.schema.values import EMPTY_ITEM, REPEATED_KEY, FieldError, FormError, child, json_of

MISSING = "is required but not set"
MAX_LISTED_CHOICES = 6
UNKNOWN_KEY = "is not allowed by the schema"


def check(field: Field, draft: Draft, pointer: str = "") -> list[FieldError]:
    """Return all errors, in form order."""
    return list(_errors(field, draft, pointer))


def _errors(field: Field, draft: Draft, pointer: str) -> Iterator[FieldError]:
    if isinstance(draft, Unreadable):
        yield FieldError(pointer, draft.problem)
    elif draft is ABSENT or isinstance(draft, InactiveDraft) or (draft is None and field.nullable):
        return
    elif isinstance(field, UnionField):
        yield from _union_errors(field, draft, pointer)
    elif isinstance(field, ObjectField) and field.union is not None:
        yield from _errors(field.union, draft, pointer)
    elif isinstance(field, ObjectField | MapField) and isinstance(draft, Pairs):
        yield from (FieldError(child(pointer, key), REPEATED_KEY) for key in duplicate_keys(draft))
        yield from _errors(field, dict(draft.rows), pointer)
    elif isinstance(field, ObjectField) and isinstance(draft, dict):
        yield from _object_errors(effective(field, draft), draft, pointer)
    elif isinstance(field, MapField) and isinstance(draft, dict):
        yield from _row_errors(field, draft.items(), pointer)
        yield from _size_errors(field, len(_sent_keys(draft)), pointer)
    elif isinstance(field, ListField | TupleField) and isinstance(draft, list):
        yield from _list_errors(field, draft, pointer)
    else:
        yield from (FieldError(pointer, problem) for problem in _leaf_problems(field, draft))


def _union_errors(field: UnionField, draft: Draft, pointer: str) -> Iterator[FieldError]:
    """Yield the errors of the variant that was with_variant, or of the closest one."""
    chosen = with_variant(field, draft)
    variant = field.variants[chosen.variant]
    if chosen is draft or accepts_type(variant.field, draft):
        yield from _errors(variant.field, chosen.draft, pointer)
    else:
        titles = ", ".join(variant.title for variant in field.variants[:MAX_LISTED_CHOICES])
        yield FieldError(pointer, f"must be one of: {titles}; got {short_text(draft)}")


def _object_errors(field: ObjectField, draft: dict[str, Draft], pointer: str) -> Iterator[FieldError]:
    for member in field.members:
        location = child(pointer, member.name)
        part = draft.get(member.name, ABSENT)
        if part is not ABSENT:
            yield from _errors(member.field, part, location)
        elif member.required:
            yield FieldError(location, MISSING)
    known = {member.name for member in field.members}
    others = {name: part for name, part in draft.items() if name not in known}
    if field.rest is not None:
        yield from _row_errors(field.rest, others.items(), pointer)
    elif not field.is_open:
        yield from (FieldError(child(pointer, name), UNKNOWN_KEY) for name in _sent_keys(others))
    yield from _size_errors(field, len(_sent_keys(draft)), pointer)


def _row_errors(field: MapField, rows: Iterable[tuple[str, Draft]], pointer: str) -> Iterator[FieldError]:
    for key, part in rows:
        if part is ABSENT or isinstance(part, InactiveDraft):
            continue
        location = child(pointer, key)
        for error in _errors(field.key, key, location):
            yield FieldError(location, f"the key {error.problem}")
        inner = field.value_for(key)
        if inner is None:
            yield FieldError(location, UNKNOWN_KEY)
        else:
            yield from _errors(inner, part, location)


def _sent_keys(draft: dict[str, Draft]) -> list[str]:
    return [
        name for name, part in draft.items() if part is not ABSENT and not isinstance(part, InactiveDraft)
    ]


def _size_errors(field: ObjectField | MapField, size: int, pointer: str) -> Iterator[FieldError]:
    if field.min_properties is not None and size < field.min_properties:
        yield FieldError(pointer, f"must have at least {plural(field.min_properties, 'key')}, has {size:,}")
    if field.max_properties is not None and size > field.max_properties:
        yield FieldError(pointer, f"must have at most {plural(field.max_properties, 'key')}, has {size:,}")


def _list_errors(field: ListField | TupleField, draft: list[Draft], pointer: str) -> Iterator[FieldError]:
    yield from _item_errors(field, draft, pointer)
    count = sum(item is not ABSENT for item in draft)
    if field.min_items is not None and count < field.min_items:
        yield FieldError(pointer, f"must have at least {plural(field.min_items, 'item')}, has {count:,}")
    if field.max_items is not None and count > field.max_items:
        yield FieldError(pointer, f"must have at most {plural(field.max_items, 'item')}, has {count:,}")
    if field.unique_items:
        yield from (FieldError(pointer, problem) for problem in _duplicates(field, draft))


def _item_errors(field: ListField | TupleField, draft: list[Draft], pointer: str) -> Iterator[FieldError]:
    for location, part in enumerate(draft):
        inner = field.item if isinstance(field, ListField) else field.item_at(location)
        if inner is None:
            yield FieldError(child(pointer, location), "is an extra item that the schema does not allow")
        elif part is not ABSENT:
            yield from _errors(inner, part, child(pointer, location))
        elif isinstance(field, ListField):
            yield FieldError(child(pointer, location), "is empty: enter a value or remove the row")
        elif any(later is not ABSENT for later in draft[location:]):
            yield FieldError(child(pointer, location), EMPTY_ITEM)


def _duplicates(field: ListField | TupleField, draft: list[Draft]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, item in enumerate(draft, start=1):
        inner = field.item if isinstance(field, ListField) else field.item_at(number - 1)
        try:
            value = json_of(inner, item) if inner is not None else ABSENT
        except FormError:
            continue  # reported at its own place
        if value is ABSENT:
            continue
        first = seen.setdefault(write(value), number)
        if first != number:
            yield f"items {first} and {number} are equal, but items must be unique"


def _leaf_problems(field: Field, value: Draft) -> Iterator[str]:
    match field:
        case TextField():
            yield from _text_problems(field, value)
        case NumberField():
            yield from _number_problems(field, value)
        case BooleanField() if not isinstance(value, bool):
            yield f"must be true or false, got {short_text(value)}"
        case ChoiceField() if not any(equal(value, choice) for choice in field.choices):
            yield f"must be {one_of(field.choices)}, got {short_text(value)}"
        case ListField() | TupleField():
            yield f"must be an array, got {short_text(value)}"
        case ObjectField() | MapField():
            yield f"must be an object, got {short_text(value)}"


def _text_problems(field: TextField, value: Draft) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"must be a string, got {short_text(value)}"
        return
    length = len(value)
    if field.min_length is not None and length < field.min_length:
        yield f"must have at least {plural(field.min_length, 'character')}, has {length:,}"
    if field.max_length is not None and length > field.max_length:
        yield f"must have at most {plural(field.max_length, 'character')}, has {length:,}"


def _number_problems(field: NumberField, value: Draft) -> Iterator[str]:
    expected = "an integer" if isinstance(field, IntegerField) else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"must be {expected}, got {short_text(value)}"
        return
    if isinstance(field, IntegerField) and not is_integer(value):
        yield f"must be {expected}, got {short_text(value)}"
    exact = as_decimal(value)
    if field.minimum is not None and exact < as_decimal(field.minimum):
        yield f"must be at least {write_number(field.minimum)}, got {short_text(value)}"
    if field.maximum is not None and exact > as_decimal(field.maximum):
        yield f"must be at most {write_number(field.maximum)}, got {short_text(value)}"
    if field.exclusive_minimum is not None and exact <= as_decimal(field.exclusive_minimum):
        yield f"must be greater than {write_number(field.exclusive_minimum)}, got {short_text(value)}"
    if field.exclusive_maximum is not None and exact >= as_decimal(field.exclusive_maximum):
        yield f"must be less than {write_number(field.exclusive_maximum)}, got {short_text(value)}"
    if field.multiple_of is not None and not is_multiple(value, field.multiple_of):
        yield f"must be a multiple of {write_number(field.multiple_of)}, got {short_text(value)}"


def short_text(value: Draft) -> str:
    """Format a value in a few characters; a container by its type."""
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict | Pairs):
        return "an object"
    if isinstance(value, Picked):
        return short_text(value.draft)
    if isinstance(value, str):
        return f"'{shorten(value, 60)}'"
    return shorten(write_line(value), 60)  # type: ignore[arg-type]


def one_of(choices: Sequence[JSON]) -> str:
    """Format choices: "one of 'a', 'b' or 12 more"; a single choice stands alone."""
    named = ", ".join(short_text(choice) for choice in choices[:MAX_LISTED_CHOICES])
    if len(choices) == 1:
        return named
    more = len(choices) - MAX_LISTED_CHOICES
    return f"one of {named}" + (f" or {more:,} more" if more > 0 else "")
