"""From a JSON Schema to a form: `build_form`.

Never raises and never fetches. Whatever the schema is, a form comes out; a part that has no editor of its
own becomes a `JsonField` with the reason, and rules that the form does not show are named in `notes`.
Depth and number of fields are bounded, so that a hostile schema costs no more than a large honest one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.units import plural
from inspector.schema import keywords
from inspector.schema.absent import ABSENT
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    Member,
    NumberField,
    ObjectField,
    TextField,
)
from inspector.schema.resolve import is_null, resolve

MAX_DEPTH = 6
MAX_FIELDS = 4000
MAX_CHOICES = 1000
_MOST_EXAMPLES = 10
_TOO_DEEP = f"The schema is nested more than {MAX_DEPTH} levels deep."
_SIMPLE = (TextField, NumberField, BooleanField, ChoiceField)
_UNIONS = ("oneOf", "anyOf", "allOf")
_SAYS_WHAT_IT_IS = ("type", "$ref", "enum", "const", "items", "prefixItems", *_UNIONS)
_RULES_NOT_SHOWN = (
    *_UNIONS, "not", "if", "dependentRequired", "dependentSchemas", "dependencies", "patternProperties",
    "propertyNames", "minProperties", "maxProperties", "contains", "unevaluatedProperties",
)  # fmt: skip
_WORDY_FORMATS = frozenset(("markdown", "multiline", "textarea"))


def build_form(schema: JSON) -> ObjectField:
    """The form for a tool's arguments, or for any other object."""
    if not isinstance(schema, dict):
        note = f"The server's schema is {keywords.kind_of(schema)} instead of an object. Write JSON instead."
        return ObjectField(notes=(note,))
    if not keywords.present(schema, _SAYS_WHAT_IT_IS):
        schema = {**schema, "type": "object"}  # arguments are an object, said or not
    field = _Builder(schema).field(schema, trail=("#",), depth=0)
    if isinstance(field, ObjectField):
        return field
    why = field.reason if isinstance(field, JsonField) else "The schema does not describe an object."
    return ObjectField(
        title=field.title, description=field.description, notes=(f"{why} Write JSON instead.",)
    )


class _Builder:
    """Builds one form; knows the root for references, and how many more fields it may make."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._left = MAX_FIELDS
        self._by_type: dict[str, Callable[[JSONObject, tuple[str, ...], int], Field]] = {
            "string": lambda schema, _trail, _depth: _text_field(schema),
            "integer": lambda schema, _trail, _depth: _number_field(schema, IntegerField),
            "number": lambda schema, _trail, _depth: _number_field(schema, NumberField),
            "boolean": lambda _schema, _trail, _depth: BooleanField(),
            "array": self._list_field,
            "object": self._object_field,
        }

    def field(self, schema: JSON, trail: tuple[str, ...], depth: int) -> Field:
        """The field for one schema, with its annotations."""
        self._left -= 1
        resolved = resolve(schema, self._root, trail)
        if resolved.reason:
            field: Field = JsonField(reason=resolved.reason)
        else:
            field = self._kind(resolved.schema, resolved.trail, depth)
        return _annotated(field, resolved.schema, nullable=resolved.nullable)

    def _kind(self, schema: JSONObject, trail: tuple[str, ...], depth: int) -> Field:
        choice = _choice_field(schema)
        if choice is not None:
            return choice
        types = keywords.types(schema)
        others = tuple(name for name in types if name != "null")
        if types and not others:
            return ChoiceField(choices=(None,))
        if len(others) > 1:
            return JsonField(reason=f"The value may be of {len(others)} types: {', '.join(others)}.")
        if not others:
            return JsonField(reason=_why_any(schema))
        make = self._by_type.get(others[0])
        if make is None:
            return JsonField(reason=f"{others[0][:40]!r} is not a type that JSON Schema knows.")
        return replace(make(schema, trail, depth), nullable="null" in types)

    def _list_field(self, schema: JSONObject, trail: tuple[str, ...], depth: int) -> Field:
        if depth > MAX_DEPTH:
            return JsonField(reason=_TOO_DEEP)
        if "prefixItems" in schema or isinstance(schema.get("items"), list):
            return JsonField(reason="A list with a different kind of value at each place.")
        if "items" not in schema:
            return JsonField(reason="A list whose items may be anything.")
        item = self.field(schema["items"], trail, depth + 1)
        if isinstance(item, JsonField):
            return JsonField(reason=f"A list whose items have no form. {item.reason}")
        if not isinstance(item, _SIMPLE):
            return JsonField(reason=f"A list of {'objects' if isinstance(item, ObjectField) else 'lists'}.")
        return ListField(
            item=item,
            min_items=keywords.count(schema, "minItems"),
            max_items=keywords.count(schema, "maxItems"),
            unique_items=schema.get("uniqueItems") is True,
        )

    def _object_field(self, schema: JSONObject, trail: tuple[str, ...], depth: int) -> Field:
        properties = keywords.named(schema, "properties")
        if not properties and depth > 0:
            return JsonField(reason="An object with keys of your own choice.")
        if depth > MAX_DEPTH:
            return JsonField(reason=_TOO_DEEP)
        required = keywords.names(schema, "required")
        members: list[Member] = []
        for name, part in properties.items():
            if self._left <= 0:
                break
            members.append(Member(name, self.field(part, trail, depth + 1), name in required))
        return ObjectField(
            members=tuple(members),
            is_open=schema.get("additionalProperties") is not False,
            notes=_notes_on_members(properties, members, required),
        )


def _annotated(field: Field, schema: JSONObject, *, nullable: bool) -> Field:
    """The field with the server's words, and with notes on the rules that no field shows."""
    unshown = [] if isinstance(field, JsonField | ChoiceField) else keywords.present(schema, _RULES_NOT_SHOWN)
    notes = (f"The form does not show these rules: {', '.join(unshown)}.",) if unshown else ()
    return replace(
        field,
        title=keywords.text(schema, "title", limit=200),
        description=keywords.text(schema, "description"),
        default=schema.get("default", ABSENT),
        examples=tuple(keywords.schemas(schema, "examples")[:_MOST_EXAMPLES]),
        nullable=field.nullable or nullable,
        notes=field.notes + notes,
    )


def _notes_on_members(
    properties: JSONObject, members: list[Member], required: frozenset[str]
) -> tuple[str, ...]:
    notes = []
    if unshown := len(properties) - len(members):
        notes.append(f"{plural(unshown, 'more field')} not shown: a form has at most {MAX_FIELDS:,}.")
    if unnamed := sorted(required - properties.keys()):
        some = ", ".join(name[:40] for name in unnamed[:5])
        notes.append(f"Required, but not described by the schema: {some}. Add it as JSON.")
    return tuple(notes)


def _choice_field(schema: JSONObject) -> Field | None:
    """`const`, `enum`, or the titled kind: `oneOf` (or `anyOf`) of nothing but constants."""
    if "const" in schema:
        return ChoiceField(choices=(schema["const"],))
    labels: list[str] = []
    choices = schema.get("enum")
    if not isinstance(choices, list):
        choices, labels = _titled_choices(schema)
    if not choices:
        return None
    if len(choices) > MAX_CHOICES:
        return JsonField(reason=f"There are {len(choices):,} choices; a form offers at most {MAX_CHOICES:,}.")
    if None in choices and len(choices) > 1:  # null has its own state on every field
        places = [place for place, choice in enumerate(choices) if choice is not None]
        kept = tuple(labels[place] for place in places) if labels else ()
        return ChoiceField(choices=tuple(choices[place] for place in places), labels=kept, nullable=True)
    return ChoiceField(choices=tuple(choices), labels=tuple(labels))


def _titled_choices(schema: JSONObject) -> tuple[list[JSON], list[str]]:
    for key in ("oneOf", "anyOf"):
        branches = keywords.schemas(schema, key)
        constants = [
            part for part in branches if isinstance(part, dict) and ("const" in part or is_null(part))
        ]
        if branches and len(constants) == len(branches):
            choices = [part.get("const") for part in constants]
            return choices, [keywords.text(part, "title", limit=200) for part in constants]
    return [], []


def _text_field(schema: JSONObject) -> TextField:
    format_name = keywords.text(schema, "format", limit=80)
    return TextField(
        format=format_name,
        pattern=keywords.text(schema, "pattern", limit=500),
        min_length=keywords.count(schema, "minLength"),
        max_length=keywords.count(schema, "maxLength"),
        multiline=format_name in _WORDY_FORMATS or "contentMediaType" in schema,
    )


def _number_field(schema: JSONObject, kind: type[NumberField]) -> NumberField:
    multiple_of = keywords.number(schema, "multipleOf")
    return kind(
        minimum=keywords.number(schema, "minimum"),
        maximum=keywords.number(schema, "maximum"),
        exclusive_minimum=keywords.number(schema, "exclusiveMinimum"),
        exclusive_maximum=keywords.number(schema, "exclusiveMaximum"),
        multiple_of=multiple_of if multiple_of is not None and multiple_of > 0 else None,
    )


def _why_any(schema: JSONObject) -> str:
    for key in _UNIONS:
        if branches := keywords.schemas(schema, key):
            return f"The value may take {len(branches):,} different shapes ({key})."
    return "The schema names no type: any value will do."
