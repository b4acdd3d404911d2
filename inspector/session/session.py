"""Life cycle of the connection to one server: connect, negotiate, exchange messages, end.

A session may connect several times, each time with a new `Conversation`; the traffic log keeps the
history.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from inspector.base.errors import (
    ConnectFailed,
    ConnectionLost,
    FailureKind,
    HttpRefused,
    NeedsLogin,
    RequestTimedOut,
    UserError,
)
from inspector.base.json.values import JSONObject
from inspector.base.redaction import masked_command
from inspector.base.signals import Signal
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.handshake import NegotiationResult, NextRequest, declared_in, dialect_for
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Era, Revision
from inspector.protocol.subscriptions import Filter
from inspector.session.connect import ConnectTimeout, Negotiator, WrongRoute, download_text
from inspector.session.conversation import Conversation
from inspector.session.input_rounds import InputCollector, handle_required_urls, url_error_of
from inspector.session.pending_requests import CallTimer, Exchange, OnProgress
from inspector.session.raw_send import RawSent, lines_of, send_raw
from inspector.session.server_requests import Responder
from inspector.session.state import Route, SessionState, Status
from inspector.traffic.recorder import Recorder, record_http
from inspector.traffic.records import RecordKind
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    EventStreamChanged,
    FramesReceived,
    Headers,
    ProcessExited,
    ProcessStarted,
    RequestFailed,
    StderrReceived,
    UnfinishedOutput,
    WireEvent,
)
from inspector.transport.streamable_http import StreamableHttpTransport
from inspector.transport.task_scope import TaskScope

_INITIALIZED_TIMEOUT = 5.0  # seconds to wait over HTTP until notifications/initialized is accepted
_CANCEL_TASK = "tasks/cancel"  # never queued: it may be about the request that the others wait for
_OUTPUT = (FramesReceived, UnfinishedOutput, StderrReceived)


class Session:
    """The connection to one server. It can connect again after it ended, or after `close`.

    `responder` replies to server requests.

    Signals:
        state_changed: Carries the new SessionState.
        notified: The server sent a notification; carries it.
        process_observed: The server process started or exited; carries the transport's event.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        recorder: Recorder,
        settings: ConnectionSettings,
        responder: Responder,
    ) -> None:
        self.state = SessionState()
        self.state_changed: Signal[SessionState] = Signal()
        self.notified: Signal[Message] = Signal()
        self.process_observed: Signal[ProcessStarted | ProcessExited] = Signal()
        self._routes = self._next_routes = routes
        self._route = routes[0]
        self._recorder = recorder
        self._settings = settings
        self._responder = responder
        self._current: Conversation | None = None  # it may have ended
        self._connect_timeout: ConnectTimeout | None = None  # of the running connection attempt
        self._tasks = TaskScope()
        self._lifecycle = asyncio.Lock()  # connecting and closing never overlap

    @property
    def is_over_http(self) -> bool:
        """True if each request has its own HTTP exchange."""
        return self._route.closes_to_cancel

    @property
    def declared(self) -> JSONObject | None:
        """The capabilities declared on the current connection; None if there is none."""
        return self._conversation.declared if self.state.negotiated is not None else None

    @property
    def is_ending(self) -> bool:
        """True if there is no connection, or MCP Lens is closing it."""
        return self._current is None or self._current.is_over

    def use(self, routes: Sequence[Route]) -> None:
        """Use these routes from the next connect on.

        In the stateless era, what they declare takes effect immediately, because each request declares it.
        """
        self._next_routes = routes
        negotiated = self.state.negotiated
        if negotiated is not None and negotiated.era is Era.STATELESS:
            self._set_dialect(self._conversation, negotiated.revision)

    def set_settings(self, settings: ConnectionSettings) -> None:
        """Use these settings from the next connect on."""
        self._settings = settings

    async def connect(
        self,
        find_routes: Callable[[], Awaitable[Sequence[Route]]] | None = None,
        waits_for: str = "the secret store",
        timeout: float | None = None,
    ) -> None:
        """Connect and negotiate. Raises UserError, after setting the state accordingly.

        `find_routes` returns the routes if they need secrets; it may wait for the user without a timeout.
        `waits_for` names what it waits for. `timeout` replaces the connection timeout of the settings.
        """
        async with self._lifecycle:
            await self._end(SessionState(Status.IDLE))
            try:
                if find_routes is not None:
                    self._set_state(SessionState(Status.CONNECTING, waits_for=waits_for))
                    self._next_routes = await find_routes()
                self._routes = self._next_routes
                self._begin(self._routes[0])
                negotiated = await self._connect_with_timeout(timeout or self._settings.connect_timeout)
            except UserError as exc:
                status = Status.NEEDS_LOGIN if isinstance(exc, NeedsLogin) else Status.FAILED
                is_late = exc.kind is FailureKind.TIMEOUT and self._route.is_process
                state = SessionState(
                    status, exc.summary, exc.next_step, kind=exc.kind, can_wait_longer=is_late
                )
                await self._fail(state)
                raise
            except asyncio.CancelledError:
                await self._fail(SessionState(Status.IDLE, "The connection attempt was cancelled."))
                raise
            except Exception as exc:  # a bug in MCP Lens must not leave a process running
                error = ConnectFailed(
                    f"Could not connect: {exc!r}.", "This is a bug in MCP Lens. Please report it."
                )
                await self._fail(SessionState(Status.FAILED, error.summary, error.next_step))
                raise error from exc
            self._conversation.is_negotiated = True
            state = self.state  # the event stream may be lost already
            self._set_state(
                SessionState(
                    Status.CONNECTED,
                    negotiated=negotiated,
                    pid=state.pid,
                    stream_problem=state.stream_problem,
                )
            )

    async def close(self) -> None:
        """Close the connection, including its process."""
        async with self._lifecycle:
            await self._end(SessionState(Status.IDLE))

    async def reopen_stream(self) -> None:
        """Open the optional stream of server messages again. Raises UserError if that fails."""
        transport = self.conversation().transport
        if not isinstance(transport, StreamableHttpTransport):
            raise UserError("This connection has no separate stream of server messages.", "Reconnect.")
        await transport.reopen_stream()

    def wait_longer(self, seconds: float) -> bool:
        """Let the running connection attempt time out no earlier than in `seconds`.

        Returns False if none is running.
        """
        if self._connect_timeout is None:
            return False
        self._connect_timeout.extend(seconds)
        return True

    def explain_login(self, error: NeedsLogin) -> None:
        """Set why a login attempt failed, unless the state has changed meanwhile."""
        if self.state.status is Status.NEEDS_LOGIN:
            self._set_state(SessionState(Status.NEEDS_LOGIN, error.summary, error.next_step))

    async def _lose(self, closed: Closed) -> None:
        """Handle the end of the transport."""
        async with self._lifecycle:
            await self._end(
                SessionState(
                    Status.FAILED,
                    closed.summary,
                    closed.next_step,
                    was_connected=self.state.status is Status.CONNECTED,
                    is_session_lost=closed.is_session_lost,
                )
            )

    def _begin(self, route: Route) -> None:
        self._recorder.new_conversation()
        self._route = route
        self._current = Conversation(
            route.make_transport(),
            self._recorder,
            self._settings,
            self._responder,
            self._tasks,
            self.notified.emit,
            is_process=route.is_process,
            is_sequential=route.is_sequential,
        )
        self._set_state(replace(self._connecting("the server to start"), pid=None))

    async def _connect_with_timeout(self, limit: float) -> NegotiationResult:
        timeout = self._connect_timeout = ConnectTimeout(limit, self._route, self._show_slow)
        try:
            return await timeout.run(self._connect())
        except TimeoutError:
            raise ConnectFailed(
                f"Timed out after {timeout.seconds:g} s waiting for {self.state.waits_for}.",
                self._timeout_hint(),
                kind=FailureKind.TIMEOUT,
            ) from None
        except ConnectionLost as exc:
            raise ConnectFailed(exc.summary, exc.next_step, kind=exc.kind) from exc
        finally:
            self._connect_timeout = None

    def _show_slow(self) -> None:
        self._set_state(self._connecting(self.state.waits_for))

    def _connecting(self, waits_for: str) -> SessionState:
        """Return the state of the running connection attempt."""
        hint = self._connect_timeout.slow_hint if self._connect_timeout is not None else ""
        return SessionState(
            Status.CONNECTING,
            next_step=hint,
            waits_for=waits_for,
            pid=self.state.pid,
            can_wait_longer=bool(hint),
        )

    async def _connect(self) -> NegotiationResult:
        """Try the routes in turn; the next one is tried if a route raises WrongRoute."""
        *others, last = self._routes
        refusals: list[WrongRoute] = []
        for route, following in zip(others, self._routes[1:], strict=True):
            try:
                return await self._connect_over(route)
            except WrongRoute as exc:
                refusals.append(exc)
                self._recorder.note(RecordKind.LOCAL, f"{exc} Trying the older transport.")
                await self._close_transport()
                self._begin(following)
        if not refusals:
            return await self._connect_over(last)
        return await self._connect_over_fallback(last, refusals[0])

    async def _connect_over_fallback(self, route: Route, refusal: WrongRoute) -> NegotiationResult:
        try:
            negotiated = await self._connect_over(route)
        except NeedsLogin:
            raise
        except (ConnectFailed, ConnectionLost) as exc:
            raise ConnectFailed(
                f"{refusal.summary} Tried HTTP+SSE: {exc.summary}",
                "Check the path of the URL; /mcp and /sse are common.",
                kind=exc.kind,
            ) from exc
        description = f"{negotiated.description} · HTTP+SSE (2024-11-05): Streamable HTTP was rejected"
        return replace(negotiated, description=description)

    async def _connect_over(self, route: Route) -> NegotiationResult:
        await self._conversation.transport.open(self._on_event)
        is_last = route is self._routes[-1]
        negotiator = Negotiator(
            self._ask,
            self._restart,
            is_process=route.is_process,
            is_over_http=route.closes_to_cancel,
            is_last_route=is_last,
        )
        negotiated = await negotiator.run(route.make_negotiation())
        conversation = self._conversation
        self._set_dialect(conversation, negotiated.revision)
        conversation.transport.set_revision(
            replace(negotiated.revision, date=negotiated.named_version)
            if negotiated.named_version
            else negotiated.revision
        )
        self._recorder.set_revision(str(negotiated.revision))
        if negotiated.completed_by:
            negotiated = await self._complete(negotiated)
        for problem in negotiated.problems:
            self._recorder.note(RecordKind.LOCAL, problem)
        return negotiated

    async def _complete(self, negotiated: NegotiationResult) -> NegotiationResult:
        """Send the notification that completes the handshake.

        A server may reject or ignore it and still respond to requests: that is a finding.
        """
        conversation = self._conversation
        limit = min(_INITIALIZED_TIMEOUT, self._settings.connect_timeout / 3)
        try:
            async with asyncio.timeout(limit if self._route.closes_to_cancel else None):
                await conversation.send(conversation.connection.notify(negotiated.completed_by))
            return negotiated
        except TimeoutError:
            problem = f"The server did not accept {negotiated.completed_by} within {limit:g} s."
        except HttpRefused as exc:
            if exc.kind is FailureKind.SESSION_LOST:
                raise
            problem = exc.summary
        problem = f"{problem} MCP Lens continues; other clients may not connect to this server."
        return replace(negotiated, problems=(*negotiated.problems, problem))

    async def _ask(self, ask: NextRequest) -> Message:
        self._set_state(self._connecting(f"the response to {ask.method}"))
        conversation = self._conversation
        conversation.declared = declared_in(ask.params) or {}
        request = conversation.connection.request(ask.method, ask.params)
        envelope = Envelope(revision=ask.revision)
        timeout = ask.timeout
        if timeout is not None:  # leave most of the time to the request that follows
            timeout = min(timeout, self._settings.connect_timeout / 3)
        elif self._route.is_process:
            timeout = math.inf  # the connection timeout applies
        try:
            return (await conversation.exchange(request, timeout, envelope=envelope)).response
        except RequestTimedOut:
            if self._connect_timeout is not None:
                self._connect_timeout.probe_ignored()
            raise

    def _set_dialect(self, conversation: Conversation, revision: Revision) -> None:
        """Set the dialect and, in the stateless era, the capabilities that each request declares."""
        profile = self._next_routes[0].profile
        conversation.connection.dialect = dialect_for(
            revision, profile, over_http=self._route.closes_to_cancel
        )
        if revision.era is Era.STATELESS:
            conversation.declared = profile.declared.capabilities(revision)

    async def _restart(self) -> None:
        """Restart the process, which exited on the probe."""
        await self._close_transport()
        self._begin(self._route)
        await self._conversation.transport.open(self._on_event)

    async def _close_transport(self) -> None:
        transport = self._conversation.detach()
        if transport is not None:
            await self._conversation.close(transport)

    def _timeout_hint(self) -> str:
        output = self._conversation.pending.unusable_output()
        if output is not None:
            return f"It sent {output.unusable.what}. {output.next_step}"
        if self._route.installer:
            return (
                f"{download_text(self._route.installer)} Wait longer, or run its command once in a terminal "
                "until it has finished."
            )
        if self.state.pid is not None:
            return (
                "Its process is running but sent no message. Is this an MCP server that uses stdio? If it is "
                "slow to start, wait longer."
            )
        return "Check that the server is running and the URL is correct."

    async def _fail(self, state: SessionState) -> None:
        """Set the state after a failed connection attempt, also if there is no transport yet."""
        await self._end(state)
        self._set_state(state)

    async def _end(self, state: SessionState) -> None:
        """Close the transport, if any; pending requests fail with the state's reason."""
        conversation = self._current
        if conversation is None:
            return
        if state.status is Status.IDLE:
            await conversation.settle()
        transport = conversation.detach()
        if transport is None:
            return
        if state.status in (Status.FAILED, Status.NEEDS_LOGIN):
            self._set_state(state)  # immediately: stopping the process may take seconds
        conversation.fail(state.reason or "The connection was closed.", state.next_step or "Reconnect.")
        try:
            try:
                await self._tasks.close()
            finally:
                await conversation.close(transport)
        finally:  # also if this is cancelled
            self._recorder.new_conversation()
            self._set_state(state)

    def _set_state(self, state: SessionState) -> None:
        if state != self.state:
            is_change = _as_text(state) != _as_text(self.state)
            self.state = state
            if is_change:
                self._recorder.note(RecordKind.STATE, _as_text(state))
            self.state_changed.emit(state)

    async def request(
        self,
        method: str,
        params: JSONObject | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        headers: Headers = (),
        capabilities: JSONObject | None = None,
        log_level: str = "",
        human: CallTimer | None = None,
    ) -> Exchange:
        """Send a request and wait for its response, a result or an error. `headers` are for HTTP.

        `capabilities` and `log_level` apply to this request alone (stateless era). `human` accumulates the
        time spent waiting for replies to server requests, during which timeouts are paused.
        Raises ConnectionLost, RequestTimedOut. Cancelling the caller cancels the request on the server.
        """
        envelope = Envelope(headers=headers) if headers else PLAIN
        collector: InputCollector | None = None
        while True:
            conversation = self.conversation()
            queue = conversation.queue if method != _CANCEL_TASK else None
            release = await queue.wait(human) if queue is not None else None
            try:
                request = conversation.connection.request(
                    method,
                    params,
                    progress=on_progress is not None,
                    capabilities=capabilities,
                    log_level=log_level,
                )
                exchange = await conversation.exchange(request, timeout, on_progress, envelope, human)
            finally:
                if release is not None:
                    release()
            error = url_error_of(exchange, conversation)
            if error is None:
                return exchange
            collector = collector or InputCollector(self.conversation, human)
            if not await handle_required_urls(error, exchange, conversation, collector):
                return exchange

    async def send_raw(
        self,
        raw: bytes,
        *,
        headers: Headers = (),
        resent_of: int | None = None,
        timeout: float | None = None,
        split: bool = False,
    ) -> RawSent:
        """Send raw bytes as one frame, valid or not; see `raw_send`.

        `headers` are for HTTP and override the usual ones. `resent_of` is the row of the request that this
        one repeats. Over stdio a line break would end the frame: that raises UserError, unless `split` says
        to send each line as a separate frame. Raises ConnectionLost if the server is not connected.
        """
        conversation = self.conversation()
        frames = lines_of(raw, split=split) if self._route.is_process else [raw]
        return await send_raw(conversation, frames, Envelope(headers=headers), resent_of, timeout)

    def next_id(self) -> int:
        """Return an unused id and reserve it. Raises ConnectionLost."""
        return self.conversation().connection.next_id()

    async def listen(self, filter: Filter, on_open: Callable[[], None]) -> bool:
        """Listen for changes (stateless era).

        Returns True if the server ended the stream, False if it broke.
        """
        return await self._conversation.listen(filter, on_open)

    @contextmanager
    def reading_paused(self) -> Iterator[None]:
        """Read nothing from the server meanwhile; its output waits in the pipe or socket."""
        if self._current is None or self._current.is_over:
            yield
            return
        transport = self._current.transport
        transport.pause()
        try:
            yield
        finally:
            transport.resume()

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        """Start a task that ends with this connection."""
        return self._tasks.spawn(name, work)

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        conversation = self._conversation
        await conversation.send(conversation.connection.notify(method, params))

    def note(self, text: str) -> None:
        """Add a local note to the log."""
        self._recorder.note(RecordKind.LOCAL, text)

    def check(self, method: str, response: Message, row: int | None) -> None:
        """Report findings about a large response, now that it is parsed."""
        if row is not None:
            self._conversation.check(method, response, row)

    def report(self, row: int | None, finding: str) -> None:
        """Add a finding to the row of a message."""
        if row is not None:
            self._recorder.add_finding(row, finding)

    @property
    def _conversation(self) -> Conversation:
        if self._current is None:
            raise ConnectionLost("The connection is closed.", "Reconnect.")
        return self._current

    def conversation(self) -> Conversation:
        """Return the current connection. Raises ConnectionLost if the server is not connected."""
        if self.state.status is not Status.CONNECTED:
            status = self.state.status
            detail = "" if status is Status.IDLE else f" ({status.value})"
            raise ConnectionLost(f"The server is not connected{detail}.", "Connect first.")
        return self._conversation

    def _on_event(self, event: WireEvent) -> None:
        if self._connect_timeout is not None and isinstance(event, _OUTPUT):
            self._connect_timeout.output_received()
        match event:
            case FramesReceived():
                self._conversation.receive(event)
            case UnfinishedOutput():
                self._conversation.receive_unfinished(event.head)
            case StderrReceived():
                self._recorder.stderr(event.lines, event.at)
            case ProcessStarted():
                self._on_started(event)
            case ProcessExited():
                self._recorder.note(RecordKind.PROCESS, f"Process {event.pid} {event.status}.")
                self.process_observed.emit(event)
            case RequestFailed():
                self._conversation.request_failed(event)
            case EventStreamChanged():
                self._on_stream_changed(event.reason)
            case Closed():
                self._on_closed(event)
            case _:
                record_http(self._recorder, event)

    def _on_started(self, event: ProcessStarted) -> None:
        inherited = ("your whole environment",) if event.inherits_all else ()
        names = ", ".join((*inherited, *event.environment_names)) or "none"
        text = f"Process {event.pid} started: {' '.join(masked_command(event.command))}"
        where = f" in {event.cwd}" if event.cwd else ""
        self._recorder.note(RecordKind.PROCESS, f"{text}{where} (environment variables: {names})")
        self.process_observed.emit(event)
        if self._connect_timeout is not None:
            self._connect_timeout.process_started()
        self._set_state(replace(self.state, pid=event.pid))

    def _on_stream_changed(self, reason: str) -> None:
        if self._conversation.is_over or reason == self.state.stream_problem:
            return
        text = (
            f"Server messages are not received: {reason}" if reason else "Server messages are received again."
        )
        self._recorder.note(RecordKind.STATE, text)
        self._set_state(replace(self.state, stream_problem=reason))

    def _on_closed(self, event: Closed) -> None:
        if self._conversation.is_over:
            return  # closed by MCP Lens
        self._conversation.fail(event.summary, event.next_step, event.kind)
        if self.state.status is Status.CONNECTED:
            self._tasks.spawn("end lost connection", self._lose(event))


def _as_text(state: SessionState) -> str:
    return f"{state.status.value}: {state.reason or state.waits_for}".rstrip(": ")
