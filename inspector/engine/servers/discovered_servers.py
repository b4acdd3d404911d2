"""Servers discovered in other clients' files, used only after the user has trusted each.

Nothing is started or contacted. A trusted server is available until MCP Lens quits. Its file is
checked again at each connect, and the server is not used if the content is no longer what the user
approved. The files are never written.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.config.foreign.discovery import (
    ConfigLocation,
    DiscoveredServer,
    DiscoveredServers,
    InputSpec,
)
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_diff import FieldChange, flattened, masked
from inspector.config.servers.placeholders import (
    Values,
    expand_known,
    has_placeholders,
    input_secret,
    names_in,
)
from inspector.config.servers.trust import Approval, TrustStore, is_relative, warnings_for
from inspector.engine.server_view import ServerView
from inspector.engine.servers.discovered_files import read_servers
from inspector.engine.servers.entry_resolver import Permission, Permit
from inspector.engine.servers.inspection import (
    Hashes,
    InspectedServer,
    approval_key,
    check_inputs,
    folder_of,
    inspect_server,
    value_names,
)
from inspector.engine.servers.registry import ServerRegistry
from inspector.engine.servers.server import Server
from inspector.engine.servers.server_path import ServerPath
from inspector.engine.servers.views import DiscoveredServerView, DiscoveryReport, Trust
from inspector.engine.views import ServerStatus

_log = logging.getLogger(__name__)

FindLocations: TypeAlias = Callable[[Path], Sequence[ConfigLocation]]


class MakeServer(Protocol):
    def __call__(self, entry: Entry, is_saved: bool, permit: Permit, origin: str, folder: Path) -> Server: ...


class ServerDiscovery:
    """Servers in other clients' files, usable once the user trusts them.

    `locations` returns where to look, given the working `folder`.

    Signals:
        changed: The servers found or their trust changed; carries a DiscoveryReport.
    """

    def __init__(
        self,
        servers: ServerRegistry,
        make: MakeServer,
        trust: TrustStore | None = None,
        locations: FindLocations | None = None,
        folder: Path | None = None,
        server_path: ServerPath | None = None,
    ) -> None:
        self.changed: Signal[DiscoveryReport] = Signal()
        self.report = DiscoveryReport()
        self._servers = servers
        self._make = make
        self._trust = trust or TrustStore()
        self._locations = locations or (lambda folder: ())
        self._server_path = server_path
        self.folder = folder or working_folder()
        self._found: dict[str, DiscoveredServer] = {}
        self._names: dict[str, str] = {}  # id to name of those that are among our servers
        self._lock = asyncio.Lock()

    async def scan(self, folder: Path | None = None) -> DiscoveryReport:
        """Reread all files, for `folder` if given.

        Trusted servers are then among our servers, not connected.
        """
        if self._server_path is not None:
            await self._server_path.ready()  # it decides which programs are inspected
        async with self._lock:
            self.folder = folder or self.folder
            found = await read_servers(await asyncio.to_thread(self._locations, self.folder))
            views, problem = await asyncio.to_thread(self._make_views, found)
            self._found = {view.id: server for view, server in zip(views, found.servers, strict=True)}
            await self._drop_missing({view.id for view in views})
            for view in views:
                if view.trust is Trust.GIVEN and view.id not in self._names:
                    inspected = await asyncio.to_thread(self._inspect, self._found[view.id])
                    self._admit(view.id, inspected)
            self._report(views, found, problem)
        return self.report

    def view(self, id: str) -> DiscoveredServerView:
        """Return a discovered server. Raises ConfigError."""
        for view in self.report.servers:
            if view.id == id:
                return view
        raise ConfigError("This server is no longer in its file.", "Search again.")

    async def entry_of(self, id: str) -> Entry:
        """Return the entry as in its file now, with its working directory. Raises ConfigError."""
        found = await self._reread(id)
        return (await asyncio.to_thread(self._inspect, found)).entry

    async def trust(
        self,
        id: str,
        seen: str,
        variables: Collection[str] = (),
        inputs: Mapping[str, str] | None = None,
    ) -> ServerView:
        """Trust exactly what the user has `seen`, and these environment variables.

        The server is then one of ours, not connected. Raises ConfigError if it has changed since. A
        variable that was not approved is not passed: its default is used, or connecting fails with a
        message.
        """
        async with self._lock:
            found, inspected = await self._as_seen(id, seen)
            if inspected.problem:
                raise ConfigError(f"{one_line(found.name)!r} cannot be trusted: {inspected.problem}")
            used = names_in(inspected.entry).variables
            allowed = frozenset(variables) & frozenset(used)
            values = _with_defaults(found, inputs or {})
            inspected = await asyncio.to_thread(inspect_server, found, self.folder, allowed)
            await asyncio.to_thread(check_inputs, found, self.folder, allowed, inspected, values)
            await asyncio.to_thread(self._trust.approve, inspected.content, sorted(allowed))
            name = await self._use(id, inspected)
            await self._servers.set_inputs(name, values)
            await self._servers.secrets.forget_other_inputs(self._servers.get(name).input_owner)
        await self.scan()
        return self._servers.get(name).view

    async def forget(self, id: str) -> None:
        """Stop trusting a server: disconnect and remove it from ours. Raises ConfigError."""
        async with self._lock:
            file, folder, name = self._location(self._found[self.view(id).id])
            owner = self._trust.input_owner({"file": file, "folder": folder, "name": name})
            await asyncio.to_thread(self._trust.revoke, file, folder, name)
            used = self._names.pop(id, "")
            if used and self._servers.has(used):
                await self._servers.drop(used)
            await self._servers.secrets.forget_inputs(owner)
        await self.scan()

    async def import_(
        self,
        id: str,
        seen: str,
        name: str = "",
        inputs: Mapping[str, str] | None = None,
        variables: Collection[str] = (),
    ) -> ServerView:
        """Copy what the user has `seen` into the server list. Raises UserError.

        The copy is the user's own and gets every variable that it names, so each must be approved.
        """
        found, inspected = await self._as_seen(id, seen)
        if not inspected.is_importable:
            raise ConfigError(f"{one_line(found.name)!r} cannot be imported: {inspected.problem}")
        if missing := [each for each in names_in(inspected.entry).variables if each not in variables]:
            raise ConfigError(
                f"The copy would get {', '.join(missing)} from your environment.",
                "Approve all of these variables, or trust the server in place without them.",
            )
        entry = _entry_to_import(found, inspected, folder_of(found, self.folder))
        entry = replace(entry, name=name or self._servers.unique_name(found.name))
        used = names_in(entry).inputs
        values = {
            input_secret(entry.name, input): value
            for input, value in _with_defaults(found, inputs or {}).items()
            if input in used
        }
        return await self._servers.save_with_secrets(entry, values)

    def _make_views(self, found: DiscoveredServers) -> tuple[list[DiscoveredServerView], str]:
        approvals, problem = self._approvals()
        strongest = found.by_name()
        hashes = Hashes()
        views: list[DiscoveredServerView] = []
        ids: set[str] = set()
        for server in found.servers:
            view = self._safe_view(server, approvals.get(self._location(server)), hashes)
            first, *others = strongest[server.name]
            id = _id_of(server, ids)
            ids.add(id)
            views.append(
                replace(
                    view,
                    id=id,
                    overridden_by=None if server is first else first.source,
                    overrides=tuple(each.source for each in others) if server is first else (),
                )
            )
        return views, problem

    def _approvals(self) -> tuple[dict[tuple[str, str, str], Approval], str]:
        """Return the approvals; if they cannot be read, nothing is trusted."""
        try:
            approvals = self._trust.approvals()
        except ConfigError as exc:
            return {}, str(exc)
        return {(each.file, each.folder, each.name): each for each in approvals}, ""

    def _safe_view(
        self, found: DiscoveredServer, approval: Approval | None, hashes: Hashes
    ) -> DiscoveredServerView:
        if found.entry is None:
            return _unusable(found, found.problem)
        try:
            return self._view(found, approval, hashes)
        except Exception as exc:  # one odd entry must not hide all other servers
            _log.exception("could not inspect %s in %s", found.name, found.source.path)
            return _unusable(found, f"MCP Lens could not inspect it: {type(exc).__name__}.")

    def _view(
        self, found: DiscoveredServer, approval: Approval | None, hashes: Hashes
    ) -> DiscoveredServerView:
        assert found.entry is not None
        allowed = frozenset(approval.variables) if approval is not None else frozenset()
        inspected = inspect_server(found, self.folder, allowed, hashes)
        entry, names, program = inspected.entry, names_in(inspected.entry), inspected.program
        trust, changes = self._status(approval, inspected)
        is_command = isinstance(entry, StdioEntry)
        return DiscoveredServerView(
            id="",
            name=found.name,
            source=found.source,
            line=found.line,
            trust=trust,
            seen=inspected.seen,
            problem=found.problem or inspected.problem,
            notes=found.notes,
            transport=entry.transport,
            command=entry.command if isinstance(entry, StdioEntry) else "",
            args=entry.args if isinstance(entry, StdioEntry) else (),
            env_names=value_names(entry) if is_command else (),
            cwd=found.entry.cwd if isinstance(found.entry, StdioEntry) else "",
            folder=inspected.folder,
            program=program.path if program is not None else "",
            scripts=tuple(path for path, _ in program.scripts) if program is not None else (),
            url="" if isinstance(entry, StdioEntry) else entry.url,
            header_names=() if is_command else value_names(entry),
            variables=names.variables,
            other_names=names.known,
            inputs=_inputs(found, names.inputs),
            facts=tuple(flattened(masked(inspected.content))),
            cautions=warnings_for(entry),
            changes=changes,
            is_enabled=entry.enabled,
            is_importable=inspected.is_importable,
        )

    def _status(
        self, approval: Approval | None, inspected: InspectedServer
    ) -> tuple[Trust, tuple[FieldChange, ...]]:
        if approval is None:
            return Trust.NONE, ()
        if self._trust.covers(approval, inspected.content):
            return Trust.GIVEN, ()
        return Trust.CHANGED, self._trust.changes(approval, inspected.content)

    async def _reread(self, id: str) -> DiscoveredServer:
        """Return the server as in its file now. Raises ConfigError."""
        known = self._found.get(id)
        if known is None:
            raise ConfigError("This server is no longer in its file.", "Search again.")
        everywhere = await asyncio.to_thread(self._locations, self.folder)
        locations = [location for location in everywhere if location.path == known.source.path]
        for server in (await read_servers(locations)).servers:
            if (server.source, server.name) == (known.source, known.name):
                return server
        raise ConfigError(
            f"{one_line(known.name)!r} is no longer in {known.source.path}.", "Search again, or import it."
        )

    def _inspect(self, found: DiscoveredServer) -> InspectedServer:
        """Inspect with the approved variables. Raises ConfigError."""
        if found.entry is None:
            raise ConfigError(f"{one_line(found.name)!r} cannot be used: {found.problem}")
        approval = self._trust.find(*self._location(found))
        allowed = frozenset(approval.variables) if approval is not None else frozenset()
        return inspect_server(found, self.folder, allowed)

    def _location(self, found: DiscoveredServer) -> tuple[str, str, str]:
        return approval_key(found, self.folder)

    async def _as_seen(self, id: str, seen: str) -> tuple[DiscoveredServer, InspectedServer]:
        """Reread the server. Raises ConfigError if it is not what the user looked at."""
        found = await self._reread(id)
        inspected = await asyncio.to_thread(self._inspect, found)
        if not seen or inspected.seen != seen:
            raise ConfigError(
                f"{one_line(found.name)!r} was changed in {found.source.path} while you were reviewing it.",
                "Review it again.",
            )
        return found, inspected

    async def _use(self, id: str, inspected: InspectedServer) -> str:
        """Add it to our servers, or update its content there."""
        name = self._names.get(id)
        if name is None or not self._servers.has(name):
            return self._admit(id, inspected)
        await self._servers.apply_entry(name, replace(inspected.entry, name=name))
        self._servers.get(name).input_owner = self._trust.input_owner(inspected.content)
        return name

    def _admit(self, id: str, inspected: InspectedServer) -> str:
        found = self._found[id]
        name = self._servers.unique_name(found.name)
        origin = f"{found.source.tool} · {found.source.path}"
        folder = folder_of(found, self.folder)
        entry = replace(inspected.entry, name=name)
        server = self._make(entry, False, lambda: self._permit(id), origin, folder)
        server.input_owner = self._trust.input_owner(inspected.content)
        self._names[id] = name
        self._servers.insert(server)
        return name

    async def _permit(self, id: str) -> Permission:
        """Return what the server may use. Raises ConfigError if the file is not as approved."""
        found = await self._reread(id)
        approval = await asyncio.to_thread(self._trust.find, *self._location(found))
        if approval is None:
            raise ConfigError(f"{one_line(found.name)!r} is not trusted.", "Review it first.")
        inspected = await asyncio.to_thread(self._inspect, found)
        if inspected.problem:
            raise ConfigError(inspected.problem)
        if not await asyncio.to_thread(self._trust.covers, approval, inspected.content):
            await self.scan()
            changes = self._trust.changes(approval, inspected.content)
            locations = ", ".join(one_line(change.field) for change in changes[:5])
            raise ConfigError(
                f"It changed in {found.source.path} since you trusted it: "
                f"{locations or 'its content'}. It was not used.",
                "Review the changes.",
            )
        owner = await asyncio.to_thread(self._trust.input_owner, inspected.content)
        inputs = await self._servers.secrets.inputs(owner, names_in(inspected.entry).inputs)
        variables = frozenset(approval.variables)
        await asyncio.to_thread(check_inputs, found, self.folder, variables, inspected, inputs)
        return Permission(variables, inputs)

    async def _drop_missing(self, ids: Collection[str]) -> None:
        """Remove servers that are no longer in any file, unless connected."""
        for id, name in list(self._names.items()):
            if not self._servers.has(name):
                del self._names[id]
            elif id not in ids and self._servers.get(name).view.status is not ServerStatus.CONNECTED:
                del self._names[id]
                await self._servers.drop(name)

    def _report(self, views: Sequence[DiscoveredServerView], found: DiscoveredServers, problem: str) -> None:
        shown = tuple(replace(view, server=self._names.get(view.id, "")) for view in views)
        self.report = DiscoveryReport(shown, found.files, problem, found.rules)
        self.changed.emit(self.report)


def working_folder() -> Path:
    """Return the working directory, or home if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


def _id_of(server: DiscoveredServer, taken: Collection[str]) -> str:
    """Return an id that is stable across scans."""
    text = f"{server.source}\n{server.name}"
    id = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return id if id not in taken else f"{id}-{len(taken)}"


def _unusable(found: DiscoveredServer, problem: str) -> DiscoveredServerView:
    return DiscoveredServerView(
        id="",
        name=found.name,
        source=found.source,
        line=found.line,
        trust=Trust.NONE,
        seen="",
        problem=problem,
        notes=found.notes,
        is_importable=False,
    )


def _inputs(found: DiscoveredServer, ids: Sequence[str]) -> tuple[InputSpec, ...]:
    """Return the inputs that it uses, described in its file or not."""
    known = {each.id: each for each in found.inputs}
    return tuple(known.get(id, InputSpec(id)) for id in ids)


def _with_defaults(found: DiscoveredServer, inputs: Mapping[str, str]) -> dict[str, str]:
    defaults = {each.id: each.default for each in found.inputs if each.default}
    return {**defaults, **inputs}


def _entry_to_import(found: DiscoveredServer, inspected: InspectedServer, folder: Path) -> Entry:
    """Return the server for our own list, with folder and relative program path resolved."""
    entry = inspected.entry
    if found.source.scope == "folder":
        known = {"workspaceFolder": str(folder), "workspaceFolderBasename": folder.name}
        entry = expand_known(entry, Values(known=known), uses_defaults=False)
    elif found.entry is not None:
        entry = found.entry
    if isinstance(entry, StdioEntry) and not has_placeholders(entry.command):
        command = os.path.expanduser(entry.command)
        if is_relative(command, os.path.isabs(command)):
            entry = replace(entry, command=os.path.normpath(os.path.join(inspected.folder, command)))
    return entry
