"""Messages and results that the SDK's models refuse, on purpose or because they do not know them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.session import ServerSession
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ConfigDict, Field

from inspector.demo.toolbox import Context


class RawResult(Exception):
    """Raised by a tool to return a raw result: the only way around the SDK's validation."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__("a result that the SDK does not check")
        self.result = dict(result)


async def let_raw_results_out(ctx: Context, call_next: CallNext) -> HandlerResult:
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


class _Answer(types.Result):
    model_config = ConfigDict(extra="allow")


class _Notification(types.Notification[dict[str, Any], str]):
    pass


async def request_raw(
    session: ServerSession, method: str, params: dict[str, Any] | None, related: types.RequestId | None = None
) -> dict[str, Any]:
    """Send a request of any shape and return its result. Raises MCPError if it is rejected."""
    request = cast(types.ServerRequest, _Request(name=method, params=params))
    metadata = ServerMessageMetadata(related_request_id=related)
    answer = await session.send_request(request, _Answer, metadata=metadata)
    return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


async def notify_raw(
    session: ServerSession, method: str, params: dict[str, Any], related: types.RequestId | None = None
) -> None:
    """Send a notification of any shape; without `related` on the connection's own channel."""
    notification = cast(types.ServerNotification, _Notification(method=method, params=params))
    await session.send_notification(notification, related)
