"""Puts the server together: identity, tools, resources, prompts, completion, subscriptions, logging."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

import inspector
from inspector.demo.everything import (
    arguments,
    asking,
    behaviour,
    clienttasks,
    forms,
    logs,
    oddquestions,
    pages,
    prompts,
    results,
    rounds,
)
from inspector.demo.everything.background import Background
from inspector.demo.everything.completion import complete
from inspector.demo.everything.media import as_base64, png
from inspector.demo.everything.rawwire import let_raw_results_out
from inspector.demo.everything.resources import Resources
from inspector.demo.everything.state import State
from inspector.demo.everything.tasks.tools import TaskDesk, declare
from inspector.demo.toolbox import Context, Toolbox
from inspector.demo.wire import Wire

INSTRUCTIONS = (
    "A demonstration server. The tools args_* take every kind of argument, return_* give every kind of "
    "result; sampling*, elicit_*, ask_*, book_trip, url_required and list_roots ask you back. slow reports "
    "progress and can be cancelled; task_* run as tasks. crash ends the process: do not call it unless that "
    "is what you want to see."
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
    desk = TaskDesk(state, background)
    toolbox = _toolbox(state, wire, background, desk)
    server = _Server(
        "everything",
        version=inspector.__version__,
        title="Everything",
        description="Shows every feature of the protocol once.",
        instructions=INSTRUCTIONS,
        icons=[
            types.Icon(
                src=f"data:image/png;base64,{as_base64(png())}", mime_type="image/png", sizes=["64x64"]
            )
        ],
        lifespan=background.running,
        on_list_tools=toolbox.list_tools,
        on_call_tool=desk.guarding(toolbox),
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
    desk.register(server)
    server.middleware += [_declare_tasks, let_raw_results_out]
    return server


async def _declare_tasks(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware that declares the tasks of 2025-11-25; the SDK has no place for that."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and isinstance(result, dict):
        declare(result["capabilities"], result["protocolVersion"])
    return result


def _toolbox(state: State, wire: Wire | None, background: Background, desk: TaskDesk) -> Toolbox:
    toolbox = Toolbox(
        [
            *arguments.tools(),
            *results.tools(),
            *behaviour.tools(),
            *logs.tools(state, wire),
            *asking.tools(),
            *forms.tools(),
            *pages.tools(background),
            *rounds.tools(),
            *oddquestions.tools(),
            *clienttasks.tools(),
            *desk.tools(),
        ]
    )
    for changing in behaviour.changing_tools(state, toolbox):
        toolbox.toggle(changing)
    return toolbox
