"""Tools that ask the client back: sampling, elicitation by form and by URL, roots.

In the handshake era the question is a request from the server while the call is open. In the stateless era
(2026-07-28) it is an `input_required` result, and the client calls again with the answer.
"""

from __future__ import annotations

import json
import uuid
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from inspector.demo.everything.arguments import STRING
from inspector.demo.toolbox import Call, DemoTool, Outcome, Run, Schema, failure, schema, text, tool

Answer = TypeVar("Answer", types.CreateMessageResult, types.ElicitResult, types.ListRootsResult)

_KEY = "question"

_OPEN_WORLD = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)

# 2025-11-25, Elicitation: only flat objects with primitive properties.
_PROFILE: Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 1},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150},
        "plan": {
            "type": "string",
            "title": "Plan",
            "oneOf": [{"const": "free", "title": "Free"}, {"const": "pro", "title": "Professional"}],
            "default": "free",
        },
        "topics": {
            "type": "array",
            "title": "Topics",
            "items": {"type": "string", "enum": ["news", "releases", "security"]},
        },
        "subscribe": {"type": "boolean", "title": "Keep me informed", "default": False},
    },
    "required": ["name"],
}


async def _ask(
    call: Call, request: types.InputRequest, answer_type: type[Answer]
) -> Answer | types.InputRequiredResult:
    if call.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (call.params.input_responses or {}).get(_KEY)
        if isinstance(answer, answer_type):
            return answer
        return types.InputRequiredResult(input_requests={_KEY: request})
    related = ServerMessageMetadata(related_request_id=call.context.request_id)
    return await call.session.send_request(request, answer_type, metadata=related)


def _undeclared(capability: str) -> types.CallToolResult:
    return failure(f"This client did not declare the {capability} capability, so there is nobody to ask.")


async def _sampling(call: Call) -> Outcome:
    if _declared(call).sampling is None:
        return _undeclared("sampling")
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
    answer = await _ask(call, types.CreateMessageRequest(params=params), types.CreateMessageResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    content = answer.content
    words = content.text if isinstance(content, types.TextContent) else f"({content.type})"
    return text(f"{answer.model} said: {words}")


async def _elicit_form(call: Call) -> Outcome:
    declared = _declared(call).elicitation
    # An empty object declares form mode: it was the only one before 2025-11-25.
    if declared is None or (declared.form is None and declared.url is not None):
        return _undeclared("elicitation (form)")
    params = types.ElicitRequestFormParams(message=call.arguments["message"], requested_schema=_PROFILE)
    answer = await _ask(call, types.ElicitRequest(params=params), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if answer.action != "accept":
        return text(f"The form was not filled in: {answer.action}.")
    return text("Received:\n" + json.dumps(answer.content, ensure_ascii=False, indent=2))


async def _elicit_url(call: Call) -> Outcome:
    declared = _declared(call).elicitation
    if declared is None or declared.url is None:
        return _undeclared("elicitation (url)")
    modern = call.context.protocol_version in MODERN_PROTOCOL_VERSIONS
    number = None if modern else str(uuid.uuid4())
    params = types.ElicitRequestURLParams(
        message="Please confirm on this page.", url=call.arguments["url"], elicitation_id=number
    )
    answer = await _ask(call, types.ElicitRequest(params=params), types.ElicitResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    if answer.action == "accept" and number is not None:
        await call.session.send_elicit_complete(number, related_request_id=call.context.request_id)
    return text(f"The page was answered with: {answer.action}.")


async def _list_roots(call: Call) -> Outcome:
    if _declared(call).roots is None:
        return _undeclared("roots")
    answer = await _ask(call, types.ListRootsRequest(), types.ListRootsResult)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    lines = [f"{root.uri}  {root.name or ''}".rstrip() for root in answer.roots]
    return text("\n".join(lines) or "The client has no roots.")


def _declared(call: Call) -> types.ClientCapabilities:
    return call.session.client_capabilities or types.ClientCapabilities()


def tools() -> list[DemoTool]:
    prompt = {**STRING, "default": "Name a colour.", "description": "What the model is asked."}
    limit = {"type": "integer", "default": 200, "minimum": 1, "maximum": 100_000}
    message = {**STRING, "default": "Please tell us about yourself.", "description": "Shown above the form."}
    url = {**STRING, "format": "uri", "default": "https://example.com/confirm"}
    rows = (
        (
            "sampling",
            "Sampling",
            "Asks the client's model.",
            _sampling,
            schema(prompt=prompt, max_tokens=limit),
        ),
        (
            "elicit_form",
            "Elicit by form",
            "Asks the user to fill in a form.",
            _elicit_form,
            schema(message=message),
        ),
        ("elicit_url", "Elicit by URL", "Asks the user to open a page.", _elicit_url, schema(url=url)),
        ("list_roots", "List roots", "Asks the client for its roots.", _list_roots, schema()),
    )
    return [
        tool(name, title, description, _refusals_as_text(run), arguments, annotations=_OPEN_WORLD)
        for name, title, description, run, arguments in rows
    ]


def _refusals_as_text(run: Run) -> Run:
    """A client may answer the question with an error: news for the caller, not a protocol failure."""

    async def guarded(call: Call) -> Outcome:
        try:
            return await run(call)
        except MCPError as refusal:
            return failure(f"The client answered with error {refusal.code}: {refusal.message}")

    return guarded
