"""Clock interface (monotonic and wall time) and the system clock; tests pass a fake one."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock and a wall clock. Both in nanoseconds."""

    def monotonic_ns(self) -> int: ...

    def wall_ns(self) -> int: ...


class SystemClock:
    """The system clocks."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns()
