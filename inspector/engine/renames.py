"""Servers that get another name: what goes by the name of a server is taken along."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSONObject
from inspector.config.entries import Entry
from inspector.engine.logins import Logins
from inspector.engine.server import Server
from inspector.engine.views import ServerStatus, ServerView

if TYPE_CHECKING:
    from inspector.engine.servers import Servers

TakeAlong: TypeAlias = Callable[[str, str], Awaitable[None]]

_IN_USE = (ServerStatus.CONNECTED, ServerStatus.CONNECTING, ServerStatus.RESTARTING, ServerStatus.LOGGING_IN)


class Renames:
    """Renames servers; a connected one reconnects, as all displays use the name.

    `take_along` callbacks get the old and the new name before that; they must not raise.
    """

    def __init__(self, servers: Servers, logins: Logins) -> None:
        self.take_along: list[TakeAlong] = []
        self._servers = servers
        self._logins = logins

    async def rename(
        self, server: Server, entry: Entry, secrets: Mapping[str, str], draft: JSONObject | None
    ) -> ServerView:
        """Rename at the user's request: update the file and rename its secrets. Raises UserError."""
        servers, old = self._servers, server.entry
        servers.require_new(entry.name)
        await servers.secrets.put(secrets)
        entry = await servers.secrets.copied(replace(entry, name=old.name), entry.name)
        is_in_use = is_used(server)
        try:
            async with servers.changing:
                servers.require_still(server)
                new = servers.make_again(entry, server.is_kept)
                if server.is_kept and servers.catalogue is not None:
                    servers.catalogue.replace(old.name, entry, draft)
                await self._swap(old, new)
        except (UserError, OSError):
            await servers.secrets.forget(entry)
            raise
        await self._move(old.name, entry.name)
        await servers.secrets.forget(old)
        self._connect_again(entry, is_in_use)
        return new.view

    async def follow(self, old: str, entry: Entry) -> None:
        """Follow a rename in the file; the server keeps referring to its old secrets.

        Raises ConfigError if the entry is unusable; the old server is then still there.
        """
        server = self._servers.get(old)
        new = self._servers.make_again(entry, server.is_kept)
        is_in_use = is_used(server)
        await self._swap(server.entry, new)
        await self._servers.secrets.copy_inputs(entry, old)
        await self._move(old, entry.name)
        self._connect_again(entry, is_in_use)

    async def _swap(self, old: Entry, new: Server) -> None:
        place = self._servers.place_of(old.name)
        await self._servers.drop(old.name)
        self._servers.renamed.emit(old, new.entry)
        self._servers.admit(new, place)

    async def _move(self, before: str, after: str) -> None:
        await self._servers.secrets.move_logins(before, after)
        await self._logins.options.move(before, after)
        for take in self.take_along:
            await take(before, after)

    def _connect_again(self, entry: Entry, is_in_use: bool) -> None:
        if is_in_use and entry.enabled:
            self._servers.connecting.connect_soon(entry.name)


def is_used(server: Server) -> bool:
    """True if the server is connected or on its way there (connecting, restarting, logging in)."""
    return server.view.status in _IN_USE
