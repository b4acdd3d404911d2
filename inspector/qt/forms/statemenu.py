"""Which of its states a field is in, and the menu that changes it.

Absent, null, empty and default are four different things. The words here name the state a draft is in;
the menu offers the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.schema.fields import Field, ListField, ObjectField, TextField
from inspector.schema.jsontext import same, write_line
from inspector.schema.values import ABSENT, Absent, Draft, Unreadable

_EMPTY: tuple[tuple[type[Field], str, Draft], ...] = (
    (TextField, "Empty text", ""),
    (ListField, "Empty list", []),
    (ObjectField, "Empty object", {}),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry of the menu: words, and the draft it puts into the field."""

    words: str
    draft: Draft


def state_words(field: Field, draft: Draft) -> str:
    """The state in a word or two, as shown beside the field."""
    if draft is ABSENT:
        return "not set"
    if isinstance(draft, Unreadable):
        return "not JSON"
    if field.default is not ABSENT and _is_default(field, draft):
        return "default"
    if draft is None:
        return "null"
    return "empty" if draft in ("", [], {}) else "set"


def offers(field: Field) -> Iterator[Offer]:
    """What can be chosen for a field in one click, in the order of the menu."""
    yield Offer("Not set", ABSENT)
    if field.nullable:
        yield Offer("Null", None)
    yield from (Offer(words, empty) for kind, words, empty in _EMPTY if isinstance(field, kind))
    if field.default is not ABSENT:
        yield Offer(f"Default: {_shown(field.default)}", field.default)
    yield from (Offer(f"Example: {_shown(example)}", example) for example in field.examples)


def _is_default(field: Field, draft: Draft) -> bool:
    if isinstance(field, ListField | ObjectField) or isinstance(field.default, Absent):
        return False  # a draft of several parts may hold what is not JSON
    return same(draft, field.default)  # type: ignore[arg-type]  # the draft of a leaf is JSON here


def _shown(value: Draft) -> str:
    # An ampersand in a menu marks the next letter as its key, unless doubled.
    return one_line(shorten(write_line(value), 60)).replace("&", "&&")  # type: ignore[arg-type]
