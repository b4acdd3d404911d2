"""Server requests from tools, raw messages past the SDK, and signed `requestState`.

In the session shape a server request is sent while the call is open. In the stateless one (2026-07-28) it
is an `input_required` result, and the client retries the call with the reply. `RawResult`, `request_raw`
and `notify_raw` get messages past the SDK that its models reject or do not know.

"Servers MUST treat requestState as attacker-controlled": `sign_state` signs it, and `verify_state` accepts
nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inspector.demo.toolbox import Call, Context, DemoTool, Outcome, Run, Schema, failure, schema, tool

Reply = TypeVar("Reply", bound=BaseModel)

OPEN_WORLD = types.ToolAnnotations(read_only_hint=True, open_world_hint=True)

# Actions of an ElicitResult, for texts.
PAST_TENSE: Mapping[str, str] = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}

_REQUEST_KEY = "question"
_SIGNING_KEY = secrets.token_bytes(32)
# Detects clients that trim, fold or re-encode what they must return unchanged.
_TAIL = ' "ü→\\u00fc" '


def is_stateless(call: Call) -> bool:
    return call.context.protocol_version in MODERN_PROTOCOL_VERSIONS


def declared(call: Call) -> types.ClientCapabilities:
    return call.session.client_capabilities or types.ClientCapabilities()


def supports_forms(call: Call) -> bool:
    """True if the client supports form elicitation.

    An empty object declares form mode: it was the only mode before 2025-11-25.
    """
    elicitation = declared(call).elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def supports_urls(call: Call) -> bool:
    """True if the client supports URL elicitation.

    URL mode was added in 2025-11-25; older clients never have it, whatever they declare.
    """
    elicitation = declared(call).elicitation
    is_known = call.context.protocol_version >= "2025-11-25"
    return is_known and elicitation is not None and elicitation.url is not None


def undeclared(capability: str) -> types.CallToolResult:
    return failure(
        f"The client did not declare the {capability} capability, so the server cannot send this request."
    )


def form(message: str, requested: Schema) -> types.ElicitRequest:
    params = types.ElicitRequestFormParams(message=message, requested_schema=requested)
    return types.ElicitRequest(params=params)


async def ask(
    call: Call, request: types.InputRequest, result_type: type[Reply]
) -> Reply | types.InputRequiredResult:
    """Return the reply to one request; in the stateless era, first the result that asks for it."""
    if not is_stateless(call):
        return await send(call, request, result_type)
    response = response_in(call, _REQUEST_KEY, result_type)
    return types.InputRequiredResult(input_requests={_REQUEST_KEY: request}) if response is None else response


async def send(call: Call, request: types.InputRequest, result_type: type[Reply]) -> Reply:
    """Send a server request, as in the handshake era."""
    related = ServerMessageMetadata(related_request_id=call.context.request_id)
    return await call.session.send_request(request, result_type, metadata=related)


def response_in(call: Call, key: str, result_type: type[Reply]) -> Reply | None:
    """Return the reply that this round of the call carries for a key (stateless era)."""
    response = (call.params.input_responses or {}).get(key)
    return response if isinstance(response, result_type) else None


def request_tool(
    name: str, title: str, description: str, run: Run, input_schema: Schema | None = None
) -> DemoTool:
    """Build a tool that sends server requests."""
    arguments = schema() if input_schema is None else input_schema
    return tool(name, title, description, _errors_as_text(run), arguments, annotations=OPEN_WORLD)


def _errors_as_text(run: Run) -> Run:
    """Turn an error response of the client into a tool result: it is not a protocol failure."""

    async def guarded(call: Call) -> Outcome:
        try:
            return await run(call)
        except MCPError as error:
            return failure(f"The client returned error {error.code}: {error.message}")
        except ValidationError as error:
            return failure(f"The client's response is not a valid {error.title}.")

    return guarded


class RawResult(Exception):
    """Raised by a tool to return a raw result: the only way around the SDK's validation."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__("a result that the SDK does not check")
        self.result = dict(result)


async def pass_raw_results(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware that returns raw results; the SDK does not validate what middleware returns."""
    try:
        return await call_next(ctx)
    except RawResult as raw:
        return raw.result


class _Request(BaseModel):
    """A request of any method.

    It is sent under its real name, while the SDK looks up `method` and finds no result type to validate
    against.
    """

    method: ClassVar[str] = ""
    name: str = Field(serialization_alias="method")
    params: dict[str, Any] | None = None


class _AnyResult(types.Result):
    model_config = ConfigDict(extra="allow")


class _Notification(types.Notification[dict[str, Any], str]):
    pass


async def request_raw(
    session: ServerSession, method: str, params: dict[str, Any] | None, related: types.RequestId | None = None
) -> dict[str, Any]:
    """Send a request of any shape and return its result. Raises MCPError if it is rejected."""
    request = cast(types.ServerRequest, _Request(name=method, params=params))
    metadata = ServerMessageMetadata(related_request_id=related)
    response = await session.send_request(request, _AnyResult, metadata=metadata)
    return response.model_dump(by_alias=True, mode="json", exclude_none=True)


async def notify_raw(
    session: ServerSession, method: str, params: dict[str, Any], related: types.RequestId | None = None
) -> None:
    """Send a notification of any shape; without `related` on the connection's own channel."""
    notification = cast(types.ServerNotification, _Notification(method=method, params=params))
    await session.send_notification(notification, related)


def sign_state(value: Any) -> str:
    """Serialize a JSON value and sign it with a key of this process."""
    text = json.dumps(value, ensure_ascii=False)
    return f"{text}\n{_signature(text)}{_TAIL}"


def verify_state(state: str | None) -> Any:
    """Verify and parse a signed value.

    Raises ValueError, with a sentence, if it did not come back unchanged.
    """
    if state is None:
        raise ValueError("The client did not send requestState back.")
    text, _, rest = state.partition("\n")
    if not hmac.compare_digest(rest.encode(), f"{_signature(text)}{_TAIL}".encode()):
        raise ValueError("The client changed requestState: it must be sent back exactly as received.")
    return json.loads(text)


def _signature(text: str) -> str:
    return hmac.new(_SIGNING_KEY, text.encode(), hashlib.sha256).hexdigest()
