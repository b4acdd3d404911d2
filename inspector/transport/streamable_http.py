"""Streamable HTTP in both eras: each message is a POST, answered with JSON or SSE.

In the session era the server may assign a session ID, a GET stream stays open for server messages that
belong to no request, and an interrupted stream is resumed from its last event. In the stateless era there
are only POSTs, and closing its connection cancels the request. The era depends on the protocol version
that a message is sent with, so that the other era can be probed at any time.

Requests run in the background, and one that fails does not affect others (RequestFailed). Only a lost
session, or an event stream that cannot be reopened, ends the connection (Closed).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost, FailureKind, HttpRefused, UserError
from inspector.protocol.framing import ServerSentEvent
from inspector.protocol.http_rules import (
    SESSION_HEADER,
    merge_headers,
    message_name,
    operation_of,
    standard_headers,
)
from inspector.protocol.jsonrpc import Kind, Message, RequestId
from inspector.protocol.revisions import Era
from inspector.transport.base import (
    PLAIN,
    Authorization,
    Envelope,
    FramesReceived,
    Headers,
    Report,
    RequestFailed,
)
from inspector.transport.http_exchange import Exchange, Exchanges, StreamPosition
from inspector.transport.http_transport import HttpTransport, check_response, no_stream_error, run_exchange
from inspector.transport.network import Network

_POST_HEADERS: Headers = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)
_EVENT_STREAM = "text/event-stream"
_MAX_FAILED_RESUMES = 3  # in a row, for a pending request
_MAX_FAILED_LISTENS = 5  # in a row, for the GET stream
_MAX_REOPEN_DELAY = 30.0
_ACCEPT_TIMEOUT = 30.0
_DELETE_TIMEOUT = 2.0
_SESSION_LOST = (
    "The server no longer recognizes this session (HTTP 404).",
    "MCP Lens starts a new session. Requests are not resent.",
)
_NO_STREAM = "The server does not provide this event stream. Messages received so far are in Traffic."


class StreamableHttpTransport(HttpTransport):
    """Streamable HTTP transport."""

    def __init__(
        self, url: str, network: Network, clock: Clock, authorization: Authorization | None = None
    ) -> None:
        super().__init__(url, network, clock, authorization)
        self._session_id = ""
        self._listening_session: str | None = None  # the session that has a GET stream

    async def open(self, report: Report) -> None:
        self._report = report
        self._http = self._exchanges(report)

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        """Send a message.

        Responses to requests arrive in the background. Any other message has been accepted by the server
        when this returns.
        """
        self._require_open()
        post = self._make_post(message, envelope)
        if message.kind is Kind.REQUEST and message.id is not None:
            self._begin_post(message, message.id, self._post_request(post, message.id))
            return
        await self._post_one_way(post)
        if message.method == "notifications/initialized" and not post.is_stateless:
            self._listen_once()

    async def close(self) -> None:
        await self._tasks.close()
        http, self._http = self._http, None
        if http is not None:
            await self._delete_session(http)
            await http.close()

    async def _delete_session(self, http: Exchanges) -> None:
        """Delete the session. Errors are ignored: the server may be gone, or not allow it (405)."""
        if not self._session_id or self._closed is not None:
            return

        async def on_response(exchange: Exchange) -> None:
            exchange.store_body(await exchange.read_body())

        headers = standard_headers(None, self._revision, self._session_id)
        with suppress(UserError, TimeoutError):
            async with asyncio.timeout(_DELETE_TIMEOUT):
                await run_exchange(http, "DELETE", self._url, headers, on_response)

    def _make_post(self, message: Message, envelope: Envelope) -> _Post:
        revision = envelope.revision or self._revision
        headers = standard_headers(message, revision, self._session_id)
        is_stateless = revision is not None and revision.era is Era.STATELESS
        headers = merge_headers((*_POST_HEADERS, *headers), envelope.headers)
        has_session = any(name.lower() == SESSION_HEADER.lower() for name, _ in headers)
        return _Post(message, headers, is_stateless, has_session, envelope.tag)

    async def _post_request(self, post: _Post, id: RequestId) -> None:
        """Post a request; report an HTTP failure as a failure of the request."""
        try:
            await self._get_response(post, StreamPosition(id))
        except UserError as exc:
            self._report(RequestFailed(post.message, exc, self._now()))
            self._check_session(post, exc)
        finally:
            self._end_post(id)

    async def _get_response(self, post: _Post, stream: StreamPosition) -> None:
        try:
            await self._post(post, stream)
        except HttpRefused:
            raise
        except ConnectionLost:
            if not _can_resume(post, stream):
                raise
        if not stream.is_responded:
            await self._resume(post, stream)

    async def _post_one_way(self, post: _Post) -> None:
        """Send a message that expects no response.

        Returns when the server accepts it (2xx); an event stream in the response is read in the background.
        """
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        name = message_name(post.message)
        self._tasks.spawn(f"POST {name}", self._post_until_accepted(post, accepted))
        try:
            async with asyncio.timeout(_ACCEPT_TIMEOUT):
                await accepted
        except TimeoutError:
            raise ConnectionLost(
                f"The server did not accept {name} within {_ACCEPT_TIMEOUT:.0f} s.",
                "The server may be stuck. Check its log.",
            ) from None
        except UserError as exc:
            self._check_session(post, exc)
            raise

    async def _post_until_accepted(self, post: _Post, accepted: asyncio.Future[None]) -> None:
        try:
            await self._post(post, StreamPosition(), accepted)
            if not accepted.done():
                accepted.set_result(None)
        except UserError as exc:
            if not accepted.done():
                accepted.set_exception(exc)
        finally:
            accepted.cancel()  # no effect if it is done

    async def _post(
        self, post: _Post, stream: StreamPosition, accepted: asyncio.Future[None] | None = None
    ) -> None:
        async def on_response(exchange: Exchange) -> None:
            is_accepted = post.expects_no_response or exchange.content_type == _EVENT_STREAM
            if accepted is not None and exchange.is_success and is_accepted and not accepted.done():
                accepted.set_result(None)
            await self._on_response(exchange, post, stream)

        http = self._require_open()
        await run_exchange(
            http,
            "POST",
            self._url,
            post.headers,
            on_response,
            post.message.raw,
            post.tag,
            operation_of(post.message),
        )

    async def _on_response(self, exchange: Exchange, post: _Post, stream: StreamPosition) -> None:
        if post.message.method == "initialize" and exchange.is_success:
            self._session_id = exchange.header(SESSION_HEADER)
        body = await self._read(exchange, stream)
        if body is None and (exchange.is_success or stream.is_responded):
            return
        body_check = check_response(
            exchange.status, exchange.content_type, post.message, body or b"", has_session=post.has_session
        )
        if body_check.is_message and body is not None:
            # An error without an id belongs to the request only if it is the response to it.
            request = stream.request if body_check.error is None else None
            self._report(FramesReceived([body], self._now(), exchange.number, request))
        elif body:
            exchange.store_body(body)
        if body_check.error is not None:
            raise body_check.error
        stream.is_responded = True

    async def _read(self, exchange: Exchange, stream: StreamPosition) -> bytes | None:
        """Return the body; None for an event stream, whose events were reported as they arrived."""

        def on_events(events: list[ServerSentEvent], at: int) -> None:
            if frames := stream.advance(events):
                self._report(FramesReceived(frames, at, exchange.number, stream.request))

        return await exchange.read(on_events)

    async def _resume(self, post: _Post, stream: StreamPosition) -> None:
        """Resume a stream that ended before its response.

        After a clean end the server is polled, as the protocol allows it to disconnect at any time.
        """
        failures = 0
        while not stream.is_responded:
            if not _can_resume(post, stream):
                raise _lost(post)
            await asyncio.sleep(stream.retry)
            try:
                await self._get(stream)
                failures = 0
            except HttpRefused:
                raise
            except ConnectionLost:
                failures += 1
                if failures == _MAX_FAILED_RESUMES:
                    raise

    def _listen_once(self) -> None:
        """Start listening, once per session: the user may send `initialized` twice."""
        if self._listening_session != self._session_id:
            self._listening_session = self._session_id
            self._tasks.spawn("GET stream", self._listen())

    async def _listen(self) -> None:
        """Listen to the GET stream. A server without one responds with 405."""
        stream = StreamPosition()
        try:
            await self._keep_listening(stream)
        except HttpRefused as exc:
            if exc.status == 404 and stream.was_opened and self._session_id:
                self._close(*_SESSION_LOST, is_session_lost=True)
        except ConnectionLost as exc:
            if stream.was_opened:
                summary = f"Could not reopen the server's event stream: {exc.summary}"
                self._close(summary, exc.next_step, kind=FailureKind.EVENT_STREAM)
        except UserError:
            pass  # it exceeded the limits, which the exchange reports; POSTs continue

    async def _keep_listening(self, stream: StreamPosition) -> None:
        """Reopen the stream repeatedly, less often if it is idle. Raises UserError if that fails."""
        failures = idle = 0
        while True:
            seen = stream.events
            try:
                await self._get(stream)
                failures = 0
            except HttpRefused:
                raise
            except ConnectionLost:
                failures += 1
                if failures == _MAX_FAILED_LISTENS:
                    raise
            idle = 0 if stream.events > seen else idle + 1
            slower = min(stream.retry * 2 ** min(idle, 10), _MAX_REOPEN_DELAY)
            await asyncio.sleep(max(stream.retry, slower))

    async def _get(self, stream: StreamPosition) -> None:
        """Open a stream, or resume it after its last event, and read it to its end."""

        async def on_response(exchange: Exchange) -> None:
            if not exchange.is_success or exchange.content_type != _EVENT_STREAM:
                exchange.store_body(body := await exchange.read_body())
                raise no_stream_error(exchange.status, exchange.content_type, body, _NO_STREAM)
            stream.was_opened = True
            await self._read(exchange, stream)

        headers = (("Accept", _EVENT_STREAM), *standard_headers(None, self._revision, self._session_id))
        if stream.last_id:
            headers = (*headers, ("Last-Event-ID", stream.last_id))
        await run_exchange(
            self._require_open(), "GET", self._url, headers, on_response, operation="the event stream"
        )

    def _check_session(self, post: _Post, error: UserError) -> None:
        if post.has_session and isinstance(error, HttpRefused) and error.status == 404:
            self._close(*_SESSION_LOST, is_session_lost=True)


@dataclass(frozen=True, slots=True)
class _Post:
    """A message to send; `has_session` is set if its headers have a session ID."""

    message: Message
    headers: Headers
    is_stateless: bool
    has_session: bool
    tag: int

    @property
    def expects_no_response(self) -> bool:
        """True for a notification or response; raw bytes that are not a message may get a response."""
        return self.message.kind is Kind.NOTIFICATION or self.message.kind.is_response


def _can_resume(post: _Post, stream: StreamPosition) -> bool:
    """True if a stream can be resumed: its events have IDs, and the era is not stateless."""
    return stream.is_responded or (bool(stream.last_id) and not post.is_stateless)


def _lost(post: _Post) -> ConnectionLost:
    why = "" if post.is_stateless else ", and its events had no IDs to resume from"
    return ConnectionLost(
        f"The event stream of {post.message.method} ended before the response{why}.",
        "Before you retry, note that the server may already have processed the request.",
        kind=FailureKind.EVENT_STREAM,
    )
