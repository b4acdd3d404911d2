"""Tools that request sampling, with and without tools, and roots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from inspector.demo.everything.argument_tools import STRING
from inspector.demo.everything.client_requests import (
    ask,
    declared,
    is_stateless,
    request_tool,
    send,
    sign_state,
    undeclared,
    verify_state,
)
from inspector.demo.everything.resources import CITIES
from inspector.demo.toolbox import Call, DemoTool, Outcome, failure, schema, text

_MAX_TURNS = 5
_REQUEST_KEY = "model"

_SampledMessage = types.CreateMessageResult | types.CreateMessageResultWithTools


def sampling_tools() -> list[DemoTool]:
    prompt = {**STRING, "default": "Name a color.", "description": "Prompt for the model."}
    weather = {**prompt, "default": "Is it warmer in Lima or in Oslo?"}
    limit = {"type": "integer", "default": 200, "minimum": 1, "maximum": 100_000}
    return [
        request_tool(
            "sampling",
            "Sampling",
            "Sends a sampling request to the client.",
            _sampling,
            schema(prompt=prompt, max_tokens=limit),
        ),
        request_tool(
            "sampling_tools",
            "Sampling with tools",
            "Sends a sampling request with a tool that the model can call.",
            _sampling_tools,
            schema(prompt=weather),
        ),
        request_tool("list_roots", "List roots", "Requests the client's roots.", _list_roots),
    ]


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
    return await (_sample_by_rounds(call) if is_stateless(call) else _sample_by_requests(call))


async def _sample_by_requests(call: Call) -> Outcome:
    messages = [_question(call)]
    for _ in range(_MAX_TURNS):
        response = await send(call, _with_tools(messages), types.CreateMessageResultWithTools)
        tool_uses = _tool_uses(response)
        if not tool_uses:
            return _sampled_text(response.model, response.content_as_list)
        messages += _replies(response, tool_uses)
    return _too_many_turns()


async def _sample_by_rounds(call: Call) -> Outcome:
    """Sample in rounds; the conversation so far is carried in the requestState."""
    messages = [_question(call)]
    response = (call.params.input_responses or {}).get(_REQUEST_KEY)
    if isinstance(response, _SampledMessage):
        try:
            messages = [
                types.SamplingMessage.model_validate(message)
                for message in verify_state(call.params.request_state)
            ]
        except ValueError as error:
            return failure(str(error))
        tool_uses = _tool_uses(response)
        if not tool_uses:
            return _sampled_text(response.model, _blocks(response))
        messages += _replies(response, tool_uses)
    if len(messages) > 2 * _MAX_TURNS:
        return _too_many_turns()
    state = sign_state(
        [message.model_dump(by_alias=True, mode="json", exclude_none=True) for message in messages]
    )
    return types.InputRequiredResult(
        input_requests={_REQUEST_KEY: _with_tools(messages)}, request_state=state
    )


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


def _blocks(response: _SampledMessage) -> list[Any]:
    return response.content if isinstance(response.content, list) else [response.content]


def _tool_uses(response: _SampledMessage) -> list[types.ToolUseContent]:
    return [block for block in _blocks(response) if isinstance(block, types.ToolUseContent)]


def _replies(response: _SampledMessage, tool_uses: list[types.ToolUseContent]) -> list[types.SamplingMessage]:
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


def _too_many_turns() -> types.CallToolResult:
    return failure(f"The model called tools in {_MAX_TURNS} turns without a final response.")


async def _list_roots(call: Call) -> Outcome:
    if declared(call).roots is None:
        return undeclared("roots")
    response = await ask(call, types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(response, types.InputRequiredResult):
        return response
    lines = [f"{root.uri}  {root.name or ''}".rstrip() for root in response.roots]
    return text("\n".join(lines) or "The client has no roots.")
