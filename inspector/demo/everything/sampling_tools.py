"""Tools that request sampling (also with tools) and roots, and tools with several requests.

The latter send two requests at once, three in sequence, or requests without end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from inspector.demo.everything.argument_tools import STRING
from inspector.demo.everything.client_requests import (
    ask,
    asking_tool,
    declared,
    decrypt,
    encrypt,
    form,
    is_stateless,
    response_in,
    send,
    takes_forms,
    undeclared,
)
from inspector.demo.everything.resources import CITIES
from inspector.demo.toolbox import Call, DemoTool, Outcome, Schema, failure, schema, text

_MAX_TURNS = 5
_KEY = "model"

_SampledAnswer = types.CreateMessageResult | types.CreateMessageResultWithTools


async def _sampling(call: Call) -> Outcome:
    if declared(call).sampling is None:
        return undeclared("sampling")
    prompt = types.TextContent(text=call.arguments["prompt"])
    params = types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=prompt)],
        max_tokens=call.arguments["max_tokens"],
        system_prompt="Answer in one sentence.",
        temperature=0.2,
        model_preferences=types.ModelPreferences(
            hints=[types.ModelHint(name="small")], speed_priority=0.9, intelligence_priority=0.3
        ),
    )
    response = await ask(call, types.CreateMessageRequest(params=params), types.CreateMessageResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    return _sampled_text(response.model, [response.content])


def _sampled_text(model: str, blocks: Sequence[Any]) -> types.CallToolResult:
    parts = [block.text if isinstance(block, types.TextContent) else f"({block.type})" for block in blocks]
    return text(f"{model} said: {' '.join(parts)}")


async def _sampling_tools(call: Call) -> Outcome:
    """Sample with tools.

    If the model calls `weather`, it is run here and the model is sampled again with its result.
    """
    sampling = declared(call).sampling
    if sampling is None or sampling.tools is None:
        return undeclared("sampling (tools)")
    return await (_turn_by_rounds(call) if is_stateless(call) else _turns_by_requests(call))


async def _turns_by_requests(call: Call) -> Outcome:
    messages = [_question(call)]
    for _ in range(_MAX_TURNS):
        response = await send(call, _with_tools(messages), types.CreateMessageResultWithTools)
        tool_uses = _tool_uses(response)
        if not tool_uses:
            return _sampled_text(response.model, response.content_as_list)
        messages += _replies(response, tool_uses)
    return _too_often()


async def _turn_by_rounds(call: Call) -> Outcome:
    """Sample in rounds; the conversation so far is carried in the requestState."""
    messages = [_question(call)]
    response = (call.params.input_responses or {}).get(_KEY)
    if isinstance(response, _SampledAnswer):
        try:
            messages = [
                types.SamplingMessage.model_validate(one) for one in decrypt(call.params.request_state)
            ]
        except ValueError as problem:
            return failure(str(problem))
        tool_uses = _tool_uses(response)
        if not tool_uses:
            return _sampled_text(response.model, _blocks(response))
        messages += _replies(response, tool_uses)
    if len(messages) > 2 * _MAX_TURNS:
        return _too_often()
    state = encrypt(
        [message.model_dump(by_alias=True, mode="json", exclude_none=True) for message in messages]
    )
    return types.InputRequiredResult(input_requests={_KEY: _with_tools(messages)}, request_state=state)


def _question(call: Call) -> types.SamplingMessage:
    return types.SamplingMessage(role="user", content=types.TextContent(text=call.arguments["prompt"]))


def _with_tools(messages: list[types.SamplingMessage]) -> types.CreateMessageRequest:
    city = {"type": "string", "enum": sorted(CITIES)}
    weather = types.Tool(
        name="weather",
        description="The temperature in a city, in degrees Celsius.",
        input_schema={"type": "object", "properties": {"city": city}, "required": ["city"]},
    )
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=messages,
            max_tokens=500,
            system_prompt="Use the available tools to look things up.",
            tools=[weather],
            tool_choice=types.ToolChoice(mode="auto"),
        )
    )


def _blocks(response: _SampledAnswer) -> list[Any]:
    return response.content if isinstance(response.content, list) else [response.content]


def _tool_uses(response: _SampledAnswer) -> list[types.ToolUseContent]:
    return [block for block in _blocks(response) if isinstance(block, types.ToolUseContent)]


def _replies(response: _SampledAnswer, tool_uses: list[types.ToolUseContent]) -> list[types.SamplingMessage]:
    """Return the model's message, and one with only tool results, as the specification requires."""
    return [
        types.SamplingMessage(role="assistant", content=_blocks(response)),
        types.SamplingMessage(role="user", content=[_run(tool_use) for tool_use in tool_uses]),
    ]


def _run(tool_use: types.ToolUseContent) -> types.ToolResultContent:
    city = str(tool_use.input.get("city"))
    if tool_use.name == "weather" and city in CITIES:
        parts = json.dumps({"city": city, "temperature": CITIES[city]["temperature"]}, ensure_ascii=False)
        return types.ToolResultContent(tool_use_id=tool_use.id, content=[types.TextContent(text=parts)])
    parts = (
        f"Unknown tool: {tool_use.name!r}."
        if tool_use.name != "weather"
        else f"No weather data for {city!r}."
    )
    return types.ToolResultContent(
        tool_use_id=tool_use.id, content=[types.TextContent(text=parts)], is_error=True
    )


def _too_often() -> types.CallToolResult:
    return failure(f"The model called tools in {_MAX_TURNS} turns without a final response.")


async def _list_roots(call: Call) -> Outcome:
    if declared(call).roots is None:
        return undeclared("roots")
    response = await ask(call, types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    lines = [f"{root.uri}  {root.name or ''}".rstrip() for root in response.roots]
    return text("\n".join(lines) or "The client has no roots.")


def sampling_tools() -> list[DemoTool]:
    prompt = {**STRING, "default": "Name a color.", "description": "Prompt for the model."}
    weather = {**prompt, "default": "Is it warmer in Lima or in Oslo?"}
    limit = {"type": "integer", "default": 200, "minimum": 1, "maximum": 100_000}
    return [
        asking_tool(
            "sampling",
            "Sampling",
            "Sends a sampling request to the client.",
            _sampling,
            schema(prompt=prompt, max_tokens=limit),
        ),
        asking_tool(
            "sampling_tools",
            "Sampling with tools",
            "Sends a sampling request with a tool that the model can call.",
            _sampling_tools,
            schema(prompt=weather),
        ),
        asking_tool("list_roots", "List roots", "Requests the client's roots.", _list_roots),
    ]


_MAX_REQUESTS = 1000


def _object(**properties: Schema) -> Schema:
    """Build an object schema as elicitation defines it: without `additionalProperties`."""
    return {"type": "object", "properties": properties, "required": list(properties)}


async def _ask_twice(call: Call) -> Outcome:
    """Send two requests at the same time; they may be answered in either order."""
    second = call.arguments["second"]
    if not takes_forms(call):
        return undeclared("elicitation (form)")
    if second != "form" and getattr(declared(call), second) is None:
        return undeclared(second)
    name = form("What is your name?", _object(name={"type": "string", "title": "Name", "minLength": 1}))
    requests = {"name": name, "second": _SECOND[second]}
    if is_stateless(call):
        given = call.params.input_responses or {}
        if given.keys() != requests.keys():
            return types.InputRequiredResult(input_requests=requests)
        return text(*(f"{key}: {_shown(given[key])}" for key in requests))
    responses: dict[str, str] = {}
    async with anyio.create_task_group() as group:
        for key, request in requests.items():
            group.start_soon(_collect, call, key, request, responses)
    return text(*(f"{key}: {responses[key]}" for key in requests))


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
_ANSWER_TYPES: Mapping[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


async def _collect(call: Call, key: str, request: types.InputRequest, responses: dict[str, str]) -> None:
    try:
        responses[key] = _shown(await send(call, request, _ANSWER_TYPES[request.method]))
    except MCPError as refusal:  # the other request is still pending
        responses[key] = f"error {refusal.code}: {refusal.message}"


def _shown(response: types.Result) -> str:
    members = response.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"result_type"})
    return json.dumps(members, ensure_ascii=False)


_STEPS: tuple[tuple[str, str, Schema], ...] = (
    ("city", "Where do you want to go?", {"type": "string", "title": "City", "enum": sorted(CITIES)}),
    ("day", "When do you want to go?", {"type": "string", "title": "Day", "format": "date"}),
    ("seats", "For how many people?", {"type": "integer", "title": "Seats", "minimum": 1, "maximum": 9}),
)


async def _book_trip(call: Call) -> Outcome:
    if not takes_forms(call):
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
    """Book in rounds.

    The answers so far are carried in the requestState: the server is stateless.
    """
    booking: dict[str, Any] = {}
    if call.params.input_responses is not None or call.params.request_state is not None:
        try:
            booking = decrypt(call.params.request_state)
        except ValueError as problem:
            return failure(str(problem))
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
    return types.InputRequiredResult(input_requests={name: requested}, request_state=encrypt(booking))


def _step(step: int, message: str) -> str:
    return f"Step {step + 1} of {len(_STEPS)}: {message}"


def _booked(booking: Mapping[str, Any]) -> types.CallToolResult:
    return text("Booked:\n" + json.dumps(booking, ensure_ascii=False, indent=2))


def _not_booked(action: str, step: int) -> types.CallToolResult:
    return text(f"Nothing was booked: {action} at step {step + 1}.")


async def _ask_forever(call: Call) -> Outcome:
    if not takes_forms(call):
        return undeclared("elicitation (form)")
    if is_stateless(call):
        return _next_round(call)
    for number in range(1, _MAX_REQUESTS + 1):
        response = await send(call, _again(number), types.ElicitResult)
        if response.action != "accept":
            return _enough(response.action, number)
    return failure(f"Stopped after {_MAX_REQUESTS} requests.")


def _next_round(call: Call) -> Outcome:
    number = 1
    if call.params.request_state is not None:
        try:
            number = decrypt(call.params.request_state) + 1
        except ValueError as problem:
            return failure(str(problem))
    response = response_in(call, "again", types.ElicitResult)
    if response is not None and response.action != "accept":
        return _enough(response.action, number - 1)
    return types.InputRequiredResult(input_requests={"again": _again(number)}, request_state=encrypt(number))


def _again(number: int) -> types.ElicitRequest:
    return form(f"Question {number}: may I ask another one?", {"type": "object", "properties": {}})


def _enough(action: str, number: int) -> types.CallToolResult:
    return text(f"Stopped by the user ({action}) at question {number}.")


def round_trip_tools() -> list[DemoTool]:
    second = {
        "type": "string",
        "enum": list(_SECOND),
        "default": "sampling",
        "description": "Request sent together with the form.",
    }
    return [
        asking_tool(
            "ask_twice",
            "Two server requests",
            "Sends two server requests at the same time.",
            _ask_twice,
            schema(second=second),
        ),
        asking_tool(
            "book_trip",
            "Book a trip",
            "Sends three form elicitations, each after the response to the previous one.",
            _book_trip,
        ),
        asking_tool(
            "ask_forever",
            "Ask forever",
            "Sends one form elicitation after another until you decline or a limit is reached.",
            _ask_forever,
        ),
    ]
