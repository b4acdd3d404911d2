"""How long things took: many durations in little memory.

A histogram whose steps grow with the value: 32 to each doubling. A percentile is therefore not exact but
within 1.6 % of the exact one (and exact below 64 ns); count, mean, least and most are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

ERROR = 1 / 64  # of a percentile, relative to the exact one

_BITS = 5
_STEPS = 1 << _BITS


@dataclass(frozen=True, slots=True)
class Bin:
    """The number of durations from `start_ns` up to, but excluding, `end_ns`."""

    start_ns: int
    end_ns: int
    count: int


class Latencies:
    """Durations in nanoseconds. Holds at most about 2,000 numbers, however many are added."""

    __slots__ = ("_steps", "count", "least", "most", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.least = 0
        self.most = 0
        self._steps: dict[int, int] = {}

    def add(self, ns: int) -> None:
        if ns < 0:
            ns = 0
        if ns < self.least or not self.count:
            self.least = ns
        if ns > self.most:
            self.most = ns
        self.count += 1
        self.total += ns
        step = _step(ns)
        self._steps[step] = self._steps.get(step, 0) + 1

    def merge(self, other: Latencies) -> None:
        if not other.count:
            return
        self.least = min(self.least, other.least) if self.count else other.least
        self.most = max(self.most, other.most)
        self.count += other.count
        self.total += other.total
        for step, count in other._steps.items():
            self._steps[step] = self._steps.get(step, 0) + count

    @property
    def mean(self) -> int | None:
        return self.total // self.count if self.count else None

    def percentiles(self, fractions: Iterable[float]) -> list[int | None]:
        """Return for each fraction the duration that it does not exceed (nearest rank)."""
        steps = sorted(self._steps)
        ranks = list(accumulate(self._steps[step] for step in steps))
        return [self._at(steps, ranks, max(1, ceil(fraction * self.count))) for fraction in fractions]

    def _at(self, steps: list[int], ranks: list[int], rank: int) -> int | None:
        index = bisect_left(ranks, rank)
        if index == len(steps):
            return None
        start, end = _bounds(steps[index])
        return min(max((start + end - 1) // 2, self.least), self.most)

    def bins(self, most: int = 24) -> tuple[Bin, ...]:
        """Return bins for a logarithmic axis, including empty ones: neighboring steps merged."""
        if not self.count:
            return ()
        first, last = min(self._steps), max(self._steps)
        together = ceil((last - first + 1) / most)
        counts = [0] * ceil((last - first + 1) / together)
        for step, count in self._steps.items():
            counts[(step - first) // together] += count
        starts = [_bounds(first + together * index)[0] for index in range(len(counts) + 1)]
        return tuple(map(Bin, starts, starts[1:], counts))


def _step(ns: int) -> int:
    """Return the histogram step of a duration, given by its highest six bits."""
    shift = ns.bit_length() - _BITS - 1
    return ns if shift <= 0 else (shift << _BITS) + (ns >> shift)


def _bounds(step: int) -> tuple[int, int]:
    """Return the start and exclusive end of a step."""
    shift = max(0, (step >> _BITS) - 1)
    start = (step - (shift << _BITS)) << shift
    return start, start + (1 << shift)
