"""A question that the client is to run as a task of its own (2025-11-25): here the client does the work.

The client answers at once with a task; this server then polls it, and fetches its result.
"""

from __future__ import annotations

import json
from typing import Any

import anyio

from inspector.demo.everything.questions import asking_tool, declared, takes_forms, undeclared
from inspector.demo.everything.rawwire import request_raw
from inspector.demo.everything.tasks import core
from inspector.demo.toolbox import Call, DemoTool, Outcome, failure, schema, text

_LEAST_POLL = 0.05


async def _ask_as_task(call: Call) -> Outcome:
    if call.context.protocol_version != core.REVISION:
        return failure(f"Clients have tasks only in {core.REVISION}.")
    tasks = declared(call).tasks
    wanted = tasks.requests.elicitation if tasks is not None and tasks.requests is not None else None
    if wanted is None or wanted.create is None or not takes_forms(call):
        return undeclared("tasks (elicitation)")
    created = await _request(
        call, "elicitation/create", {**_question(), "task": {"ttl": call.arguments["ttl"]}}
    )
    task = created.get("task")
    if not isinstance(task, dict):
        return failure(f"The client made no task of it: {json.dumps(created, ensure_ascii=False)}")
    cancel_after = call.arguments["cancel_after"]
    with anyio.move_on_after(cancel_after or None) as limit:
        statuses = await _follow(call, task)
    if limit.cancelled_caught:
        cancelled = await _request(call, "tasks/cancel", {"taskId": task["taskId"]})
        return text(f"The task of the client was cancelled and is {cancelled.get('status')}.")
    result = await _request(call, "tasks/result", {"taskId": task["taskId"]})
    return text(f"{' → '.join(statuses)}: {json.dumps(result, ensure_ascii=False)}")


def _question() -> dict[str, Any]:
    field = {"type": "string", "title": "Answer"}
    return {
        "mode": "form",
        "message": "Take your time: this question is a task of yours.",
        "requestedSchema": {"type": "object", "properties": {"answer": field}},
    }


async def _follow(call: Call, task: dict[str, Any]) -> list[str]:
    """Poll at the interval the client requests until the task ends; return the statuses seen."""
    statuses = [str(task.get("status"))]
    while statuses[-1] not in ("completed", "failed", "cancelled"):
        await anyio.sleep(max(_LEAST_POLL, (task.get("pollInterval") or 1000) / 1000))
        task = await _request(call, "tasks/get", {"taskId": task["taskId"]})
        if task.get("status") != statuses[-1]:
            statuses.append(str(task.get("status")))
    return statuses


async def _request(call: Call, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return await request_raw(call.session, method, params, call.context.request_id)


def tools() -> list[DemoTool]:
    ttl = {
        "type": "integer",
        "default": 300_000,
        "minimum": 1,
        "maximum": 86_400_000,
        "description": "How long the client is to keep the task, in milliseconds.",
    }
    cancel_after = {
        "type": "number",
        "default": 0,
        "minimum": 0,
        "maximum": 3600,
        "description": "After how many seconds the task is cancelled; 0 waits.",
    }
    return [
        asking_tool(
            "ask_as_task",
            "Ask as a task",
            "Asks by a form that the client is to run as a task.",
            _ask_as_task,
            schema(ttl=ttl, cancel_after=cancel_after),
        )
    ]
