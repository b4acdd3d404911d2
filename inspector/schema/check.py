"""Immediate checks of a draft against its fields, with error messages by JSON pointer.

Not a JSON Schema validator: what it reports is invalid, but it does not find everything. Formats and
patterns are not checked here, because a pattern from a server may run forever and belongs in a worker with a
time limit (`validation.py`).
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
    is_of_type,
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
    Variant,
)
from inspector.schema.keywords import as_decimal, equal, is_integer, is_multiple
from inspector.schema.values import (
    EMPTY_ITEM,
    REPEATED_KEY,
    FieldError,
    FormError,
    child,
    json_of,
    readable,
)

MISSING = "is required but not set"
MAX_LISTED_CHOICES = 6
UNKNOWN_KEY = "is not allowed by the schema"
MAX_TRIES = 500  # variants of unions, of which each may have unions inside


def check(field: Field, draft: Draft, pointer: str = "") -> list[FieldError]:
    """Return all errors, in form order."""
    return list(_Check().errors(field, draft, pointer))


class _Check:
    """One check, with a budget for the variants of unions that are tried."""

    def __init__(self) -> None:
        self._tries_left = MAX_TRIES

    def errors(self, field: Field, draft: Draft, pointer: str) -> Iterator[FieldError]:
        if isinstance(draft, Unreadable):
            yield FieldError(pointer, draft.problem, is_entry=True)
        elif draft is ABSENT or isinstance(draft, InactiveDraft) or (draft is None and field.nullable):
            return
        elif isinstance(field, UnionField):
            yield from self._union_errors(field, draft, pointer)
        elif isinstance(field, ObjectField) and field.union is not None:
            yield from self.errors(field.union, draft, pointer)
        elif isinstance(field, ObjectField | MapField) and isinstance(draft, Pairs):
            for key in duplicate_keys(draft):
                yield FieldError(child(pointer, key), REPEATED_KEY, is_entry=True)
            yield from self.errors(field, dict(draft.rows), pointer)
        elif isinstance(field, ObjectField) and isinstance(draft, dict):
            yield from self._object_errors(effective(field, draft, only_certain=True), draft, pointer)
        elif isinstance(field, MapField) and isinstance(draft, dict):
            yield from self._row_errors(field, draft.items(), pointer)
            yield from _size_errors(field, len(_sent_keys(draft)), pointer)
        elif isinstance(field, ListField | TupleField) and isinstance(draft, list):
            yield from self._list_errors(field, draft, pointer)
        elif field.is_typed or is_of_type(draft, field.json_type):
            yield from (FieldError(pointer, problem) for problem in _leaf_problems(field, draft))

    def _union_errors(self, field: UnionField, draft: Draft, pointer: str) -> Iterator[FieldError]:
        """Yield the errors of the picked variant, or of the closest one, if no other variant matches."""
        chosen = with_variant(field, draft)
        variant = field.variants[chosen.variant]
        errors = list(self.errors(variant.field, chosen.draft, pointer))
        if not errors:
            return
        entry_errors = [error for error in errors if error.is_entry]
        try:
            value = json_of(variant.field, chosen.draft)
        except FormError:  # what is entered is no value yet
            yield from entry_errors
            return
        failed = self._errors_of_all(field, variant, errors, value, pointer) if value is not ABSENT else []
        if value is ABSENT or not failed:
            yield from entry_errors
        elif (error := _tag_error(field, value, pointer) or missing_sets_error(failed, pointer)) is not None:
            yield error
        elif accepts_type(variant.field, value):
            yield from errors
        else:
            titles = ", ".join(variant.title for variant in field.variants[:MAX_LISTED_CHOICES])
            yield FieldError(pointer, f"must be one of: {titles}; got {short_text(value)}")

    def _errors_of_all(
        self, field: UnionField, picked: Variant, errors: list[FieldError], value: JSON, pointer: str
    ) -> list[list[FieldError]]:
        """Return the errors of each variant, none if a variant may match or there are too many to try."""
        failed = [errors]
        for other in field.variants:
            if other is picked:
                continue
            self._tries_left -= 1
            found = list(self.errors(other.field, value, pointer)) if self._tries_left >= 0 else []
            if not found:
                return []
            failed.append(found)
        return failed

    def _object_errors(
        self, field: ObjectField, draft: dict[str, Draft], pointer: str
    ) -> Iterator[FieldError]:
        for member in field.members:
            location = child(pointer, member.name)
            part = draft.get(member.name, ABSENT)
            if part is not ABSENT:
                yield from self.errors(member.field, part, location)
            elif member.required:
                yield FieldError(location, MISSING)
        known = {member.name for member in field.members}
        others = {name: part for name, part in draft.items() if name not in known}
        if field.rest is not None:
            yield from self._row_errors(field.rest, others.items(), pointer)
        elif not field.is_open:
            yield from (FieldError(child(pointer, name), UNKNOWN_KEY) for name in _sent_keys(others))
        yield from _size_errors(field, len(_sent_keys(draft)), pointer)

    def _row_errors(
        self, field: MapField, rows: Iterable[tuple[str, Draft]], pointer: str
    ) -> Iterator[FieldError]:
        for key, part in rows:
            if part is ABSENT or isinstance(part, InactiveDraft):
                continue
            location = child(pointer, key)
            for error in self.errors(field.key, key, location):
                yield FieldError(location, f"the key {error.problem}")
            inner = field.value_for(key)
            if inner is None:
                yield FieldError(location, UNKNOWN_KEY)
            else:
                yield from self.errors(inner, part, location)

    def _list_errors(
        self, field: ListField | TupleField, draft: list[Draft], pointer: str
    ) -> Iterator[FieldError]:
        yield from self._item_errors(field, draft, pointer)
        count = sum(item is not ABSENT for item in draft)
        if field.min_items is not None and count < field.min_items:
            yield FieldError(pointer, f"must have at least {plural(field.min_items, 'item')}, has {count:,}")
        if field.max_items is not None and count > field.max_items:
            yield FieldError(pointer, f"must have at most {plural(field.max_items, 'item')}, has {count:,}")
        if field.unique_items:
            yield from (FieldError(pointer, problem) for problem in _duplicates(field, draft))

    def _item_errors(
        self, field: ListField | TupleField, draft: list[Draft], pointer: str
    ) -> Iterator[FieldError]:
        for location, part in enumerate(draft):
            inner = field.item if isinstance(field, ListField) else field.item_at(location)
            place = child(pointer, location)
            if inner is None:
                yield FieldError(place, "is an extra item that the schema does not allow")
            elif part is not ABSENT:
                yield from self.errors(inner, part, place)
            elif isinstance(field, ListField):
                yield FieldError(place, "is empty: enter a value or remove the row", is_entry=True)
            elif any(later is not ABSENT for later in draft[location:]):
                yield FieldError(place, EMPTY_ITEM, is_entry=True)


def _tag_error(field: UnionField, value: JSON, pointer: str) -> FieldError | None:
    """Return the error of an object whose discriminator has none of the variants' values."""
    if not field.discriminator or not isinstance(value, dict) or field.discriminator not in value:
        return None
    tags = [tag for variant in field.variants for tag in variant.tags]
    return unknown_tag_error(child(pointer, field.discriminator), value[field.discriminator], tags)


def missing_sets_error(branches: Sequence[Sequence[FieldError]], pointer: str) -> FieldError | None:
    """Return the error of an object to which each branch only lacks members: one per branch."""
    sets = []
    for errors in branches:
        if any(error.problem != MISSING or error.pointer.rpartition("/")[0] != pointer for error in errors):
            return None
        sets.append(" and ".join(readable(error.pointer.removeprefix(pointer)) for error in errors))
    if len(set(sets)) < 2:
        return None
    return FieldError(pointer, f"requires one of: {shorten('; '.join(dict.fromkeys(sets)), 200)}", pointer)


def unknown_tag_error(pointer: str, tag: JSON, tags: Sequence[JSON]) -> FieldError | None:
    """Return the error of an unknown discriminator value, None for a known one."""
    if any(equal(tag, known) for known in tags):
        return None
    return FieldError(pointer, f"must be {one_of(tags)}, got {short_text(tag, shows_parts=True)}")


def _sent_keys(draft: dict[str, Draft]) -> list[str]:
    return [
        name for name, part in draft.items() if part is not ABSENT and not isinstance(part, InactiveDraft)
    ]


def _size_errors(field: ObjectField | MapField, size: int, pointer: str) -> Iterator[FieldError]:
    if field.min_properties is not None and size < field.min_properties:
        yield FieldError(pointer, f"must have at least {plural(field.min_properties, 'key')}, has {size:,}")
    if field.max_properties is not None and size > field.max_properties:
        yield FieldError(pointer, f"must have at most {plural(field.max_properties, 'key')}, has {size:,}")


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
            yield f"must be {one_of(field.choices)}, got {short_text(value, shows_parts=True)}"
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


def short_text(value: Draft, *, shows_parts: bool = False) -> str:
    """Format a value in a few characters; a container by its type, unless its parts matter."""
    if isinstance(value, Picked):
        return short_text(value.draft, shows_parts=shows_parts)
    if isinstance(value, str):
        return f"'{shorten(value, 60)}'"
    if isinstance(value, list | dict | Pairs) and (isinstance(value, Pairs) or not shows_parts):
        return "an array" if isinstance(value, list) else "an object"
    return shorten(write_line(value), 60)  # type: ignore[arg-type]


def one_of(choices: Sequence[JSON]) -> str:
    """Format choices: "one of 'a', 'b' or 12 more"; a single choice stands alone."""
    named = ", ".join(short_text(choice, shows_parts=True) for choice in choices[:MAX_LISTED_CHOICES])
    if len(choices) == 1:
        return named
    more = len(choices) - MAX_LISTED_CHOICES
    return f"one of {named}" + (f" or {more:,} more" if more > 0 else "")
