"""What a transport is, and what it reports.

A transport reports everything that happens on its wire to one callable, in order and in batches, with
the time at which the bytes arrived. It judges nothing: whether a line is a message is `protocol`'s
business, and recording is `traffic`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from inspector.base.errors import UserError
from inspector.base.httpevents import Headers as Headers
from inspector.base.httpevents import HttpAnswered as HttpAnswered
from inspector.base.httpevents import HttpEnded as HttpEnded
from inspector.base.httpevents import HttpRequested as HttpRequested
from inspector.base.httpevents import HttpTimings as HttpTimings
from inspector.base.httpevents import SseReceived as SseReceived
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


class Envelope(NamedTuple):
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


class AuthorizedRequest(Protocol):
    """One request to a server that may want to know who asks, with all its repetitions."""

    async def headers(self, method: str, url: str) -> Headers:
        """What says who asks, for sending it now. Raises UserError."""
        ...

    def answered(self, status: int, url: str, headers: Headers) -> None:
        """An answer came, whatever its status."""
        ...

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        """It was 401 or 403: is it to be sent again, with other headers? Raises UserError when it cannot."""
        ...


class Authorization(Protocol):
    """Knows who asks. How that is found out is not the transport's business."""

    def begin(self, operation: str) -> AuthorizedRequest:
        """`operation` is what the request does: the method, with the tool's name for a call."""
        ...


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
