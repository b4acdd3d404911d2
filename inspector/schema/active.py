"""The members of an object that apply to a draft, and what becomes of those that no longer do."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.schema.choose import choose
from inspector.schema.drafts import ABSENT, Aside, Draft, Picked
from inspector.schema.fields import Member, ObjectField, UnionField

_MOST_ROUNDS = 8  # of conditions that are introduced by members of another condition


def effective(field: ObjectField, draft: Mapping[str, Draft]) -> ObjectField:
    """Return the object for this draft: the members, rules and notes of conditions that hold."""
    for _ in range(_MOST_ROUNDS):
        if field.under is None:
            break
        inner = field.under(tuple(condition.holds(draft) for condition in field.conditions))
        if isinstance(inner, UnionField):
            inner = inner.variants[choose(inner, draft)].field
        if not isinstance(inner, ObjectField):
            break  # the schemas under these conditions contradict each other: keep the unconditional members
        field = inner
    return field


def active(field: ObjectField, draft: Mapping[str, Draft]) -> tuple[Member, ...]:
    """Return the members to show for this draft, in schema order."""
    return effective(field, draft).members


def settle(field: ObjectField, before: Mapping[str, Draft], after: Mapping[str, Draft]) -> dict[str, Draft]:
    """Return the draft after an edit: inapplicable members set aside, applicable ones restored.

    Only members that applied before are set aside. A key that was entered as JSON and is unknown to the
    form is left alone, and is still sent.
    """
    if field.under is None:
        return dict(after)
    now = {member.name for member in active(field, after)}
    gone = {member.name for member in active(field, before)} - now
    settled: dict[str, Draft] = {}
    for name, part in after.items():
        if name in now and isinstance(part, Aside):
            settled[name] = part.draft
        elif name in gone and not isinstance(part, Aside) and part is not ABSENT:
            settled[name] = Aside(part)
        else:
            settled[name] = part
    return settled


def picked(field: UnionField, draft: Draft) -> Picked:
    """Return a union's draft together with its variant."""
    return draft if isinstance(draft, Picked) else Picked(choose(field, draft), draft)
