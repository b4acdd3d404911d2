"""Questions that a client must cope with: one that the server takes back, and ones that break the rules."""

from __future__ import annotations

import json
import time
from typing import Any

import anyio
import mcp_types as types

from inspector.demo.everything.questions import (
    answer_in,
    asking_tool,
    form,
    is_stateless,
    send,
    takes_forms,
    undeclared,
)
from inspector.demo.everything.rawwire import RawResult, request_raw
from inspector.demo.everything.sealing import seal, unseal
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, text

_CONFIRM: Schema = {"type": "object", "properties": {"sure": {"type": "boolean", "title": "Sure"}}}

# ------------------------------------------------------------------ taken back


async def _ask_and_withdraw(call: Call) -> Outcome:
    """Send a request and cancel it.

    In the stateless era nothing can be cancelled; a reply can only come too late.
    """
    if not takes_forms(call):
        return undeclared("elicitation (form)")
    seconds = call.arguments["seconds"]
    asked = form(f"Quick! This question is only open for {seconds:g} s.", _CONFIRM)
    if is_stateless(call):
        return _answer_before_deadline(call, asked, seconds)
    with anyio.move_on_after(seconds):  # the SDK sends notifications/cancelled
        answer = await send(call, asked, types.ElicitResult)
        return text(f"Answered in time: {answer.action}.")
    return text(f"The question was taken back after {seconds:g} s.")


def _answer_before_deadline(call: Call, asked: types.ElicitRequest, seconds: float) -> Outcome:
    answer = answer_in(call, "quick", types.ElicitResult)
    if answer is None:
        return types.InputRequiredResult(
            input_requests={"quick": asked}, request_state=seal(time.time() + seconds)
        )
    try:
        deadline = unseal(call.params.request_state)
    except ValueError as problem:
        return failure(str(problem))
    if time.time() > deadline:
        return text(f"The answer came too late: the question was open for {seconds:g} s.")
    return text(f"Answered in time: {answer.action}.")


# ------------------------------------------------------------------ malformed

_OBJECT: Schema = {"type": "object", "properties": {}}

_MALFORMED: dict[str, tuple[str, dict[str, Any]]] = {
    "no schema": ("elicitation/create", {"mode": "form", "message": "A form without fields?"}),
    "no message": ("elicitation/create", {"mode": "form", "requestedSchema": _OBJECT}),
    "schema is a text": (
        "elicitation/create",
        {"mode": "form", "message": "What is this?", "requestedSchema": "a name, please"},
    ),
    "unknown mode": ("elicitation/create", {"mode": "pigeon", "message": "Send a pigeon."}),
    "address of a file": (
        "elicitation/create",
        {"mode": "url", "message": "Open this.", "url": "file:///etc/passwd", "elicitationId": "pigeon-1"},
    ),
    "no messages": ("sampling/createMessage", {"maxTokens": 10}),
    "unknown method": ("elicitation/guess", {"message": "Guess what I want."}),
}


async def _ask_malformed(call: Call) -> Outcome:
    method, params = _MALFORMED[call.arguments["fault"]]
    if is_stateless(call):
        given = (call.params.input_responses or {}).get("odd")
        if given is None:
            raise RawResult(
                {
                    "resultType": "input_required",
                    "inputRequests": {"odd": {"method": method, "params": params}},
                }
            )
        answer = given.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
    else:
        answer = await request_raw(call.session, method, dict(params), call.context.request_id)
    return text("The client answered all the same:\n" + json.dumps(answer, ensure_ascii=False))


def tools() -> list[DemoTool]:
    seconds = {
        "type": "number",
        "default": 3,
        "minimum": 0.01,
        "maximum": 3600,
        "description": "How long the question is open.",
    }
    fault = {
        "type": "string",
        "enum": list(_MALFORMED),
        "default": "no schema",
        "description": "What is wrong with the question.",
    }
    return [
        asking_tool(
            "ask_and_withdraw",
            "Ask and withdraw",
            "Asks by a form and takes the question back after a moment.",
            _ask_and_withdraw,
            schema(seconds=seconds),
        ),
        asking_tool(
            "ask_malformed",
            "Ask malformed",
            "Asks in a way that breaks the rules.",
            _ask_malformed,
            schema(fault=fault),
        ),
    ]
