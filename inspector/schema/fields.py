"""What a form consists of: a tree of frozen fields, one class for each way of editing a value.

A field says what is offered and which values fit; it holds no value itself. Whether a value must be
there is not a property of the field but of its place: see `Member`. What is inside a field (the field of a
member, of an item, of a variant) is built when first read, so a tree may be endless: walk it along a value.

    TextField NumberField IntegerField BooleanField     one value each
    ChoiceField (ConstField)                            one of given values
    ListField TupleField                                items of one kind; of a kind for each place
    ObjectField MapField                                known keys; keys of the person's own choice
    UnionField                                          one of several fields
    JsonField                                           none of these, and why
"""

# ruff: noqa: RUF009  # OnDemand() is a descriptor, not a default value
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from inspector.base.jsonvalue import JSON
from inspector.schema.absent import ABSENT, Absent
from inspector.schema.ondemand import OnDemand
from inspector.schema.patterns import matches


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """What all kinds have in common.

    `title`, `description`, `default` and `examples` are the server's words: untrusted, and not checked
    against the schema. `notes` are ours: sentences about rules that the form neither shows nor checks.
    `json_type` is JSON Schema's name for the type of a kind's values, empty where they may be of several.
    """

    json_type: ClassVar[str] = ""
    title: str = ""
    description: str = ""
    default: JSON | Absent = ABSENT
    examples: tuple[JSON, ...] = ()
    nullable: bool = False
    deprecated: bool = False
    read_only: bool = False
    write_only: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TextField(Field):
    """A string. `format` and `pattern` are shown; whether the text fits them is for `validate`.

    `content_encoding` ("base64") and `content_media_type` say that the text stands for a file's content.
    """

    json_type: ClassVar[str] = "string"
    format: str = ""
    pattern: str = ""
    min_length: int | None = None
    max_length: int | None = None
    multiline: bool = False
    content_encoding: str = ""
    content_media_type: str = ""


@dataclass(frozen=True, kw_only=True)
class NumberField(Field):
    """A number of any size and precision. Bounds are JSON numbers, compared as decimals."""

    json_type: ClassVar[str] = "number"
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: float | None = None
    exclusive_maximum: float | None = None
    multiple_of: float | None = None


@dataclass(frozen=True, kw_only=True)
class IntegerField(NumberField):
    """A whole number; as in JSON Schema, 1.0 and 1e3 are whole numbers too."""

    json_type: ClassVar[str] = "integer"


@dataclass(frozen=True, kw_only=True)
class BooleanField(Field):
    """True or false."""

    json_type: ClassVar[str] = "boolean"


@dataclass(frozen=True, kw_only=True)
class ChoiceField(Field):
    """One of some given JSON values (`enum`); `labels` are titles for them, one each, or empty."""

    choices: tuple[JSON, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ConstField(ChoiceField):
    """The one value that fits (`const`): a choice of one."""

    @property
    def value(self) -> JSON:
        return self.choices[0]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ListField(Field):
    """A list of values of one kind."""

    json_type: ClassVar[str] = "array"
    item: OnDemand[Field] = OnDemand()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TupleField(Field):
    """A list with a kind of its own at each of the first places (`prefixItems`).

    `rest` is the field of the items after them, None where the schema allows none.
    """

    json_type: ClassVar[str] = "array"
    items: OnDemand[tuple[Field, ...]] = OnDemand()
    rest: OnDemand[Field | None] = OnDemand()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False

    def item_at(self, place: int) -> Field | None:
        """The field of an item, counted from 0; None where no item may be."""
        return self.items[place] if place < len(self.items) else self.rest


@dataclass(frozen=True, kw_only=True)
class JsonField(Field):
    """Any JSON, written as text: the fallback; `reason` says in plain words why there is no better editor."""

    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Member:
    """A named place in an object."""

    name: str
    field: OnDemand[Field] = OnDemand()
    required: bool = False

    def __repr__(self) -> str:
        return f"Member({self.name!r}, required={self.required})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MapField(Field):
    """An object with keys of the person's own choice.

    A key that matches one of `patterns` takes that field, any other takes `value`; where `value` is None,
    only keys that match are allowed. `key` says what is asked of every key (`propertyNames`).
    """

    json_type: ClassVar[str] = "object"
    value: OnDemand[Field | None] = OnDemand()
    patterns: tuple[PatternValue, ...] = ()
    key: Field = TextField()
    min_properties: int | None = None
    max_properties: int | None = None

    def value_for(self, key: str) -> Field | None:
        """The field of a key's value; None where the key is not allowed."""
        for one in self.patterns:
            if matches(one.pattern, key):
                return one.field
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class PatternValue:
    """What the keys that match a pattern stand for (`patternProperties`)."""

    pattern: str
    field: OnDemand[Field] = OnDemand()


@dataclass(frozen=True)
class Condition:
    """Something on which the members of an object depend; `holds` is asked with the object's draft.

    `words` say it for people, to be put after "when": country is "US".
    """

    words: str
    holds: Callable[[Mapping[str, object]], bool]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ObjectField(Field):
    """An object with known members, in the schema's order; `is_open` when other keys are allowed as well.

    `rest` describes these other keys, where the schema says something about them. With `conditions`, the
    members are those that apply always: ask `active.effective` for those that apply to a draft. With `union`
    (on the outermost object only) the members are those of one of its variants, to be picked.
    """

    json_type: ClassVar[str] = "object"
    members: tuple[Member, ...] = ()
    is_open: bool = True
    rest: MapField | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    conditions: tuple[Condition, ...] = ()
    under: Callable[[tuple[bool, ...]], Field] | None = None
    union: UnionField | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Variant:
    """One of the fields of a union.

    `tags` are the values by which the union's discriminator tells it; `fits` says whether a draft fits the
    variant's schema, as far as that can be told at once. To pick one for a draft, ask `choose`.
    """

    title: str
    field: OnDemand[Field] = OnDemand()
    tags: tuple[JSON, ...] = ()
    fits: Callable[[object], bool] = lambda draft: True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UnionField(Field):
    """A value of one of several kinds: `oneOf`, `anyOf`, or a list of types.

    `discriminator` is the member that tells object variants apart (each has `tags`), or empty. `is_any` when
    the schema says nothing about the value: then there is a variant for each type of JSON.
    """

    variants: tuple[Variant, ...]
    discriminator: str = ""
    is_any: bool = False
