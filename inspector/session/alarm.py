"""One timer for many who wait."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Alarm:
    """Rings at the earliest moment that was asked for, whether or not somebody still waits for it.

    Nearly every request has its answer long before its limit: a timer for each, set and taken back, took as
    long as recording it. `ring` looks who is due, and asks for the next moment.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._when = math.inf

    def set(self, when: float) -> None:
        """Ring at this moment of the loop's clock, or before."""
        if when < self._when:
            self.stop()
            self._when = when
            self._timer = self._loop.call_at(when, self._on_time)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._when = None, math.inf

    def _on_time(self) -> None:
        self._timer, self._when = None, math.inf
        self._ring()
