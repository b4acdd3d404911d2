"""The life of one connection: connect, agree, send and receive, end; the history stays in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from inspector.base.errors import (
    ConnectFailed,
    ConnectionLost,
    LocalProtocolError,
    NeedsLogin,
    RequestTimedOut,
    RpcError,
    UserError,
)
from inspector.base.jsonvalue import JSONObject, JSONProblem, shorten
from inspector.base.plaintext import one_line
from inspector.base.signals import Signal
from inspector.config.settings import Settings
from inspector.protocol.connection import Answered, Asked, Connection, Event, Notified, Progressed
from inspector.protocol.framing import Overlong
from inspector.protocol.handshake import Agreement, Ask, Negotiation
from inspector.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Kind,
    Message,
    RequestId,
    read,
    read_overlong,
)
from inspector.session.state import SessionState, Status
from inspector.session.waiting import Exchange, Limits, OnProgress, WaitingRoom
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from inspector.transport.base import (
    Closed,
    FramesReceived,
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

Answerer: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


class Session:
    """One server's connection. Can be connected again after it ended; `close` is the end of one life.

    Signals:
        state_changed: Carries the new SessionState.
        notified: The server sent a notification; carries it.
    """

    def __init__(
        self,
        make_transport: Callable[[], Transport],
        make_negotiation: Callable[[], Negotiation],
        recorder: Recorder,
        settings: Settings,
        answerers: Mapping[str, Answerer],
    ) -> None:
        self.state = SessionState()
        self.state_changed: Signal[SessionState] = Signal()
        self.notified: Signal[Message] = Signal()
        self._make_transport = make_transport
        self._make_negotiation = make_negotiation
        self._recorder = recorder
        self._settings = settings
        self._answerers = {"ping": _pong, **answerers}
        self._transport: Transport | None = None
        self._connection = Connection()
        self._waiting = WaitingRoom()
        self._tasks = TaskScope()
        self._notices = TaskScope()
        self._strays: list[str] = []
        self._life = asyncio.Lock()  # connecting and ending never overlap

    # -------------------------------------------------------------- life

    async def connect(self) -> None:
        """Connect and agree on a revision. Raises UserError, after the state says the same."""
        async with self._life:
            await self._end(SessionState(Status.STOPPED))
            self._begin()
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
            await self._end(SessionState(Status.FAILED, closed.summary, closed.next_step))

    def _begin(self) -> None:
        self._recorder.new_conversation()
        self._connection = Connection()
        self._waiting = WaitingRoom()
        self._strays = []
        self._transport = self._make_transport()
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
        assert self._transport is not None
        await self._transport.open(self._on_wire)
        negotiation = self._make_negotiation()
        step: Ask | Agreement = negotiation.first()
        while isinstance(step, Ask):
            waits_for = f"the answer to {step.method}"
            self._set_state(SessionState(Status.CONNECTING, waits_for=waits_for, pid=self.state.pid))
            exchange = await self._exchange(step.method, step.params)
            step = negotiation.receive(exchange.answer)
        self._transport.agreed(step.revision)
        if step.sealed_by:
            await self._send(self._connection.notify(step.sealed_by))
        for problem in step.problems:
            self._recorder.note(RecordKind.LOCAL, problem)
        return step

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
    ) -> Exchange:
        """Send a request and wait for its answer, a result or an error.

        Raises ConnectionLost, RequestTimedOut. Cancelling the caller tells the server so.
        """
        if self.state.status is not Status.CONNECTED:
            raise ConnectionLost(
                f"The server is not connected ({self.state.status.value}).", "Connect first."
            )
        return await self._exchange(method, params, timeout, on_progress)

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        await self._send(self._connection.notify(method, params))

    async def _exchange(
        self,
        method: str,
        params: JSONObject | None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Exchange:
        request = self._connection.request(method, params, progress=on_progress is not None)
        idle = timeout or self._settings.request_timeout
        limits = Limits(idle, max(idle, self._settings.longest_request))
        waiter = self._waiting.enter(request, limits, on_progress)
        try:
            return await waiter.wait(self._send(request))
        except (UserError, asyncio.CancelledError) as exc:
            self._give_up(request, exc)
            raise
        finally:
            self._waiting.leave(request)

    def _give_up(self, request: Message, error: BaseException) -> None:
        assert request.id is not None
        is_over = not isinstance(error, asyncio.CancelledError | RequestTimedOut)
        reason = "cancelled by the person" if isinstance(error, asyncio.CancelledError) else "timed out"
        self._recorder.given_up(request.id)
        notice = self._connection.cancel(request.id, reason)
        if self._transport is None:
            return
        self._transport.forget(request)
        if notice is not None and not is_over and self.state.status is Status.CONNECTED:
            self._notices.spawn(f"cancel {request.id}", self._send_quietly(notice))

    async def _send(self, message: Message) -> int:
        if self._transport is None:
            raise ConnectionLost("The connection is closed.", "Connect again.")
        row = self._recorder.sent(message)
        await self._transport.send(message)
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
                self._waiting.failed(event.request, event.error)
            case Closed():
                self._on_closed(event)

    def _on_frames(self, event: FramesReceived) -> None:
        messages = [_read_frame(frame) for frame in event.frames]
        sizes = None
        if any(isinstance(frame, Overlong) for frame in event.frames):
            sizes = [frame.size if isinstance(frame, Overlong) else len(frame) for frame in event.frames]
        self._recorder.received(messages, event.at, sizes)
        for message in messages:
            if message.kind is Kind.TEXT and self.state.status is Status.CONNECTING:
                self._remember_stray(message)
            try:
                for happening in self._connection.receive(message):
                    self._dispatch(happening)
            except Exception:  # whoever was told has a bug: the frames behind this one must not pay for it
                _log.exception("could not handle %s", message.kind.name)

    def _remember_stray(self, message: Message) -> None:
        if len(self._strays) < 3 and message.raw.strip():
            self._strays.append(shorten(one_line(message.raw[:300].decode(errors="replace")), 120))

    def _dispatch(self, event: Event) -> None:
        match event:
            case Notified(notification):
                self.notified.emit(notification)
            case Answered(request, answer):
                self._waiting.answered(request, answer)
            case Progressed():
                self._waiting.progressed(event)
            case Asked(request):
                self._tasks.spawn(f"answer {request.method}", self._answer(request))
            case _:
                pass  # withdrawn and orphaned ones are in the log; nobody waits for them

    def _on_started(self, event: ProcessStarted) -> None:
        names = ", ".join(event.environment_names) or "none"
        text = f"Process {event.pid} started: {' '.join(event.command)}"
        where = f" in {event.cwd}" if event.cwd else ""
        self._recorder.note(RecordKind.PROCESS, f"{text}{where} (configured variables: {names})")
        self._set_state(replace(self.state, pid=event.pid))

    def _on_closed(self, event: Closed) -> None:
        if self._transport is None:
            return  # we are closing it ourselves
        self._fail_waiting(event.summary, event.next_step)
        if self.state.status is Status.CONNECTED:
            self._tasks.spawn("lose the connection", self._lose(event))

    # -------------------------------------------------------------- answering

    async def _answer(self, request: Message) -> None:
        assert request.id is not None
        try:
            answer = await self._compose_answer(request, request.id)
        except LocalProtocolError:
            return  # the server took its request back meanwhile
        await self._send_quietly(answer)

    async def _compose_answer(self, request: Message, id: RequestId) -> Message:
        answerer = self._answerers.get(request.method)
        if answerer is None:
            text = f"We do not offer {request.method}: no such capability was declared"
            return self._connection.refuse(id, METHOD_NOT_FOUND, text)
        try:
            result = await answerer(request.params)
        except RpcError as exc:
            return self._connection.refuse(id, exc.code, exc.message, exc.data)
        except JSONProblem as exc:
            return self._connection.refuse(id, INVALID_PARAMS, f"The params cannot be read: {exc}")
        except Exception:
            _log.exception("could not answer %s", request.method)
            return self._connection.refuse(id, INTERNAL_ERROR, "Internal error")
        return self._connection.answer(id, result)


def _in_words(state: SessionState) -> str:
    return f"{state.status.value}: {state.reason or state.waits_for}".rstrip(": ")


def _read_frame(frame: bytes | Overlong) -> Message:
    return read_overlong(frame.head, frame.size) if isinstance(frame, Overlong) else read(frame)


async def _pong(params: JSONObject) -> JSONObject:
    return {}
