"""Time axis of a log: positions of rows in nanoseconds since 1970.

Lengths come from the monotonic clock. A position is the monotonic time plus the offset between the clocks,
which is determined again where they diverge: another run in the same capture, sleep, a clock change.
"""

from __future__ import annotations

from bisect import bisect_right

from inspector.traffic.log import TrafficLog

MAX_POSITION = 2**62  # a file may hold any number, and adding to it must not overflow
_DIVERGED_NS = 1_000_000_000  # offsets that differ by more than this are not clock drift
_STRIDE = 1024


class TimeAxis:
    """Positions of rows on the time axis. Reads at most every row once, usually far fewer."""

    def __init__(self, log: TrafficLog) -> None:
        self._columns = log.columns
        self._seen = 0
        # Where the clocks diverged, and their offset from there on.
        self._rows: list[int] = []
        self._offsets: list[int] = []

    def position(self, row: int) -> int:
        if row >= self._seen:
            self._read_until(row)
        index = -1 if row >= self._rows[-1] else bisect_right(self._rows, row) - 1
        return min(max(self._columns.monotonic[row] + self._offsets[index], 0), MAX_POSITION)

    def end_of_run(self, row: int) -> int | None:
        """Return where the clocks next diverged, which ended what was open; None if nowhere."""
        index = bisect_right(self._rows, row)
        return self.position(self._rows[index] - 1) if index < len(self._rows) else None

    def _read_until(self, row: int) -> None:
        """Check the last row of each stretch; if the clocks diverged within it, check every row."""
        while self._seen <= row:
            if not self._rows:
                self._add_offset(0)
            last = min(self._seen + _STRIDE, row + 1)
            if self._has_diverged(last - 1):
                self._add_offset(next(each for each in range(self._seen, last) if self._has_diverged(each)))
                last = self._rows[-1] + 1
            self._seen = last

    def _has_diverged(self, row: int) -> bool:
        offset = self._columns.wall[row] - self._columns.monotonic[row]
        return abs(offset - self._offsets[-1]) > _DIVERGED_NS

    def _add_offset(self, row: int) -> None:
        self._rows.append(row)
        self._offsets.append(self._columns.wall[row] - self._columns.monotonic[row])


def elapsed_ns(log: TrafficLog, first: int, second: int) -> int:
    """Return the time from one row to another; negative if the second was earlier."""
    columns = log.columns
    monotonic = columns.monotonic[second] - columns.monotonic[first]
    wall = columns.wall[second] - columns.wall[first]
    return monotonic if abs(monotonic - wall) <= _DIVERGED_NS else wall
