"""The fields without parts: text, numbers, choices; and the server's words on any field."""

from __future__ import annotations

from typing import TypedDict

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.schema import keywords
from inspector.schema.absent import ABSENT, Absent
from inspector.schema.fields import ChoiceField, ConstField, Field, JsonField, NumberField, TextField
from inspector.schema.flatten import Alternatives, Flat
from inspector.schema.jsontext import write_line
from inspector.schema.resolve import is_null

MAX_CHOICES = 1000
_MOST_EXAMPLES = 10
_WORDY_FORMATS = frozenset(("markdown", "multiline", "textarea", "html", "json", "sql", "code"))
_WORDY_HINTS = frozenset(("textarea", "multiline"))


class Words(TypedDict):
    """Constructor arguments common to all fields."""

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
    """Return a schema's annotations; nullable if a union or the list of types says so."""
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
    if format_name in ("byte", "binary") and not encoding:  # OpenAPI's spelling
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
        if schema.get(keyword) is True:  # draft 4's spelling: a flag beside the bound that it applies to
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
    """Build the field for `const`, `enum` or titled constants (`oneOf`, `anyOf`), else None."""
    choices, labels = _titled(flat.unions[0]) if len(flat.unions) == 1 else ([], [])
    if isinstance(given := flat.schema.get("enum"), list):
        choices, labels = given, _labels_for(given, choices, labels) or _names_of(flat.schema, given)
    if not choices:
        return None
    if len(choices) > MAX_CHOICES:
        reason = f"There are {len(choices):,} choices; a form offers at most {MAX_CHOICES:,}."
        return JsonField(reason=reason, **words)
    if None in choices and len(choices) > 1:  # null is a separate state of every field
        places = [place for place, choice in enumerate(choices) if choice is not None]
        labels = [labels[place] for place in places] if labels else []
        choices = [choices[place] for place in places]
        words["nullable"] = True
    kind = ConstField if len(choices) == 1 else ChoiceField
    return kind(choices=tuple(choices), labels=tuple(labels), **words)


def _titled(union: Alternatives) -> tuple[list[JSON], list[str]]:
    """Return the choices of a union of constants, and a title for each, or no titles at all."""
    found: dict[str, tuple[JSON, str]] = {}
    for part in union.branches:
        given = _given(part)
        if not given or not isinstance(part, dict):
            return [], []
        title = keywords.text(part, "title", limit=200) if len(given) == 1 else ""
        names = _names_of(part, given) or [title] * len(given)
        for choice, label in zip(given, names, strict=True):
            found.setdefault(write_line(choice), (choice, label))
    labels = [label for _, label in found.values()]
    return [choice for choice, _ in found.values()], labels if any(labels) else []


def _given(part: JSON) -> list[JSON]:
    """Return the constants that a branch lists, if any."""
    if not isinstance(part, dict):
        return []
    if "const" in part:
        return [part["const"]]
    return [None] if is_null(part) else keywords.schemas(part, "enum")


def _names_of(schema: JSONObject, choices: list[JSON]) -> list[str]:
    """Return `enumNames`, the older spelling of titles: one for each choice, or none at all."""
    names = [name if isinstance(name, str) else "" for name in keywords.schemas(schema, "enumNames")]
    return [name[:200] for name in names] if len(names) == len(choices) and any(names) else []


def _labels_for(choices: list[JSON], titled: list[JSON], labels: list[str]) -> list[str]:
    """Return the titles that a union beside `enum` gives to the same values."""
    known = dict(zip(map(write_line, titled), labels, strict=False))
    found = [known.get(write_line(choice), "") for choice in choices] if known else []
    return found if any(found) else []
