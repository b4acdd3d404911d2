"""The members of an object that apply to a draft, and what becomes of those that no longer do."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.schema.choose import choose
from inspector.schema.drafts import ABSENT, Aside, Draft, Picked
from inspector.schema.fields import Member, ObjectField, UnionField

_MOST_ROUNDS = 8  # of conditions that come with the members that another condition has brought


def effective(field: ObjectField, draft: Mapping[str, Draft]) -> ObjectField:
    """The object as it is for this draft: with the members, rules and notes of the conditions that hold."""
    for _ in range(_MOST_ROUNDS):
        if field.under is None:
            break
        inner = field.under(tuple(condition.holds(draft) for condition in field.conditions))
        if isinstance(inner, UnionField):
            inner = inner.variants[choose(inner, draft)].field
        if not isinstance(inner, ObjectField):
            break  # what holds under the conditions contradicts itself; then the members that apply always
        field = inner
    return field


def active(field: ObjectField, draft: Mapping[str, Draft]) -> tuple[Member, ...]:
    """The members to show for this draft, in the schema's order."""
    return effective(field, draft).members


def settle(field: ObjectField, before: Mapping[str, Draft], after: Mapping[str, Draft]) -> dict[str, Draft]:
    """The draft after an edit: what no longer applies is put aside, what applies again is taken back.

    Only members that applied before are put aside; a key that was given as JSON and that the form does not
    know is none of ours, and stays what is sent.
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
    """A draft of a union with its variant."""
    return draft if isinstance(draft, Picked) else Picked(choose(field, draft), draft)
