"""HTTP+SSE, the transport of 2024-11-05: POSTs, and one GET stream for everything received.

The stream's first event names the endpoint for POSTs. It must have the same origin, because all
configured headers are sent to it. A POST is only accepted or rejected; the response comes on the stream.
Streams cannot be resumed: the end of the stream ends the session.
"""

from __future__ import annotations

import asyncio

from inspector.base.clock import Clock
from inspector.base.errors import ConnectFailed, ConnectionLost, FailureKind, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.protocol.framing import ServerSentEvent
from inspector.protocol.http_rules import (
    merge_headers,
    operation_of,
    redirect_target,
    refusal,
    standard_headers,
)
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.transport.base import (
    PLAIN,
    Authorization,
    Envelope,
    FramesReceived,
    Headers,
    Report,
    RequestFailed,
)
from inspector.transport.http_exchange import Exchange, Exchanges, is_message
from inspector.transport.http_transport import HttpTransport, no_stream_error, run_exchange
from inspector.transport.network import Network

_POST_HEADERS: Headers = (("Content-Type", "application/json"),)
_GET_HEADERS: Headers = (("Accept", "text/event-stream"),)
_ENDPOINT_TIMEOUT = 10.0
_NO_STREAM = "Check the URL: servers with this transport often use /sse."


class LegacySseTransport(HttpTransport):
    """HTTP+SSE transport: one stream, and POSTs beside it."""

    def __init__(
        self,
        url: str,
        network: Network,
        clock: Clock,
        endpoint_timeout: float = _ENDPOINT_TIMEOUT,
        authorization: Authorization | None = None,
    ) -> None:
        super().__init__(url, network, clock, authorization)
        self._endpoint_timeout = endpoint_timeout
        self._endpoint = ""

    async def open(self, report: Report) -> None:
        """Open the stream, and wait for its first event: the endpoint. Raises ConnectFailed."""
        self._report = report
        self._http = self._exchanges(report)
        endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks.spawn("GET stream", self._listen(self._http, endpoint))
        try:
            async with asyncio.timeout(self._network.connect_timeout + self._endpoint_timeout):
                self._endpoint = await endpoint
        except TimeoutError:
            raise ConnectFailed(
                "The server opened an event stream, but sent no `endpoint` event.",
                "It may use Streamable HTTP instead: try the type “http”.",
                kind=FailureKind.EVENT_STREAM,
            ) from None

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        """Send a message.

        A request is posted in the background, since some servers hold the POST until they have the
        response.
        """
        self._require_open()
        if message.kind is Kind.REQUEST and message.id is not None:
            self._begin_post(message, message.id, self._post_request(message, message.id, envelope))
        else:
            await self._post(message, envelope)

    async def close(self) -> None:
        http, self._http = self._http, None
        await self._tasks.close()
        if http is not None:
            await http.close()

    async def _listen(self, http: Exchanges, endpoint: asyncio.Future[str]) -> None:
        async def on_response(exchange: Exchange) -> None:
            if not exchange.is_success or exchange.content_type != "text/event-stream":
                exchange.store_body(body := await exchange.read_body())
                raise no_stream_error(exchange.status, exchange.content_type, body, _NO_STREAM)

            def on_events(events: list[ServerSentEvent], at: int) -> None:
                self._on_events(exchange, events, at, endpoint)

            await exchange.read(on_events)

        try:
            await run_exchange(
                http, "GET", self._url, _GET_HEADERS, on_response, operation="the event stream"
            )
            error: UserError = ConnectionLost(
                "The server closed the event stream.", "Reconnect.", kind=FailureKind.EVENT_STREAM
            )
        except UserError as exc:
            error = exc
        if not endpoint.done():
            endpoint.set_exception(error)
        else:
            self._close(error.summary, error.next_step, kind=error.kind)

    def _on_events(
        self,
        exchange: Exchange,
        events: list[ServerSentEvent],
        at: int,
        endpoint: asyncio.Future[str],
    ) -> None:
        frames: list[bytes] = []
        for event in events:
            if event.event == "endpoint" and not endpoint.done():
                endpoint.set_result(self._resolve(exchange.url, event.data or b""))
            elif event.data and is_message(event):
                frames.append(event.data)
        if frames:
            self._report(FramesReceived(frames, at, exchange.number))

    def _resolve(self, url: str, data: bytes) -> str:
        """Return the URL to POST to. Raises ConnectFailed if it has another origin."""
        location = data.decode(errors="replace").strip()
        target = redirect_target(url, location, "POST")
        if target is None:
            where = shorten(one_line(location), 200) or "(empty)"
            raise ConnectFailed(
                f"The endpoint that the server named is not at the same origin: {where}.",
                "MCP Lens does not send your headers there. Check the server's configuration.",
            )
        return target

    async def _post_request(self, message: Message, id: RequestId, envelope: Envelope) -> None:
        try:
            await self._post(message, envelope)
        except UserError as exc:
            self._report(RequestFailed(message, exc, self._now()))
        finally:
            self._end_post(id)

    async def _post(self, message: Message, envelope: Envelope) -> None:
        async def on_response(exchange: Exchange) -> None:
            body = await exchange.read_body()
            is_message = bool(body.strip()) and read(body).kind not in (Kind.INVALID, Kind.TEXT)
            if is_message:  # a protocol violation, but accepted
                self._report(FramesReceived([body], self._now(), exchange.number))
            else:
                exchange.store_body(body)
            if not exchange.is_success:
                raise refusal(exchange.status, message, body, retry_after=exchange.header("retry-after"))

        headers = merge_headers(
            (*_POST_HEADERS, *standard_headers(message, self._revision)), envelope.headers
        )
        http = self._require_open()
        await run_exchange(
            http,
            "POST",
            self._endpoint,
            headers,
            on_response,
            message.raw,
            envelope.tag,
            operation_of(message),
        )
