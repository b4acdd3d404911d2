"""Connecting servers: one, or all at once, each in its own time."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from inspector.base.errors import NeedsLogin, UserError
from inspector.engine.logins import Logins
from inspector.engine.views import ServerStatus
from inspector.transport.tasks import TaskScope

if TYPE_CHECKING:
    from inspector.engine.servers import Servers

_UNDER_WAY = (
    ServerStatus.DISABLED,
    ServerStatus.CONNECTING,
    ServerStatus.CONNECTED,
    ServerStatus.LOGGING_IN,
    ServerStatus.RESTARTING,
)


class Connecting:
    """Connects servers concurrently, each with its own timeout.

    A slow or failing server does not delay the others and can be stopped alone (`disconnect`).
    """

    def __init__(self, servers: Servers, logins: Logins) -> None:
        self._servers = servers
        self._logins = logins
        self._tasks = TaskScope()

    async def connect(self, name: str) -> None:
        """Connect a server. Raises UserError, which the server's view shows too.

        Starts a login if the server requires one and the browser may be opened.
        """
        server = self._servers.get(name)
        try:
            await server.connect()
        except NeedsLogin as exc:
            if not await self._logins.log_in_to_connect(name, exc):
                raise
            await server.connect()

    def connect_soon(self, name: str) -> None:
        """Connect in the background; progress is shown in the view."""
        self._tasks.spawn(f"connect {name}", self._connect_quietly(name))

    def connect_all(self) -> tuple[str, ...]:
        """Connect all enabled, unconnected servers in the background; return their names.

        No browser is opened, as twenty pages at once would not help; servers that require a login report
        it.
        """
        return self._begin(
            [server.entry.name for server in self._servers.all() if server.view.status not in _UNDER_WAY]
        )

    def connect_at_start(self) -> tuple[str, ...]:
        """Like `connect_all`, for the servers with `auto_connect`."""
        return self._begin(
            [
                server.entry.name
                for server in self._servers.all()
                if server.entry.auto_connect and server.view.status not in _UNDER_WAY
            ]
        )

    async def disconnect(self, name: str) -> None:
        """Disconnect, or stop connecting."""
        server = self._servers.get(name)
        self._logins.stop(name)
        await server.disconnect()

    async def disconnect_all(self) -> None:
        await asyncio.gather(*(self.disconnect(server.entry.name) for server in self._servers.all()))

    async def close(self) -> None:
        await self._tasks.close()

    def _begin(self, names: list[str]) -> tuple[str, ...]:
        self._tasks.spawn("connect all", self._connect_each(names))
        return tuple(names)

    async def _connect_each(self, names: list[str]) -> None:
        """Start all, yielding to the loop in between: starting fifty processes takes a second."""
        for name in names:
            self._tasks.spawn(f"connect {name}", self._connect_without_login(name))
            await asyncio.sleep(0)

    async def _connect_quietly(self, name: str) -> None:
        with contextlib.suppress(UserError):  # shown in the server's view
            await self.connect(name)

    async def _connect_without_login(self, name: str) -> None:
        with contextlib.suppress(UserError):
            await self._servers.get(name).connect()
