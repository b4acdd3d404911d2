"""The client side of one connection, sans-I/O.

`receive` turns an incoming message into events. `request`, `notify`, `response` and others return the bytes
to send and track open requests and progress tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONObject, JSONProblem
from inspector.protocol import jsonrpc
from inspector.protocol.handshake import Dialect, HandshakeDialect
from inspector.protocol.jsonrpc import Correlator, Kind, Match, Message, RequestId, read_id


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """One of our requests got its response."""

    request: Message
    response: Message


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """The server sent a request and waits for our response."""

    request: Message


@dataclass(frozen=True, slots=True)
class UnexpectedRequest:
    """The server sent a request in an era without server requests. It must not be answered."""

    request: Message


@dataclass(frozen=True, slots=True)
class NotificationReceived:
    """The server sent a notification that is not about an open request."""

    notification: Message


@dataclass(frozen=True, slots=True)
class ProgressReceived:
    """Progress of one of our open requests."""

    request_id: RequestId
    progress: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class RequestWithdrawn:
    """The server cancelled one of its own requests."""

    request_id: RequestId
    reason: str


@dataclass(frozen=True, slots=True)
class UnexpectedResponse:
    """A response that matches no open request."""

    response: Message
    match: Match


Event: TypeAlias = (
    ResponseReceived
    | RequestReceived
    | UnexpectedRequest
    | NotificationReceived
    | ProgressReceived
    | RequestWithdrawn
    | UnexpectedResponse
)


class Connection:
    """State of one client connection (sans-I/O). Our ids are increasing integers, never reused.

    Users can send handwritten messages (`adopt`) with ids of their choice; the counter skips those.
    `dialect` adds what the era requires to requests; it is replaced once a protocol version is negotiated.
    """

    def __init__(self, dialect: Dialect | None = None) -> None:
        self.dialect: Dialect = dialect or HandshakeDialect()
        self._last_id = 0
        self._taken: set[JSON] = set()  # ids and progress tokens in handwritten messages
        self._tokens: dict[RequestId, RequestId] = {}  # progress tokens among them, to request ids
        self._ours: Correlator[Message] = Correlator()
        self._theirs: Correlator[Message] = Correlator()

    def request(
        self,
        method: str,
        params: JSONObject | None = None,
        *,
        progress: bool = False,
        capabilities: JSONObject | None = None,
        log_level: str = "",
    ) -> Message:
        """Create our next request. With `progress` its id doubles as the progress token.

        `capabilities` and `log_level` apply to this request only, where the era allows that.
        """
        id = self.next_id()
        if progress:
            params = _with_progress_token(params or {}, id)
        params = self.dialect.prepare(method, params, capabilities=capabilities, log_level=log_level)
        message = jsonrpc.request(id, method, params)
        self._ours.open(id, message)
        return message

    def next_id(self) -> int:
        """Return an id that is unused in this connection, and reserve it."""
        self._last_id += 1
        while self._last_id in self._taken:
            self._last_id += 1
        return self._last_id

    def adopt(self, message: Message) -> list[Message]:
        """Register a handwritten message that is about to be sent as is.

        Returns the requests in it, which are open now, each replacing one with the same id. A response in
        it closes the server's request that it names, so that nothing else answers it.
        """
        opened: dict[RequestId, Message] = {}
        for item in jsonrpc.items_of(message):
            if item.kind is Kind.REQUEST:
                self._adopt_request(item, opened)
            elif item.kind.is_response and item.id is not None:
                self._theirs.resolve(item.id)
        return list(opened.values())

    def _adopt_request(self, request: Message, opened: dict[RequestId, Message]) -> None:
        id, token = _written(request)
        self._taken.update((id, token))
        if request.id is None:
            return
        opened[request.id] = request
        self._ours.open(request.id, request)
        if token is not None:
            self._tokens[token] = request.id

    def notify(self, method: str, params: JSONObject | None = None) -> Message:
        return jsonrpc.notification(method, params)

    def response(self, id: RequestId, result: JSONObject) -> Message:
        self._close_theirs(id)
        return jsonrpc.result(id, result)

    def refuse(self, id: RequestId, code: int, message: str, data: JSON = None) -> Message:
        self._close_theirs(id)
        return jsonrpc.failure(id, code, message, data)

    def cancel(self, id: RequestId, reason: str) -> Message | None:
        """Cancel a request. Return the notification to send, None if not open or none is allowed."""
        request = self._ours.abandon(id)
        if request is None or not self.dialect.sends_cancel_notice(request.method):
            return None
        return jsonrpc.notification("notifications/cancelled", {"requestId": id, "reason": reason})

    def drain(self) -> list[Message]:
        """End the connection; return our requests that got no response."""
        self._theirs.drain()
        return self._ours.drain()

    def _close_theirs(self, id: RequestId) -> None:
        match, _ = self._theirs.resolve(id)
        if match is not Match.OPEN:
            raise LocalProtocolError(f"there is no pending server request {id!r}")

    def receive(self, message: Message) -> list[Event]:
        """Return the events of a message. Invalid messages have none: they are only recorded."""
        if message.kind is Kind.NOTIFICATION:  # first, without the table: floods consist of these
            return self._on_notification(message)
        if message.kind is Kind.BATCH:
            return [event for item in jsonrpc.items_of(message) for event in self.receive(item)]
        handler = _HANDLERS.get(message.kind)
        return [] if handler is None else handler(self, message)

    def _on_response(self, response: Message) -> list[Event]:
        if response.id is None:
            return [UnexpectedResponse(response, Match.UNKNOWN)]
        match, request = self._ours.resolve(response.id)
        if match is Match.OPEN and request is not None:
            return [ResponseReceived(request, response)]
        return [UnexpectedResponse(response, match)]

    def _on_request(self, request: Message) -> list[Event]:
        if request.id is None:
            return []
        if not self.dialect.takes_requests:
            return [UnexpectedRequest(request)]
        # "The request ID MUST NOT have been previously used": two open ones could get only one response.
        return [RequestReceived(request)] if self._theirs.open(request.id, request) else []

    def _on_notification(self, notification: Message) -> list[Event]:
        special = _SPECIAL.get(notification.method)
        if special is None:
            return [NotificationReceived(notification)]
        try:
            return special(self, notification)
        except JSONProblem:
            return []

    def _on_progress(self, notification: Message) -> list[Event]:
        progressed = read_progress(notification)
        if progressed is None:
            return [NotificationReceived(notification)]
        # Our own requests use their id as token; handwritten ones have their own.
        id = self._tokens.get(progressed.request_id, progressed.request_id)
        if self._ours.find(id) is None:
            return [NotificationReceived(notification)]
        return [progressed if id == progressed.request_id else replace(progressed, request_id=id)]

    def _on_cancelled(self, notification: Message) -> list[Event]:
        id, _ = read_id(notification.params.get("requestId"))
        if id is None or self._theirs.abandon(id) is None:
            return [NotificationReceived(notification)]
        reason = notification.params.get("reason")
        return [RequestWithdrawn(id, reason if isinstance(reason, str) else "")]


_HANDLERS: dict[Kind, Callable[[Connection, Message], list[Event]]] = {
    Kind.RESULT: Connection._on_response,
    Kind.ERROR: Connection._on_response,
    Kind.REQUEST: Connection._on_request,
}
_SPECIAL: dict[str, Callable[[Connection, Message], list[Event]]] = {
    "notifications/progress": Connection._on_progress,
    "notifications/cancelled": Connection._on_cancelled,
}


def _written(request: Message) -> tuple[JSON, RequestId | None]:
    """Return the id and progress token of a request as written.

    Invalid ids count too: a server may answer 7.0 with 7, which is equal for us.
    """
    try:
        body, meta = request.body(), request.params.get("_meta")
    except JSONProblem:
        return request.id, None
    id = body.get("id")
    token = read_id(meta.get("progressToken"))[0] if isinstance(meta, dict) else None
    return (request.id if isinstance(id, dict | list) else id), token


def _with_progress_token(params: JSONObject, token: RequestId) -> JSONObject:
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), "progressToken": token}}


def read_progress(notification: Message) -> ProgressReceived | None:
    """Parse a progress notification, with the token as the request id; None if invalid.

    Raises JSONProblem if there are no params.
    """
    params = notification.params
    token, _ = read_id(params.get("progressToken"))
    progress = _number(params.get("progress"))
    if token is None or progress is None:
        return None
    text = params.get("message")
    return ProgressReceived(
        token, progress, _number(params.get("total")), text if isinstance(text, str) else ""
    )


def _number(value: JSON) -> float | None:
    """Return a displayable number: finite and within float range, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
