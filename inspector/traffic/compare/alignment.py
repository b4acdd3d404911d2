"""Sequence alignment (longest common subsequence) with bounded effort.

Myers' greedy algorithm ("An O(ND) difference algorithm", 1986): its cost grows with the number of
differences, so that long sequences with few differences are aligned quickly. Where there are many, tokens
that occur once on each side serve as anchors ("patience"), or the furthest path is taken and the search
continues from there; when the effort is spent, the rest is paired item by item. Long runs of equal
neighbors are grouped, so that the size of a diff depends on what differs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isqrt
from typing import NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Pair: TypeAlias = tuple[int, int]
Tokens: TypeAlias = Sequence[Hashable]

_MAX_EDITS = 1000  # in the first pass: half a million steps, a third of a second
_EDITS_FURTHER = 150  # in each further pass: fewer, because the cost is quadratic
_STEPS = 2_000_000


@dataclass(slots=True)
class Effort:
    """Remaining effort for alignment, shared by everything compared at once."""

    steps: int = _STEPS
    was_short: bool = False  # some alignment is not optimal

    def edits(self, maximum: int) -> int:
        """Return how many differences may be searched for now. The cost is half their square."""
        return min(maximum, isqrt(max(self.steps, 0)))


class _Range(NamedTuple):
    left: int
    left_end: int
    right: int
    right_end: int
    max_edits: int = _MAX_EDITS


class _Alignment(NamedTuple):
    """An alignment of the beginning of a range, up to these positions."""

    pairs: list[Pair]
    left: int
    right: int


def align(left: Tokens, right: Tokens, effort: Effort) -> list[Pair]:
    """Return the positions of equal tokens, increasing on both sides."""
    steps = align_in_steps(left, right, effort)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            pairs: list[Pair] = end.value
            return pairs


def align_in_steps(left: Tokens, right: Tokens, effort: Effort) -> Generator[None, None, list[Pair]]:
    """Generator version of `align` that yields after small steps."""
    pairs: list[Pair] = []
    ranges = [_Range(0, len(left), 0, len(right))]
    while ranges:
        rest = _trimmed(left, right, ranges.pop(), pairs)
        if rest.left == rest.left_end or rest.right == rest.right_end:
            continue
        yield
        found = yield from _myers(left, right, rest, effort)
        if (found.left, found.right) == (rest.left_end, rest.right_end):
            pairs += found.pairs
        elif anchors := _anchors(left, right, rest):
            pairs += anchors
            ranges += _between(anchors, rest)
        elif found.left + found.right > rest.left + rest.right:
            effort.was_short = True
            pairs += found.pairs
            ranges.append(_Range(found.left, rest.left_end, found.right, rest.right_end, _EDITS_FURTHER))
        else:
            effort.was_short = True
            pairs += _one_by_one(left, right, rest)
    pairs.sort()
    return pairs


def _trimmed(left: Tokens, right: Tokens, part: _Range, pairs: list[Pair]) -> _Range:
    """Pair equal tokens at both ends; return the rest."""
    first, last, other, other_last, max_edits = part
    while first < last and other < other_last and left[first] == right[other]:
        pairs.append((first, other))
        first += 1
        other += 1
    while first < last and other < other_last and left[last - 1] == right[other_last - 1]:
        last -= 1
        other_last -= 1
        pairs.append((last, other_last))
    return _Range(first, last, other, other_last, max_edits)


def _myers(left: Tokens, right: Tokens, part: _Range, effort: Effort) -> Generator[None, None, _Alignment]:
    """Align a range optimally; only its beginning if it has more differences than the limit."""
    start, other = part.left, part.right
    width, height = part.left_end - start, part.right_end - other
    maximum = min(effort.edits(part.max_edits), width + height)
    reached = array("q", bytes(8 * (2 * maximum + 3)))  # furthest point per diagonal, its 0 in the middle
    middle = maximum + 1
    trail: list[array[int]] = []
    furthest = (0, 0)
    for edits in range(maximum + 1):
        trail.append(reached[middle - edits - 1 : middle + edits + 2])
        effort.steps -= edits + 1
        furthest = (0, 0)
        # A diagonal outside of the range leads nowhere.
        for diagonal in range(-edits + 2 * max(0, edits - height), edits - 2 * max(0, edits - width) + 1, 2):
            at = middle + diagonal
            down = diagonal == -edits or (diagonal != edits and reached[at - 1] < reached[at + 1])
            x = reached[at + 1] if down else reached[at - 1] + 1
            y = x - diagonal
            while x < width and y < height and left[start + x] == right[other + y]:
                x += 1
                y += 1
            reached[at] = x
            if x + y > furthest[0] + furthest[1] and x <= width and y <= height:
                furthest = (x, y)
        if furthest == (width, height):
            break
        yield
    return _walked_back(trail, part, *furthest)


def _walked_back(trail: list[array[int]], part: _Range, x: int, y: int) -> _Alignment:
    """Return the equal tokens on the path to the point that the last trail entry led to."""
    pairs: list[Pair] = []
    end = (part.left + x, part.right + y)
    for edits in range(len(trail) - 1, -1, -1):
        reached, middle, diagonal = trail[edits], edits + 1, x - y
        down = diagonal == -edits or (
            diagonal != edits and reached[middle + diagonal - 1] < reached[middle + diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        before_x = reached[middle + before] if edits else 0
        before_y = before_x - before if edits else 0
        while x > before_x and y > before_y:
            x -= 1
            y -= 1
            pairs.append((part.left + x, part.right + y))
        x, y = before_x, before_y
    return _Alignment(pairs, *end)


def _anchors(left: Tokens, right: Tokens, part: _Range) -> list[Pair]:
    """Return tokens that occur once on either side, as many as keep their order."""
    ours = Counter(left[part.left : part.left_end])
    theirs = Counter(right[part.right : part.right_end])
    positions = {right[at]: at for at in range(part.right, part.right_end) if theirs[right[at]] == 1}
    shared = [
        (at, positions[left[at]])
        for at in range(part.left, part.left_end)
        if ours[left[at]] == 1 and left[at] in positions
    ]
    return [shared[index] for index in rising([position for _, position in shared])]


def rising(values: Sequence[int]) -> list[int]:
    """Return the indices of a longest increasing subsequence."""
    ends: list[int] = []  # the smallest last value of a subsequence of each length
    owners: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        length = bisect_left(ends, value)
        before.append(owners[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            owners.append(index)
        else:
            ends[length], owners[length] = value, index
    chain: list[int] = []
    at = owners[-1] if owners else -1
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]


def _between(anchors: list[Pair], part: _Range) -> list[_Range]:
    ranges = []
    left, right = part.left, part.right
    for ours, theirs in [*anchors, (part.left_end, part.right_end)]:
        ranges.append(_Range(left, ours, right, theirs))
        left, right = ours + 1, theirs + 1
    return ranges


def _one_by_one(left: Tokens, right: Tokens, part: _Range) -> list[Pair]:
    count = min(part.left_end - part.left, part.right_end - part.right)
    pairs = ((part.left + index, part.right + index) for index in range(count))
    return [(ours, theirs) for ours, theirs in pairs if left[ours] == right[theirs]]


_CONTEXT = 2  # equal neighbors of a difference that are not folded


def folded(neighbors: Sequence[T], equal: Iterable[bool]) -> Iterator[Sequence[T]]:
    """Yield all neighbors in order, in groups: several equal ones, or a single one."""
    start = 0
    for is_equal, run in groupby(equal):
        end = start + sum(1 for _ in run)
        first = start + _CONTEXT if start else 0
        last = end - _CONTEXT if end < len(neighbors) else end
        if not is_equal or last - first < 2:
            first = last = end
        yield from ([item] for item in neighbors[start:first])
        if first < last:
            yield neighbors[first:last]
        yield from ([item] for item in neighbors[last:end])
        start = end
