"""Common parts of the export writers: sink, row numbering, dropped rows, HTTP bodies.

Bodies of an HTTP exchange are assembled from the messages that it carried.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from inspector import __version__
from inspector.base.units import plural
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import EventText, read_event
from inspector.traffic.records import Direction, HttpExchange, RecordKind

APP = "mcp-lens"
APP_VERSION = __version__

NOUNS = {
    RecordKind.STDERR: "stderr line",
    RecordKind.PROCESS: "process event",
    RecordKind.STATE: "connection event",
    RecordKind.LOCAL: "local error",
    RecordKind.LOGIN: "login step",
    RecordKind.SSE: "server-sent event",
    RecordKind.HTTP: "HTTP exchange",
    RecordKind.TEXT: "stray output line",
}


class Dropped:
    """What a format could not represent, counted by kind."""

    def __init__(self, counts: Counter[str] | None = None) -> None:
        self.counts: Counter[str] = counts or Counter()

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        """Format for display: "3 stderr lines, 1 process event"; "" if nothing was dropped."""
        return ", ".join(plural(count, noun) for noun, count in sorted(self.counts.items()))


# A running export: yields the number of rows done so far, at least once per row; returns what it dropped.
ExportSteps: TypeAlias = Generator[int, None, Dropped]


class Sink(Protocol):
    """Anything with a `write` for bytes, such as a file."""

    def write(self, data: bytes, /) -> object: ...


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
        position = bisect_left(self.rows, row)
        return position if position < len(self.rows) and self.rows[position] == row else None


def noun(log: TrafficLog, row: int) -> str:
    """Return the noun that a row is counted under."""
    return NOUNS.get(RecordKind(log.kind(row)), "non-HTTP message")


@dataclass(slots=True)
class CarriedMessages:
    """The rows carried by one HTTP exchange, by direction."""

    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)  # frames and events, in their order


def carried_by_exchange(log: TrafficLog) -> dict[int, CarriedMessages]:
    """Return the rows carried by each exchange of the log."""
    carried: dict[int, CarriedMessages] = {}
    directions = log.columns.direction
    for row, exchange in enumerate(log.columns.exchange[log.first : len(log)], log.first):
        if exchange >= 0:
            messages = carried.setdefault(exchange, CarriedMessages())
            (messages.sent if directions[row] == Direction.OUT else messages.received).append(row)
    return carried


def carried_by(log: TrafficLog, exchange: int) -> CarriedMessages:
    """Return the rows carried by this exchange."""
    carried, row = CarriedMessages(), log.first - 1
    with suppress(ValueError):  # no more of them
        while True:
            row = log.columns.exchange.index(exchange, row + 1, len(log))
            is_sent = log.direction(row) == Direction.OUT
            (carried.sent if is_sent else carried.received).append(row)
    return carried


def request_body(log: TrafficLog, carried: CarriedMessages) -> bytes:
    return b"\n".join(log.raw(row) for row in carried.sent)


def response_body(log: TrafficLog, exchange: HttpExchange, carried: CarriedMessages) -> bytes:
    """Return the response body.

    An event stream is rebuilt from its events; anything else is unmodified.
    """
    frames = [row for row in carried.received if log.kind(row) != RecordKind.SSE]
    if len(frames) != len(carried.received):
        return _stream(log, carried.received) + exchange.body
    return b"\n".join(log.raw(row) for row in frames) or exchange.body


def _stream(log: TrafficLog, rows: list[int]) -> bytes:
    """Rebuild a stream. Events come before the frames that they carry, both in order."""
    blocks: list[bytes] = []
    heads: list[bytes] = []
    for row in rows:
        if log.kind(row) != RecordKind.SSE:
            blocks.append(_block(heads.pop(0) if heads else b"", log.raw(row)))
            continue
        text = log.raw(row).decode(errors="replace")
        event = read_event(text)
        if event is None:
            blocks.append(f"{text}\n".encode())  # a comment
        elif event.data is not None:
            blocks.append(_block(_head(event), event.data.encode()))
        else:
            heads.append(_head(event))
    return b"".join(blocks)


def _block(head: bytes, data: bytes) -> bytes:
    return head + b"".join(b"data: %b\n" % line for line in data.split(b"\n")) + b"\n"


def _head(event: EventText) -> bytes:
    lines = [f"event: {event.event}"] if event.event != "message" else []
    lines += [f"id: {event.id}"] if event.id is not None else []
    lines += [f"retry: {event.retry_ms}"] if event.retry_ms is not None else []
    return "".join(f"{line}\n" for line in lines).encode()
