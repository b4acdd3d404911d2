"""The checks that the fields themselves imply, with errors in plain words by JSON pointer.

Not a JSON Schema validator: formats and patterns are not looked at here, because a server-given pattern
may run for ever and belongs in a worker with a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.numbers import write_number
from inspector.base.units import plural
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    ListField,
    NumberField,
    ObjectField,
    TextField,
)
from inspector.schema.jsontext import same, write, write_line
from inspector.schema.numbers import as_decimal, is_multiple, is_whole
from inspector.schema.values import ABSENT, Draft, FieldError, Unreadable, child

MISSING = "is required, but not set"
UNKNOWN_KEY = "is not a key that the schema allows"
_MOST_CHOICES_NAMED = 6


def check(field: Field, draft: Draft, pointer: str = "") -> list[FieldError]:
    """Everything that does not fit, in the order of the form."""
    return list(_errors(field, draft, pointer))


def _errors(field: Field, draft: Draft, pointer: str) -> Iterator[FieldError]:
    if isinstance(draft, Unreadable):
        yield FieldError(pointer, draft.problem)
    elif draft is ABSENT or (draft is None and field.nullable):
        return
    elif isinstance(field, ObjectField) and isinstance(draft, dict):
        yield from _object_errors(field, draft, pointer)
    elif isinstance(field, ListField) and isinstance(draft, list):
        yield from _list_errors(field, draft, pointer)
    else:
        yield from (FieldError(pointer, problem) for problem in _leaf_problems(field, draft))


def _object_errors(field: ObjectField, draft: dict[str, Draft], pointer: str) -> Iterator[FieldError]:
    for member in field.members:
        place = child(pointer, member.name)
        part = draft.get(member.name, ABSENT)
        if part is ABSENT and member.required:
            yield FieldError(place, MISSING)
        yield from _errors(member.field, part, place)
    if not field.is_open:
        known = {member.name for member in field.members}
        yield from (FieldError(child(pointer, name), UNKNOWN_KEY) for name in draft if name not in known)


def _list_errors(field: ListField, draft: list[Draft], pointer: str) -> Iterator[FieldError]:
    for index, item in enumerate(draft):
        if item is ABSENT:
            yield FieldError(child(pointer, index), "is empty: write a value or remove the row")
        yield from _errors(field.item, item, child(pointer, index))
    count = sum(item is not ABSENT for item in draft)
    if field.min_items is not None and count < field.min_items:
        yield FieldError(pointer, f"needs at least {plural(field.min_items, 'item')}, has {count:,}")
    if field.max_items is not None and count > field.max_items:
        yield FieldError(pointer, f"takes at most {plural(field.max_items, 'item')}, has {count:,}")
    if field.unique_items:
        yield from (FieldError(pointer, problem) for problem in _repeated(draft))


def _repeated(draft: list[Draft]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for number, item in enumerate(draft, start=1):
        if item is ABSENT or isinstance(item, Unreadable):
            continue
        first = seen.setdefault(write(item), number)  # type: ignore[arg-type]  # no draft parts in leaves
        if first != number:
            yield f"items {first} and {number} are the same, but no two may be"


def _leaf_problems(field: Field, value: Draft) -> Iterator[str]:
    match field:
        case TextField():
            yield from _text_problems(field, value)
        case NumberField():
            yield from _number_problems(field, value)
        case BooleanField() if not isinstance(value, bool):
            yield f"must be true or false, got {_shown(value)}"
        case ChoiceField() if not any(_equal(value, choice) for choice in field.choices):
            yield f"must be {_one_of(field.choices)}, got {_shown(value)}"
        case ListField():
            yield f"must be a list, got {_shown(value)}"
        case ObjectField():
            yield f"must be an object, got {_shown(value)}"


def _text_problems(field: TextField, value: Draft) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"must be text, got {_shown(value)}"
        return
    length = len(value)
    if field.min_length is not None and length < field.min_length:
        yield f"needs at least {plural(field.min_length, 'character')}, has {length:,}"
    if field.max_length is not None and length > field.max_length:
        yield f"takes at most {plural(field.max_length, 'character')}, has {length:,}"


def _number_problems(field: NumberField, value: Draft) -> Iterator[str]:
    wanted = "a whole number" if isinstance(field, IntegerField) else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"must be {wanted}, got {_shown(value)}"
        return
    if isinstance(field, IntegerField) and not is_whole(value):
        yield f"must be {wanted}, got {_shown(value)}"
    exact = as_decimal(value)
    if field.minimum is not None and exact < as_decimal(field.minimum):
        yield f"must be at least {write_number(field.minimum)}, got {_shown(value)}"
    if field.maximum is not None and exact > as_decimal(field.maximum):
        yield f"must be at most {write_number(field.maximum)}, got {_shown(value)}"
    if field.exclusive_minimum is not None and exact <= as_decimal(field.exclusive_minimum):
        yield f"must be more than {write_number(field.exclusive_minimum)}, got {_shown(value)}"
    if field.exclusive_maximum is not None and exact >= as_decimal(field.exclusive_maximum):
        yield f"must be less than {write_number(field.exclusive_maximum)}, got {_shown(value)}"
    if field.multiple_of is not None and not is_multiple(value, field.multiple_of):
        yield f"must be a multiple of {write_number(field.multiple_of)}, got {_shown(value)}"


def _equal(one: Draft, other: JSON) -> bool:
    """JSON Schema's equality: 1 and 1.0 are equal, 1 and true are not; key order does not count."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    try:
        return one == other
    except RecursionError:  # both nested hundreds deep; then only the very same text will do
        return same(one, other)  # type: ignore[arg-type]  # a choice's draft is JSON


def _one_of(choices: tuple[JSON, ...]) -> str:
    named = ", ".join(_shown(choice) for choice in choices[:_MOST_CHOICES_NAMED])
    if len(choices) == 1:
        return named
    more = len(choices) - _MOST_CHOICES_NAMED
    return f"one of {named}" + (f" or {more:,} more" if more > 0 else "")


def _shown(value: Draft) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return f"'{shorten(value, 60)}'"
    return shorten(write_line(value), 60)  # type: ignore[arg-type]
