"""Events of an HTTP exchange: reported by transports, stored by the traffic recorder.

They live here because `transport` and `traffic` do not import each other. Times are monotonic, in
nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class HttpTimings:
    """Duration of each phase of an exchange in nanoseconds; None if it did not happen.

    On a reused connection, `dns`, `connect` and `tls` are None.
    """

    dns: int | None = None
    connect: int | None = None
    tls: int | None = None
    first_byte: int | None = None  # from the last byte of the request to the first of the response
    total: int | None = None


@dataclass(frozen=True, slots=True)
class HttpRequested:
    """An HTTP request is about to be sent.

    `exchange` numbers the exchanges of a transport, starting at 1.
    """

    exchange: int
    method: str
    url: str
    headers: Headers
    size: int
    at: int
    tag: int = -1  # of the envelope whose message it carries


@dataclass(frozen=True, slots=True)
class HttpResponded:
    """Status and headers arrived; the body may go on for hours."""

    exchange: int
    status: int
    http_version: str
    headers: Headers
    at: int


@dataclass(frozen=True, slots=True)
class HttpEnded:
    """The exchange is over.

    `error` says why, if it did not end with the end of the body. `body` is kept if it was not a message (an
    HTML page, say), up to 64 KiB. `finding` is what is wrong with the response.
    """

    exchange: int
    size: int
    timings: HttpTimings
    error: str
    at: int
    body: bytes = b""
    finding: str = ""


@dataclass(frozen=True, slots=True)
class SseReceived:
    """A server-sent event or a comment. Data that is a message is also delivered as a frame."""

    exchange: int
    event: str
    id: str | None
    retry_ms: int | None
    comment: str
    size: int
    at: int
    data: bytes = b""  # start of the data, for events that are not messages, such as `endpoint`
