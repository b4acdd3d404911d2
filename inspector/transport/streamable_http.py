"""Streamable HTTP in both eras: each message is a POST, answered with JSON or SSE.

In the session era the server may assign a session ID, a GET stream stays open for server messages that
belong to no request, and an interrupted stream is resumed from its last event. In the stateless era there
are only POSTs, and closing its connection cancels the request. The era depends on the protocol version
that a message is sent with, so that the other era can be probed at any time.

Requests run in the background, and one that fails does not affect others (RequestFailed). The GET stream
is optional: if it is lost, requests continue (EventStreamChanged), and it is reopened in the background or
by `reopen_stream`. Only a lost session, or a server that stays unreachable, ends the connection (Closed).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from inspector.base.clock import Clock
from inspector.base.errors import (
    ConnectionLost,
    FailureKind,
    HttpRefused,
    NotReached,
    RequestTimedOut,
    UserError,
)
from inspector.base.json.values import quote_value
from inspector.protocol.framing import ServerSentEvent
from inspector.protocol.http_rules import (
    SESSION_HEADER,
    is_visible_ascii,
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
    EventStreamChanged,
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
_JSON = "application/json"
_EVENT_STREAM = "text/event-stream"
_MAX_FAILED_RESUMES = 3  # in a row, for a pending request
_MAX_FAILED_LISTENS = 5  # in a row, for the GET stream
_MAX_REOPEN_DELAY = 30.0
_REOPEN_TIMEOUT = 10.0  # of an attempt that the user waits for
# A stream that breaks later than this was in use; proxies cut idle ones after a minute or so.
_MIN_STREAM_DURATION = 5.0
# Conflict (the server still has the broken stream), timeout, too many requests: these pass, like 5xx.
_TEMPORARY_STATUSES = (408, 409, 429)
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
        self._listener: asyncio.Task[object] | None = None
        self._stream = StreamPosition()  # of the GET stream
        self._is_stream_lost = False

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
        try:
            await self._post_one_way(post)
        except HttpRefused:
            if self._closed is None:  # the session may be usable nevertheless
                self._listen_after(post)
            raise
        self._listen_after(post)

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
        if exchange.is_success and not post.is_stateless:
            self._read_session_id(exchange, post.message)
        body = await self._read(exchange, stream)
        if body is None and (exchange.is_success or stream.is_responded):
            return
        body_check = check_response(
            exchange.status,
            exchange.content_type,
            post.message,
            body or b"",
            has_session=post.has_session,
            retry_after=exchange.header("retry-after"),
        )
        if body_check.is_message and body is not None:
            # An error without an id belongs to the request only if it is the response to it.
            request = stream.request if body_check.error is None else None
            self._report(FramesReceived([body], self._now(), exchange.number, request))
            if exchange.is_success and exchange.content_type not in (_JSON, _EVENT_STREAM):
                label = quote_value(exchange.content_type) if exchange.content_type else "missing"
                exchange.add_finding(f"the content type of a message must be {_JSON}; it is {label}")
            if exchange.is_success and exchange.status != 200 and not post.expects_no_response:
                exchange.add_finding(f"a response must have the HTTP status 200, not {exchange.status}")
        elif body:
            exchange.store_body(body)
        if body_check.error is not None:
            raise body_check.error
        stream.is_responded = True

    def _read_session_id(self, exchange: Exchange, posted: Message) -> None:
        """Use the session ID of the response to `initialize`, or the first one that arrives later."""
        id = exchange.header(SESSION_HEADER)
        if posted.method == "initialize":
            self._session_id = id
        elif not id or id == self._session_id:
            return
        elif self._session_id:
            exchange.add_finding(
                f"{SESSION_HEADER} is not the one of the response to initialize, which stays in use"
            )
            return
        else:
            self._session_id = id
            exchange.add_finding(
                f"{SESSION_HEADER} arrived with the response to {message_name(posted)}, not to initialize; "
                "it is used from now on"
            )
            if self._listener is not None and self._listener.done():
                self._listen_in_session()
        if id and not is_visible_ascii(id):
            exchange.add_finding(f"{SESSION_HEADER} must have visible ASCII characters only")

    async def _read(self, exchange: Exchange, stream: StreamPosition) -> bytes | None:
        """Return the body; None for an event stream, whose events were reported as they arrived."""

        def on_events(events: list[ServerSentEvent], at: int) -> None:
            if frames := stream.advance(events):
                self._report(FramesReceived(frames, at, exchange.number, stream.request))
                if stream is self._stream:
                    self._set_stream_lost("")

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

    async def reopen_stream(self) -> None:
        """Open the GET stream again now. Raises UserError if that fails; it is then retried as before."""
        self._require_open()
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        self._stream.breaks_early = False
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begin_listening(opened)
        try:
            async with asyncio.timeout(_REOPEN_TIMEOUT):
                await opened
        except TimeoutError:
            raise RequestTimedOut(
                f"The server did not respond to the GET for its event stream within {_REOPEN_TIMEOUT:.0f} s.",
                "MCP Lens keeps waiting for it.",
            ) from None

    def _listen_after(self, post: _Post) -> None:
        """Start listening after `initialized`, once per session: the user may send it twice."""
        if post.message.method != "notifications/initialized" or post.is_stateless:
            return
        if self._listening_session != self._session_id:
            self._listen_in_session()

    def _listen_in_session(self) -> None:
        self._listening_session = self._session_id
        self._stream = StreamPosition()
        self._begin_listening()

    def _begin_listening(self, opened: asyncio.Future[None] | None = None) -> None:
        self._listener = self._tasks.spawn("GET stream", self._listen(self._stream, opened))

    async def _listen(self, stream: StreamPosition, opened: asyncio.Future[None] | None = None) -> None:
        """Listen to the GET stream. A server without one responds with 405.

        `opened` gets the outcome of the first attempt.
        """
        session = self._session_id
        try:
            await self._keep_listening(stream, opened)
        except UserError as exc:
            status = exc.status if isinstance(exc, HttpRefused) else 0
            is_missing = status == 501 or (0 < status < 500 and status != 401)
            if status == 404 and stream.was_opened and self._session_id:
                self._close(*_SESSION_LOST, is_session_lost=True)
            elif isinstance(exc, NotReached) and stream.was_opened:
                summary = f"Could not reopen the server's event stream: {exc.summary}"
                self._close(summary, exc.next_step, kind=FailureKind.EVENT_STREAM)
            elif stream.was_opened or not is_missing:
                self._set_stream_lost(exc.summary)
        finally:
            if opened is not None:
                opened.cancel()  # no effect if it is done
        if session != self._session_id and self._closed is None and self._stream is stream:
            self._listen_in_session()

    async def _keep_listening(self, stream: StreamPosition, opened: asyncio.Future[None] | None) -> None:
        """Reopen the stream repeatedly, less often if it is idle.

        After several failures in a row it is reported as lost, and retried with the longest delay. Raises
        UserError if a retry cannot help: the server rejects the stream, or cannot be reached any more.
        """
        failures = unreached = idle = 0
        while True:
            seen, started = stream.events, self._now()
            try:
                await self._get(stream, opened)
                failures = unreached = 0
            except UserError as exc:
                if opened is not None and not opened.done():
                    opened.set_exception(exc)
                opened_at = stream.opened_at if (stream.opened_at or 0) >= started else None
                lasted = 0 if opened_at is None else self._now() - opened_at
                was_used = stream.events > seen or lasted > _MIN_STREAM_DURATION * 1e9
                stream.breaks_early = opened_at is not None and not was_used
                failures = 0 if was_used else failures + 1
                unreached = unreached + 1 if isinstance(exc, NotReached) else 0
                if not _is_temporary(exc, stream) or unreached == _MAX_FAILED_LISTENS:
                    raise
                if failures >= _MAX_FAILED_LISTENS and not unreached:
                    self._set_stream_lost(exc.summary)
            idle = 0 if stream.events > seen else idle + 1
            slower = min(stream.retry * 2 ** min(idle, 10), _MAX_REOPEN_DELAY)
            await asyncio.sleep(max(stream.retry, slower))

    def _set_stream_lost(self, reason: str) -> None:
        """Report that the GET stream was lost, or with an empty reason that it is open again."""
        if reason or self._is_stream_lost:
            self._is_stream_lost = bool(reason)
            self._report(EventStreamChanged(reason, self._now()))

    async def _get(self, stream: StreamPosition, opened: asyncio.Future[None] | None = None) -> None:
        """Open a stream, or resume it after its last event, and read it to its end."""

        async def on_response(exchange: Exchange) -> None:
            if not exchange.is_success or exchange.content_type != _EVENT_STREAM:
                exchange.store_body(body := await exchange.read_body())
                raise no_stream_error(exchange.status, exchange.content_type, body, _NO_STREAM)
            stream.opened_at = self._now()
            if stream is self._stream and not stream.breaks_early:
                self._set_stream_lost("")
            if opened is not None and not opened.done():
                opened.set_result(None)
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


def _is_temporary(error: UserError, stream: StreamPosition) -> bool:
    """True if reopening the GET stream may help: the connection broke, or a proxy reports an outage."""
    if isinstance(error, HttpRefused):
        return stream.was_opened and (error.status >= 500 or error.status in _TEMPORARY_STATUSES)
    return isinstance(error, ConnectionLost)


def _lost(post: _Post) -> ConnectionLost:
    why = "" if post.is_stateless else ", and its events had no IDs to resume from"
    return ConnectionLost(
        f"The event stream of {post.message.method} ended before the response{why}.",
        "Before you retry, note that the server may already have processed the request.",
        kind=FailureKind.EVENT_STREAM,
    )
