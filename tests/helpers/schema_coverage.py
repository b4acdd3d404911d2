"""How much of a schema a form covers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.json.values import JSON
from inspector.schema.builder import build_form
from inspector.schema.fields import (
    Field,
    JsonField,
    ListField,
    MapField,
    ObjectField,
    TupleField,
    UnionField,
)
from inspector.schema.values import child

_MAX_DEPTH = 8
MOST_FIELDS = 5000


@dataclass(frozen=True, slots=True)
class Coverage:
    """`fields` counts the fields with an editor; `fallbacks` lists those without.

    Each fallback is a JSON pointer, in which `*` is any key or item and `|title` a variant, with the
    reason why only JSON text can be entered there.
    """

    fields: int
    fallbacks: tuple[tuple[str, str], ...]


def coverage(schema: JSON) -> Coverage:
    """Return the coverage of a schema's form; a recursive schema is followed some levels deep."""
    form = build_form(schema)
    if form.notes and not form.members and form.union is None and form.rest is None:
        return Coverage(1, (("", form.notes[0]),))
    count, fallbacks = 0, []
    left: list[tuple[str, Field, int]] = list(_parts("", form, 0))[::-1]
    while left and count < MOST_FIELDS:
        pointer, field, depth = left.pop()
        count += 1
        if isinstance(field, JsonField):
            fallbacks.append((pointer, field.reason))
        elif depth < _MAX_DEPTH:
            left.extend(list(_parts(pointer, field, depth))[::-1])
    return Coverage(count, tuple(fallbacks))


def _parts(pointer: str, field: Field, depth: int) -> Iterator[tuple[str, Field, int]]:
    """Return the fields inside a field; none for a value of any type."""
    deeper = depth + 1
    match field:
        case UnionField(is_any=False):
            yield from ((f"{pointer}|{one.title}", one.field, deeper) for one in field.variants)
        case ListField():
            yield child(pointer, "*"), field.item, deeper
        case TupleField():
            yield from ((child(pointer, location), one, deeper) for location, one in enumerate(field.items))
            if field.rest is not None:
                yield child(pointer, "*"), field.rest, deeper
        case MapField():
            yield from _map_parts(pointer, field, deeper)
        case ObjectField():
            yield from _object_parts(pointer, field, deeper)


def _map_parts(pointer: str, field: MapField, depth: int) -> Iterator[tuple[str, Field, int]]:
    yield from ((child(pointer, one.pattern), one.field, depth) for one in field.patterns)
    if field.value is not None:
        yield child(pointer, "*"), field.value, depth


def _object_parts(pointer: str, field: ObjectField, depth: int) -> Iterator[tuple[str, Field, int]]:
    if field.union is not None:
        yield pointer, field.union, depth
    seen = {member.name for member in field.members}
    yield from ((child(pointer, one.name), one.field, depth) for one in field.members)
    if field.rest is not None:
        yield from _map_parts(pointer, field.rest, depth)
    if field.under is None:
        return
    for outcome in (True, False):
        inner = field.under((outcome,) * len(field.conditions))
        if isinstance(inner, ObjectField):
            new = [member for member in inner.members if member.name not in seen]
            seen.update(member.name for member in new)
            yield from ((child(pointer, one.name), one.field, depth) for one in new)
