"""What a form holds: JSON in which a place may also be something that JSON has no word for.

Every JSON value is a draft as it is. Beside it, wherever an editor needs it:

- `ABSENT`: nothing is to be sent;
- `Unreadable`: JSON text that does not parse;
- `Picked`, in a `UnionField`: the variant that the person sees, and the draft in it;
- `Pairs`, in a `MapField`, or in an `ObjectField` for all its keys together: rows of keys and values, which
  while they are written may repeat a key;
- `Aside`, for a member of an object: what was typed while the member applied. It is not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from inspector.schema.absent import ABSENT as ABSENT
from inspector.schema.absent import Absent as Absent


@dataclass(frozen=True, slots=True)
class Unreadable:
    """JSON text that does not parse, and why."""

    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class Picked:
    """The draft of one variant of a union, by its index in `UnionField.variants`."""

    variant: int
    draft: Draft


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows of a map or an object, in order."""

    rows: tuple[tuple[str, Draft], ...] = ()


@dataclass(frozen=True, slots=True)
class Aside:
    """A draft that is kept, and not sent, until its member applies again."""

    draft: Draft


Draft: TypeAlias = (
    "bool | int | float | str | Absent | Unreadable | Picked | Pairs | Aside"
    " | Sequence[Draft] | Mapping[str, Draft] | None"
)


def repeated(pairs: Pairs) -> list[str]:
    """The keys that would be sent twice, once each."""
    keys = [key for key, part in pairs.rows if part is not ABSENT and not isinstance(part, Aside)]
    return [key for key, count in Counter(keys).items() if count > 1]


def bare(draft: object) -> object:
    """Return a draft without its `Picked` and `Pairs` wrappers; does not look inside."""
    while isinstance(draft, Picked):
        draft = draft.draft
    if isinstance(draft, Pairs):
        return dict(draft.rows)
    return ABSENT if isinstance(draft, Aside) else draft
