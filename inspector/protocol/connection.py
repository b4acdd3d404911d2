"""The client side of one connection, sans-I/O.

`receive` turns an incoming message into events. `request`, `notify`, `response` and others return the bytes
to send and track open requests and progress tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.protocol import jsonrpc
from inspector.protocol.handshake import Dialect, HandshakeDialect
from inspector.protocol.jsonrpc import Correlator, Kind, Match, Message, RequestId, read_id
from inspector.protocol.unusable import (
    LineJoiner,
    Unusable,
    explain_echo,
    explain_empty_batch,
    explain_id,
    explain_response,
    explain_several,
    other_type,
)


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


class Certainty(Enum):
    """How certain it is that unusable output is about a request."""

    CERTAIN = "it has the ID of the request"
    LIKELY = "it is a response, and no other request is pending"
    POSSIBLE = "it may also be about a notification"


@dataclass(frozen=True, slots=True)
class UnusableReceived:
    """Output that is not a usable response; `request` is the one that it is about, None if unknown."""

    unusable: Unusable
    request: Message | None = None
    certainty: Certainty = Certainty.POSSIBLE


Event: TypeAlias = (
    ResponseReceived
    | RequestReceived
    | UnexpectedRequest
    | NotificationReceived
    | ProgressReceived
    | RequestWithdrawn
    | UnexpectedResponse
    | UnusableReceived
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
        self._joiner = LineJoiner()
        self._last_one_way = 0  # last id when a message without a response was sent

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
        self._last_one_way = self._last_id
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
        self._last_one_way = self._last_id
        return jsonrpc.notification(method, params)

    def response(self, id: RequestId, result: JSONObject) -> Message:
        self._close_server_request(id)
        return jsonrpc.result(id, result)

    def refuse(self, id: RequestId, code: int | None, message: str, data: JSON = None) -> Message:
        """Respond with an error; a code is required, so None is an internal error."""
        self._close_server_request(id)
        return jsonrpc.failure(id, jsonrpc.INTERNAL_ERROR if code is None else code, message, data)

    def cancel(self, id: RequestId, reason: str) -> Message | None:
        """Cancel a request. Return the notification to send, None if not open or none is allowed."""
        request = self._client_requests.abandon(id)
        if request is None or not self.dialect.sends_cancelled_notification(request.method):
            return None
        return jsonrpc.notification("notifications/cancelled", {"requestId": id, "reason": reason})

    def close_request(self, id: RequestId) -> None:
        """Stop waiting for a request to which the server has responded in an unusable way."""
        self._client_requests.resolve(id)

    def drain(self) -> list[Message]:
        """End the connection; return the client's requests that got no response."""
        self._server_requests.drain()
        return self._client_requests.drain()

    def _close_server_request(self, id: RequestId) -> None:
        self._last_one_way = self._last_id
        match, _ = self._server_requests.resolve(id)
        if match is not Match.OPEN:
            raise LocalProtocolError(f"there is no pending server request {id!r}")

    def receive(self, message: Message) -> list[Event]:
        """Return the events of a message."""
        if message.kind is Kind.NOTIFICATION:  # first, without the table: floods consist of these
            events = self._on_notification(message)
            return events + self._in_same_line(message) if message.problem else events
        if message.kind is Kind.BATCH:
            return self._on_batch(message)
        handler = _HANDLERS.get(message.kind)
        return [] if handler is None else handler(self, message)

    def receive_unfinished(self, head: bytes) -> list[Event]:
        """Return the events of output without a line feed, of which `head` is the beginning."""
        return self._on_unusable(self._joiner.unfinished(head)) if len(self._client_requests) else []

    def _on_batch(self, batch: Message) -> list[Event]:
        """Return the events of a batch. Responses that match nothing come last.

        The request that one of them is about would otherwise seem pending if its response follows.
        """
        items = jsonrpc.items_of(batch)
        if not items:
            return self._on_unattributed(explain_empty_batch(), self._certainty())
        matching = [not item.kind.is_response or self._is_open(item.id) for item in items]
        ordered = [item for item, matches in zip(items, matching, strict=True) if matches]
        ordered += [item for item, matches in zip(items, matching, strict=True) if not matches]
        return [event for item in ordered for event in self.receive(item)]

    def _is_open(self, id: RequestId | None) -> bool:
        return id is not None and self._client_requests.find(id) is not None

    def _in_same_line(self, message: Message) -> list[Event]:
        """Return the events of responses that follow another message in its line."""
        unusable = explain_several(message)
        return self._on_unusable(unusable) if unusable is not None and unusable.ids else []

    def _on_response(self, response: Message) -> list[Event]:
        if response.id is None:
            return [UnexpectedResponse(response, Match.UNKNOWN), *self._on_wrong_id(response)]
        if response.problem and (events := self._on_flawed_response(response)):
            return events
        match, request = self._client_requests.resolve(response.id)
        if match is Match.OPEN and request is not None:
            return [ResponseReceived(request, response)]
        unexpected = UnexpectedResponse(response, match)
        if match is Match.UNKNOWN:
            return [unexpected, *self._on_wrong_id(response)]
        if match is Match.REPEATED and len(self._client_requests):
            # A copy of an older response, or the response to a pending request with the ID of an older one.
            unusable = replace(explain_id(response, self._only_id()), is_response=False)
            return [unexpected, UnusableReceived(unusable)]
        return [unexpected]

    def _on_flawed_response(self, response: Message) -> list[Event]:
        assert response.id is not None
        is_open = self._client_requests.find(response.id) is not None
        unusable = explain_response(response) if is_open else None
        return [] if unusable is None else self._on_unusable(unusable)

    def _on_wrong_id(self, response: Message) -> list[Event]:
        """Find the request of a response with no ID, or with one that was never used."""
        if not len(self._client_requests):
            return []
        twin = other_type(response.parsed.get("id") if response.parsed is not None else response.id)
        if twin is not None and self._client_requests.find(twin) is not None:
            return self._on_unusable(explain_id(response, twin))
        # No server invents an ID to respond to a notification, which has none.
        certainty = Certainty.LIKELY if response.id is not None else self._certainty()
        return self._on_unattributed(explain_id(response, self._only_id()), certainty)

    def _on_unattributed(self, unusable: Unusable, certainty: Certainty) -> list[Event]:
        """Return the events of a response that does not say which request it is about."""
        only = self._client_requests.only()
        if only is None or self._client_requests.has_finished(Match.LATE, where=_may_respond_late):
            return [UnusableReceived(unusable)]  # it may be about any of them, or a cancelled one
        return [UnusableReceived(unusable, only, certainty)]

    def _only_id(self) -> RequestId | None:
        only = self._client_requests.only()
        return None if only is None else only.id

    def _certainty(self) -> Certainty:
        """Return how certain it is that a response without a valid ID is about the only pending request.

        Some servers respond to notifications, although they must not. One that has responded to a later
        request has processed them.
        """
        has_answered = self._client_requests.has_finished(Match.REPEATED, after=self._last_one_way)
        return Certainty.LIKELY if has_answered or not self._last_one_way else Certainty.POSSIBLE

    def _on_invalid(self, message: Message) -> list[Event]:
        """Explain a line that is no message. Text alone says nothing about a request."""
        unusable = self._joiner.feed(message)
        return [] if unusable is None else self._on_unusable(unusable)

    def _on_unusable(self, unusable: Unusable) -> list[Event]:
        ids = dict.fromkeys(unusable.ids)
        found = [request for id in ids if (request := self._client_requests.find(id)) is not None]
        if found:
            certainty = Certainty.LIKELY if unusable.id in _INCONCLUSIVE else Certainty.CERTAIN
            return [UnusableReceived(unusable, request, certainty) for request in found]
        return [UnusableReceived(unusable)]

    def _on_request(self, request: Message) -> list[Event]:
        if request.id is None:
            return []
        own = self._client_requests.find(request.id)
        if own is not None and own.raw == request.raw:
            return [UnusableReceived(explain_echo(own), own, Certainty.CERTAIN)]
        if events := self._in_same_line(request):
            return events
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


# A line that breaks off is often the last one of a process that exits; text with a message may be a log
# entry about the response that follows.
_INCONCLUSIVE = ("bad-json", "text-before-message")


def _may_respond_late(request: Message) -> bool:
    """False for a probe that got no response: the server has no such method, or ignores it."""
    return request.method != "server/discover"


_HANDLERS: dict[Kind, Callable[[Connection, Message], list[Event]]] = {
    Kind.RESULT: Connection._on_response,
    Kind.ERROR: Connection._on_response,
    Kind.REQUEST: Connection._on_request,
    Kind.INVALID: Connection._on_invalid,
    Kind.TEXT: Connection._on_invalid,
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
