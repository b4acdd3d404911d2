"""Tasks that the client runs for a server (2025-11-25). No I/O.

A server may request a task in its own requests. The client answers such a request with a task at once;
the server then polls, lists, cancels, or waits for the result, which is available until the ttl ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from inspector.protocol.revisions import R4, Revision, declares
from inspector.protocol.tasks import DEFAULT_POLL_MS, RELATED_TASK_KEY, CoreTasks, TaskStatus

TASK_METHODS = {"tasks/get": "", "tasks/result": "", "tasks/list": "list", "tasks/cancel": "cancel"}
STATUS_NOTIFICATION = CoreTasks.notification
_DEFAULT_TTL_MS, _MAX_TTL_MS = 3_600_000, 86_400_000
_MAX_OPEN = 100
_PAGE_SIZE = 50


class ClientTasks:
    """The client's tasks of one connection.

    `wall_ns` returns the wall time, `make_id` an unguessable id.
    """

    def __init__(self, wall_ns: Callable[[], int], make_id: Callable[[], str]) -> None:
        self._now = wall_ns
        self._make_id = make_id
        self._tasks: dict[str, ClientTask] = {}

    def create(self, method: str, params: JSONObject) -> ClientTask:
        """Create a task for a request. Raises RpcError if there are too many."""
        self._prune()
        if sum(not task.status.is_terminal for task in self._tasks.values()) >= _MAX_OPEN:
            raise RpcError(INTERNAL_ERROR, f"{_MAX_OPEN} tasks are already open")
        now = self._now()
        task = ClientTask(self._make_id(), method, now, now, _ttl(params.get("task")))
        self._tasks[task.id] = task
        return task

    def finish(self, task: ClientTask, outcome: JSONObject | RpcError) -> bool:
        """Set the user's reply or refusal. False if the task has already ended."""
        if task.status.is_terminal:
            return False
        is_error = isinstance(outcome, RpcError)
        task.outcome = outcome
        text = "The request was rejected." if is_error else "The user responded."
        self._set_status(task, TaskStatus.FAILED if is_error else TaskStatus.COMPLETED, text)
        return True

    def expire(self, task: ClientTask) -> None:
        """Drop a task that will not be answered. One that the server cancelled stays."""
        if not task.status.is_terminal:
            self._tasks.pop(task.id, None)

    def find(self, params: JSONObject) -> ClientTask:
        """Return the task that a request names. Raises RpcError."""
        self._prune()
        id = params.get("taskId")
        if not isinstance(id, str):
            raise RpcError(INVALID_PARAMS, '"taskId" must be a string')
        task = self._tasks.get(id)
        if task is None:
            raise RpcError(INVALID_PARAMS, "Unknown task, or its TTL has expired")
        return task

    def cancel(self, params: JSONObject) -> ClientTask:
        """Cancel a task. Raises RpcError, also if it has ended."""
        task = self.find(params)
        if task.status.is_terminal:
            raise RpcError(INVALID_PARAMS, f"The task cannot be cancelled: it is already {task.status.value}")
        task.outcome = RpcError(INVALID_PARAMS, "The task was cancelled")
        self._set_status(task, TaskStatus.CANCELLED, "Cancelled by the server.")
        return task

    def list(self, params: JSONObject) -> JSONObject:
        """Return a page of tasks, oldest first. Raises RpcError for an invalid cursor."""
        self._prune()
        start = _cursor(params.get("cursor"))
        tasks = list(self._tasks.values())
        page: JSONObject = {"tasks": [task.to_json() for task in tasks[start : start + _PAGE_SIZE]]}
        if start + _PAGE_SIZE < len(tasks):
            page["nextCursor"] = str(start + _PAGE_SIZE)
        return page

    @staticmethod
    def result(task: ClientTask) -> JSONObject:
        """Return the result of the original request. Raises RpcError if it is an error."""
        if isinstance(task.outcome, RpcError):
            raise task.outcome
        outcome = task.outcome or {}
        meta = outcome.get("_meta")
        related: JSONObject = {RELATED_TASK_KEY: {"taskId": task.id}}
        return {**outcome, "_meta": {**(meta if isinstance(meta, dict) else {}), **related}}

    def _set_status(self, task: ClientTask, status: TaskStatus, message: str) -> None:
        task.status, task.message, task.updated_ns = status, message, self._now()

    def _prune(self) -> None:
        now = self._now()
        for id in [id for id, task in self._tasks.items() if task.expires_ns <= now]:
            del self._tasks[id]


def is_augmented(method: str, params: JSONObject, declared: JSONObject, revision: Revision) -> bool:
    """True if the server requests a task and the client declared support; otherwise it is ignored."""
    kind, _, action = method.partition("/")
    wants = revision == R4 and isinstance(params.get("task"), dict)
    return wants and declares(declared, "tasks", "requests", kind, action)


@dataclass(slots=True)
class ClientTask:
    """One task of the client. `outcome` is a result, or the error that `tasks/result` returns."""

    id: str
    method: str
    created_ns: int
    updated_ns: int
    ttl_ms: int
    status: TaskStatus = TaskStatus.WORKING
    message: str = "Waiting for the user's response."
    outcome: JSONObject | RpcError | None = field(default=None, repr=False)

    @property
    def expires_ns(self) -> int:
        return self.created_ns + self.ttl_ms * 1_000_000

    def to_json(self) -> JSONObject:
        return {
            "taskId": self.id,
            "status": self.status.value,
            "statusMessage": self.message,
            "createdAt": _time(self.created_ns),
            "lastUpdatedAt": _time(self.updated_ns),
            "ttl": self.ttl_ms,
            "pollInterval": DEFAULT_POLL_MS,
        }


def require_declared(method: str, declared: JSONObject) -> None:
    """Raise RpcError unless the client declared support for the method."""
    path = ("tasks", part) if (part := TASK_METHODS[method]) else ("tasks",)
    if not declares(declared, *path):
        raise RpcError(METHOD_NOT_FOUND, f"{method} is not supported: {'.'.join(path)} was not declared")


def _ttl(preference: JSON) -> int:
    """Return the requested ttl, up to a day; an hour by default."""
    ttl = preference.get("ttl") if isinstance(preference, dict) else None
    if isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl >= 0:
        return int(min(ttl, _MAX_TTL_MS))
    return _DEFAULT_TTL_MS


def _cursor(value: JSON) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise RpcError(INVALID_PARAMS, "Unknown cursor")


def _time(wall_ns: int) -> str:
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
