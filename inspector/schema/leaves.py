"""The fields without parts: text, numbers, choices; and the server's words on any field."""

from __future__ import annotations

from typing import TypedDict

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.schema import keywords
from inspector.schema.absent import ABSENT, Absent
from inspector.schema.fields import ChoiceField, ConstField, Field, JsonField, NumberField, TextField
from inspector.schema.flatten import Alternatives, Flat
from inspector.schema.resolve import is_null

MAX_CHOICES = 1000
_MOST_EXAMPLES = 10
_WORDY_FORMATS = frozenset(("markdown", "multiline", "textarea", "html", "json", "sql", "code"))
_WORDY_HINTS = frozenset(("textarea", "multiline"))


class Words(TypedDict):
    """What every field is made with."""

    title: str
    description: str
    default: JSON | Absent
    examples: tuple[JSON, ...]
    nullable: bool
    deprecated: bool
    read_only: bool
    write_only: bool
    notes: tuple[str, ...]


def words_of(flat: Flat, notes: tuple[str, ...] = ()) -> Words:
    """The annotations of a schema; nullable where a union says so, or the list of types."""
    schema = flat.schema
    return Words(
        title=keywords.text(schema, "title", limit=200),
        description=keywords.text(schema, "description"),
        default=schema.get("default", ABSENT),
        examples=tuple(keywords.schemas(schema, "examples")[:_MOST_EXAMPLES]),
        nullable=flat.nullable or "null" in keywords.types({"type": schema.get("type")}),
        deprecated=schema.get("deprecated") is True,
        read_only=schema.get("readOnly") is True,
        write_only=schema.get("writeOnly") is True,
        notes=notes,
    )


def text_field(schema: JSONObject, words: Words) -> TextField:
    format_name = keywords.text(schema, "format", limit=80)
    media_type = keywords.text(schema, "contentMediaType", limit=80)
    encoding = keywords.text(schema, "contentEncoding", limit=40)
    if format_name in ("byte", "binary") and not encoding:  # how OpenAPI writes it
        encoding = "base64"
    hints = {schema.get(key) for key in ("x-ui-widget", "x-multiline") if isinstance(schema.get(key), str)}
    return TextField(
        format=format_name,
        pattern=keywords.text(schema, "pattern", limit=500),
        min_length=keywords.count(schema, "minLength"),
        max_length=keywords.count(schema, "maxLength"),
        multiline=not encoding
        and (format_name in _WORDY_FORMATS or bool(media_type) or bool(hints & _WORDY_HINTS)),
        content_encoding=encoding,
        content_media_type=media_type,
        **words,
    )


def number_field(schema: JSONObject, words: Words, kind: type[NumberField]) -> NumberField:
    multiple_of = keywords.number(schema, "multipleOf")
    bounds = {key: keywords.number(schema, key) for key in ("minimum", "maximum")}
    exclusive = {
        "minimum": keywords.number(schema, "exclusiveMinimum"),
        "maximum": keywords.number(schema, "exclusiveMaximum"),
    }
    for side, keyword in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if schema.get(keyword) is True:  # how draft 4 writes it: beside the bound that it is about
            bounds[side], exclusive[side] = None, bounds[side]
    return kind(
        minimum=bounds["minimum"],
        maximum=bounds["maximum"],
        exclusive_minimum=exclusive["minimum"],
        exclusive_maximum=exclusive["maximum"],
        multiple_of=multiple_of if multiple_of is not None and multiple_of > 0 else None,
        **words,
    )


def choice_field(flat: Flat, words: Words) -> Field | None:
    """`const`, `enum`, or the titled kind: `oneOf` (or `anyOf`) of nothing but constants. None: no choice."""
    labels: list[str] = []
    choices = flat.schema.get("enum")
    if not isinstance(choices, list):
        choices, labels = _titled(flat.unions[0]) if len(flat.unions) == 1 else ([], [])
    if not choices:
        return None
    if len(choices) > MAX_CHOICES:
        reason = f"There are {len(choices):,} choices; a form offers at most {MAX_CHOICES:,}."
        return JsonField(reason=reason, **words)
    if None in choices and len(choices) > 1:  # null has its own state on every field
        places = [place for place, choice in enumerate(choices) if choice is not None]
        labels = [labels[place] for place in places] if labels else []
        choices = [choices[place] for place in places]
        words["nullable"] = True
    kind = ConstField if len(choices) == 1 else ChoiceField
    return kind(choices=tuple(choices), labels=tuple(labels), **words)


def _titled(union: Alternatives) -> tuple[list[JSON], list[str]]:
    constants = [
        part
        for part in union.branches
        if isinstance(part, dict) and ("const" in part or is_null(part) or len(_only(part)) == 1)
    ]
    if len(constants) < len(union.branches):
        return [], []
    choices = [part["const"] if "const" in part else (_only(part) or [None])[0] for part in constants]
    labels = [keywords.text(part, "title", limit=200) for part in constants]
    return choices, labels if any(labels) else []


def _only(part: JSONObject) -> list[JSON]:
    return keywords.schemas(part, "enum")
