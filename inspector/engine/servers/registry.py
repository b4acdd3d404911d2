"""All servers of an engine: their order, their configuration, and every change of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSONObject
from inspector.base.signals import Signal
from inspector.config.servers.entries import Auth, Entry, HttpEntry, StdioEntry, check_continue_as
from inspector.config.servers.entry_secrets import LOGIN
from inspector.config.servers.placeholders import moved_to_store, stored_secrets_of
from inspector.config.servers.server_list import ServerListFile, write_entry
from inspector.engine.login.logins import LoginController
from inspector.engine.secrets import Secrets, ServerSecrets
from inspector.engine.server_view import ServerView
from inspector.engine.servers.lifecycle import Connector, RemovedServers, ServerRenamer
from inspector.engine.servers.server import Server
from inspector.protocol.client_capabilities import ClientCapabilities


class ServerRegistry:
    """All servers. Runs on the engine's loop.

    `make` creates a server from an entry; `is_saved` ones are saved in the server list. Without a server
    list no server is saved.

    Signals:
        changed: A server was added or changed; carries its ServerView.
        removed: Carries its name.
        renamed: After the old server was removed and before the new one is added; carries both entries.
        order_changed: Carries all names in order, when a server was not simply appended.
        problem_found: Something is wrong that belongs to no server; carries a sentence.
    """

    def __init__(
        self,
        server_list: ServerListFile | None,
        secrets: Secrets,
        logins: LoginController,
        make: Callable[[Entry, bool], Server],
    ) -> None:
        self.changed: Signal[ServerView] = Signal()
        self.removed: Signal[str] = Signal()
        self.renamed: Signal[Entry, Entry] = Signal()
        self.order_changed: Signal[tuple[str, ...]] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.server_list = server_list
        self.connector = Connector(self, logins)
        self.removals = RemovedServers(self, logins)
        self.renamer = ServerRenamer(self, logins)
        self.secrets = ServerSecrets(secrets)
        self.secrets.problem_found.connect(self.problem_found.emit)
        self._logins = logins
        self._make = make
        self._servers: dict[str, Server] = {}
        self.lock = asyncio.Lock()  # held while the file and the servers are out of sync
        self.load_warnings: tuple[str, ...] = ()  # about the file, when it was loaded

    def get(self, name: str) -> Server:
        """Return a server. Raises ConfigError."""
        try:
            return self._servers[name]
        except KeyError:
            raise ConfigError(f"No server named {name!r}.", "It may have been removed.") from None

    def all(self) -> tuple[Server, ...]:
        return tuple(self._servers.values())

    def has(self, name: str) -> bool:
        return name in self._servers

    def position_of(self, name: str) -> int:
        return list(self._servers).index(name)

    def entry(self, name: str) -> Entry:
        """Return the configuration of a server. Raises ConfigError."""
        return self.get(name).entry

    def unique_name(self, name: str) -> str:
        """Return `name`, numbered if taken."""
        names = [name, *(f"{name} {number}" for number in range(2, len(self._servers) + 3))]
        return next(candidate for candidate in names if candidate not in self._servers)

    def load(self) -> None:
        """Add the servers of the server list without connecting."""
        if self.server_list is None:
            return
        loaded = self.server_list.load()
        self.load_warnings = loaded.problems
        self._report(loaded.problems)
        for entry in loaded.entries:
            self.add_quietly(entry)

    def add(self, entry: Entry, *, is_saved: bool = False) -> ServerView:
        """Add a server; with `is_saved` it belongs to the server list. Raises ConfigError."""
        return self.insert(self.make_server(entry, is_saved))

    def add_quietly(self, entry: Entry) -> None:
        """Add a server from the file; warnings are reported."""
        try:
            self.add(entry, is_saved=True)
        except ConfigError as exc:  # does not affect the others
            self._report([str(exc)])

    def save(self, entry: Entry) -> ServerView:
        """Add a server and write it to the file; both or neither."""
        server = self.make_server(entry, self.server_list is not None)
        if self.server_list is not None:
            self.server_list.add(entry)
        return self.insert(server)

    async def save_with_secrets(self, entry: Entry, values: Mapping[str, str]) -> ServerView:
        """Like `save`, together with the server's secrets, all or nothing. Raises ConfigError."""
        self.require_new(entry.name)  # before overwriting another server's secret
        await self.removals.end_for(entry.name)
        await self.secrets.forget_leftovers(entry, values)
        await self.secrets.put(values)
        try:
            return self.save(entry)
        except (UserError, OSError):
            await self.secrets.delete_new(values)
            raise

    async def duplicate(self, name: str, new_name: str = "") -> ServerView:
        """Duplicate a server right after it, with copies of its secrets. Raises UserError.

        The copy is not connected and has no login.
        """
        server = self.get(name)
        new_name = new_name or self.unique_name(name)
        self.require_new(new_name)
        await self.secrets.forget_leftovers(replace(server.entry, name=new_name), ())
        entry = await self.secrets.copied(server.entry, new_name, server.input_owner)
        try:
            is_saved = server.is_saved or bool(server.origin)
            copy = self.make_server(entry, is_saved and self.server_list is not None)
            if copy.is_saved and self.server_list is not None:
                self.server_list.copy(name, entry)
        except (UserError, OSError):
            await self.secrets.forget(entry)
            raise
        return self.insert(copy, self.position_of(name) + 1 if self.has(name) else None)

    def insert(self, server: Server, location: int | None = None) -> ServerView:
        """Add a new server, at the end or at `location`."""
        items = list(self._servers.items())
        at = len(items) if location is None else min(location, len(items))
        self._servers = dict([*items[:at], (server.entry.name, server), *items[at:]])
        server.announce()
        if at < len(items):
            self.order_changed.emit(tuple(self._servers))
        return server.view

    async def draft(self, name: str) -> JSONObject:
        """Return a server's JSON for editing, to be passed to `update`. Raises ConfigError."""
        server = self.get(name)
        written = self.server_list.written(name) if server.is_saved and self.server_list is not None else {}
        return write_entry(server.entry, written)

    async def update(
        self,
        name: str,
        entry: Entry,
        secrets: Mapping[str, str] | None = None,
        draft: JSONObject | None = None,
    ) -> ServerView:
        """Reconfigure a server, possibly under a new name; `secrets` are new ones it refers to.

        Unknown members of a `draft` are written with it. An existing connection is unaffected; the view
        says when a reconnect is needed. Only a new name reconnects, as all displays use the name; a server
        that was disabled and no longer is connects. Raises UserError.
        """
        server = self.get(name)
        self._require_own(server)
        if not entry.name.strip():
            raise ConfigError("The server has no name.", "Enter a name.")
        server.require_usable(entry)
        if entry.name != name:
            return await self.renamer.rename(server, entry, secrets or {}, draft)
        await self.secrets.put(secrets or {})
        async with self.lock:
            self.require_still(server)
            before = server.entry
            self._save_entry(server, entry, draft)
            await self._apply_entry(server, entry)
        await self.secrets.forget_stale(before, entry)
        if entry.enabled and not before.enabled:
            self.connector.connect_soon(name)
        return server.view

    async def apply_entry(self, name: str, entry: Entry) -> None:
        """Reconfigure a server without saving. Raises ConfigError."""
        server = self.get(name)
        server.require_usable(entry)
        await self._apply_entry(server, entry)

    async def _apply_entry(self, server: Server, entry: Entry) -> None:
        """Reconfigure under the same name. A running login continues unless the target changed."""
        name = entry.name
        if _has_same_login(server.entry, entry):
            authorization = server.authorization
        else:
            await self._logins.drop(name)
            authorization = self._logins.authorization_for(entry)
        server.set_entry(entry, authorization)
        if not entry.enabled:
            await server.disconnect()

    async def set_secrets(self, name: str, moved: Collection[str], values: Mapping[str, str]) -> None:
        """Move plain secrets to the secret store and set new `values` of stored ones.

        Both by the names in the server's view; used from the next connection on. Raises ConfigError.
        """
        server = self.get(name)
        entry, plain = moved_to_store(server.entry, moved)
        if plain and server.is_saved:
            await self.secrets.require_lasting()
        stored = stored_secrets_of(server.entry, server.input_owner)
        new = {stored[each]: value for each, value in values.items() if each in stored}
        await self.secrets.put({**plain, **new})
        self.require_still(server)
        self._save_entry(server, entry)
        server.set_declared(entry)

    async def set_inputs(self, name: str, values: Mapping[str, str]) -> None:
        """Set the values of `${input:id}` for a server, used from the next connection on."""
        owner = self.get(name).input_owner
        await self.secrets.put({owner.secret(id): value for id, value in values.items()})

    async def set_enabled(self, name: str, enabled: bool) -> None:
        """Enable and connect in the background, or disable and disconnect.

        A disabled server is never connected. Raises ConfigError.
        """
        server = self.get(name)
        was_enabled, entry = server.entry.enabled, replace(server.entry, enabled=enabled)
        self._save_entry(server, entry)
        server.entry = entry
        if not enabled:
            await server.disconnect()
        server.announce()
        if enabled and not was_enabled:
            self.connector.connect_soon(name)

    def set_declared(self, name: str, declared: ClientCapabilities | None) -> None:
        """Set the declared client capabilities; None for all supported. Raises ConfigError.

        In the stateless era the next request declares them; before, a reconnect is needed, as shown in the
        view.
        """
        server = self.get(name)
        capabilities, is_exact = (None, False) if declared is None else (declared.members, declared.is_exact)
        entry = replace(server.entry, capabilities=capabilities, exact_capabilities=is_exact)
        self._save_entry(server, entry)
        server.set_declared(entry)

    async def set_continue_as(self, name: str, version: str) -> None:
        """Set the protocol version to use if the server names an unknown one. Raises ConfigError."""
        server = self.get(name)
        entry = replace(server.entry, continue_as=check_continue_as(version))
        self._save_entry(server, entry)
        server.set_declared(entry)

    async def set_auth(self, name: str, auth: Auth | None, secrets: Mapping[str, str] | None = None) -> None:
        """Set a server's authorization from the next connection on; its tokens are kept.

        `secrets` are new ones it refers to; those no longer referred to are deleted. Raises UserError.
        """
        server = self.get(name)
        if not isinstance(server.entry, HttpEntry):
            raise ConfigError(f"{name!r} has no login: it does not use HTTP.", "Only HTTP servers have one.")
        await self.secrets.put(secrets or {})
        before, entry = server.entry, replace(server.entry, auth=auth)
        async with self.lock:
            self._save_entry(server, entry)
            await self._logins.drop(name)
            server.set_authorization(entry, self._logins.authorization_for(entry))
        await self.secrets.forget_stale(before, entry, kind=LOGIN)  # a bearer token may be needed again

    async def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """Set the result of `roots/list`; notifies the server if declared. Raises UserError."""
        server = self.get(name)
        entry = replace(server.entry, roots=roots)
        self._save_entry(server, entry)
        await server.set_roots(entry)

    def set_watch(self, name: str, globs: tuple[str, ...]) -> None:
        """Set the globs that restart a server when a matching file changes. Raises ConfigError."""
        server = self.get(name)
        entry = replace(server.entry, watch=globs)
        self._save_entry(server, entry)
        server.entry = entry
        server.announce()

    async def remove(self, name: str) -> None:
        """Remove a server and its secrets permanently; `removals.remove` can be undone."""
        removed = await self.removals.remove(name)
        await self.removals.end(removed.id)

    async def drop(self, name: str) -> Server:
        """Disconnect and drop a server; what is saved stays."""
        server = self.get(name)
        await self._logins.drop(name)
        await server.disconnect()
        self._servers.pop(name, None)
        self.removed.emit(name)
        return server

    def reorder(self, names: Sequence[str]) -> None:
        """Put saved servers in file order, before unsaved ones."""
        before = tuple(self._servers)
        saved = [name for name in names if name in self._servers and self._servers[name].is_saved]
        rest = [name for name in before if name not in saved]
        self._servers = {name: self._servers[name] for name in (*saved, *rest)}
        if tuple(self._servers) != before:
            self.order_changed.emit(tuple(self._servers))

    def make_server(self, entry: Entry, is_saved: bool) -> Server:
        """Create a server without adding it. Raises ConfigError if its name is taken."""
        self.require_new(entry.name)
        return self._make(entry, is_saved)

    def require_new(self, name: str) -> None:
        if name in self._servers:
            raise ConfigError(f"A server named {name!r} already exists.", "Choose another name.")

    def require_still(self, server: Server) -> None:
        """Raise ConfigError if the server was removed while waiting for the secret store."""
        if server is not self._servers.get(server.entry.name):
            raise ConfigError(f"The server {server.entry.name!r} no longer exists.", "Add it again.")

    def _require_own(self, server: Server) -> None:
        if server.origin:
            raise ConfigError(
                f"{server.entry.name!r} is defined in {server.origin}, which MCP Lens does not change.",
                "Import it and edit the copy.",
            )

    def _save_entry(self, server: Server, entry: Entry, draft: JSONObject | None = None) -> None:
        """Write the server's entry, if it is in the server list."""
        if server.is_saved and self.server_list is not None:
            self.server_list.replace(entry.name, entry, draft)

    def _report(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            self.problem_found.emit(warning)


def _has_same_login(one: Entry, other: Entry) -> bool:
    """True if target, headers and auth are the same, so that a login stays valid."""
    if isinstance(one, StdioEntry) or isinstance(other, StdioEntry):
        return isinstance(one, StdioEntry) and isinstance(other, StdioEntry)
    mine, theirs = (
        (type(entry), entry.url, dict(entry.headers), entry.network, getattr(entry, "auth", None))
        for entry in (one, other)
    )
    return mine == theirs
