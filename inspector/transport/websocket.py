"""WebSocket transport: one message per text frame, subprotocol `mcp`.

No protocol version defines it; some servers use it by a convention of older SDKs: the life cycle of a
stdio connection, no session id, and a close frame at the end. The opening handshake is HTTP and reported
as an exchange.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inspector import __version__
from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, ConnectFailed, ConnectionLost, NeedsLogin, UserError
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.protocol.auth.challenge import rejected_header_error
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Revision
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    FramesReceived,
    Headers,
    HttpEnded,
    HttpRequested,
    HttpResponded,
    HttpTimings,
    Report,
    discard_event,
)
from inspector.transport.network import Network, explain, make_tls_context, proxy_for
from inspector.transport.task_scope import TaskScope, Turns

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response

_SUBPROTOCOL = "mcp"
_EXCHANGE = 1  # number of the handshake, the only exchange
_CLOSE_TIMEOUT = 2.0
_FRAMES_PER_TURN = 64


class WebSocketTransport:
    """WebSocket transport; the library answers and sends pings."""

    def __init__(self, url: str, network: Network, clock: Clock) -> None:
        self._url = url
        self._network = network
        self._clock = clock
        self._report: Report = discard_event
        self._tasks = TaskScope()
        self._connection: ClientConnection | None = None
        self._closed: Closed | None = None
        self._started = 0
        self._received = 0
        self._may_read = asyncio.Event()
        self._may_read.set()

    async def open(self, report: Report) -> None:
        self._report = report
        self._started = self._now()
        try:
            self._connection = connection = await self._make_connection()
        except UserError:
            raise
        except Exception as exc:  # the library and asyncio raise many types, all meaning no connection
            raise self._connect_error(exc) from exc
        self._report_handshake(connection.request, connection.response)
        self._tasks.spawn("read messages", self._read(connection))

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        from websockets.exceptions import ConnectionClosed

        if self._closed is not None or self._connection is None:
            raise self._gone()
        try:
            await self._connection.send(message.raw, text=_is_text(message.raw))
        except ConnectionClosed as exc:
            raise ConnectionLost(*_why_closed(exc)) from exc

    def set_revision(self, revision: Revision) -> None:
        """Do nothing: frames have no headers."""

    def forget(self, request: Message) -> None:
        """Do nothing: nothing is held for a request."""

    def pause(self) -> None:
        self._may_read.clear()

    def resume(self) -> None:
        self._may_read.set()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        await self._tasks.close()

    async def _make_connection(self) -> ClientConnection:
        from websockets.typing import Subprotocol

        is_secure = urlsplit(self._url).scheme == "wss"
        return await _connector()(
            self._url,
            subprotocols=[Subprotocol(_SUBPROTOCOL)],
            additional_headers=list(self._network.headers),
            user_agent_header=f"mcp-lens/{__version__}",
            compression=None,
            proxy=proxy_for(self._network, self._url) or None,
            open_timeout=self._network.connect_timeout,
            close_timeout=_CLOSE_TIMEOUT,
            max_size=self._network.message_cap,
            ssl=make_tls_context(self._network) if is_secure else None,
        )

    def _connect_error(self, error: Exception) -> UserError:
        """Return why there is no connection; report the handshake's exchange if it got a response."""
        from websockets.exceptions import InvalidProxy, InvalidStatus, InvalidURI

        if isinstance(error, InvalidURI):
            return ConfigError(f"{self._url} is not a WebSocket URL.", "Write it as ws://host:port/path.")
        if isinstance(error, InvalidStatus):
            return self._rejected(error.response)
        if isinstance(error, ImportError):
            return ConfigError(f"The proxy needs a package that is not installed: {error}.", "Install it.")
        if isinstance(error, InvalidProxy):
            why = str(error).replace(error.proxy, masked_url(error.proxy))
            return ConfigError(f"The proxy cannot be used: {why}.", "Write it as http://host:port.")
        failure = explain(error, self._url)
        self._report_handshake(None, None)
        self._end_exchange(failure.summary)
        return ConnectFailed(failure.summary, failure.next_step, kind=failure.kind)

    def _rejected(self, response: Response) -> UserError:
        self._report_handshake(None, response)
        self._end_exchange("The handshake was rejected.", bytes(response.body or b""))
        host, status = urlsplit(self._url).netloc, response.status_code
        sent = next((value for name, value in self._network.headers if name.lower() == "authorization"), None)
        if status == 401 and sent is not None:
            body = bytes(response.body or b"")
            rejected = rejected_header_error(_texts(response.headers.raw_items()), body, sent)
            return ConnectFailed(rejected.summary, rejected.next_step, kind=rejected.kind)
        if status == 401:
            return NeedsLogin(
                "The server requires login (HTTP 401).",
                "Add an Authorization header to the server's settings.",
            )
        return ConnectFailed(
            f"{host} responded to the WebSocket handshake with HTTP {status} instead of 101.",
            "Is there a WebSocket at this path? If it moved, use the new URL; redirects are not followed.",
        )

    async def _read(self, connection: ClientConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        turns = Turns(_FRAMES_PER_TURN)
        try:
            while True:
                await self._may_read.wait()
                frame = await connection.recv(decode=False)
                self._received += len(frame)
                self._report(FramesReceived([frame], self._now(), _EXCHANGE))
                await turns.spend(1)
        except ConnectionClosed as exc:
            summary, next_step = _why_closed(exc)
            self._end_exchange("" if self._connection is None else summary)
            self._closed = Closed(summary, next_step, self._now())
            self._report(self._closed)

    def _report_handshake(self, request: Request | None, response: Response | None) -> None:
        sent = _texts(request.headers.raw_items()) if request is not None else self._network.headers
        self._report(HttpRequested(_EXCHANGE, "GET", self._url, sent, 0, self._started))
        if response is not None:
            headers = _texts(response.headers.raw_items())
            now = self._now()
            self._report(HttpResponded(_EXCHANGE, response.status_code, "HTTP/1.1", headers, now))

    def _end_exchange(self, error: str, body: bytes = b"") -> None:
        now = self._now()
        timings = HttpTimings(total=now - self._started)
        self._report(HttpEnded(_EXCHANGE, self._received, timings, error, now, body))

    def _gone(self) -> ConnectionLost:
        if self._closed is None:
            return ConnectionLost("The connection is closed.", "Reconnect.")
        return ConnectionLost(self._closed.summary, self._closed.next_step)

    def _now(self) -> int:
        return self._clock.monotonic_ns()


def _connector() -> type[connect]:
    """Return a `connect` class without redirects: the library follows them to other origins too."""
    from websockets.asyncio.client import connect

    class Connect(connect):
        def process_redirect(self, exc: Exception) -> Exception | str:
            return exc

    return Connect


_CLOSE_CODES = {
    1001: "it is going away",
    1002: "it detected a WebSocket protocol error",
    1003: "it does not accept this type of data",
    1007: "it received text that is not valid UTF-8",
    1008: "its policy forbids it",
    1009: "a message was too large",
    1011: "it had an internal error",
    1012: "it is restarting",
    1013: "it is overloaded",
}


def _why_closed(error: ConnectionClosed) -> tuple[str, str]:
    if error.rcvd is None:
        if error.sent is not None and error.sent.code == 1009:
            return (
                "The server sent a message larger than the limit.",
                "Raise the maximum message size.",
            )
        return (
            "The connection to the server was lost.",
            "It may have crashed. Check its log, then reconnect.",
        )
    why = one_line(error.rcvd.reason) or _CLOSE_CODES.get(error.rcvd.code, "")
    reported = f": {why}" if why else ""
    return f"The server closed the connection (code {error.rcvd.code}){reported}.", "Reconnect."


def _is_text(raw: bytes) -> bool:
    """True if the bytes can be sent as a text frame, which must be UTF-8; others are sent as binary."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _texts(items: Iterable[tuple[str, str]]) -> Headers:
    return tuple((name, value) for name, value in items)
