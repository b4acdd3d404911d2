"""How often something may happen by itself within a minute: what costs money is not done in a loop."""

from __future__ import annotations

from collections import deque

from inspector.base.clock import Clock

_MINUTE_NS = 60_000_000_000


class PerMinute:
    """Counts apart for each name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[str, deque[int]] = {}

    def take(self, name: str, most: int) -> bool:
        """Once more, if that is not more often than `most` times within the last minute."""
        now = self._clock.monotonic_ns()
        times = self._times.setdefault(name, deque())
        while times and times[0] <= now - _MINUTE_NS:
            times.popleft()
        if len(times) >= most:
            return False
        times.append(now)
        return True
