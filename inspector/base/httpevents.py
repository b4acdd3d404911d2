"""What happens in an HTTP exchange, as whoever runs one reports it and whoever keeps a log takes it down.

Moments are monotonic time in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

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
