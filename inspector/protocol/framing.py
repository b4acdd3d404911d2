"""Framing of byte streams: newline-delimited messages (stdio), server-sent events.

Both take chunks of any size; server-sent events are parsed as WHATWG defines them. SSE comments mean
nothing to the protocol, but servers send them as keep-alives; each is emitted as an event at once, so
that the traffic shows it. A line over the limit is reduced to its start and its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DEFAULT_LINE_CAP = 256 * 1024 * 1024
_OVERLONG_HEAD_SIZE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line over the size limit: its start and total length. The rest was discarded."""

    head: bytes
    size: int


class LineFramer:
    """Splits a byte stream at line feeds, in linear time.

    Chunks are joined only when their line ends, so a 50 MB line costs one copy. A carriage return before
    the line feed is dropped (some servers on Windows send it). No other character ends a line.
    """

    def __init__(self, cap: int = DEFAULT_LINE_CAP) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._overlong: bytes | None = None

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Add bytes and return the lines they complete."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *lines = chunk.split(b"\n")
        rest = lines.pop()
        self._keep(first)
        done: list[bytes | Overlong] = [self._finish()]
        if len(chunk) > self._cap:
            done += [self._complete(line) for line in lines]
        else:
            done += [line.removesuffix(b"\r") for line in lines] if b"\r" in chunk else lines
        if rest:
            self._keep(rest)
        return done

    def end(self) -> bytes | Overlong | None:
        """End the stream; return what followed the last line feed, if anything."""
        return self._finish() if self._size else None

    def _complete(self, line: bytes) -> bytes | Overlong:
        """Return a line that came in one chunk, but may exceed the limit."""
        self._keep(line)
        return self._finish()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._overlong is not None:
            return
        self._parts.append(part)
        if self._size > self._cap:
            self._overlong = b"".join(self._parts)[: min(_OVERLONG_HEAD_SIZE, self._cap)]
            self._parts.clear()

    def _finish(self) -> bytes | Overlong:
        if self._overlong is not None:
            line: bytes | Overlong = Overlong(self._overlong, self._size)
        else:
            line = b"".join(self._parts).removesuffix(b"\r")
        self._parts.clear()
        self._size = 0
        self._overlong = None
        return line


DEFAULT_EVENT_CAP = 256 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """A dispatched event. `data` is None if it had no data line: only id and retry apply.

    A comment has an empty `event`, and no data, id or retry.
    """

    data: bytes | None
    event: str = "message"
    id: str | None = None
    retry_ms: int | None = None
    comment: str = ""


@dataclass(slots=True)
class _Block:
    """The lines of one event so far."""

    data: list[bytes] = field(default_factory=list)
    event: str = ""
    id: str | None = None
    retry_ms: int | None = None
    size: int = 0


class EventTooLarge(ValueError):
    """An event exceeded the size limit."""


class EventStreamReader:
    """Incremental parser: feed it chunks, get completed events. Raises EventTooLarge."""

    def __init__(self, cap: int = DEFAULT_EVENT_CAP) -> None:
        self._cap = cap
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._after_cr = False
        self._at_start = True
        self._block = _Block()

    @property
    def unfinished(self) -> bytes:
        """Data so far of an incomplete event; empty between events."""
        return b"\n".join([*self._block.data, b"".join(self._rest)]) if self._is_inside_event() else b""

    def _is_inside_event(self) -> bool:
        return bool(self._block.size or self._rest)

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]  # second half of a CRLF split between chunks
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk)
        events: list[ServerSentEvent] = []
        for line in lines:
            event = self._line(self._join(line))
            if event is not None:
                events.append(event)
        self._keep(rest)
        return events

    def _join(self, line: bytes) -> bytes:
        if self._rest:
            line = b"".join([*self._rest, line])
            self._rest.clear()
            self._rest_size = 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        return line

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._rest.append(rest)
            self._rest_size += len(rest)
            self._check(self._block.size + self._rest_size)

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not name:
            return ServerSentEvent(None, "", comment=value.decode(errors="replace"))
        self._block.size += len(line)
        self._check(self._block.size)
        if name == b"data":
            self._block.data.append(value)
        elif name == b"event":
            self._block.event = value.decode(errors="replace")
        elif name == b"id" and b"\0" not in value:
            self._block.id = value.decode(errors="replace")
        elif name == b"retry" and value.isdigit():
            self._block.retry_ms = int(value[:12])
        return None  # unknown fields are ignored

    def _dispatch(self) -> ServerSentEvent | None:
        block, self._block = self._block, _Block()
        if not block.data and block.id is None and block.retry_ms is None:
            return None
        data = b"\n".join(block.data) if block.data else None
        return ServerSentEvent(data, block.event or "message", block.id, block.retry_ms)

    def _check(self, size: int) -> None:
        if size > self._cap:
            raise EventTooLarge(f"an event of more than {self._cap:,} bytes")
