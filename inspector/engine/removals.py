"""Servers that were removed and can be had back for a while: as they were, where they were."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError
from inspector.config.catalogue import TakenOut
from inspector.config.entries import Entry
from inspector.engine.logins import Logins
from inspector.engine.renames import is_used
from inspector.engine.views import ServerView
from inspector.transport.tasks import TaskScope

if TYPE_CHECKING:
    from inspector.engine.servers import Servers

UNDO_TIME = 30.0


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed server that can be restored within `seconds` of its removal."""

    id: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Gone:
    entry: Entry
    is_kept: bool
    place: int
    taken: TakenOut | None
    was_in_use: bool


class Removals:
    """Undoable removal of servers; secrets and logins are deleted when the undo period ends."""

    def __init__(self, servers: Servers, logins: Logins) -> None:
        self._servers = servers
        self._logins = logins
        self._gone: dict[int, _Gone] = {}
        self._ids = itertools.count(1)
        self._tasks = TaskScope()

    async def remove(self, name: str) -> Removed:
        """Remove a server. Raises ConfigError, leaving it in place."""
        async with self._servers.changing:
            server = self._servers.get(name)
            if server.origin:
                raise ConfigError(f"{name!r} stands in {server.origin}.", "Stop trusting it instead.")
            was_in_use = is_used(server)
            place = self._servers.place_of(name)
            catalogue = self._servers.catalogue if server.is_kept else None
            taken = catalogue.remove(name) if catalogue is not None else None
            await self._servers.drop(name)
        id = next(self._ids)
        self._gone[id] = _Gone(server.entry, server.is_kept, place, taken, was_in_use)
        self._tasks.spawn(f"undo of {name}", self._end_later(id))
        return Removed(id, name, UNDO_TIME)

    async def undo(self, id: int) -> ServerView:
        """Restore a server and reconnect it if it was connected. Raises ConfigError."""
        gone = self._gone.get(id)
        if gone is None:
            raise ConfigError("It is too late to undo this.", "Add the server again.")
        server = self._servers.make_again(gone.entry, gone.is_kept)
        if gone.taken is not None and self._servers.catalogue is not None:
            self._servers.catalogue.put_back(gone.taken)
        del self._gone[id]
        view = self._servers.admit(server, gone.place)
        if gone.was_in_use:
            self._servers.connecting.connect_soon(gone.entry.name)
        return view

    async def end(self, id: int) -> None:
        """End the undo period: delete its secrets and login."""
        gone = self._gone.pop(id, None)
        if gone is None or self._servers.has(gone.entry.name):  # they now belong to another server
            return
        await self._logins.forget(gone.entry.name)
        await self._servers.secrets.forget(gone.entry)

    async def end_of(self, name: str) -> None:
        """Delete the secrets of a removed server whose name a new one takes."""
        for id, gone in list(self._gone.items()):
            if gone.entry.name == name:
                await self.end(id)

    async def close(self) -> None:
        await self._tasks.close()
        for id in list(self._gone):
            await self.end(id)

    async def _end_later(self, id: int) -> None:
        await asyncio.sleep(UNDO_TIME)
        await self.end(id)
