"""One timer for many who wait."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Alarm:
    """A shared timer that fires at the earliest requested time, even if no longer needed.

    Nearly every request is answered long before its timeout: setting and cancelling a timer for each took
    as long as recording it. `ring` finds out what is due and requests the next time.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._when = math.inf

    def set(self, when: float) -> None:
        """Fire at this time of the loop's clock, or earlier."""
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
