"""How JSON text may go on, by the schema: keys that are not there yet, and values that fit."""

from __future__ import annotations

import json
from collections.abc import Iterator

from inspector.base.jsonvalue import JSON
from inspector.qt.forms.jsonplaces import context_at
from inspector.qt.widgets.suggestions import Suggestion
from inspector.schema.describe import summary
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    Field,
    ListField,
    MapField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.jsontext import write_line
from inspector.schema.values import ABSENT

MOST_OFFERED = 100
LONGEST_TEXT = 256 * 1024
_MOST_FIELDS = 60


def suggestions(field: ObjectField, text: str, offset: int) -> list[Suggestion]:
    """Return completions at `offset`; none in a text too long to parse on each key."""
    if len(text) > LONGEST_TEXT:
        return []
    context = context_at(text, offset)
    if context is None:
        return []
    fields = _plain([field.union or field])
    for step in context.path:
        fields = _plain([inner for one in fields for inner in _inside(one, step)])
    start, end = context.written.start, context.written.end
    typed = text[start:offset].strip('"').casefold()
    offered = _keys(fields, context.keys, text, end) if context.is_key else _values(fields)
    unique = dict(offered)
    fitting = [(words, note) for words, note in unique.items() if typed in words.casefold()]
    fitting.sort(key=lambda one: not one[0].casefold().lstrip('"').startswith(typed))
    whole = text[start:end]
    return [Suggestion(words, start, end, note) for words, note in fitting[:MOST_OFFERED] if words != whole]


def _plain(fields: list[Field]) -> list[Field]:
    """Flatten unions into their variants."""
    found: list[Field] = []
    left = fields[::-1]
    while left and len(found) < _MOST_FIELDS:
        one = left.pop()
        found.append(one)  # a union too, for its default and examples
        if isinstance(one, UnionField):
            left.extend(variant.field for variant in reversed(one.variants[:_MOST_FIELDS]))
    return found


def _inside(field: Field, step: str | int) -> Iterator[Field]:
    match field:
        case ObjectField():
            named = [member.field for one in _shapes(field) for member in one.members if member.name == step]
            yield from named[:_MOST_FIELDS]
            if not named and field.rest is not None:
                yield from _inside(field.rest, step)
        case MapField() if isinstance(step, str) and (inner := field.value_for(step)) is not None:
            yield inner
        case ListField() if isinstance(step, int):
            yield field.item
        case TupleField() if isinstance(step, int) and (place := field.item_at(step)) is not None:
            yield place


def _shapes(field: ObjectField) -> list[ObjectField]:
    """Return an object's shapes: as is, with all conditions met, and with none."""
    shapes = [field]
    for outcome in (True, False):
        under = field.under((outcome,) * len(field.conditions)) if field.under is not None else field
        shapes += [one for one in _plain([under]) if isinstance(one, ObjectField)]
    return shapes


def _keys(fields: list[Field], there: frozenset[str], text: str, end: int) -> Iterator[tuple[str, str]]:
    has_colon = text[end : end + 20].lstrip().startswith(":")
    for field in fields:
        for shape in _shapes(field) if isinstance(field, ObjectField) else ():
            for member in shape.members:
                if member.name in there:
                    continue
                quoted = json.dumps(member.name, ensure_ascii=False)
                note = f"{summary(member.field)}{', required' if member.required else ''}"
                yield (quoted if has_colon else f"{quoted}: "), note


def _values(fields: list[Field]) -> Iterator[tuple[str, str]]:
    for field in fields:
        if field.default is not ABSENT:
            yield write_line(field.default), "default"
        yield from ((write_line(value), note) for value, note in _fitting(field))
        yield from ((write_line(value), "example") for value in field.examples)
        if field.nullable:
            yield "null", ""


def _fitting(field: Field) -> Iterator[tuple[JSON, str]]:
    match field:
        case ChoiceField():
            labels = field.labels or ("",) * len(field.choices)
            yield from zip(field.choices, labels, strict=True)
        case BooleanField():
            yield from ((True, ""), (False, ""))
        case ObjectField() | MapField():
            yield {}, "object"
        case ListField() | TupleField():
            yield [], "list"
        case TextField():
            yield "", "text"
