"""Pairing of the lines of two texts, and the entries of a diff for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.traffic.compare.alignment import Effort, align, folded
from inspector.traffic.compare.diff import Change, ChangeKind

MAX_LINES = 50_000  # on either side


class LinePair(NamedTuple):
    """A pair of line indices; None on the side that lacks the line."""

    kind: ChangeKind
    left: int | None
    right: int | None


def pair_lines(
    left: list[str], right: list[str], effort: Effort, blanked: Callable[[str], str] = str
) -> Iterator[LinePair]:
    """Pair the lines of both texts, each once, in order.

    `blanked` removes what is ignored from a line.
    """
    at = other = 0
    pairs = align([blanked(line) for line in left], [blanked(line) for line in right], effort)
    for i, j in [*pairs, (len(left), len(right))]:
        both = min(i - at, j - other)
        yield from (LinePair(ChangeKind.CHANGED, at + step, other + step) for step in range(both))
        yield from (LinePair(ChangeKind.REMOVED, line, None) for line in range(at + both, i))
        yield from (LinePair(ChangeKind.ADDED, None, line) for line in range(other + both, j))
        if i < len(left) and j < len(right):
            yield LinePair(ChangeKind.SAME if left[i] == right[j] else ChangeKind.IGNORED, i, j)
        at, other = i + 1, j + 1


def line_entries(
    pairs: list[LinePair], left: list[str], right: list[str], parent: int, depth: int
) -> Iterator[Change]:
    """Yield entries for the lines of the text in entry `parent`; equal neighbors are grouped."""
    for group in folded(pairs, (pair.kind is ChangeKind.SAME for pair in pairs)):
        kind, at, other = group[0]
        before: JSON = left[at] if at is not None else None
        after: JSON = right[other] if other is not None else None
        if len(group) > 1 and at is not None:
            before = after = [*left[at : at + len(group)]]
        yield Change(parent, depth, kind, at, other, before, after, is_line=True, count=len(group))


def lines_note(pairs: list[LinePair]) -> str:
    """Summarize as `3 of 120 lines differ, the first at line 7`."""
    different = [pair for pair in pairs if pair.kind.is_difference]
    if not different:
        return ""
    first = different[0].right if different[0].left is None else different[0].left
    verb = "differs" if len(different) == 1 else "differ"
    share = f"{len(different):,} of {plural(len(pairs), 'line')}"
    return f"{share} {verb}, the first at line {(first or 0) + 1:,}"


def has_lines(text: str) -> bool:
    """True if a text has several lines; a trailing line break does not count."""
    return "\n" in text[:-1]


def first_difference(left: str | bytes, right: str | bytes) -> int:
    """Return the length of the common prefix, in characters or bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:  # comparing slices is much faster than a loop over characters
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
