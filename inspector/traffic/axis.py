"""Rows on one axis of time, though each run of a program counts monotonic time from another moment.

Lengths come from the monotonic clock, which nobody sets. Positions are nanoseconds since 1970, so that they
can be labelled: monotonic time plus the distance between the two clocks, which is looked up anew where they
part (another run in the same capture, a computer that slept, a clock that was set).
"""

from __future__ import annotations

from bisect import bisect_right

from inspector.traffic.log import TrafficLog

LATEST = 2**62  # the maximum position: a file may hold any number, and adding to it must not overflow
PARTING_NS = 1_000_000_000
_STRIDE = 1024


class TimeAxis:
    """Positions of rows on the time axis. Reads at most every row once, usually far fewer."""

    def __init__(self, log: TrafficLog) -> None:
        self._columns = log.columns
        self._seen = 0
        # Where the clocks diverged, and their offset from there on.
        self._rows: list[int] = []
        self._distances: list[int] = []

    def position(self, row: int) -> int:
        if row >= self._seen:
            self._look_until(row)
        index = -1 if row >= self._rows[-1] else bisect_right(self._rows, row) - 1
        return min(max(self._columns.monotonic[row] + self._distances[index], 0), LATEST)

    def end_of_run(self, row: int) -> int | None:
        """Return where the clocks next diverged, which ended what was open; None if nowhere."""
        index = bisect_right(self._rows, row)
        return self.position(self._rows[index] - 1) if index < len(self._rows) else None

    def _look_until(self, row: int) -> None:
        """Check the last row of each stretch; if the clocks diverged within it, check every row."""
        while self._seen <= row:
            if not self._rows:
                self._part(0)
            last = min(self._seen + _STRIDE, row + 1)
            if self._has_parted(last - 1):
                self._part(next(one for one in range(self._seen, last) if self._has_parted(one)))
                last = self._rows[-1] + 1
            self._seen = last

    def _has_parted(self, row: int) -> bool:
        distance = self._columns.wall[row] - self._columns.monotonic[row]
        return abs(distance - self._distances[-1]) > PARTING_NS

    def _part(self, row: int) -> None:
        self._rows.append(row)
        self._distances.append(self._columns.wall[row] - self._columns.monotonic[row])


def elapsed_ns(log: TrafficLog, first: int, second: int) -> int:
    """Return the time from one row to another; negative if the second was earlier."""
    columns = log.columns
    monotonic = columns.monotonic[second] - columns.monotonic[first]
    wall = columns.wall[second] - columns.wall[first]
    return monotonic if abs(monotonic - wall) <= PARTING_NS else wall
