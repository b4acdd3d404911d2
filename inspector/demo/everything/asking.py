"""Tools that ask for what the client has: its model (sampling), also with tools to use, and its roots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from inspector.demo.everything.arguments import STRING
from inspector.demo.everything.places import CITIES
from inspector.demo.everything.questions import (
    ask,
    asking_tool,
    declared,
    is_stateless,
    send,
    undeclared,
)
from inspector.demo.everything.sealing import seal, unseal
from inspector.demo.toolbox import Call, DemoTool, Outcome, failure, schema, text

_MOST_TURNS = 5
_KEY = "model"

_SampledAnswer = types.CreateMessageResult | types.CreateMessageResultWithTools


async def _sampling(call: Call) -> Outcome:
    if declared(call).sampling is None:
        return undeclared("sampling")
    prompt = types.TextContent(text=call.arguments["prompt"])
    params = types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=prompt)],
        max_tokens=call.arguments["max_tokens"],
        system_prompt="You answer in one sentence.",
        temperature=0.2,
        model_preferences=types.ModelPreferences(
            hints=[types.ModelHint(name="small")], speed_priority=0.9, intelligence_priority=0.3
        ),
    )
    answer = await ask(call, types.CreateMessageRequest(params=params), types.CreateMessageResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return _said(answer.model, [answer.content])


def _said(model: str, blocks: Sequence[Any]) -> types.CallToolResult:
    words = [block.text if isinstance(block, types.TextContent) else f"({block.type})" for block in blocks]
    return text(f"{model} said: {' '.join(words)}")


# ------------------------------------------------------------------ with tools in the question


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
    for _ in range(_MOST_TURNS):
        answer = await send(call, _with_tools(messages), types.CreateMessageResultWithTools)
        wishes = _tool_uses(answer)
        if not wishes:
            return _said(answer.model, answer.content_as_list)
        messages += _replies(answer, wishes)
    return _too_often()


async def _turn_by_rounds(call: Call) -> Outcome:
    """Sample in rounds; the conversation so far is carried in the requestState."""
    messages = [_question(call)]
    answer = (call.params.input_responses or {}).get(_KEY)
    if isinstance(answer, _SampledAnswer):
        try:
            messages = [
                types.SamplingMessage.model_validate(one) for one in unseal(call.params.request_state)
            ]
        except ValueError as problem:
            return failure(str(problem))
        wishes = _tool_uses(answer)
        if not wishes:
            return _said(answer.model, _blocks(answer))
        messages += _replies(answer, wishes)
    if len(messages) > 2 * _MOST_TURNS:
        return _too_often()
    state = seal([message.model_dump(by_alias=True, mode="json", exclude_none=True) for message in messages])
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
            system_prompt="You look things up with the tools that you are given.",
            tools=[weather],
            tool_choice=types.ToolChoice(mode="auto"),
        )
    )


def _blocks(answer: _SampledAnswer) -> list[Any]:
    return answer.content if isinstance(answer.content, list) else [answer.content]


def _tool_uses(answer: _SampledAnswer) -> list[types.ToolUseContent]:
    return [block for block in _blocks(answer) if isinstance(block, types.ToolUseContent)]


def _replies(answer: _SampledAnswer, wishes: list[types.ToolUseContent]) -> list[types.SamplingMessage]:
    """Return the model's message, and one with only tool results, as the specification requires."""
    return [
        types.SamplingMessage(role="assistant", content=_blocks(answer)),
        types.SamplingMessage(role="user", content=[_run(wish) for wish in wishes]),
    ]


def _run(wish: types.ToolUseContent) -> types.ToolResultContent:
    city = str(wish.input.get("city"))
    if wish.name == "weather" and city in CITIES:
        words = json.dumps({"city": city, "temperature": CITIES[city]["temperature"]}, ensure_ascii=False)
        return types.ToolResultContent(tool_use_id=wish.id, content=[types.TextContent(text=words)])
    words = f"There is no tool {wish.name!r}." if wish.name != "weather" else f"No weather for {city!r}."
    return types.ToolResultContent(
        tool_use_id=wish.id, content=[types.TextContent(text=words)], is_error=True
    )


def _too_often() -> types.CallToolResult:
    return failure(f"The model called tools {_MOST_TURNS} times and has not answered yet.")


# ------------------------------------------------------------------ roots


async def _list_roots(call: Call) -> Outcome:
    if declared(call).roots is None:
        return undeclared("roots")
    answer = await ask(call, types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    lines = [f"{root.uri}  {root.name or ''}".rstrip() for root in answer.roots]
    return text("\n".join(lines) or "The client has no roots.")


def tools() -> list[DemoTool]:
    prompt = {**STRING, "default": "Name a colour.", "description": "What the model is asked."}
    weather = {**prompt, "default": "Is it warmer in Lima or in Oslo?"}
    limit = {"type": "integer", "default": 200, "minimum": 1, "maximum": 100_000}
    return [
        asking_tool(
            "sampling",
            "Sampling",
            "Asks the client's model.",
            _sampling,
            schema(prompt=prompt, max_tokens=limit),
        ),
        asking_tool(
            "sampling_tools",
            "Sampling with tools",
            "Asks the client's model, which may call a tool to find the answer.",
            _sampling_tools,
            schema(prompt=weather),
        ),
        asking_tool("list_roots", "List roots", "Asks the client for its roots.", _list_roots),
    ]
