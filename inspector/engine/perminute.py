"""How often something may happen by itself within a minute: what costs money is not done in a loop."""

from __future__ import annotations

from collections import deque

from inspector.base.clock import Clock

_MINUTE_NS = 60_000_000_000


class PerMinute:
    """Rate limiter with separate counts per name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._times: dict[str, deque[int]] = {}

    def take(self, name: str, most: int) -> bool:
        """Take one slot; False if `most` were already taken within the last minute."""
        now = self._clock.monotonic_ns()
        times = self._times.setdefault(name, deque())
        while times and times[0] <= now - _MINUTE_NS:
            times.popleft()
        if len(times) >= most:
            return False
        times.append(now)
        return True
