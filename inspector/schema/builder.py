"""Builds a form from a JSON Schema: `build_form`.

Never raises and never fetches: every schema gives a form. A part without a suitable editor becomes a
`JsonField` with the reason, and rules that the form does not show are listed in `notes`. Fields are built
on demand and to a bounded depth, so that a hostile schema costs no more than an ordinary one.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TypedDict

from inspector.base.json.text import write_line
from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.base.units import plural
from inspector.schema import keywords
from inspector.schema.applicators import (
    ANY_TYPES,
    MAX_CONDITIONS,
    MAX_VARIANTS,
    accepts_null,
    branch_variants,
    conditions_of,
    is_about_presence,
    presence_note,
    schemas_under,
    type_variants,
)
from inspector.schema.fields import (
    ABSENT,
    Absent,
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    MapField,
    Member,
    NumberField,
    ObjectField,
    PatternValue,
    TextField,
    TupleField,
    UnionField,
    Variant,
)
from inspector.schema.flatten import Alternatives, Flat, evaluated, flatten, member_schema
from inspector.schema.references import Document, is_null

MAX_DEPTH = 32
MAX_FIELDS = 4000
MAX_CHOICES = 1000
MAX_POSITIONS = 500
_MAX_EXAMPLES = 10
_MULTILINE_FORMATS = frozenset(("markdown", "multiline", "textarea", "html", "json", "sql", "code"))
_MULTILINE_HINTS = frozenset(("textarea", "multiline"))
_TOO_DEEP = f"The schema is nested more than {MAX_DEPTH} levels deep."
_TYPE_KEYWORDS = (
    "type", "$ref", "$dynamicRef", "enum", "const", "items", "prefixItems", "oneOf", "anyOf", "allOf",
)  # fmt: skip
_KNOWN_TYPES = (*ANY_TYPES, "integer")


def build_form(schema: JSON) -> ObjectField:
    """Build the form for a tool's arguments, or for any other object."""
    if not isinstance(schema, dict):
        note = f"The server's schema is {keywords.kind_of(schema)} instead of an object. Enter JSON instead."
        return ObjectField(notes=(note,))
    if not keywords.present(schema, _TYPE_KEYWORDS):
        schema = {**schema, "type": "object"}  # arguments are an object, even if the schema does not say so
    return _as_object(Builder(Document(schema)).field(schema, 0))


def _as_object(field: Field) -> ObjectField:
    """Convert the outermost field to an object field, because arguments are an object."""
    union: UnionField | None = None
    match field:
        case ObjectField():
            return field
        case MapField():
            return ObjectField(title=field.title, description=field.description, rest=field)
        case UnionField(is_any=False):
            why, union = f"The arguments can have {len(field.variants):,} different shapes.", field
        case ChoiceField() if any(isinstance(choice, dict) for choice in field.choices):
            why, union = "The arguments are one of several objects.", _object_choices(field)
        case JsonField():
            why = field.reason
        case _:
            why = "The schema does not describe an object."
    note = f"{why} Enter JSON instead."
    return ObjectField(title=field.title, description=field.description, notes=(note,), union=union)


def _object_choices(field: ChoiceField) -> UnionField:
    """Return the objects among the choices as constants to pick from."""
    choices = [choice for choice in field.choices if isinstance(choice, dict)]
    variants = tuple(
        Variant(
            f"{position}. {shorten(write_line(choice), 70)}",
            ConstField(choices=(choice,)),
            satisfies=partial(keywords.equal, other=choice),
        )
        for position, choice in enumerate(choices, start=1)
    )
    return UnionField(variants=variants, title=field.title, description=field.description)


class Builder:
    """Builds the fields of one document on demand; `depth` is a field's nesting level."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def field(self, schema: JSON, depth: int) -> Field:
        """Build the field for one part of the document."""
        flat = flatten(schema, self._document)
        if flat.reason:
            return JsonField(reason=flat.reason, **annotations_of(flat))
        notes: list[str] = []
        self._drop_presence_unions(flat, notes)
        if hidden := sorted(set(flat.hidden_keywords)):
            notes.append(f"The form does not show these constraints: {', '.join(hidden)}.")
        return self._field_of(flat, annotations_of(flat, tuple(notes)), depth)

    def _drop_presence_unions(self, flat: Flat, notes: list[str]) -> None:
        for union in [union for union in flat.unions if is_about_presence(union)]:
            flat.unions.remove(union)
            notes.append(presence_note(union))

    def _field_of(self, flat: Flat, annotations: Annotations, depth: int) -> Field:
        choice = choice_field(flat, annotations)
        if choice is not None:
            return choice
        types = keywords.implied_types(flat.schema)
        others = tuple(
            name for name in types if name != "null" and not (name == "integer" and "number" in types)
        )
        if types and not others:
            annotations["nullable"] = False
            return ConstField(choices=(None,), **annotations)
        if depth > MAX_DEPTH and set(others or ANY_TYPES) & {"object", "array"}:
            return JsonField(reason=_TOO_DEEP, **annotations)
        if flat.unions:
            return self._union(flat, flat.unions[0], annotations, depth)
        if len(others) == 1:
            return self._single_type_field(others[0], flat, annotations, depth)
        return self._multi_type_field(flat, others, annotations, depth)

    def _union(self, flat: Flat, union: Alternatives, annotations: Annotations, depth: int) -> Field:
        if len(union.branches) > MAX_VARIANTS:
            count = f"There are {len(union.branches):,} variants; a form shows at most {MAX_VARIANTS:,}."
            return JsonField(reason=count, **annotations)
        build = partial(self.field, depth=depth + 1)
        variants, discriminator = branch_variants(flat, union, self._document, build)
        if accepts_null(flat, union, self._document):
            annotations["nullable"] = True
        return UnionField(variants=variants, discriminator=discriminator, **annotations)

    def _multi_type_field(
        self, flat: Flat, types: tuple[str, ...], annotations: Annotations, depth: int
    ) -> Field:
        if unknown := [name for name in types if name not in _KNOWN_TYPES]:
            return JsonField(reason=_unknown_type(unknown[0]), **annotations)
        build = partial(self.field, depth=depth + 1)
        if types:
            return UnionField(variants=type_variants(flat.schema, types, build), **annotations)
        annotations["nullable"] = True
        return UnionField(variants=type_variants(flat.schema, ANY_TYPES, build), is_any=True, **annotations)

    def _single_type_field(self, name: str, flat: Flat, annotations: Annotations, depth: int) -> Field:
        match name:
            case "string":
                return text_field(flat.schema, annotations)
            case "integer":
                return number_field(flat.schema, annotations, IntegerField)
            case "number":
                return number_field(flat.schema, annotations, NumberField)
            case "boolean":
                return BooleanField(**annotations)
            case "array":
                return self._list(evaluated(flat.schema), annotations, depth)
            case "object":
                return self._object(flat, annotations, depth)
        return JsonField(reason=_unknown_type(name), **annotations)

    def _list(self, schema: JSONObject, annotations: Annotations, depth: int) -> Field:
        item = schema.get("items", True)
        build_item = partial(self.field, item, depth + 1)
        minimum, maximum = keywords.count(schema, "minItems"), keywords.count(schema, "maxItems")
        unique = schema.get("uniqueItems") is True
        locations = keywords.schemas(schema, "prefixItems")
        if len(locations) > MAX_POSITIONS:
            count = f"There are {len(locations):,} positions; a form shows at most {MAX_POSITIONS:,}."
            return JsonField(reason=count, **annotations)
        if locations:
            return TupleField(
                items=lambda: tuple(self.field(part, depth + 1) for part in locations),
                rest=build_item if item is not False else None,
                min_items=minimum,
                max_items=maximum,
                unique_items=unique,
                **annotations,
            )
        if item is False:
            maximum = 0
        return ListField(
            item=build_item, min_items=minimum, max_items=maximum, unique_items=unique, **annotations
        )

    def _object(self, flat: Flat, annotations: Annotations, depth: int) -> Field:
        # Members that a condition adds count as evaluated too, so nothing is unevaluated until it is known
        # to hold.
        schema = flat.schema if flat.conditionals else evaluated(flat.schema)
        properties = _member_schemas(schema)
        is_closed = schema.get("additionalProperties") is False
        is_map = not is_closed or "patternProperties" in schema
        if is_map and not properties and not flat.conditionals and depth > 0:
            return self._map(schema, annotations, depth)
        required = keywords.names(schema, "required")
        members = tuple(
            Member(name, partial(self._member, schema, name, depth + 1), name in required)
            for name in list(properties)[:MAX_FIELDS]
        )
        hidden, forbidden = len(properties) - len(members), required - properties.keys()
        annotations["notes"] += _notes_on_members(flat, hidden, forbidden)
        return ObjectField(
            members=members,
            is_open=not is_closed,
            rest=self._rest(schema, depth),
            min_properties=keywords.count(schema, "minProperties"),
            max_properties=keywords.count(schema, "maxProperties"),
            conditions=conditions_of(flat.conditionals, self._document),
            under=lru_cache(maxsize=32)(partial(self._under, flat, depth)) if flat.conditionals else None,
            **annotations,
        )

    def _member(self, schema: JSONObject, name: str, depth: int) -> Field:
        return self.field(member_schema(schema, name), depth)

    def _under(self, flat: Flat, depth: int, outcomes: tuple[bool, ...]) -> Field:
        """Build the object for these outcomes of its conditions."""
        parts = schemas_under(flat.conditionals, outcomes)
        return self.field({"allOf": [flat.schema, *parts], "type": "object"}, depth)

    def _rest(self, schema: JSONObject, depth: int) -> MapField | None:
        """Build the field for additional keys, if the schema describes them."""
        is_described = schema.get("additionalProperties", False) is not False
        if not is_described and "patternProperties" not in schema:
            return None
        return self._map(schema, annotations_of(Flat()), depth)

    def _map(self, schema: JSONObject, annotations: Annotations, depth: int) -> MapField:
        value = schema.get("additionalProperties", True)
        patterns = keywords.named(schema, "patternProperties")
        names = schema.get("propertyNames")
        return MapField(
            value=partial(self.field, value, depth + 1) if value is not False else None,
            patterns=tuple(
                PatternValue(pattern, partial(self.field, part, depth + 1))
                for pattern, part in list(patterns.items())[:MAX_FIELDS]
            ),
            key=self._key(names, depth) if isinstance(names, dict) else TextField(),
            min_properties=keywords.count(schema, "minProperties"),
            max_properties=keywords.count(schema, "maxProperties"),
            **annotations,
        )

    def _key(self, names: JSONObject, depth: int) -> Field:
        """Build the field for keys: they are strings, even if the schema does not say so."""
        return self.field({"type": "string", "allOf": [names]}, depth + 1)


def _unknown_type(name: str) -> str:
    return f"{name[:40]!r} is not a JSON Schema type."


def _member_schemas(schema: JSONObject) -> JSONObject:
    """Return the schemas of the members: `properties`, plus required names not listed there."""
    properties = keywords.named(schema, "properties")
    names = [name for name in keywords.schemas(schema, "required") if isinstance(name, str)]
    unnamed = {name: member_schema(schema, name) for name in names if name not in properties}
    allowed = {name: part for name, part in unnamed.items() if part is not False}
    return {**properties, **allowed} if allowed else properties


def _notes_on_members(flat: Flat, hidden: int, forbidden: frozenset[str]) -> tuple[str, ...]:
    notes = []
    if hidden:
        notes.append(f"{plural(hidden, 'more field')} not shown: a form shows at most {MAX_FIELDS:,}.")
    if forbidden:
        some = ", ".join(name[:40] for name in sorted(forbidden)[:5])
        notes.append(f"The schema requires properties it does not allow: {some}.")
    if (left := len(flat.conditionals) - MAX_CONDITIONS) > 0:
        notes.append(
            f"{plural(left, 'more condition')} not evaluated: a form supports at most {MAX_CONDITIONS}."
        )
    return tuple(notes)


class Annotations(TypedDict):
    """Constructor arguments common to all fields."""

    title: str
    description: str
    default: JSON | Absent
    examples: tuple[JSON, ...]
    nullable: bool
    is_typed: bool
    deprecated: bool
    read_only: bool
    write_only: bool
    notes: tuple[str, ...]


def annotations_of(flat: Flat, notes: tuple[str, ...] = ()) -> Annotations:
    """Return a schema's annotations; nullable if a union or the list of types says so."""
    schema = flat.schema
    types = keywords.types({"type": schema.get("type")})
    return Annotations(
        title=keywords.text(schema, "title", limit=200),
        description=keywords.text(schema, "description"),
        default=schema["default"]
        if keywords.is_json(schema.get("default")) and "default" in schema
        else ABSENT,
        examples=tuple(filter(keywords.is_json, keywords.schemas(schema, "examples")[:_MAX_EXAMPLES])),
        nullable=flat.nullable or "null" in types,
        is_typed=bool(types),
        deprecated=schema.get("deprecated") is True,
        read_only=schema.get("readOnly") is True,
        write_only=schema.get("writeOnly") is True,
        notes=notes,
    )


def text_field(schema: JSONObject, annotations: Annotations) -> TextField:
    format_name = keywords.text(schema, "format", limit=80)
    media_type = keywords.text(schema, "contentMediaType", limit=80)
    encoding = keywords.text(schema, "contentEncoding", limit=40)
    if format_name in ("byte", "binary") and not encoding:  # OpenAPI's spelling
        encoding = "base64"
    hints = {schema.get(key) for key in ("x-ui-widget", "x-multiline") if isinstance(schema.get(key), str)}
    return TextField(
        format=format_name,
        pattern=keywords.text(schema, "pattern", limit=500),
        min_length=keywords.count(schema, "minLength"),
        max_length=keywords.count(schema, "maxLength"),
        multiline=not encoding
        and (format_name in _MULTILINE_FORMATS or bool(media_type) or bool(hints & _MULTILINE_HINTS)),
        content_encoding=encoding,
        content_media_type=media_type,
        **annotations,
    )


def number_field(schema: JSONObject, annotations: Annotations, kind: type[NumberField]) -> NumberField:
    multiple_of = keywords.number(schema, "multipleOf")
    bounds = {key: keywords.number(schema, key) for key in ("minimum", "maximum")}
    exclusive = {
        "minimum": keywords.number(schema, "exclusiveMinimum"),
        "maximum": keywords.number(schema, "exclusiveMaximum"),
    }
    for side, keyword in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(keyword) is True:  # draft 4's spelling: a flag beside the bound that it applies to
            bounds[side], exclusive[side] = None, bounds[side]
    return kind(
        minimum=bounds["minimum"],
        maximum=bounds["maximum"],
        exclusive_minimum=exclusive["minimum"],
        exclusive_maximum=exclusive["maximum"],
        multiple_of=multiple_of if multiple_of is not None and multiple_of > 0 else None,
        **annotations,
    )


def choice_field(flat: Flat, annotations: Annotations) -> Field | None:
    """Build the field for `const`, `enum` or titled constants (`oneOf`, `anyOf`), else None."""
    choices, labels = _titled_constants(flat.unions[0]) if len(flat.unions) == 1 else ([], [])
    if isinstance(values := flat.schema.get("enum"), list):
        choices, labels = values, _enum_labels(values, choices, labels) or _enum_names(flat.schema, values)
    if not choices or not all(map(keywords.is_json, choices)):
        return None
    if len(choices) > MAX_CHOICES:
        reason = f"There are {len(choices):,} choices; a form shows at most {MAX_CHOICES:,}."
        return JsonField(reason=reason, **annotations)
    if None in choices and len(choices) > 1:  # null is a separate state of every field
        locations = [position for position, choice in enumerate(choices) if choice is not None]
        labels = [labels[position] for position in locations] if labels else []
        choices = [choices[position] for position in locations]
        annotations["nullable"] = True
    kind = ConstField if len(choices) == 1 else ChoiceField
    return kind(choices=tuple(choices), labels=tuple(labels), **annotations)


def _titled_constants(union: Alternatives) -> tuple[list[JSON], list[str]]:
    """Return the choices of a union of constants, and a title for each, or no titles at all."""
    found: dict[str, tuple[JSON, str]] = {}
    for part in union.branches:
        constants = _constants(part)
        if not constants or not isinstance(part, dict):
            return [], []
        title = keywords.text(part, "title", limit=200) if len(constants) == 1 else ""
        names = _enum_names(part, constants) or [title] * len(constants)
        for choice, label in zip(constants, names, strict=True):
            found.setdefault(write_line(choice), (choice, label))
    labels = [label for _, label in found.values()]
    return [choice for choice, _ in found.values()], labels if any(labels) else []


def _constants(part: JSON) -> list[JSON]:
    """Return the constants that a branch lists, if any."""
    if not isinstance(part, dict):
        return []
    if "const" in part:
        return [part["const"]]
    return [None] if is_null(part) else keywords.schemas(part, "enum")


def _enum_names(schema: JSONObject, choices: list[JSON]) -> list[str]:
    """Return `enumNames`, the older spelling of titles: one for each choice, or none at all."""
    names = [name if isinstance(name, str) else "" for name in keywords.schemas(schema, "enumNames")]
    return [name[:200] for name in names] if len(names) == len(choices) and any(names) else []


def _enum_labels(choices: list[JSON], titled: list[JSON], labels: list[str]) -> list[str]:
    """Return the titles that a union beside `enum` gives to the same values."""
    known = dict(zip(map(write_line, titled), labels, strict=False))
    found = [known.get(write_line(choice), "") for choice in choices] if known else []
    return found if any(found) else []
