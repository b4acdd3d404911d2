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
    """Raised by a tool to answer its call with this result as it is: the one way past the SDK's check."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        super().__init__("a result that the SDK does not check")
        self.result = dict(result)


async def let_raw_results_out(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware: what it returns itself is not checked any more."""
    try:
        return await call_next(ctx)
    except RawResult as raw:
        return raw.result


class _Request(BaseModel):
    """Goes out under its real name, while the SDK, which looks up `method`, finds no shape for the answer."""

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
    """Send a request of any shape, and give its result; raises MCPError when it is refused."""
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
