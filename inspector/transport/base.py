"""The `Transport` interface and the events that a transport reports.

A transport reports everything that happens on its wire to one callable, in order and in batches, with the
arrival time of the bytes. It interprets nothing: parsing messages is up to `protocol`, recording to
`traffic`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from inspector.base.errors import FailureKind, UserError
from inspector.base.http_events import Headers as Headers
from inspector.base.http_events import HttpEnded as HttpEnded
from inspector.base.http_events import HttpRequested as HttpRequested
from inspector.base.http_events import HttpResponded as HttpResponded
from inspector.base.http_events import HttpTimings as HttpTimings
from inspector.base.http_events import SseReceived as SseReceived
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.protocol.revisions import Revision


@dataclass(frozen=True, slots=True)
class FramesReceived:
    """Frames that arrived together. `at` is monotonic time in nanoseconds, here and below.

    `exchange` is the HTTP exchange that carried them. `request` is the id of the request that this exchange
    responds to; an error without an id belongs to that request.
    """

    frames: Sequence[bytes | Overlong]
    at: int
    exchange: int | None = None
    request: RequestId | None = None


@dataclass(frozen=True, slots=True)
class UnfinishedOutput:
    """The server has stopped writing in the middle of a line; `head` is the line's beginning."""

    head: bytes
    at: int


@dataclass(frozen=True, slots=True)
class StderrReceived:
    lines: Sequence[bytes]
    at: int


@dataclass(frozen=True, slots=True)
class ProcessStarted:
    pid: int
    command: tuple[str, ...]
    cwd: str
    environment_names: tuple[str, ...]  # as configured
    at: int
    inherits_all: bool = False  # and all variables of MCP Lens


@dataclass(frozen=True, slots=True)
class ProcessExited:
    """The process has exited, and everything it wrote was reported before."""

    pid: int
    status: str  # "exited with code 1", "was terminated by signal SIGKILL"
    at: int
    code: int | None = None  # as in `subprocess`: negative for a signal, None if unknown


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """One request will get no response; the others continue."""

    request: Message
    error: UserError
    at: int


@dataclass(frozen=True, slots=True)
class EventStreamChanged:
    """The optional stream of server messages was lost, or is open again if `reason` is empty.

    Requests are not affected: their responses have their own exchanges.
    """

    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The last event: nothing can be sent or received any more. Says why, and what to do."""

    summary: str
    next_step: str
    at: int
    is_session_lost: bool = False  # the server responds, but has dropped the session
    kind: FailureKind = FailureKind.OTHER


WireEvent: TypeAlias = (
    FramesReceived
    | UnfinishedOutput
    | StderrReceived
    | ProcessStarted
    | ProcessExited
    | HttpRequested
    | HttpResponded
    | HttpEnded
    | SseReceived
    | RequestFailed
    | EventStreamChanged
    | Closed
)
Report: TypeAlias = Callable[[WireEvent], None]


def discard_event(event: WireEvent) -> None:
    """Discard an event: the `Report` of a transport that is not open yet."""


class Envelope(NamedTuple):
    """Metadata that accompanies a message. Unused over a pipe.

    `revision` overrides the negotiated one: a probe is sent by the rules of the version it tries. `headers`
    are mirrored tool arguments (`Mcp-Param-*`), or the user's overrides of the usual headers. `tag` is the
    sender's marker, which is reported with the HTTP request that carries the message.
    """

    revision: Revision | None = None
    headers: Headers = ()
    tag: int = -1


PLAIN = Envelope()


class AuthorizedRequest(Protocol):
    """One request to a server that may require authorization, including its retries."""

    async def headers(self, method: str, url: str) -> Headers:
        """Return the authorization headers to send now. Raises UserError."""
        ...

    def responded(self, status: int, url: str, headers: Headers) -> None:
        """Handle a response, whatever its status."""
        ...

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        """Handle a 401 or 403; return True to retry with new headers.

        Raises UserError if that is not possible.
        """
        ...


class Authorization(Protocol):
    """Provides the credentials of requests to one server."""

    def begin(self, operation: str) -> AuthorizedRequest:
        """Begin a request; `operation` is its method, with the tool's name for a call."""
        ...


class Transport(Protocol):
    """A connection to one server."""

    async def open(self, report: Report) -> None:
        """Open the transport for sending. Raises ConnectFailed."""
        ...

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        """Send a message's bytes unchanged, valid or not.

        Raises ConnectionLost if the transport is closed, and HttpRefused if the message was rejected.
        """
        ...

    def set_revision(self, revision: Revision) -> None:
        """Set the negotiated protocol version, which HTTP sends in its headers from now on."""
        ...

    def forget(self, request: Message) -> None:
        """Release what is held for a request that is no longer waited for."""
        ...

    def pause(self) -> None:
        """Stop reading, so that a flood waits in the pipe instead of in memory."""
        ...

    def resume(self) -> None: ...

    async def close(self) -> None:
        """Close the transport and everything behind it. Safe to call at any time, repeatedly."""
        ...
