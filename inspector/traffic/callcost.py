"""What a call cost the server's processes, and what they wrote meanwhile besides messages.

stderr and stray lines name no call: what came between its beginning and its end is taken to belong to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.units import duration, plural
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

MOST_LINES = 500
_SPAN = 100_000  # rows to search (10 ms)
_STRAY = (RecordKind.TEXT, RecordKind.INVALID)
_WRITTEN = (RecordKind.STDERR, *_STRAY)


@dataclass(frozen=True, slots=True)
class CallCost:
    """Resources used by a call.

    `cpu_ns` is that of the whole process tree; None if it could not be measured. `rows` are the log rows of
    the first lines written.
    """

    cpu_ns: int | None
    stderr: int = 0
    stray: int = 0
    rows: tuple[int, ...] = ()

    def words(self) -> str:
        """Format as `CPU 12 ms · 3 stderr lines · 1 stray line`, omitting what is zero."""
        parts = [f"CPU {duration(self.cpu_ns)}"] if self.cpu_ns is not None else []
        if self.stderr:
            parts.append(plural(self.stderr, "stderr line"))
        if self.stray:
            parts.append(plural(self.stray, "stray line"))
        return " · ".join(parts)


def cost_of(log: TrafficLog, server: str, first: int, last: int, cpu_ns: int | None) -> CallCost:
    """Return the cost of a call that ran while the log grew from `first` to `last`. Thread-safe."""
    rows = written_rows(log, server, first, last)
    stray = sum(log.kind(row) in _STRAY for row in rows)
    return CallCost(cpu_ns, len(rows) - stray, stray, tuple(rows[:MOST_LINES]))


def written_rows(log: TrafficLog, server: str, first: int, last: int) -> list[int]:
    """Return a server's stderr and stray-line rows in this range; the cost is bounded."""
    number, last = log.server_number(server), min(last, first + _SPAN, len(log))
    columns = log.columns
    kinds = zip(range(first, last), columns.kind[first:last], columns.server[first:last], strict=False)
    return [row for row, kind, whose in kinds if whose == number and kind in _WRITTEN]


def last_stderr(log: TrafficLog, server: str, first: int, last: int, most: int) -> list[bytes]:
    """Return the last non-empty stderr lines in this range; the cost is bounded."""
    first = max(first, last - _SPAN)
    found: list[bytes] = []
    for row in reversed(written_rows(log, server, first, last)):
        if log.kind(row) == RecordKind.STDERR and (line := log.head(row, 2_000)).strip():
            found.append(line)
        if len(found) == most:
            break
    return found[::-1]
