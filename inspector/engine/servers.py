"""The servers of an engine: which there are, in which order, and how each is configured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from inspector.base.errors import ConfigError, UserError
from inspector.base.jsonvalue import JSONObject
from inspector.base.signals import Signal
from inspector.config.auth import Auth
from inspector.config.catalogue import Catalogue, write_entry
from inspector.config.entries import Entry, HttpEntry, StdioEntry
from inspector.config.entrysecrets import LOGIN
from inspector.config.expansion import input_secret
from inspector.config.textsecrets import moved_to_store, stored_secrets_of
from inspector.engine.connecting import Connecting
from inspector.engine.logins import Logins
from inspector.engine.removals import Removals
from inspector.engine.renames import Renames
from inspector.engine.secrets import Secrets
from inspector.engine.server import Server
from inspector.engine.serversecrets import ServerSecrets
from inspector.engine.views import ServerView
from inspector.protocol.declared import Declared


class Servers:
    """Everything here is called on the engine's loop. `make` makes a server of an entry; it may be one of the
    catalogue's (`is_kept`). Without a catalogue all servers are for this run.

    Signals:
        changed: A server was added or stands differently; carries its ServerView.
        removed: Carries its name.
        renamed: Between the old one's end and the new one's coming; carries the entries of both.
        order_changed: Carries all names in their order, when a server is not simply the last one.
        problem_found: Something is wrong that belongs to no server; carries a sentence.
    """

    def __init__(
        self,
        catalogue: Catalogue | None,
        secrets: Secrets,
        logins: Logins,
        make: Callable[[Entry, bool], Server],
    ) -> None:
        self.changed: Signal[ServerView] = Signal()
        self.removed: Signal[str] = Signal()
        self.renamed: Signal[Entry, Entry] = Signal()
        self.order_changed: Signal[tuple[str, ...]] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.catalogue = catalogue
        self.connecting = Connecting(self, logins)
        self.removals = Removals(self, logins)
        self.renames = Renames(self, logins)
        self.secrets = ServerSecrets(secrets)
        self.secrets.problem_found.connect(self.problem_found.emit)
        self._logins = logins
        self._make = make
        self._servers: dict[str, Server] = {}
        self.changing = asyncio.Lock()  # held while the file and the servers do not say the same
        self.load_problems: tuple[str, ...] = ()  # what was wrong with the file when it was loaded

    # -------------------------------------------------------------- which there are

    def get(self, name: str) -> Server:
        """Raises ConfigError."""
        try:
            return self._servers[name]
        except KeyError:
            raise ConfigError(f"There is no server {name!r}.", "It may have been removed.") from None

    def all(self) -> tuple[Server, ...]:
        return tuple(self._servers.values())

    def has(self, name: str) -> bool:
        return name in self._servers

    def place_of(self, name: str) -> int:
        return list(self._servers).index(name)

    def entry(self, name: str) -> Entry:
        """How a server is configured. Raises ConfigError."""
        return self.get(name).entry

    def unique_name(self, name: str) -> str:
        """The name, or the name with a number, that no server has."""
        names = [name, *(f"{name} {number}" for number in range(2, len(self._servers) + 3))]
        return next(candidate for candidate in names if candidate not in self._servers)

    # -------------------------------------------------------------- adding

    def load(self) -> None:
        """Add what the catalogue holds. Nothing is connected."""
        if self.catalogue is None:
            return
        loaded = self.catalogue.load()
        self.load_problems = loaded.problems
        self._tell(loaded.problems)
        for entry in loaded.entries:
            self.add_quietly(entry)

    def add(self, entry: Entry, *, keep: bool = False) -> ServerView:
        """A server for this run; with `keep` it is one of the catalogue's. Raises ConfigError."""
        return self.admit(self._make_new(entry, keep))

    def add_quietly(self, entry: Entry) -> None:
        """One of the catalogue's. What is wrong with it is told."""
        try:
            self.add(entry, keep=True)
        except ConfigError as exc:  # the others are none the worse for it
            self._tell([str(exc)])

    def save(self, entry: Entry) -> ServerView:
        """Add a server and write it into the catalogue. Not added when it cannot be written, nor written
        when it cannot be added."""
        server = self._make_new(entry, self.catalogue is not None)
        if self.catalogue is not None:
            self.catalogue.add(entry)
        return self.admit(server)

    async def save_with_secrets(self, entry: Entry, values: Mapping[str, str]) -> ServerView:
        """`save` a server together with what it refers to in the secret store, all or nothing. Raises
        ConfigError."""
        self.require_new(entry.name)  # before another server's secret is written over
        await self.removals.end_of(entry.name)
        await self.secrets.put(values)
        try:
            return self.save(entry)
        except (UserError, OSError):
            await self.secrets.take_back(values)
            raise

    async def duplicate(self, name: str, new_name: str = "") -> ServerView:
        """A server like this one, right behind it, with secrets of its own. It is not connected, and has no
        login yet. Raises UserError."""
        server = self.get(name)
        new_name = new_name or self.unique_name(name)
        self.require_new(new_name)
        entry = await self.secrets.copied(server.entry, new_name)
        try:
            is_kept = server.is_kept or bool(server.origin)
            copy = self._make_new(entry, is_kept and self.catalogue is not None)
            if copy.is_kept and self.catalogue is not None:
                self.catalogue.copy(name, entry)
        except (UserError, OSError):
            await self.secrets.forget(entry)
            raise
        return self.admit(copy, self.place_of(name) + 1 if self.has(name) else None)

    def admit(self, server: Server, place: int | None = None) -> ServerView:
        """A server that was made is one of ours from now on: the last one, or at a place."""
        items = list(self._servers.items())
        at = len(items) if place is None else min(place, len(items))
        self._servers = dict([*items[:at], (server.entry.name, server), *items[at:]])
        server.announce()
        if at < len(items):
            self.order_changed.emit(tuple(self._servers))
        return server.view

    # -------------------------------------------------------------- changing

    async def draft(self, name: str) -> JSONObject:
        """A server as it is written, for editing: `update` takes it again. Raises ConfigError."""
        server = self.get(name)
        written = self.catalogue.written(name) if server.is_kept and self.catalogue is not None else {}
        return write_entry(server.entry, written)

    async def update(
        self,
        name: str,
        entry: Entry,
        secrets: Mapping[str, str] | None = None,
        draft: JSONObject | None = None,
    ) -> ServerView:
        """Configure a server anew, maybe under another name; `secrets` is what it newly refers to. Members
        of a `draft` that we do not know are written with it. Raises UserError.

        A connection that there is goes on as it was: the view says when it takes connecting again. Only with
        another name it is made anew, since everything that is shown of it goes by its name.
        """
        server = self.get(name)
        self._require_own(server)
        if not entry.name.strip():
            raise ConfigError("The server has no name.", "Give it one.")
        server.require_usable(entry)
        if entry.name != name:
            return await self.renames.rename(server, entry, secrets or {}, draft)
        await self.secrets.put(secrets or {})
        async with self.changing:
            self.require_still(server)
            before = server.entry
            self._keep(server, entry, draft)
            await self._take(server, entry)
        await self.secrets.forget_stale(before, entry)
        return server.view

    async def take(self, name: str, entry: Entry) -> None:
        """Be configured like this from now on, which is written nowhere. Raises ConfigError."""
        server = self.get(name)
        server.require_usable(entry)
        await self._take(server, entry)

    async def _take(self, server: Server, entry: Entry) -> None:
        """Under the same name. A login that is under way goes on, unless it is for another address."""
        name = entry.name
        if _asks_alike(server.entry, entry):
            authorization = server.authorization
        else:
            await self._logins.drop(name)
            authorization = self._logins.authorization_for(entry)
        server.set_entry(entry, authorization)
        if not entry.enabled:
            await server.disconnect()

    async def set_secrets(self, name: str, moved: Collection[str], values: Mapping[str, str]) -> None:
        """Move these plain secrets of a server into the secret store, and give those that it refers to new
        `values`; from the next connecting on. Both by the names of its view. Raises ConfigError."""
        server = self.get(name)
        entry, plain = moved_to_store(server.entry, moved)
        if plain and server.is_kept:
            await self.secrets.require_lasting()
        stored = stored_secrets_of(server.entry)
        new = {stored[each]: value for each, value in values.items() if each in stored}
        await self.secrets.put({**plain, **new})
        self.require_still(server)
        self._keep(server, entry)
        server.set_declared(entry)

    async def set_inputs(self, name: str, values: Mapping[str, str]) -> None:
        """What `${input:id}` stands for in the settings of a server, from the next connecting on."""
        self.get(name)
        await self.secrets.put({input_secret(name, id): value for id, value in values.items()})

    async def set_enabled(self, name: str, enabled: bool) -> None:
        """A disabled server is not connected, and stays out of "connect all". Raises ConfigError."""
        server = self.get(name)
        entry = replace(server.entry, enabled=enabled)
        self._keep(server, entry)
        server.entry = entry
        if not enabled:
            await server.disconnect()
        server.announce()

    def set_declared(self, name: str, declared: Declared | None) -> None:
        """Declare this to a server; None is all that we can answer. Raises ConfigError.

        In the stateless era the next request says it. Before, it takes connecting again: the view tells.
        """
        server = self.get(name)
        capabilities, is_exact = (None, False) if declared is None else (declared.whole, declared.is_exact)
        entry = replace(server.entry, capabilities=capabilities, exact_capabilities=is_exact)
        self._keep(server, entry)
        server.set_declared(entry)

    async def set_auth(self, name: str, auth: Auth | None, secrets: Mapping[str, str] | None = None) -> None:
        """How a server is told who asks, from the next connecting on; tokens that it has stay. What it newly
        refers to are `secrets`; what nothing refers to any more is forgotten. Raises UserError."""
        server = self.get(name)
        if not isinstance(server.entry, HttpEntry):
            raise ConfigError(f"{name!r} has no login: it is no server over HTTP.")
        await self.secrets.put(secrets or {})
        before, entry = server.entry, replace(server.entry, auth=auth)
        async with self.changing:
            self._keep(server, entry)
            await self._logins.drop(name)
            server.set_authorization(entry, self._logins.authorization_for(entry))
        await self.secrets.forget_stale(before, entry, kind=LOGIN)  # a bearer token may be wanted again

    async def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """Answer a server's `roots/list` with these; it is told of it where we said so. Raises UserError."""
        server = self.get(name)
        entry = replace(server.entry, roots=roots)
        self._keep(server, entry)
        await server.set_roots(entry)

    def set_watch(self, name: str, globs: tuple[str, ...]) -> None:
        """Restart a server when a file that fits changes. Raises ConfigError."""
        server = self.get(name)
        entry = replace(server.entry, watch=globs)
        self._keep(server, entry)
        server.entry = entry
        server.announce()

    # -------------------------------------------------------------- removing

    async def remove(self, name: str) -> None:
        """For good, with its secrets. `removals.remove` can be undone."""
        removed = await self.removals.remove(name)
        await self.removals.end(removed.id)

    async def drop(self, name: str) -> Server:
        """Disconnect it and leave it out; what is written and stored stays."""
        server = self.get(name)
        await self._logins.drop(name)
        await server.disconnect()
        self._servers.pop(name, None)
        self.removed.emit(name)
        return server

    def reorder(self, names: Sequence[str]) -> None:
        """Those of the file in its order, before those of this run."""
        before = tuple(self._servers)
        kept = [name for name in names if name in self._servers and self._servers[name].is_kept]
        rest = [name for name in before if name not in kept]
        self._servers = {name: self._servers[name] for name in (*kept, *rest)}
        if tuple(self._servers) != before:
            self.order_changed.emit(tuple(self._servers))

    # --------------------------------------------------------------

    def make_again(self, entry: Entry, is_kept: bool) -> Server:
        return self._make_new(entry, is_kept)

    def _make_new(self, entry: Entry, is_kept: bool) -> Server:
        self.require_new(entry.name)
        return self._make(entry, is_kept)

    def require_new(self, name: str) -> None:
        if name in self._servers:
            raise ConfigError(f"There is a server {name!r} already.", "Choose another name.")

    def require_still(self, server: Server) -> None:
        """While one waits for the secret store, a server can be removed."""
        if server is not self._servers.get(server.entry.name):
            raise ConfigError(f"There is no server {server.entry.name!r} any more.")

    def _require_own(self, server: Server) -> None:
        if server.origin:
            raise ConfigError(
                f"{server.entry.name!r} stands in {server.origin}, which MCP Lens does not change.",
                "Import it, and edit the copy.",
            )

    def _keep(self, server: Server, entry: Entry, draft: JSONObject | None = None) -> None:
        """Write what a server is to be, if it is one of the catalogue's."""
        if server.is_kept and self.catalogue is not None:
            self.catalogue.replace(entry.name, entry, draft)

    def _tell(self, problems: Iterable[str]) -> None:
        for problem in problems:
            self.problem_found.emit(problem)


def _asks_alike(one: Entry, other: Entry) -> bool:
    """Is it the same who asks, and whom? Then a login goes on."""
    if isinstance(one, StdioEntry) or isinstance(other, StdioEntry):
        return isinstance(one, StdioEntry) and isinstance(other, StdioEntry)
    mine, theirs = (
        (type(entry), entry.url, dict(entry.headers), entry.network, getattr(entry, "auth", None))
        for entry in (one, other)
    )
    return mine == theirs
