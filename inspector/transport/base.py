"""What a transport is, and what it reports.

A transport reports everything that happens on its wire to one callable, in order and in batches, with
the time at which the bytes arrived. It judges nothing: whether a line is a message is `protocol`'s
business, and recording is `traffic`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from inspector.base.errors import UserError
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class FramesReceived:
    """Frames that arrived together. `at` is monotonic time in nanoseconds, here and below.

    `exchange` is the HTTP exchange that they rode on. `request` is the id of the request that this
    exchange answers: an error without an id that comes on it belongs to that request.
    """

    frames: Sequence[bytes | Overlong]
    at: int
    exchange: int | None = None
    request: RequestId | None = None


Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class HttpTimings:
    """How long each part of an exchange took, in nanoseconds; None for a part that did not happen.

    A connection that was used before has no `dns`, `connect` and `tls`.
    """

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    first_byte: int | None = None  # from the request's last byte to the answer's first
    total: int | None = None


@dataclass(frozen=True, slots=True)
class HttpRequested:
    """An HTTP request is about to be sent. `exchange` numbers exchanges, per transport, from 1."""

    exchange: int
    method: str
    url: str
    headers: Headers
    size: int
    at: int
    tag: int = -1  # of the envelope whose message it carries


@dataclass(frozen=True, slots=True)
class HttpAnswered:
    """Its status and headers arrived; the body may go on for hours."""

    exchange: int
    status: int
    http_version: str
    headers: Headers
    at: int


@dataclass(frozen=True, slots=True)
class HttpEnded:
    """The exchange is over. `error` says why when it was not the end of the body; `body` is kept when
    it was no message (an HTML page, say), up to 64 KiB of it."""

    exchange: int
    size: int
    timings: HttpTimings
    error: str
    at: int
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class SseReceived:
    """One server-sent event, or a comment. Its data, when it is a message, comes as a frame as well."""

    exchange: int
    event: str
    id: str | None
    retry_ms: int | None
    comment: str
    size: int
    at: int
    data: bytes = b""  # of an event that is no message, such as `endpoint`: its beginning


@dataclass(frozen=True, slots=True)
class StderrReceived:
    lines: Sequence[bytes]
    at: int


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    pid: int
    command: tuple[str, ...]
    cwd: str
    environment_names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class ProcessExited:
    """The process is gone, and everything it wrote was reported before this."""

    pid: int
    status: str
    at: int


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """One request will get no answer, for a reason on our side of the wire; the others go on."""

    request: Message
    error: UserError
    at: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The last event: nothing can be sent or received any more. Says why, and what to do."""

    summary: str
    next_step: str
    at: int
    is_session_lost: bool = False  # the server is there, but has forgotten the session


WireEvent: TypeAlias = (
    FramesReceived
    | StderrReceived
    | ProcessStarted
    | ProcessExited
    | HttpRequested
    | HttpAnswered
    | HttpEnded
    | SseReceived
    | RequestFailed
    | Closed
)
Report: TypeAlias = Callable[[WireEvent], None]


@dataclass(frozen=True, slots=True)
class Envelope:
    """What goes with a message but is not in it. A pipe has no use for it.

    `revision` overrides the agreed one: a probe goes out under the rules of the revision it tries.
    `headers` are mirrored tool arguments (`Mcp-Param-*`), or what a person wants said instead of what goes
    with such a message by itself. `tag` is the sender's own mark; it comes back
    with the HTTP request that carries the message.
    """

    revision: Revision | None = None
    headers: Headers = ()
    tag: int = -1


PLAIN = Envelope()


class Transport(Protocol):
    """One wire to one server."""

    async def open(self, report: Report) -> None:
        """Make the wire ready to send on. Raises ConnectFailed."""
        ...

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        """Put one message on the wire, its bytes as they are: it may be none, but what a person wrote.

        Raises ConnectionLost when there is no wire any more, and HttpRefused when it was refused."""
        ...

    def agreed(self, revision: Revision) -> None:
        """The conversation has begun at this revision: HTTP says so in its headers from now on."""
        ...

    def forget(self, request: Message) -> None:
        """Nobody waits for this request any more: free what is held for it."""
        ...

    def pause(self) -> None:
        """Stop reading, so that a flood waits in the pipe instead of in our memory."""
        ...

    def resume(self) -> None: ...

    async def close(self) -> None:
        """End the wire and everything behind it. Safe to call at any time, more than once."""
        ...
