"""Which of its states a field is in, and the menu that changes it.

Absent, null, empty and default are four different things. The words here name the state a draft is in;
the menu offers the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.plaintext import one_line
from inspector.schema.drafts import bare
from inspector.schema.fields import (
    Field,
    JsonField,
    ListField,
    MapField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.jsontext import same, write_line
from inspector.schema.values import ABSENT, Draft, FormError, Pairs, Picked, Unreadable, draft_of, finish

_EMPTY: tuple[tuple[type[Field], str, Draft], ...] = (
    (TextField, "Empty text", ""),
    (ListField, "Empty list", []),
    (TupleField, "Empty list", []),
    (ObjectField, "Empty object", {}),
    (MapField, "Empty object", Pairs()),
)
_MOST_VARIANTS = 8  # checked for empty values
_LARGEST_COMPARED = 50  # parts; the state is recomputed on each key press


@dataclass(frozen=True, slots=True)
class Offer:
    """A menu entry: its label and the draft it sets."""

    words: str
    draft: Draft


def state_words(field: Field, draft: Draft) -> str:
    """Return a short label for the state, as shown beside the field."""
    value = bare(draft)
    if value is ABSENT:
        return "not set"
    if isinstance(value, Unreadable):
        return "not JSON"
    if field.default is not ABSENT and _is_default(field, draft, value):
        return "default"
    if value is None:
        return "null"
    return "empty" if value in ("", [], {}) else "set"


def offers(field: Field, *, is_optional: bool = True) -> Iterator[Offer]:
    """Yield the values that can be set in one click, in menu order."""
    if is_optional:
        yield Offer("Not set", ABSENT)
    if field.nullable or isinstance(field, JsonField):  # a JsonField may be nullable
        yield Offer("Null", None)
    yield from _empties(field)
    if field.default is not ABSENT:
        yield Offer(f"Default: {_shown(field.default)}", draft_of(field, field.default))
    for example in field.examples:
        yield Offer(f"Example: {_shown(example)}", draft_of(field, example))


def _empties(field: Field) -> Iterator[Offer]:
    """Yield the empty values of the field's type; of a union, of each variant's type."""
    if not isinstance(field, UnionField):
        yield from (Offer(words, empty) for kind, words, empty in _EMPTY if isinstance(field, kind))
        return
    said: set[str] = set()
    for place, variant in enumerate(field.variants[:_MOST_VARIANTS]):
        for offer in _empties(variant.field) if not isinstance(variant.field, UnionField) else ():
            if offer.words not in said:
                said.add(offer.words)
                yield Offer(offer.words, Picked(place, offer.draft))


def _is_default(field: Field, draft: Draft, value: object) -> bool:
    default = field.default
    assert default is not ABSENT
    if isinstance(value, dict | list):
        if not isinstance(default, dict | list) or len(value) != len(default):
            return False
        if len(value) > _LARGEST_COMPARED:
            return False
    elif isinstance(value, str) and value != default:
        return False
    try:
        whole = finish(field, draft)
    except FormError:
        return False
    return whole is not ABSENT and same(whole, default)


def _shown(value: JSON) -> str:
    # In a menu, an ampersand marks the next letter as mnemonic unless doubled.
    return one_line(shorten(write_line(value), 60)).replace("&", "&&")
