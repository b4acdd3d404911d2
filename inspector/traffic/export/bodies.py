"""The two bodies of an HTTP exchange, put together from the frames that rode on it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field

from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind

# As `session.httpevents` words an event.
_EVENT = re.compile(
    r"event: (.*?)(?:  id: (.*?))?(?:  retry: (\d+))?(?:  data: (.*))?  \([\d,]+ bytes of data\)", re.DOTALL
)


@dataclass(slots=True)
class Riders:
    """The rows that rode on one exchange, by what they were."""

    sent: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)  # frames and events, in their order


def riders_of_all(log: TrafficLog) -> dict[int, Riders]:
    """Who rode on each exchange of the log."""
    riders: dict[int, Riders] = {}
    directions = log.columns.direction
    for row, exchange in enumerate(log.columns.exchange[: len(log)]):
        if exchange >= 0:
            mine = riders.setdefault(exchange, Riders())
            (mine.sent if directions[row] == Direction.OUT else mine.received).append(row)
    return riders


def riders_of(log: TrafficLog, exchange: int) -> Riders:
    """Who rode on this one."""
    riders, row = Riders(), -1
    with suppress(ValueError):  # no more of them
        while True:
            row = log.columns.exchange.index(exchange, row + 1, len(log))
            is_sent = log.direction(row) == Direction.OUT
            (riders.sent if is_sent else riders.received).append(row)
    return riders


def request_body(log: TrafficLog, riders: Riders) -> bytes:
    return b"\n".join(log.raw(row) for row in riders.sent)


def response_body(log: TrafficLog, exchange: HttpExchange, riders: Riders) -> bytes:
    """A stream is written anew from its events; anything else is as it came."""
    frames = [row for row in riders.received if log.kind(row) != RecordKind.SSE]
    if len(frames) != len(riders.received):
        return _stream(log, riders.received) + exchange.body
    return b"\n".join(log.raw(row) for row in frames) or exchange.body


def _stream(log: TrafficLog, rows: list[int]) -> bytes:
    """Events come before the frames that they carry, both in order."""
    blocks: list[bytes] = []
    heads: list[bytes] = []
    for row in rows:
        if log.kind(row) != RecordKind.SSE:
            head = heads.pop(0) if heads else b""
            blocks.append(head + b"".join(b"data: %b\n" % line for line in log.raw(row).split(b"\n")) + b"\n")
            continue
        text = log.raw(row).decode(errors="replace")
        match = _EVENT.fullmatch(text)
        if match is None:
            blocks.append(f"{text}\n".encode())  # a comment
        elif match[4] is not None:
            blocks.append(
                _head(match)
                + b"".join(b"data: %b\n" % line.encode() for line in match[4].split("\n"))
                + b"\n"
            )
        else:
            heads.append(_head(match))
    return b"".join(blocks)


def _head(event: re.Match[str]) -> bytes:
    lines = [f"event: {event[1]}"] if event[1] != "message" else []
    lines += [f"id: {event[2]}"] if event[2] is not None else []
    lines += [f"retry: {event[3]}"] if event[3] is not None else []
    return "".join(f"{line}\n" for line in lines).encode()
