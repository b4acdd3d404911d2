"""One connection over one transport: sends, records and receives messages.

A session creates a new `Conversation` for each transport; no state outlives it. `ChangeStreams` tracks the
`subscriptions/listen` streams of the stateless era.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspector.base.errors import (
    ConnectionLost,
    FailureKind,
    NotReached,
    RequestCancelled,
    RequestTimedOut,
    UnusableResponse,
    UserError,
)
from inspector.base.json.values import JSONError, JSONObject
from inspector.config.preferences.settings import ConnectionSettings
from inspector.protocol.client_tasks import ClientTasks
from inspector.protocol.connection import (
    Certainty,
    Connection,
    Event,
    NotificationReceived,
    ProgressReceived,
    RequestReceived,
    RequestWithdrawn,
    ResponseReceived,
    UnexpectedRequest,
    UnusableReceived,
)
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import (
    Kind,
    Message,
    RequestId,
    constant_problem,
    items_of,
    may_have_constants,
    read,
    read_overlong,
)
from inspector.protocol.server_requests.request import SERVER_REQUEST_METHODS, ParsedRequest
from inspector.protocol.subscriptions import (
    LISTEN,
    Acknowledged,
    Ended,
    Filter,
    SubscriptionStreams,
    listen_params,
)
from inspector.protocol.tasks import related_task
from inspector.session.pending_requests import (
    NO_LIMIT,
    CallTimer,
    Exchange,
    Limits,
    OnProgress,
    PendingRequest,
    PendingRequests,
    RequestQueue,
)
from inspector.session.result_rules import message_findings
from inspector.session.server_requests import (
    ONLY_KEY,
    PendingServerRequests,
    Responder,
    ServerRequest,
    ServerRequestTasks,
    compose_reply,
    input_request_of,
    with_parsed_body,
)
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind, Status
from inspector.transport.base import PLAIN, Envelope, FramesReceived, RequestFailed, Transport
from inspector.transport.task_scope import TaskScope

_log = logging.getLogger(__name__)

_MAX_PARSED = 256 * 1024  # bytes; a larger response is parsed when its content is read
# Seconds that pending notifications get on close: over HTTP each one takes a separate exchange.
_NOTIFICATION_GRACE = 0.5
# Seconds that the HTTP exchange of a cancelled request stays open.
_CANCELLED_EXCHANGE_GRACE = 2.0
# Seconds to wait until the server acknowledges a `subscriptions/listen` stream.
ACKNOWLEDGE_TIMEOUT = 5.0


class Conversation:
    """One connection over one transport, which the session opens later.

    `is_negotiated` is set once both sides have agreed on a protocol version; `declared` are the client
    capabilities on this connection. `on_notified` is called with every notification that is not about a
    request of ours.
    """

    def __init__(
        self,
        transport: Transport,
        recorder: Recorder,
        settings: ConnectionSettings,
        responder: Responder,
        tasks: TaskScope,
        on_notified: Callable[[Message], None],
        *,
        is_process: bool = False,
        is_sequential: bool = False,
    ) -> None:
        self.connection = Connection()
        self.pending = PendingRequests(has_console=is_process)
        self._is_process = is_process
        self.queue = RequestQueue() if is_sequential else None  # for requests other than cancellations
        self.server_requests = PendingServerRequests(responder, self.pending)
        self.is_negotiated = False
        self.recorder = recorder
        self._transport: Transport | None = transport
        self._settings = settings
        self._default_limits = _limits(settings.request_timeout, settings)
        self.declared: JSONObject = {}
        self._tasks = tasks
        self._on_notified = on_notified
        self._notification_tasks = TaskScope()
        self._cancelled: list[Message] = []  # cancelled requests whose exchange is still open
        self._change_streams = ChangeStreams(recorder)
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
    def transport(self) -> Transport:
        """The transport. Raises ConnectionLost if it was detached."""
        if self._transport is None:
            raise ConnectionLost("The connection is closed.", "Reconnect.")
        return self._transport

    @property
    def is_over(self) -> bool:
        return self._transport is None

    async def settle(self) -> None:
        """Give pending notifications, such as cancellations, time to be sent."""
        await self._notification_tasks.settle(_NOTIFICATION_GRACE)

    def fail(self, summary: str, next_step: str, kind: FailureKind = FailureKind.OTHER) -> None:
        """Fail all pending requests: no more responses will arrive."""
        error = ConnectionLost(summary, next_step, kind=kind)
        self.connection.drain()
        if self.queue is not None:
            self.queue.close(error)
        self.pending.fail_all(error)
        self.server_requests.close(error)

    def detach(self) -> Transport | None:
        """Detach and return the transport, to be closed; None if already detached.

        Nothing is sent from now on.
        """
        transport, self._transport = self._transport, None
        return transport

    async def close(self, transport: Transport) -> None:
        """Stop the timers and notification tasks, then close the detached transport."""
        self.pending.close()
        try:
            await self._notification_tasks.close()
        finally:  # also if this is cancelled: nothing else knows the transport
            await transport.close()

    def limits(self, timeout: float | None) -> Limits:
        return _limits(timeout, self._settings) if timeout else self._default_limits

    async def exchange(
        self,
        request: Message,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        envelope: Envelope = PLAIN,
        human: CallTimer | None = None,
    ) -> Exchange:
        """Send a request created by the connection, and wait for its response."""
        pending = self.pending.add(request, self.limits(timeout), on_progress, human)
        try:
            return await pending.wait(self.send(request, envelope))
        except (UserError, asyncio.CancelledError) as exc:
            is_late = human is not None and human.is_limit_reached
            self.abandon(request, exc, is_late=is_late)
            raise
        finally:
            self.pending.remove(request)

    async def listen(self, filter: Filter, on_open: Callable[[], None]) -> bool:
        """Listen for changes (stateless era).

        Returns True if the server ended the stream, False if it broke.
        """
        release = await self.queue.wait() if self.queue is not None else _do_nothing

        def on_acknowledged() -> None:
            release()  # the request stays open, and others must be sent meanwhile
            on_open()

        waiting = asyncio.get_running_loop().call_later(ACKNOWLEDGE_TIMEOUT, release)
        request = self.connection.request(LISTEN, listen_params(filter))
        assert request.id is not None
        self._change_streams.open(request.id, filter, on_acknowledged)
        pending = self.pending.add(request, NO_LIMIT, None)
        try:
            await pending.wait(self.send(request))
            return True
        except UserError as exc:
            self.abandon(request, exc)
            return isinstance(exc, RequestCancelled) and self.pending.contains(request)
        except asyncio.CancelledError as exc:
            self.abandon(request, exc)
            raise
        finally:
            waiting.cancel()
            release()
            if self.pending.contains(request):
                self._change_streams.close(request.id)
            self.pending.remove(request)

    def adopt(self, message: Message, timeout: float | None = None) -> list[PendingRequest]:
        """Track a raw message that is about to be sent, and return its requests as pending requests.

        An older request with the same id is no longer waited for.
        """
        requests = self.connection.adopt(message)
        for item in items_of(message):
            if item.kind.is_response and item.id is not None:
                self.server_requests.answered_manually(item.id)
        for request in requests:
            assert request.id is not None
            self.recorder.end_request(request.id, Status.CANCELLED)
            if request.method == LISTEN:
                self._change_streams.open_raw(request)
        return [self.pending.add(request, self._raw_limits(request, timeout), None) for request in requests]

    def _raw_limits(self, request: Message, timeout: float | None) -> Limits:
        """Return the limits for a raw request; a `subscriptions/listen` stream has none by default."""
        return NO_LIMIT if request.method == LISTEN and timeout is None else self.limits(timeout)

    def send(self, message: Message, envelope: Envelope = PLAIN) -> Coroutine[Any, Any, None]:
        """Record a message; return the coroutine that sends it. Raises ConnectionLost."""
        transport = self.transport
        row = self.recorder.sent(message)
        if message.kind is Kind.REQUEST:
            self.pending.sent(message, row, self.recorder.operation(row))
        return transport.send(message, Envelope(envelope.revision, envelope.headers, row))

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
        """Stop waiting for a request, and send the server a cancellation where the protocol has one.

        `is_late`: it was cancelled by a timeout that covers more than this request. Does nothing if a newer
        request has reused the id: a cancellation would refer to the newer one.
        """
        assert request.id is not None
        if not self.pending.contains(request):
            return
        self.recorder.end_request(request.id, _status_after(error, is_late=is_late))
        if isinstance(error, UnusableResponse):
            self.connection.close_request(request.id)
        is_cancelled = isinstance(error, asyncio.CancelledError)
        reason = "cancelled by the user" if is_cancelled and not is_late else "timed out"
        notice = self.connection.cancel(request.id, reason)
        if self._transport is None:
            return
        if notice is not None and (is_cancelled or isinstance(error, RequestTimedOut)) and self.is_negotiated:
            self._notification_tasks.spawn(f"cancel {request.id}", self.send_quietly(notice))
            self._cancelled.append(request)
            self._tasks.spawn(f"forget {request.id}", self._forget_soon(request))
        else:
            self._transport.forget(request)

    async def _forget_soon(self, request: Message) -> None:
        """Forget a cancelled request after a grace period.

        The server may still send messages on its exchange, for example cancel its own requests.
        """
        await asyncio.sleep(_CANCELLED_EXCHANGE_GRACE)
        self._cancelled.remove(request)
        if self._transport is not None and not self.pending.has_id(request.id):
            self._transport.forget(request)

    def receive(self, event: FramesReceived) -> list[Message]:
        """Record frames and act on them; return them as messages."""
        messages = [read_frame(frame, event.request) for frame in event.frames]
        rows = self.recorder.received(messages, event.at, sizes_of(event.frames), event.exchange)
        receive = self.connection.receive
        for row, message in zip(rows, messages, strict=True):
            try:
                for happening in receive(message):
                    if type(happening) is ResponseReceived:
                        self._on_response(happening, row)
                    else:
                        self._dispatch(happening, row, event.request)
            except Exception:  # a bug in a receiver must not affect the frames after this one
                _log.exception("could not handle %s", message.kind.name)
        return messages

    def receive_unfinished(self, head: bytes) -> None:
        """Handle output without a line feed, of which `head` is the beginning."""
        for event in self.connection.receive_unfinished(head):
            self._dispatch(event, -1)

    def request_failed(self, event: RequestFailed) -> None:
        if any(event.request is left for left in self._cancelled):
            return  # cancelled: no response is expected
        error = self.pending.explained(event.request, event.error)
        self.recorder.note(RecordKind.LOCAL, f"{event.request.method}: {error}")
        self.pending.failed(event.request, error)

    def _on_response(self, event: ResponseReceived, row: int) -> None:
        request, response = event.request, event.response
        if response.parsed is None and len(response.raw) <= _MAX_PARSED and not _is_list(request.method):
            response = with_parsed_body(response)
        if request.method == LISTEN:
            self._change_streams.responded(request, response)
        self.pending.responded(request, response, row)
        self.check(request.method, response, row)

    def check(self, method: str, message: Message, row: int) -> None:
        """Report what clients built with the official SDKs would reject.

        A large list page is checked when it is parsed, by `pagination`.
        """
        body = message.parsed
        if body is None:
            if row >= 0 and not _is_list(method) and may_have_constants(message.raw):
                self._tasks.spawn("check numbers", self._check_numbers(message.raw, row))
        elif message.kind is not Kind.BATCH and row >= 0:
            for finding in message_findings(method, message.raw, body, self.connection.dialect.revision):
                self.recorder.add_finding(row, finding)

    async def _check_numbers(self, raw: bytes, row: int) -> None:
        with contextlib.suppress(ValueError, RecursionError):  # not valid JSON: reported when it is read
            if finding := await asyncio.to_thread(constant_problem, raw):
                self.recorder.add_finding(row, finding)

    def _dispatch(self, event: Event, row: int, carrier: RequestId | None = None) -> None:
        match event:
            case NotificationReceived():
                self._on_notification(event.notification, carrier)
            case UnexpectedRequest(request):
                text = (
                    f"The server sent the request {request.method}; this protocol version does not allow "
                    "server requests."
                )
                self.recorder.note(RecordKind.LOCAL, text)
            case ProgressReceived():
                self.pending.progressed(event)
            case RequestReceived(request):
                self._on_request(request, row)
            case RequestWithdrawn(id, reason):
                self.recorder.cancel_server_request(id)
                self.server_requests.withdraw(id, reason)
            case UnusableReceived():
                self._on_unusable(event, row, carrier)
            case _:
                pass  # orphaned responses are in the log; nothing waits for them

    def _on_unusable(self, event: UnusableReceived, row: int, carrier: RequestId | None) -> None:
        """Handle unusable output; over HTTP it is about the request of its exchange."""
        if not self._is_process:
            event = replace(event, unusable=event.unusable.over_network())
        request = self.pending.request(carrier)
        if request is not None and event.certainty is not Certainty.CERTAIN and event.unusable.is_response:
            event = replace(event, request=request, certainty=Certainty.CERTAIN)
        self.pending.received_unusable(event, row)

    def _on_notification(self, notification: Message, carrier: RequestId | None) -> None:
        """Dispatch a notification.

        In the stateless era, changes arrive on a requested stream; violations of that are recorded.
        """
        if not self.connection.dialect.allows_server_requests:
            ended = self._change_streams.receive(notification, carrier)
            if ended is not None:
                self.pending.ended(
                    ended.id, RequestCancelled("The server closed the stream.", "Reconnect to open it again.")
                )
        self._on_notified(notification)

    def _on_request(self, request: Message, row: int) -> None:
        request = with_parsed_body(request)
        assert request.id is not None
        self.check(request.method, request, row)
        input_request = input_request_of(request)
        server_request = self.server_request({ONLY_KEY: input_request}, row, self.recorder.operation(row))
        related = related_task(input_request.source.get("_meta"))
        server_request = replace(server_request, task_id=related, size=len(request.raw))
        if input_request.method in SERVER_REQUEST_METHODS:
            self.server_requests.register(request.id, server_request)
        self._tasks.spawn(f"reply to {request.method}", self._reply(request, request.id, server_request))

    async def _reply(self, request: Message, id: RequestId, server_request: ServerRequest) -> None:
        try:
            if self._request_tasks.handles(server_request):
                response = await self._request_tasks.response(request, server_request)
            else:
                response = await compose_reply(
                    request, server_request, self.connection, self.server_requests, self.declared
                )
        finally:
            self.server_requests.unregister(id, server_request)
        error = await self.send_quietly(response) if response is not None else ""
        self.server_requests.sent(server_request, error)

    def server_request(
        self, input_requests: Mapping[str, ParsedRequest], row: int | None, operation: int | None
    ) -> ServerRequest:
        """Build the `ServerRequest` for the requests in one message, made during an operation."""
        method, subject = ("", "") if operation is None else self.recorder.method_and_subject(operation)
        revision = self.connection.dialect.revision
        return ServerRequest(input_requests, revision, row, operation, method, subject)


def _is_list(method: str) -> bool:
    return method.endswith("/list")


def _do_nothing() -> None:
    pass


def _limits(idle: float, settings: ConnectionSettings) -> Limits:
    return Limits(idle, max(idle, settings.total_timeout))


def _status_after(error: BaseException, *, is_late: bool) -> Status:
    """Return the traffic status of a request that ended with this error instead of a response."""
    if isinstance(error, NotReached):
        return Status.NOT_SENT
    if isinstance(error, RequestTimedOut) or (is_late and isinstance(error, asyncio.CancelledError)):
        return Status.TIMED_OUT
    if isinstance(error, RequestCancelled | asyncio.CancelledError):
        return Status.CANCELLED
    return Status.NO_RESPONSE


def read_frame(frame: bytes | Overlong, request: RequestId | None = None) -> Message:
    """Parse a frame; `request` is the request of its HTTP exchange.

    An error without an id belongs to that request: a server that could not parse a request cannot name it.
    """
    if isinstance(frame, Overlong):
        return read_overlong(frame.head, frame.size)
    message = read(frame)
    if message.kind is Kind.ERROR and message.id is None and request is not None:
        return message._replace(id=request)
    return message


def sizes_of(frames: Sequence[bytes | Overlong]) -> list[int] | None:
    """Return the size of each frame on the wire; None if none was cut."""
    if Overlong not in map(type, frames):
        return None
    return [frame.size if isinstance(frame, Overlong) else len(frame) for frame in frames]


class ChangeStreams:
    """Tracks the open `subscriptions/listen` streams.

    A stream's `on_open` is called when the server has acknowledged it.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._listening = SubscriptionStreams()
        self._on_open: dict[RequestId, Callable[[], None]] = {}

    def open(self, id: RequestId, filter: Filter, on_open: Callable[[], None]) -> None:
        """Register a stream whose request is about to be sent."""
        self._listening.open(id, filter)
        self._on_open[id] = on_open

    def open_raw(self, request: Message) -> None:
        """Register a stream that a raw request opens, so that its notifications are not violations."""
        with contextlib.suppress(JSONError):
            if request.id is not None:
                self._listening.open(request.id, Filter.read(request.params.get("notifications")))

    def close(self, id: RequestId) -> None:
        """Unregister a stream."""
        self._listening.close(id)
        self._on_open.pop(id, None)

    def responded(self, request: Message, response: Message) -> None:
        """Handle the response to a `subscriptions/listen` request: its stream has ended."""
        if request.id is None:
            return
        if (ended := self._listening.responded(request.id, response)) is not None:
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
        reason = f": {ended.reason}" if ended.reason else ""
        text = f"Change stream closed: {ended.how.value}{reason}"
        self._recorder.note(RecordKind.STATE, text)
