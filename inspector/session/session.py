"""The life of one connection: connect, agree, send and receive, end; the history stays in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.base.errors import (
    ConnectFailed,
    ConnectionLost,
    NeedsLogin,
    NotReached,
    RequestCancelled,
    RequestTimedOut,
    UserError,
)
from inspector.base.jsonvalue import JSONObject, shorten
from inspector.base.plaintext import one_line
from inspector.base.redact import masked_words
from inspector.base.signals import Signal
from inspector.config.settings import Settings
from inspector.protocol.connection import (
    Answered,
    Asked,
    Connection,
    Event,
    Notified,
    Progressed,
    Uninvited,
)
from inspector.protocol.dialect import dialect_for
from inspector.protocol.handshake import Agreement, Ask
from inspector.protocol.jsonrpc import Kind, Message, RequestId
from inspector.protocol.listen import Filter, listen_params
from inspector.session.answering import compose_answer
from inspector.session.frames import read_frame, sizes_of
from inspector.session.hearing import Hearing
from inspector.session.httpevents import record_http
from inspector.session.negotiator import Negotiator, WrongRoute
from inspector.session.route import Answerer, Route
from inspector.session.state import SessionState, Status
from inspector.session.waiting import NO_LIMIT, Exchange, Limits, OnProgress, WaitingRoom
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    FramesReceived,
    Headers,
    ProcessExited,
    ProcessStarted,
    RequestFailed,
    StderrReceived,
    Transport,
    WireEvent,
)
from inspector.transport.tasks import TaskScope

_log = logging.getLogger(__name__)

# A cancelled call's notice may still be on its way: over HTTP that takes an exchange of its own.
_GRACE_FOR_NOTICES = 0.5


class Session:
    """One server's connection. Can be connected again after it ended; `close` is the end of one life.

    Signals:
        state_changed: Carries the new SessionState.
        notified: The server sent a notification; carries it.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        recorder: Recorder,
        settings: Settings,
        answerers: Mapping[str, Answerer],
    ) -> None:
        self.state = SessionState()
        self.state_changed: Signal[SessionState] = Signal()
        self.notified: Signal[Message] = Signal()
        self._routes = routes
        self._route = routes[0]
        self._recorder = recorder
        self._settings = settings
        self._answerers = answerers
        self._transport: Transport | None = None
        self._connection = Connection()
        self._waiting = WaitingRoom()
        self._tasks = TaskScope()
        self._notices = TaskScope()
        self._strays: list[str] = []
        self._hearing = Hearing(recorder)
        self._life = asyncio.Lock()  # connecting and ending never overlap

    @property
    def is_over_http(self) -> bool:
        """Does each request have an HTTP exchange of its own?"""
        return self._route.closes_to_cancel

    # -------------------------------------------------------------- life

    async def connect(self) -> None:
        """Connect and agree on a revision. Raises UserError, after the state says the same."""
        async with self._life:
            await self._end(SessionState(Status.STOPPED))
            self._begin(self._routes[0])
            try:
                agreement = await self._connect_in_time()
            except UserError as exc:
                status = Status.NEEDS_LOGIN if isinstance(exc, NeedsLogin) else Status.FAILED
                await self._end(SessionState(status, exc.summary, exc.next_step))
                raise
            except asyncio.CancelledError:
                await self._end(SessionState(Status.STOPPED, "Connecting was cancelled."))
                raise
            except Exception as exc:  # a bug of ours must not leave a process behind that nobody ends
                error = ConnectFailed(f"Connecting failed: {exc!r}.", "This is a mistake of ours: report it.")
                await self._end(SessionState(Status.FAILED, error.summary, error.next_step))
                raise error from exc
            self._set_state(SessionState(Status.CONNECTED, agreement=agreement, pid=self.state.pid))

    async def close(self) -> None:
        """End the connection, the process behind it included."""
        async with self._life:
            await self._end(SessionState(Status.STOPPED))

    async def _lose(self, closed: Closed) -> None:
        """The wire ended by itself."""
        async with self._life:
            lost = closed.is_session_lost
            await self._end(
                SessionState(Status.FAILED, closed.summary, closed.next_step, is_session_lost=lost)
            )

    def _begin(self, route: Route) -> None:
        self._recorder.new_conversation()
        self._connection = Connection()
        self._waiting = WaitingRoom()
        self._hearing = Hearing(self._recorder)
        self._strays = []
        self._route = route
        self._transport = route.make_transport()
        self._set_state(SessionState(Status.CONNECTING, waits_for="the server to start"))

    async def _connect_in_time(self) -> Agreement:
        limit = self._settings.connect_timeout
        try:
            async with asyncio.timeout(limit):
                return await self._connect()
        except TimeoutError:
            raise ConnectFailed(
                f"Gave up after {limit:g} s waiting for {self.state.waits_for}.", self._what_came_instead()
            ) from None
        except ConnectionLost as exc:
            raise ConnectFailed(exc.summary, exc.next_step) from exc

    async def _connect(self) -> Agreement:
        """Try the routes in turn: the next one when this one is refused as an older server would."""
        *others, last = self._routes
        refusals: list[WrongRoute] = []
        for route, following in zip(others, self._routes[1:], strict=True):
            try:
                return await self._connect_by(route)
            except WrongRoute as exc:
                refusals.append(exc)
                self._recorder.note(RecordKind.LOCAL, f"{exc} Trying the older transport.")
                await self._leave_transport()
                self._begin(following)
        if not refusals:
            return await self._connect_by(last)
        return await self._connect_by_older(last, refusals[0])

    async def _connect_by_older(self, route: Route, refusal: WrongRoute) -> Agreement:
        try:
            agreement = await self._connect_by(route)
        except NeedsLogin:
            raise
        except (ConnectFailed, ConnectionLost) as exc:
            raise ConnectFailed(
                f"{refusal.summary} Tried as HTTP+SSE: {exc.summary}",
                "Check the path of the URL: /mcp and /sse are usual.",
            ) from exc
        how = f"{agreement.how}. Streamable HTTP was refused, so this is the HTTP+SSE of 2024."
        return replace(agreement, how=how)

    async def _connect_by(self, route: Route) -> Agreement:
        assert self._transport is not None
        await self._transport.open(self._on_wire)
        is_last = route is self._routes[-1]
        negotiator = Negotiator(self._ask, self._restart, is_process=route.is_process, is_last_route=is_last)
        agreement = await negotiator.run(route.make_negotiation())
        dialect = dialect_for(agreement.revision, route.profile, over_http=route.closes_to_cancel)
        self._connection.dialect = dialect
        self._transport.agreed(agreement.revision)
        self._recorder.agreed(str(agreement.revision))
        if agreement.sealed_by:
            await self._send(self._connection.notify(agreement.sealed_by))
        for problem in agreement.problems:
            self._recorder.note(RecordKind.LOCAL, problem)
        return agreement

    async def _ask(self, ask: Ask) -> Message:
        waits_for = f"the answer to {ask.method}"
        self._set_state(SessionState(Status.CONNECTING, waits_for=waits_for, pid=self.state.pid))
        request = self._connection.request(ask.method, ask.params)
        envelope = Envelope(revision=ask.revision)
        return (await self._exchange(request, ask.timeout, envelope=envelope)).answer

    async def _restart(self) -> None:
        """Start the process anew: the one before did not survive the question."""
        await self._leave_transport()
        self._begin(self._route)
        assert self._transport is not None
        await self._transport.open(self._on_wire)

    async def _leave_transport(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def _what_came_instead(self) -> str:
        if self._strays:
            return f"It printed text that is no message: “{self._strays[0]}”. Is this an MCP server?"
        if self.state.pid is not None:
            return "Its process runs but sent no message. Is this an MCP server, and does it speak on stdout?"
        return "Check that the server runs and that the address is right."

    async def _end(self, state: SessionState) -> None:
        """Close the wire, if there is one; what waits on it fails with the state's reason."""
        if state.status is Status.STOPPED:
            await self._notices.settle(_GRACE_FOR_NOTICES)
        transport, self._transport = self._transport, None
        if transport is None:
            return
        if state.status in (Status.FAILED, Status.NEEDS_LOGIN):
            self._set_state(state)  # at once: stopping the process may take seconds
        self._fail_waiting(state.reason or "The connection was closed.", state.next_step or "Connect again.")
        await self._notices.close()
        await self._tasks.close()
        await transport.close()
        self._recorder.new_conversation()
        self._set_state(state)

    def _fail_waiting(self, summary: str, next_step: str) -> None:
        self._connection.drain()
        self._waiting.fail_all(ConnectionLost(summary, next_step))

    def _set_state(self, state: SessionState) -> None:
        if state != self.state:
            is_news = _in_words(state) != _in_words(self.state)
            self.state = state
            if is_news:
                self._recorder.note(RecordKind.STATE, _in_words(state))
            self.state_changed.emit(state)

    # -------------------------------------------------------------- sending

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
    ) -> Exchange:
        """Send a request and wait for its answer, a result or an error. `headers` are for HTTP.

        `capabilities` and `log_level` are said about this request alone, where the era allows that.
        Raises ConnectionLost, RequestTimedOut. Cancelling the caller tells the server so.
        """
        if self.state.status is not Status.CONNECTED:
            raise ConnectionLost(
                f"The server is not connected ({self.state.status.value}).", "Connect first."
            )
        request = self._connection.request(
            method,
            params,
            progress=on_progress is not None,
            capabilities=capabilities,
            log_level=log_level,
        )
        return await self._exchange(request, timeout, on_progress, Envelope(headers=headers))

    async def listen(self, filter: Filter, on_open: Callable[[], None]) -> bool:
        """Hear of changes in the stateless era. True when the server ended it, False when it broke off."""
        request = self._connection.request("subscriptions/listen", listen_params(filter))
        assert request.id is not None
        hearing, waiting = self._hearing, self._waiting  # of this conversation; the next has its own
        hearing.open(request.id, filter, on_open)
        waiter = waiting.enter(request, NO_LIMIT, None)
        try:
            hearing.answered(request.id, (await waiter.wait(self._send(request))).answer)
            return True
        except UserError as exc:
            self._give_up(request, exc)
            return isinstance(exc, RequestCancelled)
        except asyncio.CancelledError as exc:
            self._give_up(request, exc)
            raise
        finally:
            hearing.close(request.id)
            waiting.leave(request)

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        """Work that belongs to this connection and ends with it."""
        return self._tasks.spawn(name, work)

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        await self._send(self._connection.notify(method, params))

    def remark(self, text: str) -> None:
        """Put a sentence of ours into the log."""
        self._recorder.note(RecordKind.LOCAL, text)

    async def _exchange(
        self,
        request: Message,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        envelope: Envelope = PLAIN,
    ) -> Exchange:
        idle = timeout or self._settings.request_timeout
        limits = Limits(idle, max(idle, self._settings.longest_request))
        waiter = self._waiting.enter(request, limits, on_progress)
        try:
            return await waiter.wait(self._send(request, envelope))
        except (UserError, asyncio.CancelledError) as exc:
            self._give_up(request, exc)
            raise
        finally:
            self._waiting.leave(request)

    def _give_up(self, request: Message, error: BaseException) -> None:
        assert request.id is not None
        is_over = not isinstance(error, asyncio.CancelledError | RequestTimedOut)
        reason = "cancelled by the person" if isinstance(error, asyncio.CancelledError) else "timed out"
        self._recorder.given_up(request.id, was_sent=not isinstance(error, NotReached))
        notice = self._connection.cancel(request.id, reason)
        if self._transport is None:
            return
        self._transport.forget(request)
        if notice is not None and not is_over and self.state.status is Status.CONNECTED:
            self._notices.spawn(f"cancel {request.id}", self._send_quietly(notice))

    async def _send(self, message: Message, envelope: Envelope = PLAIN) -> int:
        if self._transport is None:
            raise ConnectionLost("The connection is closed.", "Connect again.")
        row = self._recorder.sent(message)
        await self._transport.send(message, Envelope(envelope.revision, envelope.headers, row))
        return row

    async def _send_quietly(self, message: Message) -> None:
        """For messages that nobody waits for: losing the connection is reported elsewhere."""
        try:
            await self._send(message)
        except UserError as exc:
            self._recorder.note(RecordKind.LOCAL, f"Not sent: {exc}")

    # -------------------------------------------------------------- receiving

    def _on_wire(self, event: WireEvent) -> None:
        match event:
            case FramesReceived():
                self._on_frames(event)
            case StderrReceived():
                self._recorder.stderr(event.lines, event.at)
            case ProcessStarted():
                self._on_started(event)
            case ProcessExited():
                self._recorder.note(RecordKind.PROCESS, f"Process {event.pid} {event.status}.")
            case RequestFailed():
                self._recorder.note(RecordKind.LOCAL, f"{event.request.method}: {event.error}")
                self._waiting.failed(event.request.id, event.error)
            case Closed():
                self._on_closed(event)
            case _:
                record_http(self._recorder, event)

    def _on_frames(self, event: FramesReceived) -> None:
        messages = [read_frame(frame, event.request) for frame in event.frames]
        self._recorder.received(messages, event.at, sizes_of(event.frames), event.exchange)
        is_connecting = self.state.status is Status.CONNECTING
        receive = self._connection.receive
        for message in messages:
            if is_connecting and message.kind is Kind.TEXT:
                self._remember_stray(message)
            try:
                for happening in receive(message):
                    self._dispatch(happening, event.request)
            except Exception:  # whoever was told has a bug: the frames behind this one must not pay for it
                _log.exception("could not handle %s", message.kind.name)

    def _remember_stray(self, message: Message) -> None:
        if len(self._strays) < 3 and message.raw.strip():
            self._strays.append(shorten(one_line(message.raw[:300].decode(errors="replace")), 120))

    def _dispatch(self, event: Event, carrier: RequestId | None = None) -> None:
        match event:
            case Notified():
                self._on_notified(event.notification, carrier)
            case Uninvited(request):
                text = f"The server sent the request {request.method}; this revision lets servers send none."
                self._recorder.note(RecordKind.LOCAL, text)
            case Answered(request, answer):
                self._waiting.answered(request, answer)
            case Progressed():
                self._waiting.progressed(event)
            case Asked(request):
                self._tasks.spawn(f"answer {request.method}", self._answer(request))
            case _:
                pass  # withdrawn and orphaned ones are in the log; nobody waits for them

    def _on_notified(self, notification: Message, carrier: RequestId | None) -> None:
        """In the stateless era a change is told on a stream that was asked for; faults in that are named."""
        if not self._connection.dialect.takes_requests:
            ended = self._hearing.receive(notification, carrier)
            if ended is not None:
                self._waiting.failed(ended.id, RequestCancelled("The server ended the stream."))
        self.notified.emit(notification)

    def _on_started(self, event: ProcessStarted) -> None:
        names = ", ".join(event.environment_names) or "none"
        text = f"Process {event.pid} started: {' '.join(masked_words(event.command))}"
        where = f" in {event.cwd}" if event.cwd else ""
        self._recorder.note(RecordKind.PROCESS, f"{text}{where} (configured variables: {names})")
        self._set_state(replace(self.state, pid=event.pid))

    def _on_closed(self, event: Closed) -> None:
        if self._transport is None:
            return  # we are closing it ourselves
        self._fail_waiting(event.summary, event.next_step)
        if self.state.status is Status.CONNECTED:
            self._tasks.spawn("lose the connection", self._lose(event))

    async def _answer(self, request: Message) -> None:
        answer = await compose_answer(request, self._connection, self._answerers)
        if answer is not None:
            await self._send_quietly(answer)


def _in_words(state: SessionState) -> str:
    return f"{state.status.value}: {state.reason or state.waits_for}".rstrip(": ")
