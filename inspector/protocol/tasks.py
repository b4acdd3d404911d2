"""Tasks: calls that go on after their answer. One view over two designs that share no wire format.

2025-11-25 has them in its core (`CoreTasks`): the caller asks for a task, the created task is nested in
the result, `tasks/result` waits for the outcome. For 2026-07-28 they are an extension (`ExtensionTasks`):
the server decides, everything is flat, `tasks/get` holds outcome and questions alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, TypeAlias

from inspector.base.jsonvalue import JSON, JSONObject, excerpt
from inspector.base.plaintext import one_line
from inspector.protocol.methods import TASKS_EXTENSION
from inspector.protocol.revisions import R4, Era, Revision
from inspector.protocol.types import InputRequest, read_input_requests

RELATED_TASK_KEY = "io.modelcontextprotocol/related-task"

_POLL_MS = 1_000
_LEAST_POLL_MS, _MOST_POLL_MS = 100, 3_600_000

Call: TypeAlias = tuple[str, JSONObject]  # a method and its params


class TaskStatus(Enum):
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
            raise ValueError('"taskId" must be a string with at least one character')
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
        wish = _POLL_MS if self.poll_interval_ms is None else self.poll_interval_ms
        return min(max(wish, _LEAST_POLL_MS), _MOST_POLL_MS)

    def input_requests(self) -> dict[str, InputRequest]:
        """Return the open requests (extension). Raises ValueError if they cannot be parsed."""
        if self.status is not TaskStatus.INPUT_REQUIRED or "inputRequests" not in self.source:
            return {}
        return read_input_requests(self.source["inputRequests"])


# ------------------------------------------------------------------ the two designs


class TaskDesign(Protocol):
    """Requests and parsers of a task design. None means that the design has no such request."""

    notification: str  # notification method for changes; its params are a task

    def is_offered(self, capabilities: JSONObject) -> bool:
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
        """Return a request that waits for the result, and during which the server may ask."""
        ...

    def update(self, id: str, responses: Mapping[str, JSONObject]) -> Call | None: ...

    def list(self, capabilities: JSONObject, cursor: str | None = None) -> Call | None: ...


class CoreTasks:
    """Tasks of 2025-11-25."""

    notification = "notifications/tasks/status"

    def is_offered(self, capabilities: JSONObject) -> bool:
        return _declares(capabilities, "tasks", "requests", "tools", "call")

    def augment(self, params: JSONObject, ttl_ms: int | None = None) -> JSONObject:
        return {**params, "task": {} if ttl_ms is None else {"ttl": ttl_ms}}

    def created(self, result: JSONObject) -> Task | None:
        task = result.get("task")
        return Task.read(task) if isinstance(task, dict) and "content" not in result else None

    def get(self, id: str) -> Call:
        return "tasks/get", {"taskId": id}

    def cancel(self, id: str, capabilities: JSONObject) -> Call | None:
        return ("tasks/cancel", {"taskId": id}) if _declares(capabilities, "tasks", "cancel") else None

    def outcome(self, id: str) -> Call | None:
        return "tasks/result", {"taskId": id}

    def update(self, id: str, responses: Mapping[str, JSONObject]) -> Call | None:
        return None

    def list(self, capabilities: JSONObject, cursor: str | None = None) -> Call | None:
        if not _declares(capabilities, "tasks", "list"):
            return None
        return "tasks/list", {} if cursor is None else {"cursor": cursor}


class ExtensionTasks:
    """Tasks extension for 2026-07-28. A client must remember the ids: there is no list."""

    notification = "notifications/tasks"

    def is_offered(self, capabilities: JSONObject) -> bool:
        return _declares(capabilities, "extensions", TASKS_EXTENSION)

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


# ------------------------------------------------------------------ watching one


@dataclass(frozen=True, slots=True)
class TaskNews:
    """A new task state: the task, its new requests, and problems."""

    task: Task
    asked: dict[str, InputRequest] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class TaskWatch:
    """Follows one task through polls and notifications, whichever comes first.

    Request keys are unique over a task's life, so each request is reported once, however often it is
    polled.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._seen: dict[str, InputRequest] = {}

    def receive(self, task: Task) -> TaskNews:
        """Process a new state. One that leaves a terminal status is reported and ignored."""
        if task.id != self.task.id:
            return TaskNews(self.task, problems=(f"The state is that of another task, {_shown(task.id)}.",))
        if self.task.status.is_terminal:
            return TaskNews(self.task, problems=self._leaves_terminal(task))
        self.task = task
        try:
            asked, problems = self._news(task.input_requests())
        except ValueError as exc:
            return TaskNews(task, problems=(f"The task asks for what cannot be read: {exc}.",))
        return TaskNews(task, asked, problems)

    def forget(self, keys: Iterable[str]) -> None:
        """Mark these requests as unanswered: report them again if still pending."""
        for key in keys:
            self._seen.pop(key, None)

    def _leaves_terminal(self, task: Task) -> tuple[str, ...]:
        before, after = self.task.status, task.status
        if before is after:
            return ()
        return (f"The task was {before.value}, which is final, and now says {after.value}.",)

    def _news(self, requests: dict[str, InputRequest]) -> tuple[dict[str, InputRequest], tuple[str, ...]]:
        asked = {key: request for key, request in requests.items() if key not in self._seen}
        reused = [key for key in requests if key in self._seen and requests[key] != self._seen[key]]
        self._seen.update(asked)
        return asked, tuple(f"The task uses the key {_shown(key)} for a second question." for key in reused)


# ------------------------------------------------------------------ reading


def _status(value: JSON) -> TaskStatus:
    try:
        return TaskStatus(value)
    except ValueError:
        raise ValueError(f'"status" is none that we know: {_shown(value)}') from None


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


def _declares(capabilities: JSONObject, *path: str) -> bool:
    here: JSON = capabilities
    for member in path:
        here = here.get(member) if isinstance(here, dict) else None
    return here is not None and here is not False


def _shown(value: JSON) -> str:
    return f"“{one_line(excerpt(value, 60))}”"
