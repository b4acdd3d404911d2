"""Long runs of equal neighbours, taken together: the size of a diff then grows with what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")

CONTEXT = 2  # equal neighbors of a difference that are not folded


def folded(neighbours: Sequence[T], equal: Iterable[bool]) -> Iterator[Sequence[T]]:
    """Yield all neighbors in order, in groups: several equal ones, or a single one."""
    start = 0
    for is_equal, run in groupby(equal):
        end = start + sum(1 for _ in run)
        first = start + CONTEXT if start else 0
        last = end - CONTEXT if end < len(neighbours) else end
        if not is_equal or last - first < 2:
            first = last = end
        yield from ([item] for item in neighbours[start:first])
        if first < last:
            yield neighbours[first:last]
        yield from ([item] for item in neighbours[last:end])
        start = end
