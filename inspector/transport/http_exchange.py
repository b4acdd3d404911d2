"""HTTP exchanges: sends a request, reads the response within limits, and reports each part.

All HTTP transports use this, so that every exchange is recorded alike (headers, timings, events, end) and
library errors are translated in one place. `StreamPosition` tracks an event stream, so that a GET can
resume it. A body may be compressed although the request asks for `identity`: a few bytes can expand to
gigabytes, so `Inflater` yields bounded chunks, and the reader stops at its limit.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from inspector import __version__
from inspector.base import units
from inspector.base.clock import Clock
from inspector.base.errors import ConfigError, ConnectionLost, FailureKind, UserError
from inspector.protocol.framing import ByteBuffer, EventStreamReader, EventTooLarge, ServerSentEvent
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.transport.base import (
    PLAIN,
    Authorization,
    Headers,
    HttpEnded,
    HttpRequested,
    HttpResponded,
    Report,
    SseReceived,
)
from inspector.transport.network import CURRENT, CheckAddresses, Network, Stopwatch, explain, make_client
from inspector.transport.peer import Peer, peer_of
from inspector.transport.task_scope import Turns

if TYPE_CHECKING:
    import httpx2

NO_TAG = PLAIN.tag
DEFAULT_RETRY = 1.0
_MAX_STORED_BODY = 64 * 1024
_MAX_STORED_EVENT = 2 * 1024
_INFLATED_CHUNK = 1024 * 1024
# Bytes after which other tasks run. Each of hundreds of events in one chunk is recorded and parsed.
_BODY_TURN = 1024 * 1024
_STREAM_TURN = 8 * 1024
_MIN_COST = 1024
_ZLIB_OR_GZIP = 47  # zlib's value for detecting the format from the header
_RAW_DEFLATE = -15
_DEFAULTS: Headers = (("User-Agent", f"mcp-lens/{__version__}"), ("Accept-Encoding", "identity"))
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_ENCODING_HINT = "Turn off compression in the server, or in a proxy in front of it."
_BOUNDS_HINT = "Make the server send less, or raise the maximum message size."
_SHORT_HINT = "This kind of response is never that large. Check the URL."
# Called with the events that arrived together, and when.
OnEvents: TypeAlias = Callable[[list[ServerSentEvent], int], None]


class Exchanges:
    """The exchanges with one server, over one client. Raises ConfigError when created.

    They are numbered from 1, or by `numbers` if several servers share one log. `check` is called
    with the server's addresses before each connection. `authorization` provides the credentials (see
    `run_exchange`).
    """

    def __init__(
        self,
        url: str,
        network: Network,
        clock: Clock,
        report: Report,
        *,
        numbers: Iterator[int] | None = None,
        check: CheckAddresses | None = None,
        authorization: Authorization | None = None,
    ) -> None:
        self.authorization = authorization
        self.client = make_client(network, url, check)
        self.cap = network.message_cap
        self.clock = clock
        self.report = report
        self.may_read = asyncio.Event()
        self.may_read.set()
        self._numbers = numbers or count(1)
        self._urls: dict[str, httpx2.URL] = {}
        self._configured = network.headers
        self._overridden = frozenset(name.lower() for name, _ in network.headers)

    def own_authorization(self, headers: Headers) -> str | None:
        """Return the Authorization header that the user configured, for all requests or for this one."""
        values = [value for name, value in (*self._configured, *headers) if name.lower() == "authorization"]
        return values[0] if values else None

    def begin(
        self, method: str, url: str, headers: Headers, content: bytes = b"", tag: int = NO_TAG
    ) -> Exchange:
        """Create an exchange; entering it sends the request.

        Headers that the user configured override `headers`.
        """
        request = self._make_request(method, url, headers, content)
        return Exchange(self, next(self._numbers), request, len(content), tag)

    async def close(self) -> None:
        await self.client.aclose()

    def _make_request(self, method: str, url: str, headers: Headers, content: bytes) -> httpx2.Request:
        import httpx2

        ours = [pair for pair in (*_DEFAULTS, *headers) if pair[0].lower() not in self._overridden]
        try:
            sent = [(name.encode(), value.encode()) for name, value in (*ours, *self._configured)]
            request = httpx2.Request(method, self._parse(url), headers=sent, content=content or None)
        except (httpx2.InvalidURL, ValueError) as exc:
            raise ConfigError(
                f"Could not create a request to {url}: {exc}.", "Check the URL and headers."
            ) from exc
        if self.client.cookies:
            self.client.cookies.set_cookie_header(request)
        return request

    def _parse(self, url: str) -> httpx2.URL:
        import httpx2

        parsed = self._urls.get(url)
        if parsed is None:
            parsed = self._urls[url] = httpx2.URL(url)
        return parsed


class Exchange:
    """One request and its response; an async context manager.

    Inside it, status and headers are available. Raises ConnectionLost for network errors, UserError for a
    response beyond the limits.
    """

    def __init__(
        self, owner: Exchanges, number: int, request: httpx2.Request, sent: int, tag: int = NO_TAG
    ) -> None:
        self.number = number
        self.url = str(request.url)
        self.status = 0
        self.headers: Headers = ()  # of the response, in order
        self.content_type = ""
        self._owner = owner
        self._request = request
        self._sent = sent
        self._tag = tag
        self._watch = Stopwatch(owner.clock)
        self._response: httpx2.Response | None = None
        self._size = 0
        self._stored_body = b""
        self._body: bytes | None = None
        self._error = ""
        self._inflater: Inflater | None = None
        self._finding = ""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        assert self._response is not None
        return str(self._response.headers.get(name, ""))

    def peer(self, *, is_proxy: bool = False) -> Peer | None:
        """Return the peer, while the response is open."""
        assert self._response is not None
        return peer_of(self._response, is_proxy=is_proxy)

    @property
    def body(self) -> bytes:
        """What was read of the body; the start of it if that is not a message."""
        return self._body or self._stored_body

    def store_body(self, body: bytes) -> None:
        """Store the start of a body that is not a message with the exchange."""
        self._stored_body = body[:_MAX_STORED_BODY]

    def add_finding(self, finding: str) -> None:
        """Report what is wrong with the response, at the end of the exchange."""
        self._finding = f"{self._finding}; {finding}" if self._finding else finding

    async def __aenter__(self) -> Exchange:
        owner, request = self._owner, self._request
        headers = _decode_headers(request.headers.raw)
        owner.report(
            HttpRequested(
                self.number, request.method, self.url, headers, self._sent, self._watch.started, self._tag
            )
        )
        request.extensions["trace"] = self._watch.trace
        CURRENT.set(self._watch)
        try:
            self._response = response = await owner.client.send(request, stream=True)
        except BaseException as exc:
            failure = self._failed(exc)
            self._end()
            if failure is exc:
                raise
            raise failure from exc
        self.status = response.status_code
        self.headers = _decode_headers(response.headers.raw)
        self.content_type = self.header("content-type").partition(";")[0].strip().lower()
        owner.report(
            HttpResponded(self.number, self.status, response.http_version, self.headers, self._watch.now())
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._response is not None
        if isinstance(exc, asyncio.CancelledError):
            self._failed(exc)
        try:
            await self._response.aclose()
        finally:
            self._end()

    def _end(self) -> None:
        now = self._watch.now()
        timings = self._watch.timings(now)
        self._owner.report(
            HttpEnded(self.number, self._size, timings, self._error, now, self._stored_body, self._finding)
        )

    def _failed(self, error: BaseException) -> BaseException:
        """Record why the exchange ended early; translate an error of the library."""
        import httpx2

        # An alert after the handshake is not wrapped by the library.
        if isinstance(error, httpx2.HTTPError | httpx2.StreamError | OSError):
            error = explain(error, self.url, responded=self.status != 0)
        elif isinstance(error, EventTooLarge | BadEncoding):
            hint = _ENCODING_HINT if isinstance(error, BadEncoding) else _BOUNDS_HINT
            error = UserError(f"The server's response is invalid: {error}.", hint)
        if isinstance(error, asyncio.CancelledError):
            self._error = "Closed by MCP Lens: no longer needed."
        else:
            self._error = error.summary if isinstance(error, UserError) else repr(error)
        return error

    async def read(self, on_events: OnEvents) -> bytes | None:
        """Read the response to its end. Events are passed to `on_events`; otherwise return the body.

        If the content type is wrong, the body is still read as what it is.
        """
        if self.content_type == "text/event-stream" and self._body is None:
            return await self._read_stream(on_events)
        body = await self.read_body()
        if self.is_success and body.startswith(_EVENT_FIELDS):
            label = f"is {self.content_type}" if self.content_type else "is missing"
            self.add_finding(f"the content type {label}, but the body is an event stream")
            self._handle_events(EventStreamReader(self._owner.cap), body + b"\n\n", on_events)
            return None
        return body

    async def read_body(self, cap: int | None = None) -> bytes:
        """Read the complete body and cache it; `cap` replaces the network's limit for short bodies."""
        if self._body is not None:
            return self._body
        parts = _Parts(self._owner.cap) if cap is None else _Parts(cap, _SHORT_HINT)
        try:
            await self._read_chunks(parts.add, _BODY_TURN)
        except BaseException:
            self.store_body(parts.take())  # the received part
            raise
        body = parts.take()
        try:
            self._require_complete()
        except UserError:
            self.store_body(body)
            raise
        self._body = body
        return body

    def _require_complete(self) -> None:
        """Raise UserError if the compressed data of the body is cut off."""
        if self._inflater is not None and self._size and not self._inflater.is_complete:
            raise self._failed(BadEncoding("its compressed data is cut off"))

    async def _read_stream(self, on_events: OnEvents) -> bytes | None:
        reader = EventStreamReader(self._owner.cap)
        parts = _Parts(self._owner.cap)
        is_json: bool | None = None

        def feed(chunk: bytes) -> None:
            nonlocal is_json
            if is_json is None and (start := chunk.lstrip()[:1]):
                is_json = start in b"{["
            if is_json:
                parts.add(chunk)
            else:
                self._handle_events(reader, chunk, on_events)

        try:
            await self._read_chunks(feed, _STREAM_TURN)
        finally:
            self.store_body(unfinished := reader.unfinished)
        if unfinished or is_json:
            self._require_complete()
        if unfinished:
            raise self._failed(_truncated_event(len(unfinished)))
        if is_json:
            self.add_finding("the content type is text/event-stream, but the body is JSON")
        return parts.take() if is_json else None

    def _handle_events(self, reader: EventStreamReader, chunk: bytes, on_events: OnEvents) -> None:
        at = self._owner.clock.monotonic_ns()
        events = reader.feed(chunk)
        for event in events:
            size = len(event.data) if event.data is not None else len(event.comment)
            self._owner.report(
                SseReceived(
                    self.number,
                    event.event,
                    event.id,
                    event.retry_ms,
                    event.comment,
                    size,
                    at,
                    _stored_data(event),
                )
            )
        if events:
            on_events(events, at)

    async def _read_chunks(self, feed: Callable[[bytes], None], turn: int) -> None:
        """Read to the end; yield to other tasks before twice `turn` bytes were fed."""
        try:
            await self._read_raw(feed, turn)
        except BaseException as exc:
            failure = self._failed(exc)
            if failure is exc:
                raise
            raise failure from exc

    async def _read_raw(self, feed: Callable[[bytes], None], turn: int) -> None:
        assert self._response is not None
        inflater = self._inflater = inflater_for(self.header("content-encoding"))
        gate, turns = self._owner.may_read, Turns(turn)
        async with aclosing(self._response.aiter_raw()) as chunks:
            async for chunk in chunks:
                if not gate.is_set():
                    await gate.wait()
                self._size += len(chunk)
                for piece in (chunk,) if inflater is None else inflater.feed(chunk):
                    for start in range(0, len(piece), turn):
                        feed(piece[start : start + turn])
                        # A short chunk costs about as much as a kilobyte.
                        await turns.spend(max(_MIN_COST, min(turn, len(piece) - start)))
                        if not gate.is_set():
                            await gate.wait()


class _Parts:
    """Collects the chunks of a body. Raises UserError if it exceeds the cap."""

    def __init__(self, cap: int, hint: str = "") -> None:
        self._cap = cap
        self._hint = hint or _BOUNDS_HINT
        self._buffer = ByteBuffer()

    def add(self, part: bytes) -> None:
        self._buffer.add(part)
        if self._buffer.size > self._cap:
            raise UserError(f"The server's response is larger than {units.size(self._cap)}.", self._hint)

    def take(self) -> bytes:
        return self._buffer.take()


def _truncated_event(size: int) -> ConnectionLost:
    return ConnectionLost(
        f"The event stream ended in the middle of an event (after {size} bytes).",
        "An event ends with an empty line: the server omitted it, or was cut off.",
        kind=FailureKind.EVENT_STREAM,
    )


def _decode_headers(headers: list[tuple[bytes, bytes]]) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)


def _stored_data(event: ServerSentEvent) -> bytes:
    """Return the start of an event's data if it is not recorded as a frame."""
    return b"" if is_message(event) else (event.data or b"")[:_MAX_STORED_EVENT]


class StreamPosition:
    """Position in one event stream, across the exchanges that carry it.

    `request` is the id of the request that the stream responds to. `opened_at` is when it was last opened.
    """

    def __init__(self, request: RequestId | None = None) -> None:
        self.request = request
        self.opened_at: int | None = None
        self.breaks_early = False  # the last time it was open, it broke at once
        self.is_responded = False
        self.last_id = ""
        self.retry = DEFAULT_RETRY
        self.events = 0

    @property
    def was_opened(self) -> bool:
        return self.opened_at is not None

    def advance(self, events: Sequence[ServerSentEvent]) -> list[bytes]:
        """Advance past these events and return the frames among them."""
        frames: list[bytes] = []
        for event in events:
            if event.id is not None:
                self.last_id = event.id
            if event.retry_ms is not None:
                self.retry = event.retry_ms / 1000
            if event.event:  # a comment keeps a stream alive, but does not advance it
                self.events += 1
            if event.data and is_message(event):
                frames.append(event.data)
        if self.request is not None and not self.is_responded:
            self.is_responded = any(responds_to(frame, self.request) for frame in frames)
        return frames


def is_message(event: ServerSentEvent) -> bool:
    """True if an event is a message.

    Messages have the default event name; data under another name counts if it looks like JSON.
    """
    return event.event == "message" or (event.data or b"").lstrip()[:1] in (b"{", b"[")


def responds_to(frame: bytes, request: RequestId) -> bool:
    """True if a frame is the response to the request.

    An error without an id can only belong to it.
    """
    if b'"id"' not in frame and b'"error"' not in frame:
        return False  # fast path: notifications are not parsed twice
    return is_response(read(frame), request)


def is_response(message: Message, request: RequestId | None) -> bool:
    if message.kind is Kind.BATCH:
        return any(is_response(item, request) for item in message.items())
    if message.kind is Kind.ERROR and message.id is None:
        return True
    return message.kind.is_response and message.id == request


class Inflater:
    """Decompresses chunks of a gzip or deflate body. Raises BadEncoding."""

    def __init__(self) -> None:
        self._unpack = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._is_begun = False

    @property
    def is_complete(self) -> bool:
        """True if the compressed data has ended, with a correct checksum."""
        return self._unpack.eof

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        try:
            while piece := self._unpack.decompress(chunk, _INFLATED_CHUNK):
                self._is_begun = True
                yield piece
                chunk = self._unpack.unconsumed_tail
        except zlib.error as exc:
            yield from self._feed_raw(chunk, exc)

    def _feed_raw(self, chunk: bytes, error: zlib.error) -> Iterator[bytes]:
        """Retry as raw deflate: some servers send "deflate" without the zlib header."""
        if self._is_begun:
            raise BadEncoding(f"it cannot be decompressed ({error})") from error
        self._unpack, self._is_begun = zlib.decompressobj(_RAW_DEFLATE), True
        yield from self.feed(chunk)


def inflater_for(encoding: str) -> Inflater | None:
    """Return the inflater for a Content-Encoding; None for a plain body. Raises BadEncoding."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return Inflater()
    raise BadEncoding(f"it is compressed with {encoding!r}, which was not requested")


class BadEncoding(ValueError):
    """The bytes are not encoded as the headers say, or in an unsupported encoding."""
