"""`sampling/createMessage`: what a server asks a model for, in every revision, and what is wrong with it.

Reading is tolerant, as everywhere: a member of the wrong type reads as absent, and `remarks_on` says so.
Only a question without messages that can be shown cannot be answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.blocks import TOOL_RESULT, TOOL_USE, block_problem, kind_of, read_blocks
from inspector.protocol.members import is_number, number_of, object_of, shown, some, strings_of, text_of
from inspector.protocol.revisions import R4, R5, Revision, is_between
from inspector.protocol.types import Malformed, Tool, read_items

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
class SamplingAsked:
    """A sampling request. None and "" mean not stated."""

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


def read_sampling(params: JSONObject) -> SamplingAsked:
    """Parse a request. Raises ValueError if there are no usable messages."""
    tools, unusable = read_items(params["tools"], Tool.read) if "tools" in params else ([], [])
    return SamplingAsked(
        messages=_messages(params.get("messages")),
        max_tokens=_whole(params.get("maxTokens")),
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
        raise ValueError('"messages" must be a list')
    return tuple(_message(number, entry) for number, entry in enumerate(value, start=1))


def _message(number: int, value: JSON) -> SamplingMessage:
    if not isinstance(value, dict):
        raise ValueError(f"message {number:,} is not an object: {shown(value)}")
    role, content = value.get("role"), value.get("content")
    if not isinstance(role, str):
        raise ValueError(f'message {number:,} has no "role" that is a string')
    try:
        blocks = read_blocks(content)
    except ValueError as exc:
        raise ValueError(f"message {number:,} cannot be shown: {exc}") from exc
    return SamplingMessage(role, blocks, isinstance(content, list), value)


def _whole(value: JSON) -> int | None:
    if not is_number(value) or (isinstance(value, float) and not value.is_integer()):
        return None
    return int(value)


# ------------------------------------------------------------------ what breaks a rule


def remarks_on(asked: SamplingAsked, revision: Revision) -> Iterator[str]:
    """Yield what is wrong with an answerable request, one sentence each."""
    yield from _about_limits(asked)
    yield from _about_context(asked, revision)
    yield from _about_preferences(asked)
    yield from _about_tools(asked, revision)
    yield from _about_messages(asked, revision)
    yield from _about_tool_loop(asked)


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "systemPrompt": (str, "a string"),
    "temperature": ((int, float), "a number"),
    "stopSequences": (list, "a list of strings"),
    "metadata": (dict, "an object"),
    "modelPreferences": (dict, "an object"),
}


def _about_limits(asked: SamplingAsked) -> Iterator[str]:
    if asked.max_tokens is None:
        yield "“maxTokens” is missing, or is no whole number; it is required."
    elif asked.max_tokens < 1:
        yield f"“maxTokens” is {shown(asked.max_tokens)}, which leaves no room for an answer."
    for name, (kind, words) in _TYPES.items():
        value = asked.source.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield f"“{name}” is not {words}, so it is ignored."
    sequences = asked.source.get("stopSequences")
    if isinstance(sequences, list) and len(sequences) != len(asked.stop_sequences):
        yield "“stopSequences” holds something that is not a string, which is left out."


def _about_context(asked: SamplingAsked, revision: Revision) -> Iterator[str]:
    value = asked.source.get("includeContext")
    if value is None:
        return
    if value not in CONTEXTS:
        yield f"“includeContext” is {shown(value)}; it can be none, thisServer or allServers."
    elif value != "none" and is_between(revision, R4, R5):
        yield f"“includeContext”: {value} is deprecated since {R4}."


def _about_preferences(asked: SamplingAsked) -> Iterator[str]:
    source = asked.preferences.source
    for name in _PRIORITIES:
        value = source.get(name)
        if value is not None and not (is_number(value) and 0 <= value <= 1):
            yield f"“{name}” is {shown(value)}; it must be a number from 0 to 1."
    hints = source.get("hints")
    if hints is not None and (not isinstance(hints, list) or len(hints) != len(asked.preferences.hints)):
        yield "“hints” holds something that names no model, which is left out."


def _about_tools(asked: SamplingAsked, revision: Revision) -> Iterator[str]:
    if asked.has_tools and not is_between(revision, R4, R5):
        yield f"Sampling with tools came with {R4}; this is {revision}."
    if asked.unusable_tools:
        yield f"Of the tools, {len(asked.unusable_tools):,} cannot be used: {asked.unusable_tools[0].reason}."
    twice = [name for name, count in Counter(tool.name for tool in asked.tools).items() if count > 1]
    if twice:
        yield f"More than one tool has the name {some(twice)}."
    choice = asked.source.get("toolChoice")
    if choice is not None and not isinstance(choice, dict):
        yield "“toolChoice” is not an object, so it is ignored."
    elif isinstance(choice, dict) and choice.get("mode", "auto") not in TOOL_CHOICES:
        yield f"The mode of “toolChoice” is {shown(choice.get('mode'))}; it can be auto, required or none."
    elif asked.tool_choice == "required" and not asked.tools:
        yield "A tool must be used (“toolChoice”: required), and there is none."


def _about_messages(asked: SamplingAsked, revision: Revision) -> Iterator[str]:
    if not asked.messages:
        yield "There are no messages."
    strange = list(dict.fromkeys(one.role for one in asked.messages if one.role not in (USER, ASSISTANT)))
    if strange:
        yield f"A role is {some(strange)}; it can be user or assistant."
    if any(message.is_list for message in asked.messages) and not is_between(revision, R4, R5):
        yield f"Messages with lists of content came with {R4}; this is {revision}."
    if any(not message.blocks for message in asked.messages):
        yield "A message has no content."
    blocks = (block for message in asked.messages for block in message.blocks)
    problems = Counter(block_problem(block, revision) for block in blocks)
    problems.pop("", None)
    for problem, count in problems.items():
        yield f"A content block {problem}{f' ({count:,} times)' if count > 1 else ''}."


def _about_tool_loop(asked: SamplingAsked) -> Iterator[str]:
    """Check the tool loop.

    2025-11-25, Sampling: results stand alone in a user message, right after the uses that they answer.
    """
    for number, message in enumerate(asked.messages, start=1):
        results, uses = message.of_kind(TOOL_RESULT), message.of_kind(TOOL_USE)
        if results and message.role == ASSISTANT:
            yield f"Message {number:,}: a tool result belongs to a user message."
        if uses and message.role == USER:
            yield f"Message {number:,}: a use of a tool belongs to an assistant message."
        if results and len(results) != len(message.blocks):
            yield f"Message {number:,} mixes tool results with other content; they must stand alone."
        before = asked.messages[number - 2] if number > 1 else None
        after = asked.messages[number] if number < len(asked.messages) else None
        open_uses = _ids(message, TOOL_USE, "id") - _ids(after, TOOL_RESULT, "toolUseId")
        if open_uses:
            yield f"Message {number:,}: the next message has no result for the use {some(sorted(open_uses))}."
        astray = _ids(message, TOOL_RESULT, "toolUseId") - _ids(before, TOOL_USE, "id")
        if astray:
            yield f"Message {number:,}: the message before it has no use {some(sorted(astray))} of a tool."


def _ids(message: SamplingMessage | None, kind: str, name: str) -> set[str]:
    if message is None:
        return set()
    return {id for block in message.of_kind(kind) if (id := text_of(block, name))}
