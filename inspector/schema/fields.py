"""What a form consists of: a tree of frozen fields, one class for each way of editing a value.

A field says what is offered and which values fit; it holds no value itself. Whether a value must be
there is not a property of the field but of its place: see `Member`.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.jsonvalue import JSON
from inspector.schema.absent import ABSENT, Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What all kinds have in common.

    `title`, `description`, `default` and `examples` are the server's words: untrusted, and not checked
    against the schema. `notes` are ours: sentences about rules that the form neither shows nor checks.
    """

    title: str = ""
    description: str = ""
    default: JSON | Absent = ABSENT
    examples: tuple[JSON, ...] = ()
    nullable: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField(Field):
    """A string. `format` and `pattern` are shown; a server-given pattern is never run here."""

    format: str = ""
    pattern: str = ""
    min_length: int | None = None
    max_length: int | None = None
    multiline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Field):
    """A number of any size and precision. Bounds are JSON numbers, compared as decimals."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    multiple_of: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerField(NumberField):
    """A whole number; as in JSON Schema, 1.0 and 1e3 are whole numbers too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanField(Field):
    """True or false."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Field):
    """One of some given JSON values (`enum`, `const`); `labels` are titles for them, one each, or empty."""

    choices: tuple[JSON, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListField(Field):
    """A list of values of one kind."""

    item: Field
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonField(Field):
    """Any JSON, written as text: the fallback; `reason` says in plain words why there is no better editor."""

    reason: str


@dataclass(frozen=True, slots=True)
class Member:
    """A named place in an object."""

    name: str
    field: Field
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectField(Field):
    """An object with known members, in the schema's order; `is_open` when other keys are allowed as well."""

    members: tuple[Member, ...] = ()
    is_open: bool = True
