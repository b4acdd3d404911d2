"""What the writers of all formats share."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterable
from typing import Protocol, TypeAlias

from inspector import __version__
from inspector.base.units import plural
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

APP = "mcp-lens"
APP_VERSION = __version__


class Sink(Protocol):
    """Anything with a `write` for bytes, such as a file."""

    def write(self, data: bytes, /) -> object: ...


class Dropped:
    """What a format could not represent, counted by kind."""

    def __init__(self, counts: Counter[str] | None = None) -> None:
        self.counts: Counter[str] = counts or Counter()

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        """Format for display: "3 stderr lines, 1 process event"; "" if nothing was dropped."""
        return ", ".join(plural(count, noun) for noun, count in sorted(self.counts.items()))


# A writer: yields the number of rows done so far, at least once per row; returns what it dropped.
Writing: TypeAlias = Generator[int, None, Dropped]


def write_all(writing: Writing) -> Dropped:
    """Run a writer to its end."""
    while True:
        try:
            next(writing)
        except StopIteration as done:
            dropped: Dropped = done.value
            return dropped


class Numbering:
    """The exported rows in log order, and the number of each in the file."""

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = array("q", sorted(set(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, row: int | None) -> int | None:
        """Return a row's number; None if it is not exported."""
        if row is None:
            return None
        place = bisect_left(self.rows, row)
        return place if place < len(self.rows) and self.rows[place] == row else None


NOUNS = {
    RecordKind.STDERR: "stderr line",
    RecordKind.PROCESS: "process event",
    RecordKind.STATE: "connection event",
    RecordKind.LOCAL: "local error",
    RecordKind.LOGIN: "step of a login",
    RecordKind.SSE: "server-sent event",
    RecordKind.HTTP: "HTTP exchange",
    RecordKind.TEXT: "line of stray output",
}


def noun(log: TrafficLog, row: int) -> str:
    """Return the noun that a row is counted under."""
    return NOUNS.get(RecordKind(log.kind(row)), "message without HTTP")
