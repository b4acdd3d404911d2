"""Sampling through an OpenAI-compatible chat completions endpoint.

The user chose the endpoint, but the server wrote the request: responses are bounded in time and size,
redirects are not followed (the key would be sent along), and errors never contain the key.

The conversion is bodies in, bodies out, and raises ValueError with a reason for what the other format
cannot express. Roles and messages keep their order. Tool results become separate messages; what a tool
message cannot carry (images, audio) follows in a user message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import (
    JSON,
    JSONError,
    JSONObject,
    object_of,
    parse,
    quote_value,
    shorten,
    text_of,
    to_wire,
)
from inspector.base.plain_text import one_line
from inspector.base.redaction import MASK
from inspector.base.web_link import read_link
from inspector.config.reply_rules import Endpoint
from inspector.protocol.server_requests.replies import (
    END_TURN,
    MAX_TOKENS,
    STOP_FOR_TOOL,
    sampling_reply,
    text_block,
)
from inspector.protocol.server_requests.sampling import (
    ASSISTANT,
    TOOL_RESULT,
    TOOL_USE,
    SamplingMessage,
    SamplingRequest,
    kind_of,
)
from inspector.protocol.types import Tool
from inspector.transport.base import Headers
from inspector.transport.http_exchange import Exchanges
from inspector.transport.network import Network

MAX_BYTES = 16 * 1024 * 1024
_PATH = "/chat/completions"
_MAX_ERROR_LENGTH = 300  # characters of the service's error message


async def request_completion(endpoint: Endpoint, key: str | None, request: SamplingRequest) -> JSONObject:
    """Return a result for `sampling/createMessage`. Raises UserError with cause and next step."""
    url = chat_url(endpoint.url)
    headers = _headers(key)
    try:
        body = to_wire(chat_request(request, endpoint.model, endpoint.extra))
    except ValueError as exc:
        raise UserError(f"This sampling request cannot be sent to the endpoint: {exc}.") from exc
    try:
        async with asyncio.timeout(endpoint.timeout):
            status, reply = await _post(url, headers, body)
    except TimeoutError:
        raise UserError(
            f"The endpoint did not respond within {endpoint.timeout:g} s.", "Raise the rule's timeout."
        ) from None
    except UserError as exc:
        # Not chained: the library's message may contain a header.
        raise UserError(_masked(key, exc.summary), _masked(key, exc.next_step)) from None
    if status != 200:
        raise _refused(status, reply, key)
    return _read(reply, endpoint.model, key)


def chat_url(url: str) -> str:
    """Return the URL to post to: the given URL, with the path appended unless present.

    Raises ConfigError for an invalid URL.
    """
    trimmed = url.strip()
    if not trimmed:
        raise ConfigError("The rule has no endpoint URL.", "Enter one, such as https://host/v1.")
    link = read_link(trimmed)
    if reason := link.problem:
        raise ConfigError(f"The endpoint URL is invalid. {reason}", "Fix it in the rule.")
    if link.user:
        raise ConfigError(
            "The endpoint URL contains a user name or password.",
            "Remove it, and store the key with the rule.",
        )
    parts = urlsplit(link.encoded())
    path = parts.path.rstrip("/")
    full = path if path.endswith(_PATH) else path + _PATH
    return urlunsplit(parts._replace(path=full, fragment=""))


def _headers(key: str | None) -> Headers:
    headers: Headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
    if not key:
        return headers
    token = key.strip()
    if not token.isascii() or not token.isprintable():
        raise ConfigError("The endpoint's API key contains invalid characters.", "Store it again.")
    return (*headers, ("Authorization", f"Bearer {token}"))


async def _post(url: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
    exchanges = Exchanges(url, Network(message_cap=MAX_BYTES), SystemClock(), _discard)
    try:
        async with exchanges.begin("POST", url, headers, body) as exchange:
            return exchange.status, await exchange.read_body()
    finally:
        await exchanges.close()


def _discard(event: object) -> None:
    """Record nothing: requests to the endpoint are not server traffic."""


def _refused(status: int, reply: bytes, key: str | None) -> UserError:
    reason = _error_text(reply, key)
    what = f"The endpoint returned HTTP {status}{f': {reason}' if reason else ''}"
    if 300 <= status < 400:
        return UserError(
            f"{what}.", "It returned a redirect, which MCP Lens does not follow. Enter the new URL."
        )
    if status in (401, 403):
        return UserError(f"{what}.", "Check the rule's API key.")
    if status == 404:
        return UserError(f"{what}.", "Check the URL and the model; many URLs end in /v1.")
    if status == 429:
        return UserError(f"{what}.", "The rate limit is reached, or no credit is left.")
    return UserError(f"{what}.", "Check the rule, or the endpoint's log.")


def _error_text(reply: bytes, key: str | None) -> str:
    """Return the error message, wherever the service puts it, else the start of the body."""
    text = reply[: 64 * 1024].decode(errors="replace")
    try:
        body: JSON = parse(text)
    except JSONError:
        return _short(text, key)
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str):
        return _short(error, key)
    if not isinstance(error, dict):
        return ""
    message = next(filter(None, (text_of(error, name) for name in ("message", "detail"))), "")
    return _short(message, key)


def _short(text: str, key: str | None) -> str:
    """Mask the key, then shorten: part of a key could not be found any more."""
    return one_line(shorten(_masked(key, text).strip(), _MAX_ERROR_LENGTH)).rstrip(".")


def _read(reply: bytes, model: str, key: str | None) -> JSONObject:
    try:
        return read_chat_response(parse(reply.decode()), model)
    except ValueError as exc:  # includes JSONError and UnicodeDecodeError
        raise UserError(
            f"The endpoint's response is invalid: {_masked(key, one_line(str(exc)))}.",
            "It must be an OpenAI-compatible chat completion. Check the URL.",
        ) from None


def _masked(key: str | None, text: str) -> str:
    """Mask the key: services repeat it when it is wrong."""
    token = key.strip() if key else ""
    return text.replace(token, MASK) if token else text


_AUDIO_FORMATS = {"wav": "wav", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "mpeg": "mp3", "mp3": "mp3"}
_STOP_REASONS = {
    "stop": END_TURN,
    "length": MAX_TOKENS,
    "tool_calls": STOP_FOR_TOOL,
    "function_call": STOP_FOR_TOOL,
}


def chat_request(request: SamplingRequest, model: str, extra: JSONObject | None = None) -> JSONObject:
    """Return the body to post. `extra` is merged into it; null removes a member.

    Without a model, the server's first preference is request. Raises ValueError.
    """
    model_name = model or next(iter(request.preferences.hints), "")
    body: JSONObject = {"model": model_name or None, "messages": list(_messages(request))}
    body["max_tokens"] = request.max_tokens
    body["temperature"] = request.temperature
    body["stop"] = list(request.stop_sequences) or None
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        body["tool_choice"] = request.tool_choice or None
    body |= extra or {}
    body.pop("stream", None)  # the response is read as a whole
    if not body["model"]:
        raise ValueError("there is no model: the rule does not name one, and the server accepts any")
    return {name: value for name, value in body.items() if value is not None}


def _messages(request: SamplingRequest) -> Iterator[JSONObject]:
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for number, message in enumerate(request.messages, 1):
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
        chat_message: JSONObject = {"role": message.role, "content": _content(parts) if parts else nothing}
        yield {**chat_message, "tool_calls": calls} if calls else chat_message


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
            "input_audio": {"data": data, "format": _AUDIO_FORMATS.get(subtype, subtype)},
        }
    raise ValueError(f"has content of the type {quote_value(kind)}, which chat completions do not support")


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
    message = "\n".join(texts)
    return (f"Error: {message}" if block.get("isError") is True else message), list(others)


def _tool(tool: Tool) -> JSONObject:
    function: JSONObject = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def read_chat_response(body: JSON, model: str = "") -> JSONObject:
    """Return the result for `sampling/createMessage`. `model` is used if none is named.

    Raises ValueError.
    """
    if not isinstance(body, dict):
        raise ValueError("it is not an object")
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = object_of(first, "message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or message is None:
        raise ValueError("it has no message in “choices”")
    blocks = [*_texts(message), *_tool_calls(message)]
    if not blocks:
        raise ValueError("its message contains neither text nor a tool call")
    is_use = any(kind_of(block) == TOOL_USE for block in blocks)
    reason = text_of(first, "finish_reason")
    stop = STOP_FOR_TOOL if is_use else _STOP_REASONS.get(reason, reason)
    return sampling_reply(ASSISTANT, blocks, text_of(body, "model") or model, stop)


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


def _tool_calls(message: JSONObject) -> Iterator[JSONObject]:
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else [], 1):
        function = object_of(call, "function") if isinstance(call, dict) else None
        name = text_of(function, "name") if function is not None else ""
        if not isinstance(call, dict) or function is None or not name:
            raise ValueError(f"its tool call {number:,} does not name a tool")
        id = text_of(call, "id") or f"call_{number}"
        yield {"type": TOOL_USE, "id": id, "name": name, "input": _arguments(name, function)}


def _arguments(name: str, function: JSONObject) -> JSONObject:
    """Parse arguments: JSON text; some services send the object itself."""
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = parse(arguments) if arguments.strip() else {}
        except JSONError as exc:
            raise ValueError(f"its arguments for the tool {quote_value(name)} are not JSON: {exc}") from exc
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise ValueError(f"its arguments for the tool {quote_value(name)} are not an object")
    return arguments
