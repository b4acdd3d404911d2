"""Connecting, removing and renaming servers.

Servers connect concurrently, each with its own timeout. A removed server can be restored for a while, in
its old place. A rename moves everything that is stored under the name.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from inspector.base.errors import ConfigError, NeedsLogin, UserError
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry
from inspector.config.servers.server_list import RemovedEntry
from inspector.engine.login.logins import LoginController
from inspector.engine.server_view import ServerView
from inspector.engine.servers.server import Server
from inspector.engine.views import ServerStatus
from inspector.transport.task_scope import TaskScope

if TYPE_CHECKING:
    from inspector.engine.servers.registry import ServerRegistry

LONGER_TIMEOUT = 120.0  # seconds
_NOT_IDLE = (
    ServerStatus.DISABLED,
    ServerStatus.CONNECTING,
    ServerStatus.CONNECTED,
    ServerStatus.LOGGING_IN,
    ServerStatus.RECONNECTING,
)


class Connector:
    """Connects servers concurrently, each with its own timeout.

    A slow or failing server does not delay the others and can be stopped alone (`disconnect`).
    """

    def __init__(self, servers: ServerRegistry, logins: LoginController) -> None:
        self._servers = servers
        self._logins = logins
        self._tasks = TaskScope()

    async def connect(self, name: str, timeout: float | None = None) -> None:
        """Connect a server. Raises UserError, which the server's view shows too.

        Starts a login if the server requires one and the browser may be opened. `timeout` replaces the
        connection timeout of the settings for this attempt.
        """
        server = self._servers.get(name)
        if not server.entry.enabled:
            raise ConfigError(f"The server {name!r} is disabled.", "Enable it first (Server ▸ Enabled).")
        try:
            await server.connect(timeout)
        except NeedsLogin as exc:
            if not await self._logins.log_in_to_connect(name, exc):
                raise
            await server.connect(timeout)

    def connect_soon(self, name: str, timeout: float | None = None) -> None:
        """Connect in the background; progress is shown in the view."""
        self._tasks.spawn(f"connect {name}", self._connect_quietly(name, timeout))

    def wait_longer(self, name: str) -> None:
        """Give a slow server more time: extend the running connection attempt, or start a longer one."""
        if not self._servers.get(name).session.wait_longer(LONGER_TIMEOUT):
            self.connect_soon(name, LONGER_TIMEOUT)

    def connect_all(self) -> tuple[str, ...]:
        """Connect all enabled, unconnected servers in the background; return their names.

        No browser is opened, as twenty pages at once would not help; servers that require a login report
        it.
        """
        return self._begin(
            [server.entry.name for server in self._servers.all() if server.view.status not in _NOT_IDLE]
        )

    def connect_at_start(self) -> tuple[str, ...]:
        """Like `connect_all`, for the servers with `auto_connect`."""
        return self._begin(
            [
                server.entry.name
                for server in self._servers.all()
                if server.entry.auto_connect and server.view.status not in _NOT_IDLE
            ]
        )

    async def disconnect(self, name: str) -> None:
        """Disconnect, or stop connecting."""
        server = self._servers.get(name)
        self._logins.stop(name)
        await server.disconnect()

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

    async def _connect_quietly(self, name: str, timeout: float | None) -> None:
        with contextlib.suppress(UserError):  # shown in the server's view
            await self.connect(name, timeout)

    async def _connect_without_login(self, name: str) -> None:
        with contextlib.suppress(UserError):
            await self._servers.get(name).connect()


UNDO_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed server that can be restored within `seconds` of its removal."""

    id: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _RemovedServer:
    entry: Entry
    is_saved: bool
    position: int
    removed_entry: RemovedEntry | None
    was_in_use: bool


class RemovedServers:
    """Undoable removal of servers; secrets and logins are deleted when the undo period ends."""

    def __init__(self, servers: ServerRegistry, logins: LoginController) -> None:
        self._servers = servers
        self._logins = logins
        self._removed: dict[int, _RemovedServer] = {}
        self._ids = itertools.count(1)
        self._tasks = TaskScope()

    async def remove(self, name: str) -> Removed:
        """Remove a server. Raises ConfigError, leaving it in place."""
        async with self._servers.lock:
            server = self._servers.get(name)
            if server.origin:
                raise ConfigError(f"{name!r} is defined in {server.origin}.", "Stop trusting it instead.")
            was_in_use = is_in_use(server)
            position = self._servers.position_of(name)
            server_list = self._servers.server_list if server.is_saved else None
            removed_entry = server_list.remove(name) if server_list is not None else None
            await self._servers.drop(name)
        id = next(self._ids)
        self._removed[id] = _RemovedServer(server.entry, server.is_saved, position, removed_entry, was_in_use)
        self._tasks.spawn(f"undo of {name}", self._end_later(id))
        return Removed(id, name, UNDO_TIMEOUT)

    async def undo(self, id: int) -> ServerView:
        """Restore a server and reconnect it if it was connected. Raises ConfigError."""
        removed = self._removed.get(id)
        if removed is None:
            raise ConfigError("It is too late to restore this server.", "Add it again.")
        server = self._servers.make_server(removed.entry, removed.is_saved)
        if removed.removed_entry is not None and self._servers.server_list is not None:
            self._servers.server_list.restore(removed.removed_entry)
        del self._removed[id]
        view = self._servers.insert(server, removed.position)
        if removed.was_in_use:
            self._servers.connector.connect_soon(removed.entry.name)
        return view

    async def end(self, id: int) -> None:
        """End the undo period: delete its secrets and login."""
        removed = self._removed.pop(id, None)
        if removed is None or self._servers.has(removed.entry.name):  # they now belong to another server
            return
        await self._logins.forget(removed.entry.name)
        await self._servers.secrets.forget(removed.entry)

    async def end_for(self, name: str) -> None:
        """Delete the secrets of a removed server whose name a new one takes."""
        for id, removed in list(self._removed.items()):
            if removed.entry.name == name:
                await self.end(id)

    async def close(self) -> None:
        await self._tasks.close()
        for id in list(self._removed):
            await self.end(id)

    async def _end_later(self, id: int) -> None:
        await asyncio.sleep(UNDO_TIMEOUT)
        await self.end(id)


RenameHook: TypeAlias = Callable[[str, str], Awaitable[None]]

_IN_USE = (
    ServerStatus.CONNECTED,
    ServerStatus.CONNECTING,
    ServerStatus.RECONNECTING,
    ServerStatus.LOGGING_IN,
)


class ServerRenamer:
    """Renames servers; a connected one reconnects, as all displays use the name.

    `rename_hooks` callbacks get the old and the new name before that; they must not raise.
    """

    def __init__(self, servers: ServerRegistry, logins: LoginController) -> None:
        self.rename_hooks: list[RenameHook] = []
        self._servers = servers
        self._logins = logins

    async def rename(
        self, server: Server, entry: Entry, secrets: Mapping[str, str], draft: JSONObject | None
    ) -> ServerView:
        """Rename at the user's request: update the file and rename its secrets. Raises UserError."""
        servers, old = self._servers, server.entry
        servers.require_new(entry.name)
        await servers.secrets.forget_leftovers(entry, secrets)
        await servers.secrets.put(secrets)
        entry = await servers.secrets.copied(replace(entry, name=old.name), entry.name)
        was_in_use = is_in_use(server)
        try:
            async with servers.lock:
                servers.require_still(server)
                new = servers.make_server(entry, server.is_saved)
                if server.is_saved and servers.server_list is not None:
                    servers.server_list.replace(old.name, entry, draft)
                await self._swap(old, new)
        except (UserError, OSError):
            await servers.secrets.forget(entry)
            raise
        await self._move(old.name, entry.name)
        await servers.secrets.forget(old)
        self._connect_again(entry, was_in_use)
        return new.view

    async def follow_file(self, old: str, entry: Entry) -> None:
        """Follow a rename in the file; the server keeps referring to its old secrets.

        Raises ConfigError if the entry is unusable; the old server is then still there.
        """
        server = self._servers.get(old)
        new = self._servers.make_server(entry, server.is_saved)
        was_in_use = is_in_use(server)
        await self._swap(server.entry, new)
        await self._servers.secrets.copy_inputs(entry, old)
        await self._move(old, entry.name)
        self._connect_again(entry, was_in_use)

    async def _swap(self, old: Entry, new: Server) -> None:
        position = self._servers.position_of(old.name)
        await self._servers.drop(old.name)
        self._servers.renamed.emit(old, new.entry)
        self._servers.insert(new, position)

    async def _move(self, before: str, after: str) -> None:
        await self._servers.secrets.move_logins(before, after)
        await self._logins.options.move(before, after)
        for hook in self.rename_hooks:
            await hook(before, after)

    def _connect_again(self, entry: Entry, was_in_use: bool) -> None:
        if was_in_use and entry.enabled:
            self._servers.connector.connect_soon(entry.name)


def is_in_use(server: Server) -> bool:
    """True if the server is connected or on its way there (connecting, restarting, logging in)."""
    return server.view.status in _IN_USE
