"""Messages and errors over time, in buckets that widen as the time gets long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from operator import floordiv

_FINEST_NS = 10_000_000
_MOST_BUCKETS = 4096


@dataclass(frozen=True, slots=True)
class Rate:
    """Bucket `i` begins at `start_ns + i * width_ns` (nanoseconds since 1970)."""

    start_ns: int
    width_ns: int
    messages: tuple[int, ...]
    errors: tuple[int, ...]


class RateSeries:
    """Bounded: when more than 4,096 buckets have something in them, each becomes twice as wide."""

    def __init__(self) -> None:
        self._width = _FINEST_NS
        self._messages: Counter[int] = Counter()
        self._errors: Counter[int] = Counter()

    def add(self, messages: Iterable[int], errors: Iterable[int]) -> None:
        """When messages came, and when those of them that are errors did."""
        self._messages.update(map(floordiv, messages, repeat(self._width)))
        self._errors.update(map(floordiv, errors, repeat(self._width)))
        while len(self._messages) > _MOST_BUCKETS:
            self._width *= 2
            self._messages, self._errors = _halved(self._messages), _halved(self._errors)

    def rate(self, buckets: int, start_ns: int | None = None, end_ns: int | None = None) -> Rate:
        """At most so many buckets over all, or over a range; never finer than what is kept."""
        if not self._messages:
            return Rate(start_ns or 0, self._width, (), ())
        start = min(self._messages) if start_ns is None else start_ns // self._width
        end = max(self._messages) + 1 if end_ns is None else -(-end_ns // self._width)
        together = max(1, -(-(end - start) // max(1, buckets)))
        count = max(0, -(-(end - start) // together))
        return Rate(
            start * self._width,
            together * self._width,
            _spread(self._messages, start, together, count),
            _spread(self._errors, start, together, count),
        )


def _halved(buckets: Counter[int]) -> Counter[int]:
    wider: Counter[int] = Counter()
    for bucket, count in buckets.items():
        wider[bucket // 2] += count
    return wider


def _spread(buckets: Counter[int], start: int, together: int, count: int) -> tuple[int, ...]:
    found = [0] * count
    for bucket, number in buckets.items():
        index = (bucket - start) // together
        if 0 <= index < count:
            found[index] += number
    return tuple(found)
