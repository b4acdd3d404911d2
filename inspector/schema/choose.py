"""Which variant of a union a draft belongs to: `choose`.

In this order: the variant that was picked; the one that the discriminator names; among those whose schema
the draft fits, or among all where it fits none, the one that knows most of it. Nothing is lost by a wrong
choice: what a variant does not know is kept, and the person can pick another.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.schema.drafts import ABSENT, Picked, bare
from inspector.schema.equality import equal
from inspector.schema.fields import ChoiceField, Field, MapField, ObjectField, UnionField
from inspector.schema.fits import is_of_type

_WRONG_TYPE = -1000
_DEEPEST = 3
_MOST_STEPS = 500


def choose(union: UnionField, draft: object) -> int:
    """Return the index of the best variant; 0 for an empty draft."""
    if isinstance(draft, Picked):
        return draft.variant if 0 <= draft.variant < len(union.variants) else 0
    value = bare(draft)
    if value is ABSENT:
        return 0
    if (tagged := _tagged(union, value)) is not None:
        return tagged
    places = range(len(union.variants))
    fitting = [place for place in places if union.variants[place].fits(value)]
    if len(fitting) == 1:
        return fitting[0]
    likeness = _Likeness()
    return max(
        fitting or places, key=lambda place: likeness.of(union.variants[place].field, value), default=0
    )


def is_kind_of(field: Field, draft: object) -> bool:
    """True if the draft has a type that the field accepts, even if it is otherwise invalid."""
    return _Likeness().of(field, bare(draft)) > _WRONG_TYPE


def _tagged(union: UnionField, value: object) -> int | None:
    if not union.discriminator or not isinstance(value, Mapping):
        return None
    tag = bare(value.get(union.discriminator, ABSENT))
    for place, variant in enumerate(union.variants):
        if any(equal(tag, known) for known in variant.tags):
            return place
    return None


class _Likeness:
    """Scores how much of a value a field can hold; looks a few levels deep, in bounded steps."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def of(self, field: Field, value: object, depth: int = 0) -> int:
        self._left -= 1
        if value is None:
            return 0 if field.nullable else _WRONG_TYPE
        match field:
            case UnionField():
                return self._of_variants(field, value, depth)
            case ChoiceField():
                return 2 if any(equal(value, choice) for choice in field.choices) else _WRONG_TYPE
            case ObjectField() if isinstance(value, Mapping):
                return self._of_members(field, value, depth)
            case MapField() if isinstance(value, Mapping):
                return 0
        return 1 if is_of_type(value, field.json_type) else _WRONG_TYPE

    def _of_variants(self, field: UnionField, value: object, depth: int) -> int:
        if depth >= _DEEPEST or self._left < 0:
            return 0
        return max((self.of(one.field, value, depth + 1) for one in field.variants), default=0)

    def _of_members(self, field: ObjectField, value: Mapping[str, object], depth: int) -> int:
        names = {name for name, part in value.items() if bare(part) is not ABSENT}
        known = {member.name for member in field.members}
        missing = sum(member.required and member.name not in names for member in field.members)
        unknown = len(names - known) * (1 if field.is_open else 4)
        points = 2 * len(names & known) - 3 * missing - unknown
        for member in field.members:
            if depth >= _DEEPEST or self._left < 0:
                break
            part = bare(value.get(member.name, ABSENT))
            if part is not ABSENT and self.of(member.field, part, depth + 1) <= _WRONG_TYPE // 2:
                points -= 5
        return points
