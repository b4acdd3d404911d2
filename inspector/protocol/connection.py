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
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.handshake import Dialect, HandshakeDialect
from inspector.protocol.jsonrpc import Correlator, Kind, Match, Message, RequestId, read_id


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """A response to one of the client's requests."""

    request: Message
    response: Message


@dataclass(frozen=True, slots=True)
class RequestReceived:
    """A server request, which needs a response."""

    request: Message


@dataclass(frozen=True, slots=True)
class UnexpectedRequest:
    """A server request in the stateless era, which has none. It must not be answered."""

    request: Message


@dataclass(frozen=True, slots=True)
class NotificationReceived:
    """A notification that is not about an open request."""

    notification: Message


@dataclass(frozen=True, slots=True)
class ProgressReceived:
    """Progress of one of the client's open requests."""

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
    """State of one client connection (sans-I/O). Its ids are increasing integers, never reused.

    Users can send handwritten messages (`adopt`) with ids of their choice; the counter skips those.
    `dialect` adds what the era requires to requests; it is replaced once a protocol version is negotiated.
    """

    def __init__(self, dialect: Dialect | None = None) -> None:
        self.dialect: Dialect = dialect or HandshakeDialect()
        self._last_id = 0
        self._reserved_ids: set[JSON] = set()  # ids and progress tokens in handwritten messages
        self._tokens: dict[RequestId, RequestId] = {}  # progress tokens among them, to request ids
        self._client_requests: Correlator[Message] = Correlator()
        self._server_requests: Correlator[Message] = Correlator()

    def request(
        self,
        method: str,
        params: JSONObject | None = None,
        *,
        progress: bool = False,
        capabilities: JSONObject | None = None,
        log_level: str = "",
    ) -> Message:
        """Create the next request. With `progress` its id is also the progress token.

        `capabilities` and `log_level` apply to this request only, where the era allows that.
        """
        id = self.next_id()
        if progress:
            params = _with_progress_token(params or {}, id)
        params = self.dialect.prepare(method, params, capabilities=capabilities, log_level=log_level)
        message = jsonrpc.request(id, method, params)
        self._client_requests.open(id, message)
        return message

    def next_id(self) -> int:
        """Return an id that is unused in this connection, and reserve it."""
        self._last_id += 1
        while self._last_id in self._reserved_ids:
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
                self._server_requests.resolve(item.id)
        return list(opened.values())

    def _adopt_request(self, request: Message, opened: dict[RequestId, Message]) -> None:
        id, token = _ids_as_written(request)
        self._reserved_ids.update((id, token))
        if request.id is None:
            return
        opened[request.id] = request
        self._client_requests.open(request.id, request)
        if token is not None:
            self._tokens[token] = request.id

    def notify(self, method: str, params: JSONObject | None = None) -> Message:
        return jsonrpc.notification(method, params)

    def response(self, id: RequestId, result: JSONObject) -> Message:
        self._close_server_request(id)
        return jsonrpc.result(id, result)

    def refuse(self, id: RequestId, code: int, message: str, data: JSON = None) -> Message:
        self._close_server_request(id)
        return jsonrpc.failure(id, code, message, data)

    def cancel(self, id: RequestId, reason: str) -> Message | None:
        """Cancel a request. Return the notification to send, None if not open or none is allowed."""
        request = self._client_requests.abandon(id)
        if request is None or not self.dialect.sends_cancelled_notification(request.method):
            return None
        return jsonrpc.notification("notifications/cancelled", {"requestId": id, "reason": reason})

    def drain(self) -> list[Message]:
        """End the connection; return the client's requests that got no response."""
        self._server_requests.drain()
        return self._client_requests.drain()

    def _close_server_request(self, id: RequestId) -> None:
        match, _ = self._server_requests.resolve(id)
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
        match, request = self._client_requests.resolve(response.id)
        if match is Match.OPEN and request is not None:
            return [ResponseReceived(request, response)]
        return [UnexpectedResponse(response, match)]

    def _on_request(self, request: Message) -> list[Event]:
        if request.id is None:
            return []
        if not self.dialect.allows_server_requests:
            return [UnexpectedRequest(request)]
        # "The request ID MUST NOT have been previously used": two open ones could get only one response.
        return [RequestReceived(request)] if self._server_requests.open(request.id, request) else []

    def _on_notification(self, notification: Message) -> list[Event]:
        special = _SPECIAL.get(notification.method)
        if special is None:
            return [NotificationReceived(notification)]
        try:
            return special(self, notification)
        except JSONError:
            return []

    def _on_progress(self, notification: Message) -> list[Event]:
        progress = read_progress(notification)
        if progress is None:
            return [NotificationReceived(notification)]
        # Generated requests use their id as token; handwritten ones may name any other.
        id = self._tokens.get(progress.request_id, progress.request_id)
        if self._client_requests.find(id) is None:
            return [NotificationReceived(notification)]
        return [progress if id == progress.request_id else replace(progress, request_id=id)]

    def _on_cancelled(self, notification: Message) -> list[Event]:
        id, _ = read_id(notification.params.get("requestId"))
        if id is None or self._server_requests.abandon(id) is None:
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


def _ids_as_written(request: Message) -> tuple[JSON, RequestId | None]:
    """Return the id and progress token of a request as written.

    Invalid ids count too: a server may answer 7.0 with 7, which is equal in Python.
    """
    try:
        body, meta = request.body(), request.params.get("_meta")
    except JSONError:
        return request.id, None
    id = body.get("id")
    token = read_id(meta.get("progressToken"))[0] if isinstance(meta, dict) else None
    return (request.id if isinstance(id, dict | list) else id), token


def _with_progress_token(params: JSONObject, token: RequestId) -> JSONObject:
    meta = params.get("_meta")
    return {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), "progressToken": token}}


def read_progress(notification: Message) -> ProgressReceived | None:
    """Parse a progress notification, with the token as the request id; None if invalid.

    Raises JSONError if there are no params.
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
