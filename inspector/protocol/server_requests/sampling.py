"""`sampling/createMessage`: parser of requests and content blocks, with notes by version.

Parsing is tolerant: a member of the wrong type counts as absent, and `notes_on_sampling` reports it. Only a
request without usable messages cannot be answered.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from inspector.base.json.values import (
    JSON,
    JSONObject,
    is_number,
    number_of,
    object_of,
    quote_names,
    quote_value,
    strings_of,
    text_of,
)
from inspector.protocol.revisions import R1, R2, R4, R5, Revision, is_between
from inspector.protocol.types import Malformed, Tool, read_items

SAMPLING = "sampling/createMessage"
USER, ASSISTANT = "user", "assistant"
CONTEXTS = ("none", "thisServer", "allServers")
TOOL_CHOICES = ("auto", "required", "none")
_PRIORITIES = ("costPriority", "speedPriority", "intelligencePriority")


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """A message. `is_list`: its content was a list, of one or more blocks."""

    role: str
    blocks: tuple[JSONObject, ...]
    is_list: bool
    source: JSONObject

    def of_kind(self, kind: str) -> tuple[JSONObject, ...]:
        return tuple(block for block in self.blocks if kind_of(block) == kind)


@dataclass(frozen=True, slots=True)
class ModelPreferences:
    """The server's model preferences. None: not stated, or not a number."""

    hints: tuple[str, ...] = ()  # parts of model names, best first
    cost: int | float | None = None
    speed: int | float | None = None
    intelligence: int | float | None = None
    source: JSONObject = field(default_factory=dict)

    @staticmethod
    def read(source: JSONObject) -> ModelPreferences:
        hints = source.get("hints")
        entries = hints if isinstance(hints, list) else []
        names = [text_of(one, "name") for one in entries if isinstance(one, dict)]
        cost, speed, intelligence = (number_of(source, name) for name in _PRIORITIES)
        return ModelPreferences(tuple(filter(None, names)), cost, speed, intelligence, source)


@dataclass(frozen=True, slots=True)
class SamplingRequest:
    """A sampling request. None and "" mean not stated."""

    method: ClassVar[str] = SAMPLING
    messages: tuple[SamplingMessage, ...]
    max_tokens: int | None
    system_prompt: str
    include_context: str
    temperature: int | float | None
    stop_sequences: tuple[str, ...]
    metadata: JSONObject | None
    preferences: ModelPreferences
    tools: tuple[Tool, ...]
    unusable_tools: tuple[Malformed, ...]
    tool_choice: str
    source: JSONObject  # the params, verbatim

    @property
    def has_tools(self) -> bool:
        """True if it needs `sampling.tools`."""
        return "tools" in self.source or "toolChoice" in self.source


def read_sampling(params: JSONObject) -> SamplingRequest:
    """Parse a request. Raises ValueError if there are no usable messages."""
    tools, unusable = read_items(params["tools"], Tool.read) if "tools" in params else ([], [])
    return SamplingRequest(
        messages=_messages(params.get("messages")),
        max_tokens=_integer(params.get("maxTokens")),
        system_prompt=text_of(params, "systemPrompt"),
        include_context=text_of(params, "includeContext"),
        temperature=number_of(params, "temperature"),
        stop_sequences=strings_of(params, "stopSequences"),
        metadata=object_of(params, "metadata"),
        preferences=ModelPreferences.read(object_of(params, "modelPreferences") or {}),
        tools=tuple(tools),
        unusable_tools=tuple(unusable),
        tool_choice=text_of(object_of(params, "toolChoice") or {}, "mode"),
        source=params,
    )


def _messages(value: JSON) -> tuple[SamplingMessage, ...]:
    if not isinstance(value, list):
        raise ValueError('"messages" must be an array')
    return tuple(_message(number, entry) for number, entry in enumerate(value, start=1))


def _message(number: int, value: JSON) -> SamplingMessage:
    if not isinstance(value, dict):
        raise ValueError(f"message {number:,} is not an object: {quote_value(value)}")
    role, content = value.get("role"), value.get("content")
    if not isinstance(role, str):
        raise ValueError(f'message {number:,} has no "role" that is a string')
    try:
        blocks = read_blocks(content)
    except ValueError as exc:
        raise ValueError(f"message {number:,} cannot be shown: {exc}") from exc
    return SamplingMessage(role, blocks, isinstance(content, list), value)


def _integer(value: JSON) -> int | None:
    if not is_number(value) or (isinstance(value, float) and not value.is_integer()):
        return None
    return int(value)


def notes_on_sampling(request: SamplingRequest, revision: Revision) -> Iterator[str]:
    """Yield what is wrong with an answerable request, one sentence each."""
    yield from _about_limits(request)
    yield from _about_context(request, revision)
    yield from _about_preferences(request)
    yield from _about_tools(request, revision)
    yield from _about_messages(request, revision)
    yield from _about_tool_loop(request)


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "systemPrompt": (str, "a string"),
    "temperature": ((int, float), "a number"),
    "stopSequences": (list, "an array of strings"),
    "metadata": (dict, "an object"),
    "modelPreferences": (dict, "an object"),
}


def _about_limits(request: SamplingRequest) -> Iterator[str]:
    if request.max_tokens is None:
        yield "“maxTokens” is missing or is not an integer; it is required."
    elif request.max_tokens < 1:
        yield f"“maxTokens” is {quote_value(request.max_tokens)}, which leaves no room for a response."
    for name, (kind, text) in _TYPES.items():
        value = request.source.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield f"“{name}” is not {text}, so it is ignored."
    sequences = request.source.get("stopSequences")
    if isinstance(sequences, list) and len(sequences) != len(request.stop_sequences):
        yield "“stopSequences” contains non-strings, which are ignored."


def _about_context(request: SamplingRequest, revision: Revision) -> Iterator[str]:
    value = request.source.get("includeContext")
    if value is None:
        return
    if value not in CONTEXTS:
        yield f"“includeContext” is {quote_value(value)}; it must be none, thisServer or allServers."
    elif value != "none" and is_between(revision, R4, R5):
        yield f"“includeContext”: {value} is deprecated since {R4}."


def _about_preferences(request: SamplingRequest) -> Iterator[str]:
    source = request.preferences.source
    for name in _PRIORITIES:
        value = source.get(name)
        if value is not None and not (is_number(value) and 0 <= value <= 1):
            yield f"“{name}” is {quote_value(value)}; it must be a number from 0 to 1."
    hints = source.get("hints")
    if hints is not None and (not isinstance(hints, list) or len(hints) != len(request.preferences.hints)):
        yield "“hints” contains entries without a model name, which are ignored."


def _about_tools(request: SamplingRequest, revision: Revision) -> Iterator[str]:
    if request.has_tools and not is_between(revision, R4, R5):
        yield f"Sampling with tools was added in {R4}; this is {revision}."
    if request.unusable_tools:
        unusable = request.unusable_tools
        yield f"{len(unusable):,} of the tools cannot be used: {unusable[0].reason}."
    duplicates = [name for name, count in Counter(tool.name for tool in request.tools).items() if count > 1]
    if duplicates:
        yield f"More than one tool has the name {quote_names(duplicates)}."
    choice = request.source.get("toolChoice")
    if choice is not None and not isinstance(choice, dict):
        yield "“toolChoice” is not an object, so it is ignored."
    elif isinstance(choice, dict) and choice.get("mode", "auto") not in TOOL_CHOICES:
        yield (
            f"The mode of “toolChoice” is {quote_value(choice.get('mode'))}; it must be auto, required or "
            "none."
        )
    elif request.tool_choice == "required" and not request.tools:
        yield "A tool use is required (“toolChoice”: required), but there are no tools."


def _about_messages(request: SamplingRequest, revision: Revision) -> Iterator[str]:
    if not request.messages:
        yield "There are no messages."
    unknown_roles = list(
        dict.fromkeys(one.role for one in request.messages if one.role not in (USER, ASSISTANT))
    )
    if unknown_roles:
        yield f"A role is {quote_names(unknown_roles)}; it must be user or assistant."
    if any(message.is_list for message in request.messages) and not is_between(revision, R4, R5):
        yield f"Messages with arrays of content were added in {R4}; this is {revision}."
    if any(not message.blocks for message in request.messages):
        yield "A message has no content."
    blocks = (block for message in request.messages for block in message.blocks)
    problems = Counter(block_problem(block, revision) for block in blocks)
    problems.pop("", None)
    for problem, count in problems.items():
        yield f"A content block {problem}{f' ({count:,} times)' if count > 1 else ''}."


def _about_tool_loop(request: SamplingRequest) -> Iterator[str]:
    """Check the tool loop.

    2025-11-25, Sampling: results are the only content of a user message, right after the uses they answer.
    """
    for number, message in enumerate(request.messages, start=1):
        results, uses = message.of_kind(TOOL_RESULT), message.of_kind(TOOL_USE)
        if results and message.role == ASSISTANT:
            yield f"Message {number:,}: a tool result must be in a user message."
        if uses and message.role == USER:
            yield f"Message {number:,}: a tool use must be in an assistant message."
        if results and len(results) != len(message.blocks):
            yield f"Message {number:,} mixes tool results with other content; they must be the only content."
        before = request.messages[number - 2] if number > 1 else None
        after = request.messages[number] if number < len(request.messages) else None
        open_uses = _ids(message, TOOL_USE, "id") - _ids(after, TOOL_RESULT, "toolUseId")
        if open_uses:
            yield (
                f"Message {number:,}: the next message has no result for the tool use "
                f"{quote_names(sorted(open_uses))}."
            )
        unmatched = _ids(message, TOOL_RESULT, "toolUseId") - _ids(before, TOOL_USE, "id")
        if unmatched:
            names = quote_names(sorted(unmatched))
            yield f"Message {number:,}: the previous message has no tool use {names}."


def _ids(message: SamplingMessage | None, kind: str, name: str) -> set[str]:
    if message is None:
        return set()
    return {id for block in message.of_kind(kind) if (id := text_of(block, name))}


TOOL_USE, TOOL_RESULT = "tool_use", "tool_result"
_SLICE_SIZE = 64 * 1024  # a multiple of four, as Base64 needs
_SINCE = {"text": R1, "image": R1, "audio": R2, TOOL_USE: R4, TOOL_RESULT: R4}
_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    TOOL_USE: ("id", "name"),
    TOOL_RESULT: ("toolUseId",),
}


def kind_of(block: JSONObject) -> str:
    """Return the block's type; "" if it has none."""
    return text_of(block, "type")


def read_blocks(content: JSON) -> tuple[JSONObject, ...]:
    """Return one block or a list as a tuple. Raises ValueError for anything else."""
    blocks = content if isinstance(content, list) else [content]
    if not all(isinstance(block, dict) for block in blocks):
        raise ValueError('"content" must be a content block or an array of them')
    return tuple(block for block in blocks if isinstance(block, dict))


def block_problem(block: JSONObject, revision: Revision) -> str:
    """Return what is wrong with a sampling block, as the end of a sentence; "" if nothing."""
    kind = kind_of(block)
    if not kind:
        return "has no type"
    if kind not in _SINCE:
        return f"has the type {quote_value(kind)}, which sampling messages do not support"
    if not is_between(revision, _SINCE[kind], R5):
        return f"has the type {quote_value(kind)}, which was added in {_SINCE[kind]}; this is {revision}"
    missing = [name for name in _REQUIRED[kind] if not isinstance(block.get(name), str)]
    if missing:
        return f"({kind}) has no “{missing[0]}” string"
    return _content_problem(kind, block)


def _content_problem(kind: str, block: JSONObject) -> str:
    if kind in ("image", "audio") and not _is_base64(text_of(block, "data")):
        return f"({kind}) has data that is not valid Base64"
    if kind == TOOL_USE and not isinstance(block.get("input"), dict):
        return f"({kind}) has no “input” object"
    if kind == TOOL_RESULT and not isinstance(block.get("content"), list):
        return f"({kind}) has no “content” array"
    return ""


def _is_base64(data: str) -> bool:
    """Check in slices: megabytes at once would block other threads and be copied."""
    if len(data) % 4:
        return False
    return all(
        _decodes(data[at : at + _SLICE_SIZE], is_last=at + _SLICE_SIZE >= len(data))
        for at in range(0, len(data), _SLICE_SIZE)
    )


def _decodes(data: str, *, is_last: bool) -> bool:
    """Decode a slice; padding is only allowed at the end."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return is_last or "=" not in data
