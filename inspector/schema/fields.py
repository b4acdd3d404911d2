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
    """Base class of all fields.

    `title`, `description`, `default` and `examples` come from the server: untrusted, and not checked
    against the schema. `notes` are ours: sentences about rules that the form neither shows nor checks.
    `json_type` is JSON Schema's name for the type of the values, empty where they may have several types.
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
    """A string field. `format` and `pattern` are shown; checking them is up to `validate`.

    `content_encoding` ("base64") and `content_media_type` say that the text encodes a file's content.
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
    """An integer; as in JSON Schema, 1.0 and 1e3 are integers too."""

    json_type: ClassVar[str] = "integer"


@dataclass(frozen=True, kw_only=True)
class BooleanField(Field):
    """A true/false field."""

    json_type: ClassVar[str] = "boolean"


@dataclass(frozen=True, kw_only=True)
class ChoiceField(Field):
    """One of some given JSON values (`enum`); `labels` are titles for them, one each, or empty."""

    choices: tuple[JSON, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ConstField(ChoiceField):
    """A single allowed value (`const`): a choice of one."""

    @property
    def value(self) -> JSON:
        return self.choices[0]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ListField(Field):
    """A list with one item type."""

    json_type: ClassVar[str] = "array"
    item: OnDemand[Field] = OnDemand()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TupleField(Field):
    """A list whose first items each have their own type (`prefixItems`).

    `rest` is the field of the items after them, None where the schema allows none.
    """

    json_type: ClassVar[str] = "array"
    items: OnDemand[tuple[Field, ...]] = OnDemand()
    rest: OnDemand[Field | None] = OnDemand()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False

    def item_at(self, place: int) -> Field | None:
        """Return the field of an item by its 0-based index; None if no item is allowed there."""
        return self.items[place] if place < len(self.items) else self.rest


@dataclass(frozen=True, kw_only=True)
class JsonField(Field):
    """The fallback: any JSON, entered as text; `reason` says why there is no better editor."""

    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Member:
    """A named member of an object."""

    name: str
    field: OnDemand[Field] = OnDemand()
    required: bool = False

    def __repr__(self) -> str:
        return f"Member({self.name!r}, required={self.required})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MapField(Field):
    """An object with keys chosen by the user.

    A key that matches one of `patterns` uses that field, any other uses `value`; if `value` is None, only
    matching keys are allowed. `key` is the constraint on every key (`propertyNames`).
    """

    json_type: ClassVar[str] = "object"
    value: OnDemand[Field | None] = OnDemand()
    patterns: tuple[PatternValue, ...] = ()
    key: Field = TextField()
    min_properties: int | None = None
    max_properties: int | None = None

    def value_for(self, key: str) -> Field | None:
        """Return the field of a key's value; None if the key is not allowed."""
        for one in self.patterns:
            if matches(one.pattern, key):
                return one.field
        return self.value


@dataclass(frozen=True, eq=False, repr=False)
class PatternValue:
    """The field for keys that match a pattern (`patternProperties`)."""

    pattern: str
    field: OnDemand[Field] = OnDemand()


@dataclass(frozen=True)
class Condition:
    """A condition on which members of an object depend; `holds` takes the object's draft.

    `words` describes it for display after "when": country is "US".
    """

    words: str
    holds: Callable[[Mapping[str, object]], bool]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ObjectField(Field):
    """An object with known members, in schema order; `is_open` if other keys are allowed too.

    `rest` describes the other keys, if the schema does. With `conditions`, the members are those that
    always apply: call `active.effective` for those that apply to a draft. With `union` (on the outermost
    object only), the members are those of one of its variants, which has to be picked.
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
    """A variant of a union.

    `tags` are its values of the union's discriminator; `fits` says whether a draft matches the variant's
    schema, as far as that can be determined immediately. To pick one for a draft, call `choose`.
    """

    title: str
    field: OnDemand[Field] = OnDemand()
    tags: tuple[JSON, ...] = ()
    fits: Callable[[object], bool] = lambda draft: True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UnionField(Field):
    """A value of one of several types: `oneOf`, `anyOf`, or a list of types.

    `discriminator` is the member that tells object variants apart (each has `tags`), or empty. `is_any` if
    the schema does not constrain the value: then there is a variant for each JSON type.
    """

    variants: tuple[Variant, ...]
    discriminator: str = ""
    is_any: bool = False
