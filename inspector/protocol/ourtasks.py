"""Tasks that a server of 2025-11-25 makes of what it asks of us, without I/O: here we are the ones who work.

The request is answered at once with a task; the server then asks after it, waits for its result, lists or
cancels. What a person says in the end is kept until the time to live is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from inspector.base.errors import RpcError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from inspector.protocol.revisions import R4, Revision
from inspector.protocol.tasks import RELATED_TASK_KEY, CoreTasks, TaskStatus

TASK_METHODS = {"tasks/get": "", "tasks/result": "", "tasks/list": "list", "tasks/cancel": "cancel"}
STATUS_NOTIFICATION = CoreTasks.notification

_POLL_MS = 1_000
_TTL_MS, _MOST_TTL_MS = 3_600_000, 86_400_000
_MOST_OPEN = 100
_PAGE = 50
_TOO_MANY = -32603


@dataclass(slots=True)
class OurTask:
    """A task of ours. `outcome` is a result, or the error that `tasks/result` returns."""

    id: str
    method: str
    created_ns: int
    updated_ns: int
    ttl_ms: int
    status: TaskStatus = TaskStatus.WORKING
    message: str = "Waiting for the person to answer."
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
            "pollInterval": _POLL_MS,
        }


def is_augmented(method: str, params: JSONObject, declared: JSONObject, revision: Revision) -> bool:
    """True if the server requests a task and we declared support; otherwise it is ignored."""
    kind, _, action = method.partition("/")
    wants = revision == R4 and isinstance(params.get("task"), dict)
    return wants and _declares(declared, "tasks", "requests", kind, action)


class OurTasks:
    """The tasks of one connection. `wall_ns` is wall time, `make_id` returns unguessable ids."""

    def __init__(self, wall_ns: Callable[[], int], make_id: Callable[[], str]) -> None:
        self._now = wall_ns
        self._make_id = make_id
        self._tasks: dict[str, OurTask] = {}

    # -------------------------------------------------------------- our side of it

    def create(self, method: str, params: JSONObject) -> OurTask:
        """Create a task for a request. Raises RpcError if there are too many."""
        self._prune()
        if sum(not task.status.is_terminal for task in self._tasks.values()) >= _MOST_OPEN:
            raise RpcError(_TOO_MANY, f"{_MOST_OPEN} tasks are open already")
        now = self._now()
        task = OurTask(self._make_id(), method, now, now, _ttl(params.get("task")))
        self._tasks[task.id] = task
        return task

    def settle(self, task: OurTask, outcome: JSONObject | RpcError) -> bool:
        """Set the user's answer or refusal. False if the task has already ended."""
        if task.status.is_terminal:
            return False
        is_error = isinstance(outcome, RpcError)
        task.outcome = outcome
        words = "The request was refused." if is_error else "The person answered."
        self._move(task, TaskStatus.FAILED if is_error else TaskStatus.COMPLETED, words)
        return True

    def expire(self, task: OurTask) -> None:
        """Drop a task that will not be answered. One that the server cancelled stays."""
        if not task.status.is_terminal:
            self._tasks.pop(task.id, None)

    # -------------------------------------------------------------- the server's requests

    def find(self, params: JSONObject) -> OurTask:
        """Return the task that a request names. Raises RpcError."""
        self._prune()
        id = params.get("taskId")
        if not isinstance(id, str):
            raise RpcError(INVALID_PARAMS, '"taskId" must be a string')
        task = self._tasks.get(id)
        if task is None:
            raise RpcError(INVALID_PARAMS, "There is no such task, or its time to live is over")
        return task

    def cancel(self, params: JSONObject) -> OurTask:
        """Cancel a task. Raises RpcError, also if it has ended."""
        task = self.find(params)
        if task.status.is_terminal:
            raise RpcError(INVALID_PARAMS, f"The task cannot be cancelled: it is {task.status.value} already")
        task.outcome = RpcError(INVALID_PARAMS, "The task was cancelled")
        self._move(task, TaskStatus.CANCELLED, "Cancelled by the request of the server.")
        return task

    def list(self, params: JSONObject) -> JSONObject:
        """Return a page of tasks, oldest first. Raises RpcError for an invalid cursor."""
        self._prune()
        start = _cursor(params.get("cursor"))
        tasks = list(self._tasks.values())
        page: JSONObject = {"tasks": [task.to_json() for task in tasks[start : start + _PAGE]]}
        if start + _PAGE < len(tasks):
            page["nextCursor"] = str(start + _PAGE)
        return page

    @staticmethod
    def result(task: OurTask) -> JSONObject:
        """Return the result of the original request. Raises RpcError if it is an error."""
        if isinstance(task.outcome, RpcError):
            raise task.outcome
        outcome = task.outcome or {}
        meta = outcome.get("_meta")
        related: JSONObject = {RELATED_TASK_KEY: {"taskId": task.id}}
        return {**outcome, "_meta": {**(meta if isinstance(meta, dict) else {}), **related}}

    # --------------------------------------------------------------

    def _move(self, task: OurTask, status: TaskStatus, message: str) -> None:
        task.status, task.message, task.updated_ns = status, message, self._now()

    def _prune(self) -> None:
        now = self._now()
        for id in [id for id, task in self._tasks.items() if task.expires_ns <= now]:
            del self._tasks[id]


def check_offered(method: str, declared: JSONObject) -> None:
    """Raise RpcError unless we declared support for the method."""
    path = ("tasks", part) if (part := TASK_METHODS[method]) else ("tasks",)
    if not _declares(declared, *path):
        raise RpcError(METHOD_NOT_FOUND, f"We do not offer {method}: {'.'.join(path)} was not declared")


def _ttl(wish: JSON) -> int:
    """Return the requested ttl, up to a day; an hour by default."""
    ttl = wish.get("ttl") if isinstance(wish, dict) else None
    if isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl >= 0:
        return int(min(ttl, _MOST_TTL_MS))
    return _TTL_MS


def _cursor(value: JSON) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise RpcError(INVALID_PARAMS, "The cursor is none of ours")


def _time(wall_ns: int) -> str:
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _declares(capabilities: JSONObject, *path: str) -> bool:
    here: JSON = capabilities
    for member in path:
        here = here.get(member) if isinstance(here, dict) else None
    return here is not None and here is not False
