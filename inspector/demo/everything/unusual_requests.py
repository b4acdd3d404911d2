"""Unusual server requests: run as a client-side task, cancelled, or invalid.

Client-side tasks (2025-11-25): the client responds immediately with a task, which this server polls until
it can fetch the result.
"""

from __future__ import annotations

import json
import time
from typing import Any

import anyio
import mcp_types as types

from inspector.demo.everything import task_designs
from inspector.demo.everything.client_requests import (
    RawResult,
    declared,
    form,
    is_stateless,
    request_raw,
    request_tool,
    response_in,
    send,
    sign_state,
    supports_forms,
    undeclared,
    verify_state,
)
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, text

_MIN_POLL = 0.05


async def _ask_as_task(call: Call) -> Outcome:
    if call.context.protocol_version != task_designs.REVISION:
        return failure(f"Client tasks exist only in protocol version {task_designs.REVISION}.")
    tasks = declared(call).tasks
    support = tasks.requests.elicitation if tasks is not None and tasks.requests is not None else None
    if support is None or support.create is None or not supports_forms(call):
        return undeclared("tasks (elicitation)")
    created = await _request(
        call, "elicitation/create", {**_question(), "task": {"ttl": call.arguments["ttl"]}}
    )
    task = created.get("task")
    if not isinstance(task, dict):
        return failure(f"The client did not create a task: {json.dumps(created, ensure_ascii=False)}")
    cancel_after = call.arguments["cancel_after"]
    with anyio.move_on_after(cancel_after or None) as limit:
        statuses = await _follow(call, task)
    if limit.cancelled_caught:
        cancelled = await _request(call, "tasks/cancel", {"taskId": task["taskId"]})
        return text(f"The server cancelled the client's task. Its status is {cancelled.get('status')}.")
    result = await _request(call, "tasks/result", {"taskId": task["taskId"]})
    return text(f"{' → '.join(statuses)}: {json.dumps(result, ensure_ascii=False)}")


def _question() -> dict[str, Any]:
    field = {"type": "string", "title": "Answer"}
    return {
        "mode": "form",
        "message": "Take your time: this request runs as a task in your client.",
        "requestedSchema": {"type": "object", "properties": {"answer": field}},
    }


async def _follow(call: Call, task: dict[str, Any]) -> list[str]:
    """Poll at the interval the client requests until the task ends; return the statuses seen."""
    statuses = [str(task.get("status"))]
    while statuses[-1] not in ("completed", "failed", "cancelled"):
        await anyio.sleep(max(_MIN_POLL, (task.get("pollInterval") or 1000) / 1000))
        task = await _request(call, "tasks/get", {"taskId": task["taskId"]})
        if task.get("status") != statuses[-1]:
            statuses.append(str(task.get("status")))
    return statuses


async def _request(call: Call, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return await request_raw(call.session, method, params, call.context.request_id)


def client_task_tools() -> list[DemoTool]:
    ttl = {
        "type": "integer",
        "default": 300_000,
        "minimum": 1,
        "maximum": 86_400_000,
        "description": "Requested TTL of the client's task, in milliseconds.",
    }
    cancel_after = {
        "type": "number",
        "default": 0,
        "minimum": 0,
        "maximum": 3600,
        "description": "Seconds after which the server cancels the task; 0 waits for the result.",
    }
    return [
        request_tool(
            "ask_as_task",
            "Elicit as a task",
            "Sends a form elicitation that the client should run as a task.",
            _ask_as_task,
            schema(ttl=ttl, cancel_after=cancel_after),
        )
    ]


_CONFIRM: Schema = {"type": "object", "properties": {"sure": {"type": "boolean", "title": "Sure"}}}


async def _ask_and_withdraw(call: Call) -> Outcome:
    """Send a request and cancel it.

    In the stateless era nothing can be cancelled; a reply can only come too late.
    """
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    seconds = call.arguments["seconds"]
    requested = form(f"Quick! This request expires in {seconds:g} s.", _CONFIRM)
    if is_stateless(call):
        return _answer_before_deadline(call, requested, seconds)
    with anyio.move_on_after(seconds):  # the SDK sends notifications/cancelled
        response = await send(call, requested, types.ElicitResult)
        return text(f"The response came in time: {response.action}.")
    return text(f"The request was cancelled after {seconds:g} s.")


def _answer_before_deadline(call: Call, requested: types.ElicitRequest, seconds: float) -> Outcome:
    response = response_in(call, "quick", types.ElicitResult)
    if response is None:
        return types.InputRequiredResult(
            input_requests={"quick": requested}, request_state=sign_state(time.time() + seconds)
        )
    try:
        deadline = verify_state(call.params.request_state)
    except ValueError as error:
        return failure(str(error))
    if time.time() > deadline:
        return text(f"The response came too late: the request expired after {seconds:g} s.")
    return text(f"The response came in time: {response.action}.")


_OBJECT: Schema = {"type": "object", "properties": {}}

_MALFORMED: dict[str, tuple[str, dict[str, Any]]] = {
    "no schema": ("elicitation/create", {"mode": "form", "message": "A form without fields?"}),
    "no message": ("elicitation/create", {"mode": "form", "requestedSchema": _OBJECT}),
    "schema is a string": (
        "elicitation/create",
        {"mode": "form", "message": "What is this?", "requestedSchema": "a name, please"},
    ),
    "unknown mode": ("elicitation/create", {"mode": "pigeon", "message": "Send a pigeon."}),
    "file URL": (
        "elicitation/create",
        {"mode": "url", "message": "Open this.", "url": "file:///etc/passwd", "elicitationId": "pigeon-1"},
    ),
    "no messages": ("sampling/createMessage", {"maxTokens": 10}),
    "unknown method": ("elicitation/guess", {"message": "Guess what I want."}),
}


async def _ask_malformed(call: Call) -> Outcome:
    method, params = _MALFORMED[call.arguments["fault"]]
    if is_stateless(call):
        reply = (call.params.input_responses or {}).get("odd")
        if reply is None:
            raise RawResult(
                {
                    "resultType": "input_required",
                    "inputRequests": {"odd": {"method": method, "params": params}},
                }
            )
        response = reply.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
    else:
        response = await request_raw(call.session, method, dict(params), call.context.request_id)
    return text("The client responded anyway:\n" + json.dumps(response, ensure_ascii=False))


def invalid_request_tools() -> list[DemoTool]:
    seconds = {
        "type": "number",
        "default": 3,
        "minimum": 0.01,
        "maximum": 3600,
        "description": "Seconds until the request expires.",
    }
    fault = {
        "type": "string",
        "enum": list(_MALFORMED),
        "default": "no schema",
        "description": "What is wrong with the request.",
    }
    return [
        request_tool(
            "ask_and_withdraw",
            "Elicit and cancel",
            "Sends a form elicitation and cancels it after a moment.",
            _ask_and_withdraw,
            schema(seconds=seconds),
        ),
        request_tool(
            "ask_malformed",
            "Malformed server request",
            "Sends a server request that violates the protocol.",
            _ask_malformed,
            schema(fault=fault),
        ),
    ]
