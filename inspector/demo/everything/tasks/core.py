"""Tasks as 2025-11-25 has them: asked for with `task`, nested in the result, `tasks/result` waits."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from inspector.demo.everything.rawwire import RawResult, notify_raw, request_raw
from inspector.demo.everything.tasks.runs import Body, Question, Run, Runs, Work
from inspector.demo.paging import page
from inspector.demo.toolbox import Call, Context

REVISION = "2025-11-25"

CAPABILITY: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}

_RELATED = "io.modelcontextprotocol/related-task"
_PAGE_SIZE = 20


def view(run: Run) -> dict[str, Any]:
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

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def start(self, call: Call, body: Body) -> RawResult:
        """Start a task; return the raw result of the call, which the SDK has no model for."""
        assert call.params.task is not None
        asked = call.params.task.ttl
        run = Run(call.arguments["ttl"] if asked is None else asked, call.arguments["poll_interval"])
        token = (call.context.meta or {}).get("progress_token")

        async def report(step: int, total: int, message: str) -> None:
            if token is not None:  # "stays valid until the task is terminal"
                params = {"progressToken": token, "progress": step, "total": total, "message": message}
                await notify_raw(call.session, "notifications/progress", {**params, "_meta": _related(run)})

        async def tell(run: Run) -> None:
            seen, is_told = 0, False
            while not is_told:
                seen = await run.news(seen)
                is_told = run.is_final
                await notify_raw(call.session, "notifications/tasks/status", view(run))

        created = RawResult({"task": view(run)})
        self._runs.start(run, body, Work(dict(call.arguments), report, run))
        self._runs.watch(tell, run)
        return created

    async def get(self, context: Context, params: types.GetTaskRequestParams) -> dict[str, Any]:
        return view(self._runs.get(params.task_id))

    async def cancel(self, context: Context, params: types.CancelTaskRequestParams) -> dict[str, Any]:
        run = self._runs.get(params.task_id)
        if run.is_final:
            words = f"The task is {view(run)['status']} already and cannot be cancelled"
            raise MCPError(types.INVALID_PARAMS, words)
        run.cancel("Cancelled by the client")
        return view(run)

    async def list(self, context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        tasks, following = page([view(run) for run in self._runs.all()], params, _PAGE_SIZE)
        return {"tasks": tasks, **({} if following is None else {"nextCursor": following})}

    async def result(self, context: Context, params: types.GetTaskPayloadRequestParams) -> dict[str, Any]:
        """Return what the call would have returned.

        Meanwhile, send the requests that the task needs answered.
        """
        run = self._runs.get(params.task_id)
        async with anyio.create_task_group() as asking:
            seen = -1
            while not run.is_final:
                seen = await run.news(seen)
                for key, question in run.questions.items():
                    if not question.is_with_client and question.answer is None:
                        question.is_with_client = True
                        asking.start_soon(_ask, context, run, key, question)
            asking.cancel_scope.cancel()
        if run.error is not None:
            raise run.error
        if run.result is None:
            raise MCPError(types.INVALID_REQUEST, "The task was cancelled")
        result = run.result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
        return {**result, "_meta": {**(run.result.meta or {}), **_related(run)}}


async def _ask(context: Context, run: Run, key: str, question: Question) -> None:
    asked = question.request.model_dump(by_alias=True, mode="json", exclude_none=True)
    params = {**(asked.get("params") or {}), "_meta": _related(run)}
    try:
        answer = await request_raw(context.session, asked["method"], params, context.request_id)
    except MCPError as refusal:
        run.answer(key, refusal)
    else:
        run.answer(key, answer)
    finally:
        question.is_with_client = False  # cancelled with this tasks/result: the next one asks again


def _related(run: Run) -> dict[str, Any]:
    return {_RELATED: {"taskId": run.id}}
