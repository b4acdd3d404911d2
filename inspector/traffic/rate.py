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
    """Message and error counts. Bucket `i` starts at `start_ns + i * width_ns` (ns since 1970)."""

    start_ns: int
    width_ns: int
    messages: tuple[int, ...]
    errors: tuple[int, ...]


class RateSeries:
    """Bounded time series: beyond 4,096 non-empty buckets, the bucket width doubles."""

    def __init__(self) -> None:
        self._width = _FINEST_NS
        self._messages: Counter[int] = Counter()
        self._errors: Counter[int] = Counter()

    def add(self, messages: Iterable[int], errors: Iterable[int]) -> None:
        """Add the times of messages, and of those that are errors."""
        self._messages.update(map(floordiv, messages, repeat(self._width)))
        self._errors.update(map(floordiv, errors, repeat(self._width)))
        while len(self._messages) > _MOST_BUCKETS:
            self._width *= 2
            self._messages, self._errors = _halved(self._messages), _halved(self._errors)

    def rate(self, buckets: int, start_ns: int | None = None, end_ns: int | None = None) -> Rate:
        """Return at most `buckets` buckets over all, or a range; never finer than what is stored."""
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
