"""Run-time state: the counter, subscriptions, each client's log level, background tasks.

Background tasks continue after the call that started them has been answered.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVarTuple, Unpack, get_args

import anyio
import anyio.abc
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ToolsListChanged
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from inspector.demo.toolbox import Context

Args = TypeVarTuple("Args")


class Background:
    """Background tasks of the process: they outlive connections and end with the server."""

    def __init__(self) -> None:
        self._group: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self, server: object) -> AsyncIterator[None]:
        """The server's lifespan; the SDK enters it once, even with many HTTP connections."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    def start(self, work: Callable[[Unpack[Args]], Coroutine[Any, Any, None]], *arguments: *Args) -> None:
        assert self._group is not None, "the server runs"
        self._group.start_soon(work, *arguments)


LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""The eight levels of RFC 5424, least severe first."""

COUNTER_URI = "demo://counter"
_LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


class State:
    """Process-wide state; over HTTP, several connections share it."""

    def __init__(self) -> None:
        self.counter = 0
        self.bus = InMemorySubscriptionBus()
        self._subscribers: dict[tuple[str, str], ServerSession] = {}
        self._levels: dict[str, types.LoggingLevel] = {}

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        self._subscribers[connection_of(context), params.uri] = context.session
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        self._subscribers.pop((connection_of(context), params.uri), None)
        return types.EmptyResult()

    async def set_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        self._levels[connection_of(context)] = params.level
        return types.EmptyResult()

    def wants(self, context: Context, level: types.LoggingLevel) -> bool:
        """True if this client wants log messages of this level.

        In the handshake era, a client that never set a level gets all of them; in the stateless era, each
        request has to ask.
        """
        minimum: object = (context.meta or {}).get(_LOG_LEVEL_KEY)
        if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            minimum = self._levels.get(connection_of(context), LEVELS[0])
        return minimum in LEVELS[: LEVELS.index(level) + 1]

    async def announce_update(self, uri: str) -> None:
        """Notify subscribers that a resource changed, each in the way of its era."""
        for (_, subscribed), session in list(self._subscribers.items()):
            if subscribed == uri:
                await session.send_resource_updated(uri)
        await self.bus.publish(ResourceUpdated(uri))

    async def announce_tools(self, context: Context) -> None:
        """Notify the caller, and listeners in the stateless era, that the tool list changed."""
        await context.session.send_tool_list_changed()
        await self.bus.publish(ToolsListChanged())


def connection_of(context: Context) -> str:
    """Return a connection's identity: the HTTP session id, or "" for the one on stdio."""
    return "" if context.request is None else context.request.headers.get("mcp-session-id", "")
