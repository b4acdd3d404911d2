"""Tasks in both protocol designs, and the store of running tasks that they share.

2025-11-25 (`CoreTasks`): the client requests a task with `task`, it is nested in the result, and
`tasks/result` waits. Extension for 2026-07-28 (`ExtensionTasks`): the server decides, and `tasks/get`
returns everything.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    InMemorySubscriptionBus,
    ListenHandler,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_matches, event_to_notification
from pydantic import BaseModel

from inspector.demo.everything.client_requests import RawResult, notify_raw, request_raw
from inspector.demo.everything.state import Background
from inspector.demo.toolbox import Call, Context, page

REVISION = "2025-11-25"

CAPABILITY: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}

_RELATED = "io.modelcontextprotocol/related-task"
_PAGE_SIZE = 20


def core_task_view(run: TaskRun) -> dict[str, Any]:
    """Return a task as 2025-11-25 defines it.

    A tool error counts as a failure here; in the extension it does not.
    """
    failed = run.status == "completed" and run.result is not None and run.result.is_error
    return {
        "taskId": run.id,
        "status": "failed" if failed else run.status,
        "statusMessage": run.message,
        "createdAt": run.created_at,
        "lastUpdatedAt": run.updated_at,
        "ttl": run.ttl_ms,
        "pollInterval": run.poll_ms,
    }


class CoreTasks:
    """Handles the four task methods of 2025-11-25."""

    def __init__(self, runs: TaskRuns) -> None:
        self._runs = runs

    def start(self, call: Call, body: Body) -> RawResult:
        """Start a task; return the raw result of the call, which the SDK has no model for."""
        assert call.params.task is not None
        requested = call.params.task.ttl
        run = TaskRun(
            call.arguments["ttl"] if requested is None else requested, call.arguments["poll_interval"]
        )
        token = (call.context.meta or {}).get("progress_token")

        async def report(step: int, total: int, message: str) -> None:
            if token is not None:  # "stays valid until the task is terminal"
                params = {"progressToken": token, "progress": step, "total": total, "message": message}
                await notify_raw(call.session, "notifications/progress", {**params, "_meta": _related(run)})

        async def notify(run: TaskRun) -> None:
            seen, is_reported = 0, False
            while not is_reported:
                seen = await run.wait_for_change(seen)
                is_reported = run.is_final
                await notify_raw(call.session, "notifications/tasks/status", core_task_view(run))

        created = RawResult({"task": core_task_view(run)})
        self._runs.start(run, body, Work(dict(call.arguments), report, run))
        self._runs.watch(notify, run)
        return created

    async def get(self, context: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        return core_task_view(self._runs.get(params.task_id))

    async def cancel(self, context: Context, params: types.CancelTaskRequestParams) -> dict[str, Any]:
        run = self._runs.get(params.task_id)
        if run.is_final:
            text = f"The task is already {core_task_view(run)['status']} and cannot be cancelled"
            raise MCPError(types.INVALID_PARAMS, text)
        run.cancel("Cancelled by the client")
        return core_task_view(run)

    async def list(self, context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        tasks, following = page([core_task_view(run) for run in self._runs.all()], params, _PAGE_SIZE)
        return {"tasks": tasks, **({} if following is None else {"nextCursor": following})}

    async def result(self, context: Context, params: types.GetTaskPayloadRequestParams) -> dict[str, Any]:
        """Return what the call would have returned.

        Meanwhile, send the requests that the task needs answered.
        """
        run = self._runs.get(params.task_id)
        async with anyio.create_task_group() as group:
            seen = -1
            while not run.is_final:
                seen = await run.wait_for_change(seen)
                for key, pending in run.pending_inputs.items():
                    if not pending.is_with_client and pending.response is None:
                        pending.is_with_client = True
                        group.start_soon(_request_input, context, run, key, pending)
            group.cancel_scope.cancel()
        if run.error is not None:
            raise run.error
        if run.result is None:
            raise MCPError(types.INVALID_REQUEST, "The task was cancelled")
        result = run.result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
        return {**result, "_meta": {**(run.result.meta or {}), **_related(run)}}


async def _request_input(context: Context, run: TaskRun, key: str, pending: PendingInput) -> None:
    requested = pending.request.model_dump(by_alias=True, mode="json", exclude_none=True)
    params = {**(requested.get("params") or {}), "_meta": _related(run)}
    try:
        response = await request_raw(context.session, requested["method"], params, context.request_id)
    except MCPError as error:
        run.deliver(key, error)
    else:
        run.deliver(key, response)
    finally:
        pending.is_with_client = False  # cancelled with this tasks/result: the next one asks again


def _related(run: TaskRun) -> dict[str, Any]:
    return {_RELATED: {"taskId": run.id}}


EXTENSION = "io.modelcontextprotocol/tasks"

_MISSING_CAPABILITY = -32021


class TaskUpdateParams(types.RequestParams):
    """Parameters of `tasks/update`, which the SDK does not support."""

    task_id: str
    input_responses: dict[str, dict[str, Any]]


def is_declared(context: Context) -> bool:
    """True if the client supports tasks; every request declares it again."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


def require_declared(context: Context) -> None:
    if not is_declared(context):
        required: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        text = f"This requires the extension {EXTENSION}, which the request did not declare"
        raise MCPError(_MISSING_CAPABILITY, text, required)


def extension_task_view(run: TaskRun) -> dict[str, Any]:
    """Return a task as the extension defines it.

    A tool error is a result like any other: only a JSON-RPC error is a failure.
    """
    task: dict[str, Any] = {
        "taskId": run.id,
        "status": run.status,
        "statusMessage": run.message,
        "createdAt": run.created_at,
        "lastUpdatedAt": run.updated_at,
        "ttlMs": run.ttl_ms,
        "pollIntervalMs": run.poll_ms,
    }
    if run.status == "input_required":
        task["inputRequests"] = {key: _dump(pending.request) for key, pending in run.pending_inputs.items()}
    if run.status == "completed" and run.result is not None:
        task["result"] = {"resultType": "complete", **_dump(run.result)}
    if run.status == "failed" and run.error is not None:
        task["error"] = _dump(run.error.error)
    return task


def _dump(model: types.InputRequest | types.Result | types.ErrorData) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


class ExtensionTasks:
    """Handles the three task methods of the extension, and notifies subscribers of their tasks."""

    def __init__(self, runs: TaskRuns, bus: InMemorySubscriptionBus) -> None:
        self._runs = runs
        self._bus = bus
        self._listen = ListenHandler(bus)

    def start(self, call: Call, body: Body) -> RawResult:
        """Start a task; return the result of the call.

        There is no progress: the status message serves instead.
        """
        run = TaskRun(call.arguments["ttl"], call.arguments["poll_interval"])

        async def report(step: int, total: int, message: str) -> None:
            pass

        created = RawResult({**extension_task_view(run), "resultType": "task"})
        self._runs.start(run, body, Work(dict(call.arguments), report, run))
        return created

    async def get(self, context: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        require_declared(context)
        return extension_task_view(self._runs.get(params.task_id))

    async def update(self, context: Context, params: TaskUpdateParams) -> dict[str, Any]:
        require_declared(context)
        run = self._runs.get(params.task_id)
        for key, response in params.input_responses.items():
            run.deliver(key, response)
        return {}

    async def cancel(self, context: Context, params: types.CancelTaskRequestParams) -> dict[str, Any]:
        """Cancel a task.

        The result does not report its status; a task that has ended stays as it is.
        """
        require_declared(context)
        self._runs.get(params.task_id).cancel("Cancelled by the client")
        return {}

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle `subscriptions/listen`.

        Delegates to the SDK's handler, unless tasks are requested, which it does not support.
        """
        requested = (params.notifications.model_extra or {}).get("taskIds")
        known = {run.id for run in self._runs.all()}
        ids = [id for id in requested if id in known] if isinstance(requested, list) else []
        if not ids or not is_declared(context):
            return await self._listen(context, params)
        return await self._listen_to_tasks(context, params.notifications, ids)

    async def _listen_to_tasks(
        self, context: Context, requested: types.SubscriptionFilter, ids: list[str]
    ) -> types.SubscriptionsListenResult:
        requested_types = {key: value for key, value in requested.model_dump(by_alias=True).items() if value}
        honored = types.SubscriptionFilter.model_validate({**requested_types, "taskIds": ids})
        uris = frozenset(honored.resource_subscriptions or ())
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        send, receive = anyio.create_memory_object_stream[ServerEvent](1024)

        def deliver(event: ServerEvent) -> None:
            if event_matches(honored, uris, event):
                with contextlib.suppress(anyio.WouldBlock):  # a client that does not read has lost interest
                    send.send_nowait(event)

        unsubscribe = self._bus.subscribe(deliver)
        try:
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=honored, _meta=meta
            )
            await context.session.send_notification(
                types.SubscriptionsAcknowledgedNotification(params=acknowledged), context.request_id
            )
            async with receive, send, anyio.create_task_group() as group:
                for id in ids:
                    group.start_soon(_report, context, self._runs.get(id), meta)
                async for event in receive:
                    await context.session.send_notification(
                        event_to_notification(event, meta), context.request_id
                    )
        finally:
            unsubscribe()
        return types.SubscriptionsListenResult(_meta=meta)


async def _report(context: Context, run: TaskRun, meta: dict[str, Any]) -> None:
    """Send a task's status, starting with the current one: it may have changed before listening."""
    seen, is_reported = -1, False
    while not is_reported:
        seen = await run.wait_for_change(seen)
        is_reported = run.is_final
        await notify_raw(
            context.session,
            "notifications/tasks",
            {**extension_task_view(run), "_meta": meta},
            context.request_id,
        )


Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
Reply = TypeVar("Reply", bound=BaseModel)
Report = Callable[[int, int, str], Awaitable[None]]
Body = Callable[["Work"], Awaitable[types.CallToolResult]]

_FINAL: tuple[Status, ...] = ("completed", "failed", "cancelled")


class Work:
    """A task tool's view of the call that it works for. `run` is None for a plain call."""

    def __init__(self, arguments: dict[str, Any], report: Report, run: TaskRun | None = None) -> None:
        self.arguments = arguments
        self._report = report
        self._run = run

    async def step(self, number: int, total: int) -> None:
        message = f"Step {number} of {total}"
        if self._run is not None:
            self._run.notify(message)
        await self._report(number, total, message)

    async def ask(self, key: str, request: types.InputRequest, result_type: type[Reply]) -> Reply:
        assert self._run is not None, "only tools that always run as a task request input"
        return result_type.model_validate(await self._run.ask(key, request), by_name=False)


@dataclass(slots=True)
class PendingInput:
    """A server request whose reply a task is waiting for."""

    request: types.InputRequest
    is_with_client: bool = False
    response: dict[str, Any] | MCPError | None = None
    responded: anyio.Event = field(default_factory=anyio.Event)


class TaskRun:
    """One task. `version` counts its changes."""

    def __init__(self, ttl_ms: int, poll_ms: int) -> None:
        self.id = str(uuid.uuid4())
        self.ttl_ms = ttl_ms
        self.poll_ms = poll_ms
        self.status: Status = "working"
        self.message = "Started"
        self.created_at = self.updated_at = _now()
        self.result: types.CallToolResult | None = None
        self.error: MCPError | None = None
        self.pending_inputs: dict[str, PendingInput] = {}
        self.version = 0
        self.scope = anyio.CancelScope()
        self._changed = anyio.Event()

    @property
    def is_final(self) -> bool:
        return self.status in _FINAL

    async def wait_for_change(self, seen: int) -> int:
        """Wait until the version differs from `seen`; return the current version."""
        while self.version == seen:
            await self._changed.wait()
        return self.version

    def notify(self, message: str) -> None:
        self._set_status(self.status, message)

    async def ask(self, key: str, request: types.InputRequest) -> dict[str, Any]:
        """Ask the client and return its reply. Raises MCPError if it rejects the request."""
        pending = self.pending_inputs[key] = PendingInput(request)
        self._set_status("input_required", "Waiting for a response")
        await pending.responded.wait()
        del self.pending_inputs[key]
        if not self.pending_inputs:
            self._set_status("working", "Received a response")
        if isinstance(pending.response, MCPError):
            raise pending.response
        return pending.response or {}

    def deliver(self, key: str, response: dict[str, Any] | MCPError) -> None:
        """Deliver a reply. A key that is not pending is ignored: it was answered before."""
        pending = self.pending_inputs.get(key)
        if pending is not None and pending.response is None:
            pending.response = response
            pending.responded.set()

    def complete(self, result: types.CallToolResult) -> None:
        self.result = result
        self._set_status("completed", "The tool reported an error" if result.is_error else "Done")

    def fail(self, error: MCPError) -> None:
        self.error = error
        self._set_status("failed", error.message)

    def cancel(self, message: str) -> None:
        self._set_status("cancelled", message)
        self.scope.cancel()

    def _set_status(self, status: Status, message: str) -> None:
        if self.is_final:
            return
        self.status, self.message, self.updated_at = status, message, _now()
        self.version += 1
        self._changed.set()
        self._changed = anyio.Event()


class TaskRuns:
    """All tasks that are still stored. Over HTTP they outlive the connection that started them."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._runs: dict[str, TaskRun] = {}

    def start(self, run: TaskRun, body: Body, work: Work) -> None:
        self._runs[run.id] = run
        self._background.start(self._run_until_expired, run, body, work)

    def watch(self, follower: Callable[[TaskRun], Coroutine[Any, Any, None]], run: TaskRun) -> None:
        """Follow a task until it ends."""
        self._background.start(follower, run)

    def get(self, id: str) -> TaskRun:
        run = self._runs.get(id)
        if run is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown task", {"taskId": id})
        return run

    def all(self) -> list[TaskRun]:
        return list(self._runs.values())

    async def _run_until_expired(self, run: TaskRun, body: Body, work: Work) -> None:
        with anyio.move_on_after(run.ttl_ms / 1000):
            with run.scope:
                await self._execute(run, body, work)
            await anyio.sleep_forever()  # "may delete the task after its ttl": until then it can be requested
        run.cancel("TTL expired")
        del self._runs[run.id]

    async def _execute(self, run: TaskRun, body: Body, work: Work) -> None:
        try:
            run.complete(await body(work))
        except MCPError as error:
            run.fail(error)
        except Exception as error:  # one failing task must not take the others down
            run.fail(MCPError(types.INTERNAL_ERROR, f"The tool failed: {error}"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
