"""Tasks of a server, in both designs of the protocol. No I/O.

2025-11-25 has tasks in its core (`CoreTasks`): the caller requests a task, the created task is nested in
the result, and `tasks/result` waits for the outcome. For 2026-07-28 they are an extension
(`ExtensionTasks`): the server decides, everything is flat, and `tasks/get` contains the outcome and the
input requests. `TaskDesign` covers both. Tasks that the client runs for a server are in `client_tasks.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from inspector.base.json.values import JSON, JSONObject, excerpt
from inspector.base.plain_text import one_line
from inspector.protocol.revisions import R4, TASKS_EXTENSION, Era, Revision, declares
from inspector.protocol.types import InputRequest, read_input_requests

RELATED_TASK_KEY = "io.modelcontextprotocol/related-task"

DEFAULT_POLL_MS = 1_000
_MIN_POLL_MS, _MAX_POLL_MS = 100, 3_600_000

Call: TypeAlias = tuple[str, JSONObject]  # a method and its params


class TaskStatus(Enum):
    """Status of a task, as on the wire."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class Task:
    """State of a task. `result` and `error` are only included in the extension."""

    id: str
    status: TaskStatus
    message: str
    created_at: str
    updated_at: str
    ttl_ms: int | None
    poll_interval_ms: int | None
    result: JSONObject | None
    error: JSONObject | None
    source: JSONObject

    @staticmethod
    def read(value: JSONObject) -> Task:
        """Parse either design. Raises ValueError without an id or a known status."""
        id = value.get("taskId")
        if not isinstance(id, str) or not id:
            raise ValueError('"taskId" must be a non-empty string')
        return Task(
            id=id,
            status=_status(value.get("status")),
            message=_text(value, "statusMessage"),
            created_at=_text(value, "createdAt"),
            updated_at=_text(value, "lastUpdatedAt"),
            ttl_ms=_milliseconds(value, "ttlMs", "ttl"),
            poll_interval_ms=_milliseconds(value, "pollIntervalMs", "pollInterval"),
            result=_object(value, "result"),
            error=_object(value, "error"),
            source=value,
        )

    @property
    def next_poll_ms(self) -> int:
        """Polling interval requested by the server, within limits."""
        preference = DEFAULT_POLL_MS if self.poll_interval_ms is None else self.poll_interval_ms
        return min(max(preference, _MIN_POLL_MS), _MAX_POLL_MS)

    def input_requests(self) -> dict[str, InputRequest]:
        """Return the open requests (extension). Raises ValueError if they cannot be parsed."""
        if self.status is not TaskStatus.INPUT_REQUIRED or "inputRequests" not in self.source:
            return {}
        return read_input_requests(self.source["inputRequests"])


class TaskDesign(Protocol):
    """Requests and parsers of a task design. None means that the design has no such request."""

    notification: str  # notification method for changes; its params are a task

    def is_supported(self, capabilities: JSONObject) -> bool:
        """True if the server declares that tool calls may become tasks."""
        ...

    def augment(self, params: JSONObject, ttl_ms: int | None = None) -> JSONObject:
        """Return the params of a call that should become a task."""
        ...

    def created(self, result: JSONObject) -> Task | None:
        """Return the task that a call became; None if the result is final.

        Raises ValueError if it is meant to be a task but cannot be parsed.
        """
        ...

    def get(self, id: str) -> Call: ...

    def cancel(self, id: str, capabilities: JSONObject) -> Call | None: ...

    def outcome(self, id: str) -> Call | None:
        """Return a request that waits for the result; meanwhile the server may send requests."""
        ...

    def update(self, id: str, responses: Mapping[str, JSONObject]) -> Call | None: ...

    def list(self, capabilities: JSONObject, cursor: str | None = None) -> Call | None: ...


class CoreTasks:
    """Tasks of 2025-11-25."""

    notification = "notifications/tasks/status"

    def is_supported(self, capabilities: JSONObject) -> bool:
        return declares(capabilities, "tasks", "requests", "tools", "call")

    def augment(self, params: JSONObject, ttl_ms: int | None = None) -> JSONObject:
        return {**params, "task": {} if ttl_ms is None else {"ttl": ttl_ms}}

    def created(self, result: JSONObject) -> Task | None:
        task = result.get("task")
        return Task.read(task) if isinstance(task, dict) and "content" not in result else None

    def get(self, id: str) -> Call:
        return "tasks/get", {"taskId": id}

    def cancel(self, id: str, capabilities: JSONObject) -> Call | None:
        return ("tasks/cancel", {"taskId": id}) if declares(capabilities, "tasks", "cancel") else None

    def outcome(self, id: str) -> Call | None:
        return "tasks/result", {"taskId": id}

    def update(self, id: str, responses: Mapping[str, JSONObject]) -> Call | None:
        return None

    def list(self, capabilities: JSONObject, cursor: str | None = None) -> Call | None:
        if not declares(capabilities, "tasks", "list"):
            return None
        return "tasks/list", {} if cursor is None else {"cursor": cursor}


class ExtensionTasks:
    """Tasks extension for 2026-07-28. A client must remember the ids: there is no list."""

    notification = "notifications/tasks"

    def is_supported(self, capabilities: JSONObject) -> bool:
        return declares(capabilities, "extensions", TASKS_EXTENSION)

    def augment(self, params: JSONObject, ttl_ms: int | None = None) -> JSONObject:
        return params  # declaring the capability suffices; the server decides

    def created(self, result: JSONObject) -> Task | None:
        return Task.read(result) if result.get("resultType") == "task" else None

    def get(self, id: str) -> Call:
        return "tasks/get", {"taskId": id}

    def cancel(self, id: str, capabilities: JSONObject) -> Call | None:
        return "tasks/cancel", {"taskId": id}

    def outcome(self, id: str) -> Call | None:
        return None

    def update(self, id: str, responses: Mapping[str, JSONObject]) -> Call | None:
        return "tasks/update", {"taskId": id, "inputResponses": dict(responses)}

    def list(self, capabilities: JSONObject, cursor: str | None = None) -> Call | None:
        return None


def tasks_of(revision: Revision) -> TaskDesign | None:
    """Return the task design of a protocol version; None if it has no tasks."""
    if revision.era is Era.STATELESS:
        return ExtensionTasks()
    return CoreTasks() if revision == R4 else None


def related_task(meta: JSON) -> str:
    """Return the task id in a 2025-11-25 message's `_meta`; "" if none."""
    related = meta.get(RELATED_TASK_KEY) if isinstance(meta, dict) else None
    return _text(related, "taskId") if isinstance(related, dict) else ""


@dataclass(frozen=True, slots=True)
class TaskUpdate:
    """A new task state: the task, its new requests, and problems."""

    task: Task
    requested: dict[str, InputRequest] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class TaskTracker:
    """Follows one task through polls and notifications, whichever comes first.

    Request keys are unique over a task's life, so each request is reported once, however often it is
    polled.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._seen: dict[str, InputRequest] = {}

    def receive(self, task: Task) -> TaskUpdate:
        """Process a new state. One that leaves a terminal status is reported and ignored."""
        if task.id != self.task.id:
            return TaskUpdate(
                self.task, problems=(f"The server sent the state of another task, {_shown(task.id)}.",)
            )
        if self.task.status.is_terminal:
            return TaskUpdate(self.task, problems=self._leaves_terminal(task))
        self.task = task
        try:
            requested, problems = self._new_requests(task.input_requests())
        except ValueError as exc:
            return TaskUpdate(task, problems=(f"The task has invalid input requests: {exc}.",))
        return TaskUpdate(task, requested, problems)

    def forget(self, keys: Iterable[str]) -> None:
        """Mark these requests as unanswered: report them again if still pending."""
        for key in keys:
            self._seen.pop(key, None)

    def _leaves_terminal(self, task: Task) -> tuple[str, ...]:
        before, after = self.task.status, task.status
        if before is after:
            return ()
        return (f"The task was {before.value}, which is final, but now reports {after.value}.",)

    def _new_requests(
        self, requests: dict[str, InputRequest]
    ) -> tuple[dict[str, InputRequest], tuple[str, ...]]:
        requested = {key: request for key, request in requests.items() if key not in self._seen}
        reused = [key for key in requests if key in self._seen and requests[key] != self._seen[key]]
        self._seen.update(requested)
        return requested, tuple(
            f"The task reuses the key {_shown(key)} for a different request." for key in reused
        )


def _status(value: JSON) -> TaskStatus:
    try:
        return TaskStatus(value)
    except ValueError:
        raise ValueError(f'"status" is unknown: {_shown(value)}') from None


def _text(value: JSONObject, member: str) -> str:
    text = value.get(member)
    return text if isinstance(text, str) else ""


def _object(value: JSONObject, member: str) -> JSONObject | None:
    found = value.get(member)
    return found if isinstance(found, dict) else None


def _milliseconds(value: JSONObject, *members: str) -> int | None:
    """Return the first of these members that is a number. Null is a legal "unlimited"."""
    for member in members:
        number = value.get(member)
        # Some servers write 5000.0; NaN and Infinity are not JSON, but do occur.
        if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number < 2**53:
            return int(number)
    return None


def _shown(value: JSON) -> str:
    return f"“{one_line(excerpt(value, 60))}”"
