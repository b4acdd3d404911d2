"""Tools that send several server requests: two at once, three in sequence, or endlessly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from inspector.demo.everything.client_requests import (
    PAST_TENSE,
    declared,
    form,
    is_stateless,
    request_tool,
    response_in,
    send,
    sign_state,
    supports_forms,
    undeclared,
    verify_state,
)
from inspector.demo.everything.resources import CITIES
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, text

_MAX_REQUESTS = 1000

_STEPS: tuple[tuple[str, str, Schema], ...] = (
    ("city", "Where do you want to go?", {"type": "string", "title": "City", "enum": sorted(CITIES)}),
    ("day", "When do you want to go?", {"type": "string", "title": "Day", "format": "date"}),
    ("seats", "For how many people?", {"type": "integer", "title": "Seats", "minimum": 1, "maximum": 9}),
)


def _object(**properties: Schema) -> Schema:
    """Build an object schema as elicitation defines it: without `additionalProperties`."""
    return {"type": "object", "properties": properties, "required": list(properties)}


_SECOND: Mapping[str, types.InputRequest] = {
    "form": form("Which color?", _object(color={"type": "string", "enum": ["red", "blue"]})),
    "sampling": types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=types.TextContent(text="Name a color."))],
            max_tokens=100,
        )
    ),
    "roots": types.ListRootsRequest(),
}
_RESULT_TYPES: Mapping[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


def round_trip_tools() -> list[DemoTool]:
    second = {
        "type": "string",
        "enum": list(_SECOND),
        "default": "sampling",
        "description": "Request sent together with the form.",
    }
    return [
        request_tool(
            "ask_twice",
            "Two server requests",
            "Sends two server requests at the same time.",
            _ask_twice,
            schema(second=second),
        ),
        request_tool(
            "book_trip",
            "Book a trip",
            "Sends three form elicitations, each after the reply to the previous one.",
            _book_trip,
        ),
        request_tool(
            "ask_forever",
            "Ask forever",
            "Sends one form elicitation after another until you decline or a limit is reached.",
            _ask_forever,
        ),
    ]


async def _ask_twice(call: Call) -> Outcome:
    """Send two requests at the same time; their replies may come in either order."""
    second = call.arguments["second"]
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    if second != "form" and getattr(declared(call), second) is None:
        return undeclared(second)
    name = form("What is your name?", _object(name={"type": "string", "title": "Name", "minLength": 1}))
    requests = {"name": name, "second": _SECOND[second]}
    if is_stateless(call):
        responses = call.params.input_responses or {}
        if responses.keys() != requests.keys():
            return types.InputRequiredResult(input_requests=requests)
        return text(*(f"{key}: {_as_json(responses[key])}" for key in requests))
    texts: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        for key, request in requests.items():
            group.start_soon(_collect, call, key, request, texts)
    return text(*(f"{key}: {texts[key]}" for key in requests))


async def _collect(call: Call, key: str, request: types.InputRequest, texts: dict[str, str]) -> None:
    try:
        texts[key] = _as_json(await send(call, request, _RESULT_TYPES[request.method]))
    except MCPError as error:  # the other request is still pending
        texts[key] = f"error {error.code}: {error.message}"


def _as_json(response: types.Result) -> str:
    members = response.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
    return json.dumps(members, ensure_ascii=False)


async def _book_trip(call: Call) -> Outcome:
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    return _book_by_rounds(call) if is_stateless(call) else await _book_by_requests(call)


async def _book_by_requests(call: Call) -> Outcome:
    booking: dict[str, Any] = {}
    for step, (name, message, field) in enumerate(_STEPS):
        requested = form(_step(step, message), _object(**{name: field}))
        response = await send(call, requested, types.ElicitResult)
        if response.action != "accept":
            return _not_booked(response.action, step)
        booking |= response.content or {}
    return _booked(booking)


def _book_by_rounds(call: Call) -> Outcome:
    """Book over several rounds.

    `requestState` carries the replies so far, because the server is stateless.
    """
    booking: dict[str, Any] = {}
    if call.params.input_responses is not None or call.params.request_state is not None:
        try:
            booking = verify_state(call.params.request_state)
        except ValueError as error:
            return failure(str(error))
        step = len(booking)
        response = response_in(call, _STEPS[step][0], types.ElicitResult)
        if response is not None and response.action != "accept":
            return _not_booked(response.action, step)
        if response is not None:
            name = _STEPS[step][0]
            booking[name] = (response.content or {}).get(name)
    if len(booking) == len(_STEPS):
        return _booked(booking)
    name, message, field = _STEPS[len(booking)]
    requested = form(_step(len(booking), message), _object(**{name: field}))
    return types.InputRequiredResult(input_requests={name: requested}, request_state=sign_state(booking))


def _step(step: int, message: str) -> str:
    return f"Step {step + 1} of {len(_STEPS)}: {message}"


def _booked(booking: Mapping[str, Any]) -> types.CallToolResult:
    return text("Booked:\n" + json.dumps(booking, ensure_ascii=False, indent=2))


def _not_booked(action: str, step: int) -> types.CallToolResult:
    return text(f"Nothing was booked: {PAST_TENSE[action]} at step {step + 1}.")


async def _ask_forever(call: Call) -> Outcome:
    if not supports_forms(call):
        return undeclared("elicitation (form)")
    if is_stateless(call):
        return _next_round(call)
    for number in range(1, _MAX_REQUESTS + 1):
        response = await send(call, _next_form(number), types.ElicitResult)
        if response.action != "accept":
            return _stopped(response.action, number)
    return failure(f"Stopped after {_MAX_REQUESTS} requests.")


def _next_round(call: Call) -> Outcome:
    number = 1
    if call.params.request_state is not None:
        try:
            number = verify_state(call.params.request_state) + 1
        except ValueError as error:
            return failure(str(error))
    response = response_in(call, "again", types.ElicitResult)
    if response is not None and response.action != "accept":
        return _stopped(response.action, number - 1)
    return types.InputRequiredResult(
        input_requests={"again": _next_form(number)}, request_state=sign_state(number)
    )


def _next_form(number: int) -> types.ElicitRequest:
    return form(f"Request {number}: send another one?", {"type": "object", "properties": {}})


def _stopped(action: str, number: int) -> types.CallToolResult:
    return text(f"Stopped by the user ({PAST_TENSE[action]}) at request {number}.")
