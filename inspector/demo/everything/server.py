"""Assembly of the server: identity, tools, resources, prompts, completion, logging, tasks."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

import inspector
from inspector.demo.everything import (
    argument_tools,
    behavior_tools,
    elicitation_tools,
    prompts,
    result_tools,
    round_trip_tools,
    sampling_tools,
    unusual_requests,
)
from inspector.demo.everything.client_requests import pass_raw_results
from inspector.demo.everything.prompts import complete
from inspector.demo.everything.resources import Resources, as_base64, png
from inspector.demo.everything.state import Background, State
from inspector.demo.everything.task_tools import TaskRunner, declare
from inspector.demo.toolbox import Context, Toolbox
from inspector.demo.wire import Wire

INSTRUCTIONS = (
    "A demo server. The args_* tools take every kind of argument, the return_* tools return every kind "
    "of result. sampling*, elicit_*, ask_*, book_trip, url_required and list_roots send server "
    "requests. slow reports progress and can be cancelled. The task_* tools run as tasks. crash exits "
    "the process: call it only to see a crash."
)


class _Server(Server[Any]):
    """Declares that the tool list can change; over HTTP the SDK offers no other place for that."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build(wire: Wire | None) -> Server[Any]:
    """Build the server.

    `wire` is the raw stdout, for the tool that has to be faster than the SDK.
    """
    state = State()
    resources = Resources(state)
    background = Background()
    runner = TaskRunner(state, background)
    toolbox = _toolbox(state, wire, background, runner)
    server = _Server(
        "everything",
        version=inspector.__version__,
        title="Everything",
        description="Demonstrates every feature of the protocol.",
        instructions=INSTRUCTIONS,
        icons=[
            types.Icon(
                src=f"data:image/png;base64,{as_base64(png())}", mime_type="image/png", sizes=["64x64"]
            )
        ],
        lifespan=background.running,
        on_list_tools=toolbox.list_tools,
        on_call_tool=runner.guarding(toolbox),
        on_list_resources=resources.list_resources,
        on_list_resource_templates=resources.list_templates,
        on_read_resource=resources.read,
        on_subscribe_resource=state.subscribe,
        on_unsubscribe_resource=state.unsubscribe,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get_prompt,
        on_completion=complete,
    )
    # Not `on_set_logging_level`: logging is deprecated in 2026-07-28 and that argument warns about it.
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, state.set_level)
    runner.register(server)
    server.middleware += [_declare_tasks, pass_raw_results]
    return server


async def _declare_tasks(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware that declares the tasks of 2025-11-25; the SDK has no place for that."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        declare(result["capabilities"], result["protocolVersion"])
    return result


def _toolbox(state: State, wire: Wire | None, background: Background, runner: TaskRunner) -> Toolbox:
    toolbox = Toolbox(
        [
            *argument_tools.argument_tools(),
            *result_tools.result_tools(),
            *behavior_tools.behavior_tools(),
            *behavior_tools.logging_tools(state, wire),
            *sampling_tools.sampling_tools(),
            *elicitation_tools.form_tools(),
            *elicitation_tools.url_tools(background),
            *round_trip_tools.round_trip_tools(),
            *unusual_requests.invalid_request_tools(),
            *unusual_requests.client_task_tools(),
            *runner.tools(),
        ]
    )
    for each in behavior_tools.changing_tools(state, toolbox):
        toolbox.toggle(each)
    return toolbox
