"""Form fields: a tree of frozen values, one class for each way of editing a value.

A field describes what is offered and which values are valid; it holds no value. Whether a value is
required is a property of its position: see `Member`. Nested fields (of members, items, variants) are
built when first read (`OnDemand`), because a schema may have thousands of properties or be recursive. So
the tree may be infinite: walk it along a value.

    TextField NumberField IntegerField BooleanField     one value each
    ChoiceField (ConstField)                            one of the listed values
    ListField TupleField                                items of one type; one type per position
    ObjectField MapField                                known keys; keys chosen by the user
    UnionField                                          one of several fields
    JsonField                                           none of these, and why

`ABSENT` is the value of a field that is not sent: neither null, nor empty, nor its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, Generic, TypeVar, overload

from inspector.base.json.values import JSON, write_number
from inspector.base.units import plural
from inspector.schema.keywords import matches


class Absent(Enum):
    """The type of ABSENT; an enum of one member, so that `is ABSENT` narrows types."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT
_MAX_NAMED_VARIANTS = 3
_MAX_TITLES_LENGTH = 40


T = TypeVar("T")


class OnDemand(Generic[T]):
    """A dataclass attribute given as a value, or as a function that creates it once.

    A dataclass with such an attribute must compare and print without it (`eq=False, repr=False`): its parts
    may be infinite.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> OnDemand[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | OnDemand[T]:
        if instance is None:
            raise AttributeError(self._key)  # so that dataclass sees no default value
        value: T | Callable[[], T] = instance.__dict__[self._key]
        if callable(value):
            value = instance.__dict__[self._key] = value()
        return value

    def __set__(self, instance: object, value: T | Callable[[], T]) -> None:
        instance.__dict__[self._key] = value


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """Base class of all fields.

    `title`, `description`, `default` and `examples` come from the server: untrusted, and not checked
    against the schema. `notes` are sentences by MCP Lens about rules that the form neither shows nor checks.
    `json_type` is JSON Schema's name for the type of the values, empty where they may have several types. If
    not `is_typed`, it is only implied by keywords, so that values of other types are valid too.
    """

    json_type: ClassVar[str] = ""
    title: str = ""
    description: str = ""
    default: JSON | Absent = ABSENT
    examples: tuple[JSON, ...] = ()
    nullable: bool = False
    is_typed: bool = True
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

    def item_at(self, position: int) -> Field | None:
        """Return the field of an item by its 0-based index; None if no item is allowed there."""
        return self.items[position] if position < len(self.items) else self.rest


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

    It returns None if that cannot be decided. `text` describes it for display after "when": country is "US".
    """

    text: str
    holds: Callable[[Mapping[str, object]], bool | None]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ObjectField(Field):
    """An object with known members, in schema order; `is_open` if other keys are allowed too.

    `rest` describes the other keys, if the schema does. With `conditions`, the members are those that
    always apply: call `drafts.effective` for those that apply to a draft. With `union` (on the outermost
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

    `tags` are its values of the union's discriminator; `satisfies` says whether a draft matches the variant's
    schema, as far as that can be determined immediately. To pick one for a draft, call `choose`.
    """

    title: str
    field: OnDemand[Field] = OnDemand()
    tags: tuple[JSON, ...] = ()
    satisfies: Callable[[object], bool] = lambda draft: True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UnionField(Field):
    """A value of one of several types: `oneOf`, `anyOf`, or a list of types.

    `discriminator` is the member that distinguishes object variants (each has `tags`), or empty. `is_any` if
    the schema does not constrain the value: then there is a variant for each JSON type.
    """

    variants: tuple[Variant, ...]
    discriminator: str = ""
    is_any: bool = False


def summary(field: Field) -> str:
    """Describe a field: "integer, 1 to 100", "string, date, at most 10 characters or null"."""
    text = ", ".join(word for word in (_kind(field), *_limits(field)) if word)
    has_null = field.nullable and not (isinstance(field, UnionField) and field.is_any)
    return f"{text} or null" if has_null else text


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
        case ConstField():
            return "constant"
        case ChoiceField():
            return "enum"
        case ListField():
            return f"array of {_kind(field.item)}"
        case TupleField():
            return f"array of {plural(len(field.items), 'item')}"
        case ObjectField():
            return "object"
        case MapField():
            return f"object of {_kind(field.value)}" if field.value is not None else "object"
        case UnionField(is_any=True):
            return "any value"
        case UnionField():
            titles = " or ".join(variant.title for variant in field.variants[:_MAX_NAMED_VARIANTS])
            is_short = len(field.variants) <= _MAX_NAMED_VARIANTS and len(titles) <= _MAX_TITLES_LENGTH
            return titles if is_short else f"one of {plural(len(field.variants), 'variant')}"
        case JsonField():
            return "JSON"
    return ""


def _limits(field: Field) -> list[str]:
    match field:
        case TextField():
            kind = field.format or field.content_encoding
            return [kind, _range(field.min_length, field.max_length, "character")]
        case NumberField():
            return _number_limits(field)
        case MapField() | ObjectField():
            return [_range(field.min_properties, field.max_properties, "key")]
        case ListField() | TupleField():
            unique = "unique items" if field.unique_items else ""
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


def _range(minimum: int | None, maximum: int | None, noun: str) -> str:
    if minimum is not None and maximum is not None:
        return plural(minimum, noun) if minimum == maximum else f"{minimum:,} to {plural(maximum, noun)}"
    if minimum is not None and minimum > 0:
        return f"at least {plural(minimum, noun)}"
    return f"at most {plural(maximum, noun)}" if maximum is not None else ""
