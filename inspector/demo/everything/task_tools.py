"""Tools that run as tasks, and the decision whether a call becomes one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from inspector.demo.everything import task_designs
from inspector.demo.everything.client_requests import (
    PAST_TENSE,
    form,
    is_stateless,
    supports_forms,
    undeclared,
)
from inspector.demo.everything.state import Background, State
from inspector.demo.everything.task_designs import Body, TaskRuns, Work
from inspector.demo.toolbox import (
    Call,
    Context,
    DemoTool,
    Outcome,
    Schema,
    Toolbox,
    failure,
    number_schema,
    schema,
    text,
    tool,
)

Support = Literal["optional", "required"]

_TRIP: Schema = {
    "type": "object",
    "properties": {"go": {"type": "boolean", "title": "Continue", "default": True}},
}


async def _steps(work: Work) -> types.CallToolResult:
    seconds, steps = work.arguments["seconds"], work.arguments["steps"]
    for step in range(1, steps + 1):
        await anyio.sleep(seconds / steps)
        await work.step(step, steps)
    return text(f"Done: {steps} steps in {seconds:g} s.")


async def _question(work: Work) -> types.CallToolResult:
    for number in range(1, work.arguments["questions"] + 1):
        await work.step(number, work.arguments["questions"])
        response = await work.ask(
            f"question-{number}", form(f"Question {number}: continue?", _TRIP), types.ElicitResult
        )
        if response.action != "accept":
            return text(f"Stopped at question {number}: {PAST_TENSE[response.action]}.")
    return text(f"Received {work.arguments['questions']} responses.")


async def _failure(work: Work) -> types.CallToolResult:
    await anyio.sleep(work.arguments["seconds"])
    if work.arguments["how"] == "protocol error":
        raise MCPError(types.INTERNAL_ERROR, "The task failed while running", {"demo": True})
    return failure("The task failed.")


async def _endless(work: Work) -> types.CallToolResult:
    """Run until cancelled, or until the ttl expires."""
    await anyio.sleep_forever()
    raise AssertionError("not reached")


class TaskRunner:
    """TaskRuns calls as tasks where client and version ask for it; handles both designs' methods."""

    def __init__(self, state: State, background: Background) -> None:
        runs = TaskRuns(background)
        self._core = task_designs.CoreTasks(runs)
        self._extension = task_designs.ExtensionTasks(runs, state.bus)
        self._names = [row.name for row in _TASK_TOOLS]

    def tools(self) -> list[DemoTool]:
        return [self._tool(row) for row in _TASK_TOOLS]

    def register(self, server: Server[Any]) -> None:
        """Register the handlers and the extension (for the handshake era, see `declare`)."""
        server.extensions[task_designs.EXTENSION] = {}
        for method, params_type, in_core, in_extension in (
            ("tasks/get", types.GetTaskRequestParams, self._core.get, self._extension.get),
            ("tasks/cancel", types.CancelTaskRequestParams, self._core.cancel, self._extension.cancel),
            ("tasks/result", types.GetTaskPayloadRequestParams, self._core.result, None),
            ("tasks/list", types.PaginatedRequestParams, self._core.list, None),
            ("tasks/update", task_designs.TaskUpdateParams, None, self._extension.update),
        ):
            server.add_request_handler(method, params_type, _by_revision(method, in_core, in_extension))
        server.add_request_handler(
            "subscriptions/listen", types.SubscriptionsListenRequestParams, self._extension.listen
        )

    def guarding(
        self, toolbox: Toolbox
    ) -> Callable[[Context, types.CallToolRequestParams], Awaitable[Outcome]]:
        """Return a `tools/call` handler that rejects task requests for tools that cannot run as one."""

        async def call_tool(context: Context, params: types.CallToolRequestParams) -> Outcome:
            is_requested = params.task is not None and context.protocol_version == task_designs.REVISION
            if is_requested and params.name not in self._names:
                raise MCPError(types.METHOD_NOT_FOUND, f"The tool {params.name} cannot run as a task")
            return await toolbox.call_tool(context, params)

        return call_tool

    def _tool(self, row: _TaskTool) -> DemoTool:
        async def run(call: Call) -> Outcome:
            return await self._run(call, row)

        plain = tool(row.name, row.title, row.description, run, schema(**row.arguments, **_TIMES))
        execution = types.ToolExecution(task_support=row.support)
        return replace(plain, definition=plain.definition.model_copy(update={"execution": execution}))

    async def _run(self, call: Call, row: _TaskTool) -> Outcome:
        if row.needs_input and not supports_forms(call):
            return undeclared("elicitation (form)")
        if is_stateless(call):
            if task_designs.is_declared(call.context):
                raise self._extension.start(call, row.body)
            if row.support == "required":
                task_designs.require_declared(call.context)
        elif call.context.protocol_version == task_designs.REVISION:
            if call.params.task is not None:
                raise self._core.start(call, row.body)
            if row.support == "required":
                raise MCPError(types.METHOD_NOT_FOUND, f"The tool {row.name} only runs as a task")
        elif row.support == "required":
            return failure(
                f"This tool only runs as a task, and protocol version {call.context.protocol_version} "
                "has no tasks."
            )
        return await row.body(Work(dict(call.arguments), call.session.report_progress))


def declare(capabilities: dict[str, Any], revision: str) -> None:
    """Add what a protocol version has of tasks to the capabilities of an `initialize` result."""
    capabilities.pop("extensions", None)  # the extension is only for 2026-07-28
    if revision == task_designs.REVISION:
        capabilities["tasks"] = task_designs.CAPABILITY


_Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]


def _by_revision(method: str, in_core: _Handler | None, in_extension: _Handler | None) -> _Handler:
    async def handle(context: Context, params: BaseModel) -> dict[str, Any]:
        handler = {task_designs.REVISION: in_core, "2026-07-28": in_extension}.get(context.protocol_version)
        if handler is None:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", method)
        return await handler(context, params)

    return handle


_SECONDS = number_schema(5, 0, 3600, "Duration in seconds.", "number")
_TIMES: dict[str, Schema] = {
    "poll_interval": number_schema(500, 1, 60_000, "As a task: poll interval in milliseconds."),
    "ttl": number_schema(300_000, 1, 86_400_000, "As a task: TTL in milliseconds."),
}


@dataclass(frozen=True)
class _TaskTool:
    name: str
    title: str
    description: str
    body: Body
    support: Support
    arguments: dict[str, Schema]
    needs_input: bool = False


_TASK_TOOLS: Sequence[_TaskTool] = (
    _TaskTool(
        "task_steps",
        "Task with steps",
        "Takes a while and reports progress; can run as a task.",
        _steps,
        "optional",
        {"seconds": _SECONDS, "steps": number_schema(10, 1, 10_000, "Number of steps.")},
    ),
    _TaskTool(
        "task_question",
        "Task with form elicitations",
        "Sends form elicitations while running; only runs as a task.",
        _question,
        "required",
        {"questions": number_schema(1, 1, 20, "Number of form elicitations, sent one after another.")},
        needs_input=True,
    ),
    _TaskTool(
        "task_failure",
        "Task that fails",
        "Fails after a while; can run as a task.",
        _failure,
        "optional",
        {
            "seconds": {**_SECONDS, "default": 1},
            "how": {
                "type": "string",
                "enum": ["tool error", "protocol error"],
                "default": "tool error",
                "description": "How the task fails.",
            },
        },
    ),
    _TaskTool(
        "task_endless",
        "Endless task",
        "TaskRuns until it is cancelled or its TTL expires; only runs as a task.",
        _endless,
        "required",
        {},
    ),
)
