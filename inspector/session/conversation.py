"""One connection over one transport: what is sent, recorded, awaited and received.

A session creates a new `Conversation` for each transport; no state outlives it. Also parses frames into
messages, and tracks the `subscriptions/listen` streams of the stateless era (`ChangeStreams`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from inspector.base.errors import ConnectionLost, NotReached, RequestCancelled, RequestTimedOut, UserError
from inspector.base.json.values import JSONObject, JSONProblem
from inspector.config.preferences.settings import Settings
from inspector.protocol.connection import (
    Connection,
    Event,
    NotificationReceived,
    ProgressReceived,
    RequestReceived,
    RequestWithdrawn,
    ResponseReceived,
    UnexpectedRequest,
)
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Kind, Message, RequestId, items_of, read, read_overlong
from inspector.protocol.server_requests.request import SERVER_REQUEST_METHODS
from inspector.protocol.subscriptions import (
    LISTEN,
    Acknowledged,
    Ended,
    Filter,
    SubscriptionStream,
    listen_params,
)
from inspector.protocol.tasks import ClientTasks, related_task
from inspector.protocol.types import InputRequest
from inspector.session.pending_requests import (
    NO_LIMIT,
    Exchange,
    HumanWaitTime,
    Limits,
    OnProgress,
    PendingRequest,
    PendingRequests,
)
from inspector.session.server_requests import (
    OWN,
    PendingServerRequests,
    Responder,
    ServerRequest,
    ServerRequestTasks,
    compose_reply,
    read_once,
    requested_by,
)
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from inspector.transport.base import PLAIN, Envelope, FramesReceived, RequestFailed, Transport
from inspector.transport.task_scope import TaskScope

_log = logging.getLogger(__name__)

# A cancellation may still be on its way: over HTTP it takes a separate exchange.
_GRACE_FOR_NOTICES = 0.5
# Over HTTP a request has a separate exchange, which stays open this many seconds after the request is
# cancelled.
_GRACE_FOR_LAST_WORDS = 2.0


class Conversation:
    """One connection over one transport, which is not open yet at first.

    `is_agreed` once both sides have agreed on a protocol version. `declared` are the capabilities that we
    declared on it. `on_notified` gets every notification that is not about a request of ours.
    """

    def __init__(
        self,
        transport: Transport,
        recorder: Recorder,
        settings: Settings,
        responder: Responder,
        tasks: TaskScope,
        on_notified: Callable[[Message], None],
    ) -> None:
        self.connection = Connection()
        self.waiting = PendingRequests()
        self.server_requests = PendingServerRequests(responder, self.waiting)
        self.is_agreed = False
        self.recorder = recorder
        self._transport: Transport | None = transport
        self._settings = settings
        self.declared: JSONObject = {}
        self._tasks = tasks
        self._on_notified = on_notified
        self._notices = TaskScope()
        self._left: list[Message] = []  # cancelled requests whose exchange is still open
        self._hearing = ChangeStreams(recorder)
        client_tasks = ClientTasks(time.time_ns, lambda: str(uuid.uuid4()))
        self._request_tasks = ServerRequestTasks(
            self.connection,
            self.server_requests,
            lambda: self.declared,
            client_tasks,
            tasks,
            self.send_quietly,
        )

    @property
    def wire(self) -> Transport:
        """The transport. Raises ConnectionLost if it has ended."""
        if self._transport is None:
            raise ConnectionLost("The connection is closed.", "Reconnect.")
        return self._transport

    @property
    def is_over(self) -> bool:
        return self._transport is None

    async def settle(self) -> None:
        """Give pending notifications, such as cancellations, time to be sent."""
        await self._notices.settle(_GRACE_FOR_NOTICES)

    def fail(self, summary: str, next_step: str) -> None:
        """Fail everything that is pending: no more responses will arrive."""
        error = ConnectionLost(summary, next_step)
        self.connection.drain()
        self.waiting.fail_all(error)
        self.server_requests.close(error)

    def leave(self) -> Transport | None:
        """Detach and return the transport, to be closed; None if already done.

        Nothing is sent from now on.
        """
        transport, self._transport = self._transport, None
        return transport

    async def close(self, transport: Transport) -> None:
        """End what is still running, then close the detached transport."""
        self.waiting.close()
        await self._notices.close()
        await transport.close()

    def limits(self, timeout: float | None) -> Limits:
        idle = timeout or self._settings.request_timeout
        return Limits(idle, max(idle, self._settings.longest_request))

    async def exchange(
        self,
        request: Message,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        envelope: Envelope = PLAIN,
        human: HumanWaitTime | None = None,
    ) -> Exchange:
        """Send a request created by the connection, and wait for its response."""
        waiter = self.waiting.enter(request, self.limits(timeout), on_progress, human)
        try:
            return await waiter.wait(self.send(request, envelope))
        except (UserError, asyncio.CancelledError) as exc:
            is_late = human is not None and human.is_limit_reached
            self.abandon(request, exc, is_late=is_late)
            raise
        finally:
            self.waiting.leave(request)

    async def listen(self, filter: Filter, on_open: Callable[[], None]) -> bool:
        """Listen for changes (stateless era).

        Returns True if the server ended the stream, False if it broke.
        """
        request = self.connection.request(LISTEN, listen_params(filter))
        assert request.id is not None
        self._hearing.open(request.id, filter, on_open)
        waiter = self.waiting.enter(request, NO_LIMIT, None)
        try:
            await waiter.wait(self.send(request))
            return True
        except UserError as exc:
            self.abandon(request, exc)
            return isinstance(exc, RequestCancelled) and self.waiting.holds(request)
        except asyncio.CancelledError as exc:
            self.abandon(request, exc)
            raise
        finally:
            if self.waiting.holds(request):
                self._hearing.close(request.id)
            self.waiting.leave(request)

    def adopt(self, message: Message, timeout: float | None = None) -> list[PendingRequest]:
        """Track a hand-written message that is about to be sent.

        Returns the waiters for the responses to its requests; an older request with the same id is no
        longer waited for.
        """
        requests = self.connection.adopt(message)
        for item in items_of(message):
            if item.kind.is_response and item.id is not None:
                self.server_requests.answered_by_hand(item.id)
        for request in requests:
            assert request.id is not None
            self.recorder.abandoned(request.id)
            if request.method == LISTEN:
                self._hearing.open_by_hand(request)
        return [
            self.waiting.enter(request, self._limits_by_hand(request, timeout), None) for request in requests
        ]

    def _limits_by_hand(self, request: Message, timeout: float | None) -> Limits:
        """Return the limits for a raw request; a `subscriptions/listen` stream has none by default."""
        return NO_LIMIT if request.method == LISTEN and timeout is None else self.limits(timeout)

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> int:
        """Record a message, send it, and return its row."""
        wire = self.wire
        row = self.recorder.sent(message)
        if message.kind is Kind.REQUEST:
            self.waiting.sent(message, self.recorder.operation(row))
        await wire.send(message, Envelope(envelope.revision, envelope.headers, row))
        return row

    async def send_quietly(self, message: Message) -> str:
        """Send a message without a response; a lost connection is reported elsewhere.

        Returns why it could not be sent, or "".
        """
        try:
            await self.send(message)
        except UserError as exc:
            self.recorder.note(RecordKind.LOCAL, f"Not sent: {exc}")
            return str(exc)
        return ""

    def abandon(self, request: Message, error: BaseException, *, is_late: bool = False) -> None:
        """Stop waiting for a request, and notify the server where the protocol does so.

        `is_late`: it was cancelled because of a limit that covers more than this request. Does nothing for
        a request whose id was taken over by another: everything under that id now belongs to the other.
        """
        assert request.id is not None
        if not self.waiting.holds(request):
            return
        self.recorder.abandoned(request.id, was_sent=not isinstance(error, NotReached))
        is_cancelled = isinstance(error, asyncio.CancelledError)
        reason = "cancelled by the user" if is_cancelled and not is_late else "timed out"
        notice = self.connection.cancel(request.id, reason)
        if self._transport is None:
            return
        if notice is not None and (is_cancelled or isinstance(error, RequestTimedOut)) and self.is_agreed:
            self._notices.spawn(f"cancel {request.id}", self.send_quietly(notice))
            self._left.append(request)
            self._tasks.spawn(f"leave {request.id}", self._forget_soon(request))
        else:
            self._transport.forget(request)

    async def _forget_soon(self, request: Message) -> None:
        """Forget a cancelled request after a grace period.

        The server's reaction to the cancellation arrives on the same exchange as the response would have:
        for example, that it cancels its own requests.
        """
        await asyncio.sleep(_GRACE_FOR_LAST_WORDS)
        self._left.remove(request)
        if self._transport is not None and not self.waiting.has(request.id):
            self._transport.forget(request)

    def receive(self, event: FramesReceived) -> list[Message]:
        """Record frames and act on them; return them as messages."""
        messages = [read_frame(frame, event.request) for frame in event.frames]
        rows = self.recorder.received(messages, event.at, sizes_of(event.frames), event.exchange)
        receive = self.connection.receive
        for row, message in zip(rows, messages, strict=True):
            try:
                for happening in receive(message):
                    self._dispatch(happening, row, event.request)
            except Exception:  # a bug in a receiver must not affect the frames after this one
                _log.exception("could not handle %s", message.kind.name)
        return messages

    def request_failed(self, event: RequestFailed) -> None:
        if any(event.request is left for left in self._left):
            return  # deliberately left without a response
        self.recorder.note(RecordKind.LOCAL, f"{event.request.method}: {event.error}")
        self.waiting.failed(event.request, event.error)

    def _dispatch(self, event: Event, row: int, carrier: RequestId | None = None) -> None:
        match event:
            case NotificationReceived():
                self._take_notification(event.notification, carrier)
            case UnexpectedRequest(request):
                text = (
                    f"The server sent the request {request.method}; this protocol version does not allow "
                    "server requests."
                )
                self.recorder.note(RecordKind.LOCAL, text)
            case ResponseReceived(request, response):
                self._hearing.responded(request, response)
                self.waiting.responded(request, response, row)
            case ProgressReceived():
                self.waiting.progressed(event)
            case RequestReceived(request):
                self._take_request(request, row)
            case RequestWithdrawn(id, reason):
                self.recorder.withdrawn(id)
                self.server_requests.withdraw(id, reason)
            case _:
                pass  # orphaned responses are in the log; nothing waits for them

    def _take_notification(self, notification: Message, carrier: RequestId | None) -> None:
        """Dispatch a notification.

        In the stateless era, changes arrive on a requested stream; violations of that are recorded.
        """
        if not self.connection.dialect.takes_requests:
            ended = self._hearing.receive(notification, carrier)
            if ended is not None:
                self.waiting.ended(ended.id, RequestCancelled("The server closed the stream."))
        self._on_notified(notification)

    def _take_request(self, request: Message, row: int) -> None:
        request = read_once(request)
        assert request.id is not None
        input_request = requested_by(request)
        server_request = self.server_request({OWN: input_request}, row, self.recorder.operation(row))
        related = related_task(input_request.params.get("_meta"))
        server_request = replace(server_request, task_id=related, size=len(request.raw))
        if input_request.method in SERVER_REQUEST_METHODS:
            self.server_requests.take(request.id, server_request)
        self._tasks.spawn(f"answer {request.method}", self._response(request, request.id, server_request))

    async def _response(self, request: Message, id: RequestId, server_request: ServerRequest) -> None:
        try:
            if self._request_tasks.takes(server_request):
                response = await self._request_tasks.response(request, server_request)
            else:
                response = await compose_reply(
                    request, server_request, self.connection, self.server_requests, self.declared
                )
        finally:
            self.server_requests.leave(id, server_request)
        problem = await self.send_quietly(response) if response is not None else ""
        self.server_requests.sent(server_request, problem)

    def server_request(
        self, input_requests: Mapping[str, InputRequest], row: int | None, operation: int | None
    ) -> ServerRequest:
        """Build the `Asking` for the requests in a row's frame, on behalf of an operation."""
        method, subject = ("", "") if operation is None else self.recorder.about(operation)
        revision = self.connection.dialect.revision
        return ServerRequest(input_requests, revision, row, operation, method, subject)


def read_frame(frame: bytes | Overlong, request: RequestId | None = None) -> Message:
    """Parse a frame; `request` is the one that its HTTP exchange responds to.

    An error without an id belongs to that request: a server that could not parse a request cannot name it.
    """
    if isinstance(frame, Overlong):
        return read_overlong(frame.head, frame.size)
    message = read(frame)
    if message.kind is Kind.ERROR and message.id is None and request is not None:
        return message._replace(id=request)
    return message


def sizes_of(frames: Sequence[bytes | Overlong]) -> list[int] | None:
    """Return the size of each frame on the wire; None if all were kept whole."""
    if Overlong not in map(type, frames):
        return None
    return [frame.size if isinstance(frame, Overlong) else len(frame) for frame in frames]


class ChangeStreams:
    """Tracks the open `subscriptions/listen` streams.

    A stream's `on_open` is called when the server has acknowledged it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listening = SubscriptionStream()
        self._on_open: dict[RequestId, Callable[[], None]] = {}

    def open(self, id: RequestId, filter: Filter, on_open: Callable[[], None]) -> None:
        """Register a stream whose request is about to be sent."""
        self._listening.open(id, filter)
        self._on_open[id] = on_open

    def open_by_hand(self, request: Message) -> None:
        """Register a hand-written stream request, so that its notifications are not violations."""
        with contextlib.suppress(JSONProblem):
            if request.id is not None:
                self._listening.open(request.id, Filter.read(request.params.get("notifications")))

    def close(self, id: RequestId) -> None:
        """Unregister a stream."""
        self._listening.close(id)
        self._on_open.pop(id, None)

    def responded(self, request: Message, response: Message) -> None:
        """Handle the response to a request; if it opened a stream, that stream has ended."""
        if request.method != LISTEN or (id := request.id) is None:
            return
        if (ended := self._listening.responded(id, response)) is not None:
            self._note_end(ended)

    def receive(self, notification: Message, carrier: RequestId | None) -> Ended | None:
        """Apply a notification to the streams and record violations; return a stream's end, if any."""
        match self._listening.receive(notification, carrier):
            case Ended() as ended:
                self._note_end(ended)
                return ended
            case None:
                return None
            case changes:
                if changes.problem:
                    self._recorder.note(RecordKind.LOCAL, f"{notification.method}: {changes.problem}.")
                if isinstance(changes, Acknowledged) and (on_open := self._on_open.pop(changes.id, None)):
                    on_open()
                return None

    def _note_end(self, ended: Ended) -> None:
        text = f"no longer listening: {ended.how.value} {ended.reason}".strip()
        self._recorder.note(RecordKind.STATE, text)
