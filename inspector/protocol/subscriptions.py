"""`subscriptions/listen`: streams of change notifications in the stateless era.

A stream is identified by the id of the request that opened it, including its JSON type. On stdio all
streams share one channel, so every notification names its stream. Register a stream before sending its
request: the acknowledgement may be the next message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.protocol.jsonrpc import Kind, Message, RequestId, error_of, read_id

SUBSCRIPTION_ID_KEY = "io.modelcontextprotocol/subscriptionId"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which changes to subscribe to. `uris` are resources, `tasks` task ids (Tasks extension)."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Filter()

    @staticmethod
    def read(value: JSON) -> Filter:
        source = value if isinstance(value, dict) else {}
        return Filter(
            tools=source.get("toolsListChanged") is True,
            prompts=source.get("promptsListChanged") is True,
            resources=source.get("resourcesListChanged") is True,
            uris=_strings(source.get("resourceSubscriptions")),
            tasks=_strings(source.get("taskIds")),
        )

    def to_json(self) -> JSONObject:
        """Return the filter as sent, without what is not wanted."""
        members: JSONObject = {
            "toolsListChanged": self.tools,
            "promptsListChanged": self.prompts,
            "resourcesListChanged": self.resources,
            "resourceSubscriptions": list(self.uris),
            "taskIds": list(self.tasks),
        }
        return {name: value for name, value in members.items() if value}

    def without(self, other: Filter) -> Filter:
        """Return what this filter has and `other` has not."""
        return Filter(
            tools=self.tools and not other.tools,
            prompts=self.prompts and not other.prompts,
            resources=self.resources and not other.resources,
            uris=tuple(uri for uri in self.uris if uri not in other.uris),
            tasks=tuple(task for task in self.tasks if task not in other.tasks),
        )

    def matches(self, notification: Message) -> bool:
        """True if this notification was requested.

        An update may be for a part of a subscribed resource, and how part URIs are written is up to the
        server: with any URI subscribed, all updates pass.
        """
        wanted = {
            "notifications/tools/list_changed": self.tools,
            "notifications/prompts/list_changed": self.prompts,
            "notifications/resources/list_changed": self.resources,
            "notifications/resources/updated": bool(self.uris),
            "notifications/tasks": notification.params.get("taskId") in self.tasks,
        }
        return wanted.get(notification.method, False)


def listen_params(filter: Filter) -> JSONObject:
    """Return the params of `subscriptions/listen`."""
    return {"notifications": filter.to_json()}


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A stream is open. `refused` was requested but not granted; `problem` names a violation."""

    id: RequestId
    honored: Filter
    refused: Filter
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A change arrived on a stream. It is usable; `problem` says what is wrong with its delivery."""

    id: RequestId
    notification: Message
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StrayNotification:
    """A notification for a stream that is not open."""

    notification: Message
    problem: str


class End(Enum):
    """How a stream ended."""

    GRACEFUL = "the server ended it with its result"
    CANCELLED = "the server cancelled it"
    REFUSED = "the server rejected it"
    LOST = "its connection was lost"


@dataclass(frozen=True, slots=True)
class Ended:
    """A stream ended. Nothing is replayed: after resubscribing, fetch the lists again."""

    id: RequestId
    how: End
    reason: str = ""
    problem: str = ""


ListenEvent: TypeAlias = Acknowledged | Delivered | StrayNotification | Ended


@dataclass(frozen=True, slots=True)
class _Stream:
    requested: Filter
    honored: Filter | None = None  # None before the acknowledgement


class SubscriptionStreams:
    """All open streams; assigns notifications to them."""

    def __init__(self) -> None:
        self._streams: dict[RequestId, _Stream] = {}

    def open(self, id: RequestId, filter: Filter) -> None:
        """Register a stream whose request is about to be sent."""
        self._streams[id] = _Stream(filter)

    def close(self, id: RequestId) -> bool:
        """Close a stream; later notifications are stray. False if it is not open."""
        return self._streams.pop(id, None) is not None

    def lose(self, id: RequestId, reason: str) -> Ended | None:
        """Handle a broken HTTP response of a stream. None if it is not open."""
        return Ended(id, End.LOST, reason) if self.close(id) else None

    @property
    def filters(self) -> Mapping[RequestId, Filter]:
        """The filter of each open stream, to resubscribe elsewhere."""
        return {id: stream.requested for id, stream in self._streams.items()}

    def receive(self, notification: Message, carrier: RequestId | None = None) -> ListenEvent | None:
        """Return the event of a notification; None if it is not about a stream.

        `carrier` is the request whose HTTP response it came on; it identifies the stream if the server did
        not.
        """
        try:
            return self._receive(notification, carrier)
        except JSONError:
            return None

    def _receive(self, notification: Message, carrier: RequestId | None) -> ListenEvent | None:
        if notification.method == "notifications/cancelled":
            return self._on_cancelled(notification)
        id = subscription_id(notification.params.get("_meta"))
        if id is None:
            return self._on_unnamed(notification, carrier)
        stream = self._streams.get(id)
        if stream is None:
            return StrayNotification(notification, f"the subscription {id!r} is not open")
        if notification.method == ACKNOWLEDGED:
            return self._acknowledge(id, stream, notification)
        return Delivered(id, notification, _delivery_problem(stream, notification))

    def _acknowledge(self, id: RequestId, stream: _Stream, notification: Message) -> Acknowledged:
        honored = Filter.read(notification.params.get("notifications"))
        problem = "was acknowledged twice" if stream.honored is not None else ""
        if honored.without(stream.requested):
            problem = "was acknowledged with more than was requested"
        self._streams[id] = replace(stream, honored=honored)
        return Acknowledged(id, honored, stream.requested.without(honored), problem)

    def _on_unnamed(self, notification: Message, carrier: RequestId | None) -> ListenEvent | None:
        """Assign a notification without a stream id by its carrier, or if only one stream matches."""
        problem = "it does not name its subscription"
        if carrier is not None and carrier in self._streams:
            if notification.method == ACKNOWLEDGED:
                acknowledged = self._acknowledge(carrier, self._streams[carrier], notification)
                return replace(acknowledged, problem=acknowledged.problem or problem)
            return Delivered(carrier, notification, problem)
        matching = [id for id, stream in self._streams.items() if stream.requested.matches(notification)]
        return Delivered(matching[0], notification, problem) if len(matching) == 1 else None

    def _on_cancelled(self, notification: Message) -> Ended | None:
        id, _ = read_id(notification.params.get("requestId"))
        if id is None or not self.close(id):
            return None
        reason = notification.params.get("reason")
        return Ended(id, End.CANCELLED, reason if isinstance(reason, str) else "")

    def responded(self, id: RequestId, response: Message) -> Ended | None:
        """End a stream whose listen request got its response. None if it was not open."""
        if not self.close(id):
            return None
        try:
            if response.kind is Kind.ERROR:
                error = error_of(response)
                return Ended(id, End.REFUSED, error.text)
            named = subscription_id(response.result.get("_meta"))
        except JSONError as exc:
            return Ended(id, End.GRACEFUL, problem=f"its result cannot be read: {exc}")
        return Ended(
            id, End.GRACEFUL, problem="" if named == id else "its result does not name the subscription"
        )


def subscription_id(meta: JSON) -> RequestId | None:
    """Return the stream that a `_meta` names, with its JSON type: `1` is not `"1"`."""
    return read_id(meta.get(SUBSCRIPTION_ID_KEY))[0] if isinstance(meta, dict) else None


def _delivery_problem(stream: _Stream, notification: Message) -> str:
    if not stream.requested.matches(notification):
        return f"{notification.method} was not requested on this subscription"
    if stream.honored is None:
        return "it came before the acknowledgement"
    if not stream.honored.matches(notification):
        return f"{notification.method} was requested, but not acknowledged"
    return ""


def _strings(value: JSON) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
