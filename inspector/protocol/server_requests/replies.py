"""Replies to server requests: how they are written, and what is wrong with one.

Only warnings: sending a wrong reply on purpose is what a debugger is for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from inspector.base.json.values import JSON, JSONObject, quote_names, quote_value, text_of
from inspector.protocol.revisions import R4, R5, Revision, is_between
from inspector.protocol.server_requests.elicitation import value_error
from inspector.protocol.server_requests.request import (
    FormElicitation,
    RootsRequest,
    SamplingRequest,
    ServerRequestParams,
    UrlElicitation,
)
from inspector.protocol.server_requests.sampling import (
    ASSISTANT,
    TOOL_RESULT,
    TOOL_USE,
    USER,
    block_problem,
    kind_of,
    read_blocks,
)

SAMPLING_REFUSED = "The user rejected the sampling request"

ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
END_TURN, STOP_SEQUENCE, MAX_TOKENS, STOP_FOR_TOOL = "endTurn", "stopSequence", "maxTokens", "toolUse"
STOP_REASONS = (END_TURN, STOP_SEQUENCE, MAX_TOKENS, STOP_FOR_TOOL)  # any other text is allowed too


def form_reply(content: JSONObject) -> JSONObject:
    """Return the reply that submits a form."""
    return {"action": ACCEPT, "content": content}


def url_reply() -> JSONObject:
    """Return the reply that accepts a URL elicitation. Its outcome is between page and server."""
    return {"action": ACCEPT}


def decline_reply() -> JSONObject:
    """Return the reply if the user declined."""
    return {"action": DECLINE}


def cancel_reply() -> JSONObject:
    """Return the reply if the user dismissed the request without deciding."""
    return {"action": CANCEL}


def sampling_reply(
    role: str,
    content: JSONObject | Sequence[JSONObject],
    model: str,
    stop_reason: str = "",
    meta: JSONObject | None = None,
) -> JSONObject:
    """Return a sampling result. A single block is not wrapped in a list: valid in every version."""
    blocks: list[JSON] = [content] if isinstance(content, Mapping) else list(content)
    result: JSONObject = {"role": role, "content": blocks[0] if len(blocks) == 1 else blocks, "model": model}
    if stop_reason:
        result["stopReason"] = stop_reason
    if meta is not None:
        result["_meta"] = meta
    return result


def text_block(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def roots_reply(roots: Sequence[JSONObject]) -> JSONObject:
    """Return the result of `roots/list`."""
    return {"roots": list(roots)}


def reply_problems(request: ServerRequestParams, result: JSONObject, revision: Revision) -> tuple[str, ...]:
    """Return what is wrong with a reply, one sentence each. Only warnings, never enforced."""
    return tuple(_check(request, result, revision))


def _check(request: ServerRequestParams, result: JSONObject, revision: Revision) -> Iterator[str]:
    if "resultType" in result:
        yield "A reply to a server request must not have “resultType”."
    match request:
        case SamplingRequest():
            yield from _check_sampling(request, result, revision)
        case FormElicitation():
            yield from _check_form(request, result, revision)
        case UrlElicitation():
            yield from _check_action(result)
            if "content" in result:
                yield "A reply to a URL elicitation must not have “content”."
        case RootsRequest():
            yield from _check_roots(result)


def _check_action(result: JSONObject) -> Iterator[str]:
    action = result.get("action")
    if action is None:
        yield "“action” is missing: accept, decline or cancel."
    elif action not in (ACCEPT, DECLINE, CANCEL):
        yield f"“action” is {quote_value(action)}; it must be accept, decline or cancel."


def _check_form(request: FormElicitation, result: JSONObject, revision: Revision) -> Iterator[str]:
    yield from _check_action(result)
    content = result.get("content")
    if result.get("action") != ACCEPT:
        if "content" in result:
            yield "“content” is only allowed with accept."
    elif not isinstance(content, dict):
        yield "“content” is missing or is not an object: accept must send the form's fields."
    else:
        yield from _check_content(request, content, revision)


def _check_content(request: FormElicitation, content: JSONObject, revision: Revision) -> Iterator[str]:
    missing = [name for name in request.required if name not in content]
    if missing:
        yield f"Required, but missing: {quote_names(missing)}."
    unknown = [name for name in content if name not in request.properties]
    if unknown:
        yield f"Not a field of the form: {quote_names(unknown)}."
    fields = {field.name: field for field in request.fields()}
    for name, value in content.items():
        if not _is_sendable(value, revision):
            yield (
                f"{quote_value(name)} is {_type_name(value)}, which is not allowed in a form reply in "
                f"{revision}."
            )
        elif name in fields and (problem := value_error(fields[name], value)):
            yield f"{quote_value(name)} {problem}."


def _is_sendable(value: JSON, revision: Revision) -> bool:
    """Check the type of `content`: string, number, boolean; lists of strings since 2025-11-25."""
    if isinstance(value, list):
        return is_between(revision, R4, R5) and all(isinstance(one, str) for one in value)
    return isinstance(value, bool | int | float | str)


def _type_name(value: JSON) -> str:
    if value is None:
        return "null"
    return "an array" if isinstance(value, list) else "an object"


def _check_sampling(request: SamplingRequest, result: JSONObject, revision: Revision) -> Iterator[str]:
    role = result.get("role")
    if role == USER:
        yield "The role is user; a model responds as assistant."
    elif role != ASSISTANT:
        yield f"The role is {quote_value(role)}; it must be user or assistant."
    if not text_of(result, "model"):
        yield "“model” is missing: the name of the model that responded."
    if not isinstance(result.get("stopReason", ""), str):
        yield "“stopReason” is not a string."
    if "content" not in result:
        yield "“content” is missing."
        return
    if isinstance(result["content"], list) and not is_between(revision, R4, R5):
        yield f"Arrays of content were added in {R4}; this is {revision}."
    try:
        blocks = read_blocks(result["content"])
    except ValueError as exc:
        yield f"The reply cannot be read: {exc}."
        return
    yield from _check_blocks(blocks, revision)
    yield from _check_tool_use(request, blocks, text_of(result, "stopReason"))


def _check_blocks(blocks: tuple[JSONObject, ...], revision: Revision) -> Iterator[str]:
    if not blocks:
        yield "“content” is empty."
    for number, block in enumerate(blocks, start=1):
        if problem := block_problem(block, revision):
            yield f"Content block {number:,} {problem}."
    if any(kind_of(block) == TOOL_RESULT for block in blocks):
        yield "A tool result comes from a user, not from a model."


def _check_tool_use(
    request: SamplingRequest, blocks: tuple[JSONObject, ...], stop_reason: str
) -> Iterator[str]:
    uses = [block for block in blocks if kind_of(block) == TOOL_USE]
    if uses and stop_reason != STOP_FOR_TOOL:
        yield f"The reply contains a tool use; its stop reason should be {STOP_FOR_TOOL}."
    if stop_reason == STOP_FOR_TOOL and not uses:
        yield f"The stop reason is {STOP_FOR_TOOL}, but the reply contains no tool use."
    if uses and request.tool_choice == "none":
        yield "The server does not allow tool use (“toolChoice”: none)."
    if not uses and request.tool_choice == "required":
        yield "The server requires tool use (“toolChoice”: required)."
    offered = {tool.name for tool in request.tools}
    unknown = [name for use in uses if (name := text_of(use, "name")) and name not in offered]
    if unknown:
        yield f"The server offers no tool {quote_names(dict.fromkeys(unknown))}."
    duplicates = [id for id, count in Counter(text_of(use, "id") for use in uses).items() if id and count > 1]
    if duplicates:
        yield f"More than one tool use has the id {quote_names(duplicates)}."


def _check_roots(result: JSONObject) -> Iterator[str]:
    roots = result.get("roots")
    if not isinstance(roots, list):
        yield "“roots” is missing or is not an array."
        return
    for number, root in enumerate(roots, start=1):
        uri = text_of(root, "uri") if isinstance(root, dict) else ""
        if not uri:
            yield f"Root {number:,} has no “uri”."
        elif not uri.lower().startswith("file://"):
            yield f"Root {number:,} is {quote_value(uri)}; it must start with file://."
