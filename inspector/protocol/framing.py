"""Framing of byte streams: newline-delimited messages (stdio), server-sent events.

Both take chunks of any size; server-sent events are parsed as WHATWG defines them. SSE comments mean
nothing to the protocol, but servers send them as keep-alives; each is emitted as an event at once, so
that the traffic shows it. A line over the limit is reduced to its start and its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from io import BytesIO

DEFAULT_LINE_CAP = 256 * 1024 * 1024
_OVERLONG_HEAD_SIZE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line over the size limit: its start and total length. The rest was discarded."""

    head: bytes
    size: int


class ByteBuffer:
    """Bytes that arrive in chunks. Taking them makes no second copy: a line may have 256 MiB.

    Nor does growing it: the system moves large blocks without copying them.
    """

    def __init__(self) -> None:
        self.size = 0
        self._file = BytesIO()

    def add(self, part: bytes) -> None:
        self._file.write(part)
        self.size += len(part)

    def head(self, length: int) -> bytes:
        """Return the first bytes."""
        with self._file.getbuffer() as view:
            return bytes(view[:length])

    def take(self) -> bytes:
        """Remove and return all bytes."""
        file, self._file, self.size = self._file, BytesIO(), 0
        return file.getvalue()  # the buffer itself, as nothing else uses it

    def take_line(self) -> bytes:
        """Remove and return all bytes, without a carriage return at the end."""
        with self._file.getbuffer() as view:
            ends_with_cr = bytes(view[-1:]) == b"\r"
        if ends_with_cr:
            self._file.truncate(self.size - 1)
        return self.take()


class LineFramer:
    """Splits a byte stream at line feeds, in linear time and with little more memory than a line takes.

    A carriage return before the line feed is dropped (some servers on Windows send it). No other character
    ends a line.
    """

    def __init__(self, cap: int = DEFAULT_LINE_CAP) -> None:
        self._cap = cap
        self._pending = ByteBuffer()
        self._size = 0  # of the unfinished line, with what was discarded
        self._overlong: bytes | None = None

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Add bytes and return the lines they complete."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *lines = chunk.split(b"\n")
        rest = lines.pop()
        done: list[bytes | Overlong]
        if len(chunk) > self._cap:
            done = [self._complete(line) for line in (first, *lines)]
        else:
            done = [self._complete(first) if self._size else first.removesuffix(b"\r")]
            done += [line.removesuffix(b"\r") for line in lines] if b"\r" in chunk else lines
        if rest:
            self._keep(rest)
        return done

    @property
    def unfinished_size(self) -> int:
        """Number of bytes since the last line feed."""
        return self._size

    def unfinished(self) -> bytes:
        """Return the beginning of what followed the last line feed."""
        return self._pending.head(_OVERLONG_HEAD_SIZE) if self._overlong is None else self._overlong

    def end(self) -> bytes | Overlong | None:
        """End the stream; return what followed the last line feed, if anything."""
        return self._finish() if self._size else None

    def _complete(self, part: bytes) -> bytes | Overlong:
        """Return the line that ends with this part."""
        self._keep(part)
        return self._finish()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._overlong is not None:
            return
        self._pending.add(part)
        if self._size > self._cap:
            self._overlong = self._pending.head(min(_OVERLONG_HEAD_SIZE, self._cap))
            self._pending = ByteBuffer()

    def _finish(self) -> bytes | Overlong:
        size, self._size = self._size, 0
        if self._overlong is not None:
            head, self._overlong = self._overlong, None
            return Overlong(head, size)
        return self._pending.take_line()


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
        self._rest = ByteBuffer()
        self._after_cr = False
        self._at_start = True
        self._block = _Block()

    @property
    def unfinished(self) -> bytes:
        """Data so far of an incomplete event; empty between events."""
        rest = self._rest.head(self._rest.size)
        return b"\n".join([*self._block.data, rest]) if self._block.size or rest else b""

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
        if self._rest.size:
            self._rest.add(line)
            line = self._rest.take()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        return line

    def _keep(self, rest: bytes) -> None:
        if rest:
            self._rest.add(rest)
            self._check(self._block.size + self._rest.size)

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        colon = line.find(b":")
        name = line if colon < 0 else line[:colon]
        # One copy of the value: it may be the largest message that is accepted.
        value = b"" if colon < 0 else line[colon + (2 if line[colon + 1 : colon + 2] == b" " else 1) :]
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
