"""Tasks as the extension for 2026-07-28 has them: the server decides, and `tasks/get` holds everything."""

from __future__ import annotations

import contextlib
from typing import Any

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

from inspector.demo.everything.rawwire import RawResult, notify_raw
from inspector.demo.everything.tasks.runs import Body, Run, Runs, Work
from inspector.demo.toolbox import Call, Context

EXTENSION = "io.modelcontextprotocol/tasks"

_MISSING_CAPABILITY = -32021


class TaskUpdateParams(types.RequestParams):
    """Parameters of `tasks/update`, which the SDK does not know."""

    task_id: str
    input_responses: dict[str, dict[str, Any]]


def is_declared(context: Context) -> bool:
    """True if the client supports tasks; every request declares it again."""
    capabilities = context.session.client_capabilities
    return capabilities is not None and EXTENSION in (capabilities.extensions or {})


def require_declared(context: Context) -> None:
    if not is_declared(context):
        required: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        words = f"This needs the extension {EXTENSION}, which the request did not declare"
        raise MCPError(_MISSING_CAPABILITY, words, required)


def view(run: Run) -> dict[str, Any]:
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
        task["inputRequests"] = {key: _dump(question.request) for key, question in run.questions.items()}
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

    def __init__(self, runs: Runs, bus: InMemorySubscriptionBus) -> None:
        self._runs = runs
        self._bus = bus
        self._listen = ListenHandler(bus)

    def start(self, call: Call, body: Body) -> RawResult:
        """Start a task; return the result of the call.

        There is no progress: the status message serves instead.
        """
        run = Run(call.arguments["ttl"], call.arguments["poll_interval"])

        async def report(step: int, total: int, message: str) -> None:
            pass

        created = RawResult({**view(run), "resultType": "task"})
        self._runs.start(run, body, Work(dict(call.arguments), report, run))
        return created

    async def get(self, context: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        require_declared(context)
        return view(self._runs.get(params.task_id))

    async def update(self, context: Context, params: TaskUpdateParams) -> dict[str, Any]:
        require_declared(context)
        run = self._runs.get(params.task_id)
        for key, answer in params.input_responses.items():
            run.answer(key, answer)
        return {}

    async def cancel(self, context: Context, params: types.CancelTaskRequestParams) -> dict[str, Any]:
        """Cancel a task.

        The result does not report its status; a task that has ended stays as it is.
        """
        require_declared(context)
        self._runs.get(params.task_id).cancel("Cancelled by the client")
        return {}

    # -------------------------------------------------------------- subscriptions/listen

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Handle `subscriptions/listen`.

        Delegates to the SDK's handler, unless tasks are requested, which it does not know.
        """
        asked = (params.notifications.model_extra or {}).get("taskIds")
        known = {run.id for run in self._runs.all()}
        ids = [id for id in asked if id in known] if isinstance(asked, list) else []
        if not ids or not is_declared(context):
            return await self._listen(context, params)
        return await self._listen_to_tasks(context, params.notifications, ids)

    async def _listen_to_tasks(
        self, context: Context, asked: types.SubscriptionFilter, ids: list[str]
    ) -> types.SubscriptionsListenResult:
        wanted = {key: value for key, value in asked.model_dump(by_alias=True).items() if value}
        honoured = types.SubscriptionFilter.model_validate({**wanted, "taskIds": ids})
        uris = frozenset(honoured.resource_subscriptions or ())
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
        send, receive = anyio.create_memory_object_stream[ServerEvent](1024)

        def deliver(event: ServerEvent) -> None:
            if event_matches(honoured, uris, event):
                with contextlib.suppress(anyio.WouldBlock):  # a client that does not read has lost interest
                    send.send_nowait(event)

        unsubscribe = self._bus.subscribe(deliver)
        try:
            acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
                notifications=honoured, _meta=meta
            )
            await context.session.send_notification(
                types.SubscriptionsAcknowledgedNotification(params=acknowledged), context.request_id
            )
            async with receive, send, anyio.create_task_group() as telling:
                for id in ids:
                    telling.start_soon(_tell, context, self._runs.get(id), meta)
                async for event in receive:
                    await context.session.send_notification(
                        event_to_notification(event, meta), context.request_id
                    )
        finally:
            unsubscribe()
        return types.SubscriptionsListenResult(_meta=meta)


async def _tell(context: Context, run: Run, meta: dict[str, Any]) -> None:
    """Send a task's status, starting with the current one: it may have changed before listening."""
    seen, is_told = -1, False
    while not is_told:
        seen = await run.news(seen)
        is_told = run.is_final
        await notify_raw(
            context.session, "notifications/tasks", {**view(run), "_meta": meta}, context.request_id
        )
