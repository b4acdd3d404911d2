"""A separate session for diagnosis, with a listener on its transport that collects evidence.

It uses the normal `Session`. The listener stores a bounded amount of data.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from inspector.base.clock import Clock
from inspector.base.errors import ConnectFailed, LensError, RequestTimedOut, UserError
from inspector.base.json.values import JSONError
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.framing import Overlong
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.jsonrpc import Kind, Message, error_of, read
from inspector.protocol.revisions import Revision
from inspector.protocol.unusable import LineJoiner, Unusable
from inspector.session.server_requests import responder_of
from inspector.session.session import Session
from inspector.session.state import Route
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    FramesReceived,
    Headers,
    HttpEnded,
    HttpRequested,
    HttpResponded,
    ProcessExited,
    ProcessStarted,
    Report,
    RequestFailed,
    SseReceived,
    StderrReceived,
    Transport,
    UnfinishedOutput,
    WireEvent,
)

_MAX_LINES = 200
_MAX_LINE_LENGTH = 2000
_MAX_EVENTS = 50


@dataclass(slots=True)
class ObservedHttp:
    """An HTTP exchange. `status` is 0 if there is no response (yet)."""

    method: str
    url: str
    requested_at: int
    status: int = 0
    headers: Headers = ()
    responded_at: int = 0
    body: bytes = b""
    error: str = ""

    def header(self, name: str) -> str:
        return next((value for each, value in self.headers if each.lower() == name.lower()), "")

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()


@dataclass(slots=True)
class ObservedTraffic:
    """Everything observed on the wire.

    After a restart, the process fields describe the latest process.
    """

    began: int = 0
    ended: int = 0
    pid: int = 0
    started_at: int = 0
    first_output_at: int = 0
    exit_status: str = ""  # as text, "" while it runs
    exit_code: int | None = None
    stray: list[str] = field(default_factory=list)  # non-protocol lines on stdout
    broken: list[str] = field(default_factory=list)  # lines that look like JSON but are not messages
    unusable: list[Unusable] = field(default_factory=list)  # explanations of both, and of unfinished lines
    stderr: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_LINES))
    messages: list[Message] = field(default_factory=list)
    exchanges: list[ObservedHttp] = field(default_factory=list)
    events: list[str] = field(default_factory=list)  # SSE event names
    failures: list[UserError] = field(default_factory=list)  # local failures of single requests
    closed: str = ""
    negotiated: NegotiationResult | None = None
    error: UserError | None = None

    @property
    def output(self) -> str:
        """All human-readable output."""
        return "\n".join((*self.stray, *self.broken, *self.stderr))

    @property
    def decisive_exchange(self) -> ObservedHttp | None:
        """The decisive exchange: the last one with a response, preferring POSTs.

        A 202, as for notifications, counts only if there is nothing else.
        """
        responded = [each for each in self.exchanges if each.status]
        posts = [each for each in responded if each.method == "POST"]
        requests = [each for each in posts if each.status != 202]
        return next(reversed(requests or posts or responded), None)

    @property
    def is_legacy_sse(self) -> bool:
        """True if the transport is HTTP+SSE, whose stream begins with an `endpoint` event."""
        return "endpoint" in self.events

    def responses(self, kind: Kind) -> list[Message]:
        return [message for message in self.messages if message.kind is kind]


class TrafficListener:
    """Collects a transport's events.

    `started` is set when the process starts, `received_anything` on its first output.
    """

    def __init__(self, clock: Clock) -> None:
        self.traffic = ObservedTraffic(began=clock.monotonic_ns())
        self.started = asyncio.Event()
        self.received_anything = asyncio.Event()
        self._exchanges: dict[int, ObservedHttp] = {}
        self._is_closing = False
        self._joiner = LineJoiner()

    def reset(self) -> None:
        self._exchanges = {}
        self._is_closing = False

    def begin_close(self, at: int) -> None:
        """Record that the client is closing the connection.

        From now on, the exit of the process is not treated as a failure.
        """
        self._is_closing = True
        self.traffic.ended = at

    def on_event(self, event: WireEvent) -> None:
        match event:
            case ProcessStarted():
                self._on_started(event)
            case FramesReceived():
                self._on_frames(event)
            case UnfinishedOutput():
                self._note_output(event.at)
                self._explain(self._joiner.unfinished(event.head))
            case StderrReceived():
                self._note_output(event.at)
                self.traffic.stderr.extend(_line(line) for line in event.lines if line.strip())
            case ProcessExited() if not self._is_closing:
                self.traffic.exit_status, self.traffic.exit_code = event.status, event.code
            case HttpRequested():
                self._on_requested(event)
            case HttpResponded() if event.exchange in self._exchanges:
                http = self._exchanges[event.exchange]
                http.status, http.headers, http.responded_at = event.status, event.headers, event.at
            case HttpEnded() if event.exchange in self._exchanges:
                http = self._exchanges[event.exchange]
                http.body, http.error = event.body, event.error
            case SseReceived() if len(self.traffic.events) < _MAX_EVENTS:
                self.traffic.events.append(event.event)
            case RequestFailed() if len(self.traffic.failures) < _MAX_EVENTS:
                self.traffic.failures.append(event.error)
            case Closed() if not self._is_closing:
                self.traffic.closed = event.summary

    def _on_started(self, event: ProcessStarted) -> None:
        self.traffic.stray, self.traffic.broken, self.traffic.messages = [], [], []
        self.traffic.unusable, self._joiner = [], LineJoiner()
        self.traffic.stderr.clear()
        self.traffic.exit_status = self.traffic.closed = ""
        self.traffic.exit_code = None
        self.traffic.pid, self.traffic.started_at = event.pid, event.at
        self.traffic.first_output_at = 0
        self.started.set()

    def _on_requested(self, event: HttpRequested) -> None:
        http = ObservedHttp(event.method, event.url, event.at)
        self._exchanges[event.exchange] = http
        if len(self.traffic.exchanges) < _MAX_EVENTS:
            self.traffic.exchanges.append(http)

    def _on_frames(self, event: FramesReceived) -> None:
        self._note_output(event.at)
        for frame in event.frames:
            if isinstance(frame, Overlong):
                self._add_line(self.traffic.broken, frame.head)
                continue
            message = read(frame)
            if message.kind in (Kind.TEXT, Kind.INVALID):
                is_text = message.kind is Kind.TEXT
                self._add_line(self.traffic.stray if is_text else self.traffic.broken, frame)
                self._explain(self._joiner.feed(message))
            elif len(self.traffic.messages) < _MAX_EVENTS:
                self.traffic.messages.append(message)

    def _add_line(self, lines: list[str], line: bytes) -> None:
        if len(lines) < _MAX_LINES and line.strip():
            lines.append(_line(line))

    def _explain(self, unusable: Unusable | None) -> None:
        if unusable is not None and len(self.traffic.unusable) < _MAX_EVENTS:
            self.traffic.unusable.append(unusable)

    def _note_output(self, at: int) -> None:
        self.traffic.first_output_at = self.traffic.first_output_at or at
        self.received_anything.set()


def _line(raw: bytes) -> str:
    return raw[:_MAX_LINE_LENGTH].decode(errors="replace").rstrip("\r\n")


class _ObservedTransport:
    """A `transport.base.Transport` whose events go to two listeners."""

    def __init__(
        self,
        inner: Transport,
        listener: TrafficListener,
        clock: Clock,
        is_final: Callable[[ObservedTraffic], bool] | None,
    ) -> None:
        self._inner = inner
        self._listener = listener
        self._clock = clock
        self._is_final = is_final

    async def open(self, report: Report) -> None:
        traffic = self._listener.traffic
        is_final = self._is_final if traffic.exit_status else None
        if is_final is not None and await asyncio.to_thread(is_final, traffic):
            raise ConnectFailed(f"The process {traffic.exit_status}.", "Its output explains why.")

        def forward(event: WireEvent) -> None:
            self._listener.on_event(event)
            report(event)

        self._listener.reset()
        await self._inner.open(forward)

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        await self._inner.send(message, envelope)

    def set_revision(self, revision: Revision) -> None:
        self._inner.set_revision(revision)

    def forget(self, request: Message) -> None:
        self._inner.forget(request)

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    async def close(self) -> None:
        self._listener.begin_close(self._clock.monotonic_ns())
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class ObservedList:
    """Result of fetching the first list. `method` is empty if the server declares none."""

    method: str = ""
    count: int = 0
    elapsed_ns: int = 0
    error: str = ""
    is_timeout: bool = False
    is_malformed: bool = False


class ProbeSession:
    """A separate connection for diagnosis.

    `close` ends the connection and its process in any state.

    A process that exited is started again to try an older era, unless `is_final` returns
    True because it would fail again.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        log: TrafficLog,
        server: str,
        clock: Clock,
        settings: ConnectionSettings,
        is_final: Callable[[ObservedTraffic], bool] | None = None,
    ) -> None:
        self.listener = TrafficListener(clock)
        self._clock = clock
        self._is_final = is_final
        observed = [replace(route, make_transport=self._observed(route.make_transport)) for route in routes]
        self._recorder = Recorder(log, server, clock)
        self._session = Session(observed, self._recorder, settings, responder_of({}))
        self._settings = settings

    def _observed(self, make: Callable[[], Transport]) -> Callable[[], Transport]:
        return lambda: _ObservedTransport(make(), self.listener, self._clock, self._is_final)

    async def connect(self) -> None:
        """Connect. Never raises UserError: the result is in the listener's `ObservedTraffic`."""
        traffic = self.listener.traffic
        self._recorder.note(RecordKind.LOCAL, "Doctor opened a separate connection.")
        traffic.began = self._clock.monotonic_ns()
        try:
            await self._session.connect()
            traffic.negotiated = self._session.state.negotiated
            traffic.ended = self._clock.monotonic_ns()
        except UserError as exc:
            traffic.error = exc
            traffic.ended = traffic.ended or self._clock.monotonic_ns()

    async def list_first(self, timeout: float) -> ObservedList:
        """Request the first page of the first list that the server declares."""
        negotiated = self._session.state.negotiated
        declared = negotiated.capabilities if negotiated is not None else {}
        kind = next((kind for kind in ("tools", "resources", "prompts") if kind in declared), "")
        if not kind:
            return ObservedList()
        started = self._clock.monotonic_ns()
        method, error, count, is_timeout, is_malformed = f"{kind}/list", "", 0, False, False
        try:
            async with asyncio.timeout(timeout):
                response = (await self._session.request(method, timeout=timeout)).response
            count, error, is_malformed = _read_list(response, kind)
        except TimeoutError:
            error, is_timeout = f"No response within {timeout:g} s.", True
        except LensError as exc:
            error = str(exc)
            is_timeout = isinstance(exc, RequestTimedOut)
        return ObservedList(
            method, count, self._clock.monotonic_ns() - started, error, is_timeout, is_malformed
        )

    async def close(self) -> None:
        with contextlib.suppress(UserError):
            await self._session.close()


def _read_list(response: Message, kind: str) -> tuple[int, str, bool]:
    try:
        if response.kind is Kind.ERROR:
            error = error_of(response)
            return 0, error.text, False
        items = response.result.get(kind)
    except JSONError as exc:
        return 0, str(exc), True
    if not isinstance(items, list):
        return 0, f"The {kind}/list result has no “{kind}” array.", True
    return len(items), "", False
