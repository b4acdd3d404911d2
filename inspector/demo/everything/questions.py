"""Asking the client back, in the way of its era.

In the handshake era the question is a request from the server while the call is open. In the stateless era
(2026-07-28) it is an `input_required` result, and the client calls again with the answer.
"""

from __future__ import annotations

from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from inspector.demo.toolbox import Call, DemoTool, Outcome, Run, Schema, failure, schema, tool

Answer = TypeVar("Answer", bound=BaseModel)

OPEN_WORLD = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)

_KEY = "question"


def is_stateless(call: Call) -> bool:
    return call.context.protocol_version in MODERN_PROTOCOL_VERSIONS


# ------------------------------------------------------------------ what the client can be asked


def declared(call: Call) -> types.ClientCapabilities:
    return call.session.client_capabilities or types.ClientCapabilities()


def takes_forms(call: Call) -> bool:
    """True if the client supports form elicitation.

    An empty object declares form mode: it was the only mode before 2025-11-25.
    """
    elicitation = declared(call).elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def takes_pages(call: Call) -> bool:
    """True if the client supports URL elicitation.

    URL mode was added in 2025-11-25; older clients never have it, whatever they declare.
    """
    elicitation = declared(call).elicitation
    is_known = call.context.protocol_version >= "2025-11-25"
    return is_known and elicitation is not None and elicitation.url is not None


def undeclared(capability: str) -> types.CallToolResult:
    return failure(f"This client did not declare the {capability} capability, so there is nobody to ask.")


# ------------------------------------------------------------------ questions and answers


def form(message: str, requested: Schema) -> types.ElicitRequest:
    params = types.ElicitRequestFormParams(message=message, requested_schema=requested)
    return types.ElicitRequest(params=params)


async def ask(
    call: Call, request: types.InputRequest, answer_type: type[Answer]
) -> Answer | types.InputRequiredResult:
    """Return the reply to one request; in the stateless era, first the result that asks for it."""
    if not is_stateless(call):
        return await send(call, request, answer_type)
    answer = answer_in(call, _KEY, answer_type)
    return types.InputRequiredResult(input_requests={_KEY: request}) if answer is None else answer


async def send(call: Call, request: types.InputRequest, answer_type: type[Answer]) -> Answer:
    """Send a server request, as in the handshake era."""
    related = ServerMessageMetadata(related_request_id=call.context.request_id)
    return await call.session.send_request(request, answer_type, metadata=related)


def answer_in(call: Call, key: str, answer_type: type[Answer]) -> Answer | None:
    """Return the reply that this round of the call carries for a key (stateless era)."""
    answer = (call.params.input_responses or {}).get(key)
    return answer if isinstance(answer, answer_type) else None


# ------------------------------------------------------------------ tools that ask


def asking_tool(
    name: str, title: str, description: str, run: Run, input_schema: Schema | None = None
) -> DemoTool:
    """Build a tool that sends server requests."""
    arguments = schema() if input_schema is None else input_schema
    return tool(name, title, description, _refusals_as_text(run), arguments, annotations=OPEN_WORLD)


def _refusals_as_text(run: Run) -> Run:
    """Turn an error response of the client into a tool result: it is not a protocol failure."""

    async def guarded(call: Call) -> Outcome:
        try:
            return await run(call)
        except MCPError as refusal:
            return failure(f"The client answered with error {refusal.code}: {refusal.message}")
        except ValidationError as problem:
            return failure(f"The client's answer is not what {problem.title} asks for.")

    return guarded
