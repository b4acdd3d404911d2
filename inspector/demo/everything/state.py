"""What changes while the server runs: the counter, the subscriptions, the log level of each client."""

from __future__ import annotations

from typing import get_args

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ToolsListChanged
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from inspector.demo.toolbox import Context

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""The eight levels of RFC 5424, least severe first."""

COUNTER_URI = "demo://counter"
_LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


class State:
    """One for the whole process; over HTTP several connections share it."""

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
        """Whether this client asked for messages of this level.

        In the handshake era one that never said so gets all; in the stateless era each request has to ask.
        """
        least: object = (context.meta or {}).get(_LOG_LEVEL_KEY)
        if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            least = self._levels.get(connection_of(context), LEVELS[0])
        return least in LEVELS[: LEVELS.index(level) + 1]

    async def announce_update(self, uri: str) -> None:
        """Tell the subscribers that a resource changed, each in the way of its own era."""
        for (_, subscribed), session in list(self._subscribers.items()):
            if subscribed == uri:
                await session.send_resource_updated(uri)
        await self.bus.publish(ResourceUpdated(uri))

    async def announce_tools(self, context: Context) -> None:
        """Tell the caller, and whoever listens in the stateless era, that the list of tools changed."""
        await context.session.send_tool_list_changed()
        await self.bus.publish(ToolsListChanged())


def connection_of(context: Context) -> str:
    """What tells one connection from another: the HTTP session id; stdio has only one connection."""
    return "" if context.request is None else context.request.headers.get("mcp-session-id", "")
