"""Conversion between form entries (drafts) and JSON, initial values, and `${name}` in texts.

`json_of` makes JSON of a draft, `draft_of` a draft of JSON; `check.check` finds what does not match the
fields. `initial_draft` is the draft of a newly added field, `prefilled` the defaults that a reply starts
with. Texts that expand to another value when sent, such as `${name}`, are replaced by `resolve_draft`
before checking.

The text of a single-line entry and its value convert without loss in both directions:

- number fields: text that is a JSON number is that number, digit for digit; no text is ABSENT; any other
  text stays a string, so that it can be reported, shown and sent on purpose;
- what an entry cannot show exactly (the string "5" in a number field) is left to a raw JSON editor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.text import JSONTextError, read
from inspector.base.json.values import JSON, JSONObject, read_number, write_number
from inspector.schema.drafts import ABSENT as ABSENT
from inspector.schema.drafts import Absent as Absent
from inspector.schema.drafts import Draft as Draft
from inspector.schema.drafts import InactiveDraft as InactiveDraft
from inspector.schema.drafts import Pairs as Pairs
from inspector.schema.drafts import Picked as Picked
from inspector.schema.drafts import Unreadable as Unreadable
from inspector.schema.drafts import choose, duplicate_keys, effective
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

REPEATED_KEY = "is a duplicate key"
EMPTY_ITEM = "is empty, but a later item is not: enter a value or null"

_HIDDEN_VALUE_PROBLEM = "expands to a value that is not valid here"
_PLACEHOLDER_START = "${"
_MAX_START_DEPTH = 4


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error at one place, given as a JSON pointer (RFC 6901; "" is the whole).

    `union` is the pointer of a union of which the value matches no variant, if the error is what it lacks to
    match the closest one. An error of the entry (`is_entry`) exists whatever the schema says.
    """

    pointer: str
    problem: str
    union: str | None = field(default=None, compare=False)
    is_entry: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{readable(self.pointer)}: {self.problem}" if self.pointer else self.problem


def combined_errors(
    instant: Iterable[FieldError], found: Sequence[FieldError], *, is_final: bool
) -> list[FieldError]:
    """Return the errors of the immediate checks and of the full validation, one per pointer.

    If the validation is final, it decides: immediate errors only say more about its errors. For a union, they
    replace its own, because they are about the variant that the user picked.
    """
    wrong = {error.pointer for error in found}
    unions = {error.union for error in found if error.union is not None}
    kept: dict[str, FieldError] = {}
    for error in instant:
        around = {error.pointer, *_ancestors(error.pointer)}
        if not is_final or error.is_entry or error.pointer in wrong or not unions.isdisjoint(around):
            kept.setdefault(error.pointer, error)
    replaced = {union for union in unions if any(f"{pointer}/".startswith(f"{union}/") for pointer in kept)}
    for error in found:
        if error.union is None or error.union not in replaced:
            kept.setdefault(error.pointer, error)
    return list(kept.values())


class FormError(ConfigError, ValueError):
    """The entries cannot be sent as they are; the message has one line per error."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = tuple(errors)


def json_of(field: Field, draft: Draft) -> JSON | Absent:
    """Convert a draft to JSON, leaving out what is ABSENT.

    Raises FormError if a part cannot be sent at all: JSON text that does not parse, a duplicate key, or an
    empty place in a tuple. Recurses along the field tree, so its depth is that of the form and not of
    pasted data.
    """
    errors: list[FieldError] = []
    value = _json(field, draft, "", errors)
    if errors:
        raise FormError(errors)
    return value


def _json(field: Field | None, draft: Draft, pointer: str, errors: list[FieldError]) -> JSON | Absent:
    if isinstance(draft, Unreadable):
        errors.append(FieldError(pointer, draft.problem, is_entry=True))
        return ABSENT
    if isinstance(draft, InactiveDraft):
        return ABSENT
    if isinstance(field, ObjectField) and field.union is not None:
        field = field.union
    match field:
        case UnionField() if isinstance(draft, Picked):
            return _json(field.variants[draft.variant].field, draft.draft, pointer, errors)
        case ListField() if isinstance(draft, list):
            done = [_json(field.item, part, child(pointer, at), errors) for at, part in enumerate(draft)]
            return [part for part in done if part is not ABSENT]
        case TupleField() if isinstance(draft, list):
            return _json_tuple(field, draft, pointer, errors)
        case ObjectField() | MapField() if isinstance(draft, Pairs):
            errors += [FieldError(child(pointer, key), REPEATED_KEY) for key in duplicate_keys(draft)]
            return _json_object(field, dict(draft.rows), pointer, errors)
        case ObjectField() | MapField() if isinstance(draft, dict):
            return _json_object(field, draft, pointer, errors)
    return draft  # type: ignore[return-value]  # below a leaf field there is only JSON


def _json_object(
    field: ObjectField | MapField, draft: dict[str, Draft], pointer: str, errors: list[FieldError]
) -> JSONObject:
    known = _members(field, draft) if isinstance(field, ObjectField) else {}
    done: JSONObject = {}
    for name, part in draft.items():
        inner = field.value_for(name) if isinstance(field, MapField) else known.get(name)
        value = _json(inner, part, child(pointer, name), errors)
        if value is not ABSENT:
            done[name] = value
    return done


def _json_tuple(field: TupleField, draft: list[Draft], pointer: str, errors: list[FieldError]) -> list[JSON]:
    """Convert a tuple; items keep their places: only trailing empty ones are left out."""
    done: list[JSON | Absent] = []
    for position, part in enumerate(draft):
        done.append(_json(field.item_at(position), part, child(pointer, position), errors))
    while done and done[-1] is ABSENT:
        done.pop()
    for position, value in enumerate(done):
        if value is ABSENT and not isinstance(draft[position], Unreadable):
            errors.append(FieldError(child(pointer, position), EMPTY_ITEM))
    return [value for value in done if value is not ABSENT]


def draft_of(field: Field, value: JSON) -> Draft:
    """Return the draft for a value: variants picked, maps as rows. `json_of` is the inverse.

    What does not match the fields stays JSON: a list in place of an object needs a raw JSON editor.
    """
    match field:
        case UnionField(nullable=True) if value is None:
            return None  # a state of the field, as for any other one
        case UnionField():
            variant = choose(field, value)
            return Picked(variant, draft_of(field.variants[variant].field, value))
        case MapField() if isinstance(value, dict):
            return Pairs(tuple((key, _draft_of_key(field, key, part)) for key, part in value.items()))
        case ObjectField(union=UnionField() as union):
            return draft_of(union, value)
        case ObjectField() if isinstance(value, dict):
            known = _members(field, value)
            return {key: draft_of(known[key], part) if key in known else part for key, part in value.items()}
        case ListField() if isinstance(value, list):
            return [draft_of(field.item, part) for part in value]
        case TupleField() if isinstance(value, list):
            return [_draft_of_item(field, position, part) for position, part in enumerate(value)]
    return value


def _draft_of_key(field: MapField, key: str, value: JSON) -> Draft:
    inner = field.value_for(key)
    return value if inner is None else draft_of(inner, value)


def _draft_of_item(field: TupleField, position: int, value: JSON) -> Draft:
    inner = field.item_at(position)
    return value if inner is None else draft_of(inner, value)


def _members(field: ObjectField, draft: Mapping[str, Draft]) -> dict[str, Field]:
    """Return the fields of a draft's keys, where there are any."""
    whole = effective(field, draft)
    known = {member.name: member.field for member in whole.members if member.name in draft}
    if whole.rest is not None:
        for key in draft:
            if key not in known and (inner := whole.rest.value_for(key)) is not None:
                known[key] = inner
    return known


def child(pointer: str, key: str | int) -> str:
    """Return the pointer of a member or an item."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def readable(pointer: str) -> str:
    """Return a pointer in readable form: filter.tags[2]."""
    path = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        path += f"[{name}]" if path and name.isdecimal() else f".{name}"
    return path.removeprefix(".")


def number_from_text(text: str) -> int | float | str | Absent:
    """Parse a number entry: a number, ABSENT, or the text if it is not a number."""
    text = text.strip()
    if not text:
        return ABSENT
    number = read_number(text)
    return text if number is None else number


def text_from_number(value: int | float | str) -> str:
    """Return the text that `number_from_text` reads as this value, if there is one."""
    return value if isinstance(value, str) else write_number(value)


def json_from_text(text: str) -> JSON | Absent | Unreadable:
    """Parse a raw JSON entry; empty text is ABSENT."""
    if not text.strip():
        return ABSENT
    try:
        return read(text)
    except JSONTextError as exc:
        return Unreadable(text, str(exc))


@dataclass(frozen=True, slots=True)
class Expansion:
    """The value of a text with `${name}`, or the problem. Secret values appear in no message."""

    value: JSON = None
    problem: str = ""
    is_secret: bool = False


# Expands a text that may contain `${name}`.
Resolve: TypeAlias = Callable[[str], Expansion]


@dataclass(frozen=True, slots=True)
class ResolvedDraft:
    """A draft with each such text expanded, and the expansions by JSON pointer."""

    draft: Draft
    expansions: dict[str, Expansion]

    def errors(self, found: Iterable[FieldError]) -> list[FieldError]:
        """Return the errors at the places where the texts were written, unresolved texts first."""
        if not self.expansions:
            return list(found)
        own = [
            FieldError(at, each.problem, is_entry=True)
            for at, each in self.expansions.items()
            if each.problem
        ]
        unknown = {error.pointer for error in own}
        located = (self._at_text(error) for error in found)
        return [*own, *(error for error in located if error.pointer not in unknown)]

    def _at_text(self, error: FieldError) -> FieldError:
        for position in _ancestors(error.pointer):
            expansion = self.expansions.get(position)
            if expansion is None:
                continue
            if expansion.is_secret:
                return replace(error, pointer=position, problem=_HIDDEN_VALUE_PROBLEM)
            inside = readable(error.pointer.removeprefix(position))
            problem = f"{inside}: {error.problem}" if inside else error.problem
            return replace(error, pointer=position, problem=problem)
        return error


def resolve_draft(draft: Draft, resolve: Resolve | None) -> ResolvedDraft:
    """Expand the texts of a draft.

    A text that cannot be expanded is unchanged; so is everything that is nested too deeply.
    """
    expansions: dict[str, Expansion] = {}
    if resolve is None:
        return ResolvedDraft(draft, expansions)
    try:
        return ResolvedDraft(_replaced(draft, "", resolve, expansions), expansions)
    except RecursionError:
        return ResolvedDraft(draft, {})


def _replaced(draft: Draft, pointer: str, resolve: Resolve, expansions: dict[str, Expansion]) -> Draft:
    match draft:
        case str():
            return _expanded(draft, pointer, resolve, expansions) if _PLACEHOLDER_START in draft else draft
        case Picked(draft=str() as text) if _PLACEHOLDER_START in text:
            # The variant was picked for the text; its value may need another one.
            expanded = _expanded(text, pointer, resolve, expansions)
            return replace(draft, draft=expanded) if isinstance(expanded, str) else expanded
        case Picked():
            return replace(draft, draft=_replaced(draft.draft, pointer, resolve, expansions))
        case Pairs():
            rows = (
                (key, _replaced(part, child(pointer, key), resolve, expansions)) for key, part in draft.rows
            )
            return Pairs(tuple(rows))
        case dict():
            return {
                key: _replaced(part, child(pointer, key), resolve, expansions) for key, part in draft.items()
            }
        case list():
            return [_replaced(part, child(pointer, at), resolve, expansions) for at, part in enumerate(draft)]
    return draft


def _expanded(text: str, pointer: str, resolve: Resolve, expansions: dict[str, Expansion]) -> Draft:
    expansion = expansions[pointer] = resolve(text)
    return text if expansion.problem else expansion.value


def _ancestors(pointer: str) -> Iterator[str]:
    """Yield the pointer itself, then those of its ancestors."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def initial_draft(field: Field, depth: int = 0) -> Draft:
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
        case UnionField() if field.variants and depth < _MAX_START_DEPTH:
            return initial_variant(field, 0, depth)
        case ObjectField():
            required = ((member.name, member.field) for member in field.members if member.required)
            return {name: one.value for name, one in required if isinstance(one, ConstField)}
    return ABSENT


def initial_variant(field: UnionField, variant: int, depth: int = 0) -> Picked:
    """Return the draft of a newly picked variant."""
    return Picked(variant, initial_draft(field.variants[variant].field, depth + 1))


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
        elif isinstance(inner, ObjectField) and member.required and depth < _MAX_START_DEPTH:
            value[member.name] = prefilled(inner, depth + 1)
    return value
