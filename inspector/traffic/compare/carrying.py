"""A diff made light enough to be handed to another process while a window waits for it."""

from __future__ import annotations

from dataclasses import replace

from inspector.base.jsonvalue import JSON
from inspector.traffic.compare.diff import Change, ChangeKind, Cut, Diff
from inspector.traffic.compare.wording import called, children, value_text

_MOST_CARRIED = 5_000  # values, or hundreds of characters


def carried(diff: Diff) -> Diff:
    """Return the diff without the values that would make it expensive to pickle.

    Drops containers whose contents have their own entries, and equal values beyond a few thousand.
    Differences are kept whole.
    """
    left = [_MOST_CARRIED]
    return replace(diff, entries=tuple(_light(entry, left) for entry in diff.entries))


def _light(entry: Change, left: list[int]) -> Change:
    has_entries = entry.kind in (ChangeKind.INSIDE, ChangeKind.MOVED)
    if has_entries or (entry.kind is ChangeKind.SAME and not _fits(entry.left, left)):
        return replace(entry, left=_cut(entry.left), right=_cut(entry.right))
    return entry


def _cut(value: JSON | Cut) -> Cut:
    return Cut(value_text(value), called(value).strip())


def _fits(value: JSON | Cut, left: list[int]) -> bool:
    """True if a value fits the remaining budget, which it then uses up."""
    waiting = [value]
    while waiting and left[0] > 0:
        one = waiting.pop()
        left[0] -= 1 + (len(one) // 100 if isinstance(one, str) else 0)
        waiting += [child for _, child in children(one)]
    return left[0] > 0
