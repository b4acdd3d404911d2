"""Cost of a call: CPU time, and what the server wrote meanwhile.

Stderr and stray lines name no call, so those between its start and its end are attributed to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from inspector.base.units import duration, plural
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

_MAX_LINES = 500
_MAX_SEARCHED = 100_000  # rows; takes 10 ms
_STRAY = (RecordKind.TEXT, RecordKind.INVALID)
_OUTPUT = (RecordKind.STDERR, *_STRAY)


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

    def text(self) -> str:
        """Format as `CPU 12 ms · 3 stderr lines · 1 stray line`, omitting what is zero."""
        parts = [f"CPU {duration(self.cpu_ns)}"] if self.cpu_ns is not None else []
        if self.stderr:
            parts.append(plural(self.stderr, "stderr line"))
        if self.stray:
            parts.append(plural(self.stray, "stray line"))
        return " · ".join(parts)


def cost_of(log: TrafficLog, server: str, first: int, last: int, cpu_ns: int | None) -> CallCost:
    """Return the cost of a call that ran while the log grew from `first` to `last`. Thread-safe."""
    rows = output_rows(log, server, first, last)
    stray = sum(log.kind(row) in _STRAY for row in rows)
    return CallCost(cpu_ns, len(rows) - stray, stray, tuple(rows[:_MAX_LINES]))


def output_rows(log: TrafficLog, server: str, first: int, last: int) -> list[int]:
    """Return a server's stderr and stray-line rows in this range; the cost is bounded."""
    number, last = log.server_number(server), min(last, first + _MAX_SEARCHED, len(log))
    columns = log.columns
    kinds = zip(range(first, last), columns.kind[first:last], columns.server[first:last], strict=False)
    return [row for row, kind, sender in kinds if sender == number and kind in _OUTPUT]


def last_stderr(log: TrafficLog, server: str, first: int, last: int, maximum: int) -> list[bytes]:
    """Return the last non-empty stderr lines in this range; the cost is bounded."""
    first = max(first, last - _MAX_SEARCHED)
    found: list[bytes] = []
    for row in reversed(output_rows(log, server, first, last)):
        if log.kind(row) == RecordKind.STDERR and (line := log.head(row, 2_000)).strip():
            found.append(line)
        if len(found) == maximum:
            break
    return found[::-1]
