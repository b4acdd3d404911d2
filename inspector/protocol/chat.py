"""Sampling as the "chat completions" of OpenAI-compatible services, and what they say as sampling.

Only the conversion: bodies in, bodies out. ValueError, with a reason in words, for what the other side has no
room for. Roles and messages go over in order; results of tools become messages of their own, with what a tool
message cannot carry (pictures, sounds) in a user message behind them.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, to_wire
from inspector.protocol.blocks import TOOL_RESULT, TOOL_USE, kind_of
from inspector.protocol.members import object_of, shown, text_of
from inspector.protocol.replies import END_TURN, MAX_TOKENS, STOP_FOR_TOOL, sampled, text_block
from inspector.protocol.sampling import ASSISTANT, SamplingAsked, SamplingMessage
from inspector.protocol.types import Tool

_SOUNDS = {"wav": "wav", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "mpeg": "mp3", "mp3": "mp3"}
_STOP_REASONS = {
    "stop": END_TURN,
    "length": MAX_TOKENS,
    "tool_calls": STOP_FOR_TOOL,
    "function_call": STOP_FOR_TOOL,
}


def chat_request(asked: SamplingAsked, model: str, extra: JSONObject | None = None) -> JSONObject:
    """Return the body to post. `extra` is merged into it; null removes a member.

    Without a model, the server's first preference is requested. Raises ValueError.
    """
    wanted = model or next(iter(asked.preferences.hints), "")
    body: JSONObject = {"model": wanted or None, "messages": list(_messages(asked))}
    body["max_tokens"] = asked.max_tokens
    body["temperature"] = asked.temperature
    body["stop"] = list(asked.stop_sequences) or None
    if asked.tools:
        body["tools"] = [_tool(tool) for tool in asked.tools]
        body["tool_choice"] = asked.tool_choice or None
    body |= extra or {}
    body.pop("stream", None)  # the response is read as a whole
    if not body["model"]:
        raise ValueError("there is no model: the rule names none, and the server would take any")
    return {name: value for name, value in body.items() if value is not None}


def _messages(asked: SamplingAsked) -> Iterator[JSONObject]:
    if asked.system_prompt:
        yield {"role": "system", "content": asked.system_prompt}
    for number, message in enumerate(asked.messages, 1):
        try:
            yield from _message(message)
        except ValueError as exc:
            raise ValueError(f"message {number:,} {exc}") from None


def _message(message: SamplingMessage) -> Iterator[JSONObject]:
    parts: list[JSON] = []
    calls: list[JSON] = []
    for block in message.blocks:
        kind = kind_of(block)
        if kind == TOOL_USE:
            calls.append(_call(block))
        elif kind == TOOL_RESULT:
            text, others = _tool_result(block)
            yield {"role": "tool", "tool_call_id": text_of(block, "toolUseId"), "content": text}
            parts += others
        else:
            parts.append(_part(block))
    if parts or calls or not message.blocks:
        nothing = None if calls else ""
        said: JSONObject = {"role": message.role, "content": _content(parts) if parts else nothing}
        yield {**said, "tool_calls": calls} if calls else said


def _content(parts: list[JSON]) -> JSON:
    """Send a single text as a string: simple services support nothing else."""
    only = parts[0]
    is_text = len(parts) == 1 and isinstance(only, dict) and only.get("type") == "text"
    return only["text"] if is_text and isinstance(only, dict) else parts


def _part(block: JSONObject) -> JSONObject:
    kind, data, mime = kind_of(block), text_of(block, "data"), text_of(block, "mimeType")
    if kind == "text":
        return {"type": "text", "text": text_of(block, "text")}
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
    if kind == "audio":
        subtype = mime.partition("/")[2].partition(";")[0].strip().lower()
        return {
            "type": "input_audio",
            "input_audio": {"data": data, "format": _SOUNDS.get(subtype, subtype)},
        }
    raise ValueError(f"holds content of the type {shown(kind)}, which a chat has no room for")


def _call(block: JSONObject) -> JSONObject:
    arguments = to_wire(object_of(block, "input") or {}).decode()
    function: JSONObject = {"name": text_of(block, "name"), "arguments": arguments}
    return {"id": text_of(block, "id"), "type": "function", "function": function}


def _tool_result(block: JSONObject) -> tuple[str, list[JSON]]:
    """Return its text, and the parts that a tool message cannot carry."""
    texts, others = [], []
    content = block.get("content")
    for item in content if isinstance(content, list) else []:
        if not isinstance(item, dict):
            continue
        kind = kind_of(item)
        if kind in ("image", "audio"):
            others.append(_part(item))
        elif kind == "text":
            texts.append(text_of(item, "text"))
        else:  # a resource or link: models can read its JSON
            texts.append(to_wire(item).decode())
    if not texts and "structuredContent" in block:
        texts.append(to_wire(block["structuredContent"]).decode())
    words = "\n".join(texts)
    return (f"Error: {words}" if block.get("isError") is True else words), list(others)


def _tool(tool: Tool) -> JSONObject:
    function: JSONObject = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


# ------------------------------------------------------------------ the answer


def read_chat_answer(body: JSON, model: str = "") -> JSONObject:
    """Return the result for `sampling/createMessage`. `model` is used if none is named.

    Raises ValueError.
    """
    if not isinstance(body, dict):
        raise ValueError("it is no object")
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = object_of(first, "message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or message is None:
        raise ValueError("it has no message in “choices”")
    blocks = [*_texts(message), *_uses(message)]
    if not blocks:
        raise ValueError("its message holds neither a text nor a use of a tool")
    is_use = any(kind_of(block) == TOOL_USE for block in blocks)
    reason = text_of(first, "finish_reason")
    stop = STOP_FOR_TOOL if is_use else _STOP_REASONS.get(reason, reason)
    return sampled(ASSISTANT, blocks, text_of(body, "model") or model, stop)


def _texts(message: JSONObject) -> Iterator[JSONObject]:
    """Yield the text, including a refusal. An empty text counts only if there is nothing else."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for part in parts:
        text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
        if isinstance(text, str) and (text or not message.get("tool_calls")):
            yield text_block(text)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        yield text_block(refusal)


def _uses(message: JSONObject) -> Iterator[JSONObject]:
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else [], 1):
        function = object_of(call, "function") if isinstance(call, dict) else None
        name = text_of(function, "name") if function is not None else ""
        if not isinstance(call, dict) or function is None or not name:
            raise ValueError(f"its use {number:,} of a tool names none")
        id = text_of(call, "id") or f"call_{number}"
        yield {"type": TOOL_USE, "id": id, "name": name, "input": _arguments(name, function)}


def _arguments(name: str, function: JSONObject) -> JSONObject:
    """Parse arguments: JSON text; some services send the object itself."""
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments) if arguments.strip() else {}
        except JSONProblem as exc:
            raise ValueError(f"its arguments for the tool {shown(name)} are not JSON: {exc}") from exc
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError(f"its arguments for the tool {shown(name)} are no object")
    return arguments
