"""Watch of the server list file for changes by editors, scripts or another MCP Lens.

The file's content is compared with the current servers. What MCP Lens wrote itself is equal to them, so
its own writes need no special handling.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import UserError
from inspector.base.signals import Signal
from inspector.config.servers.entries import Entry
from inspector.config.servers.entry_diff import ServerListDiff, compare_entries
from inspector.config.servers.server_list import LoadedServerList, ServerListFile
from inspector.engine.servers.registry import ServerRegistry
from inspector.transport.task_scope import TaskScope

_POLL_INTERVAL = 0.5  # polling interval in seconds; a change counts once the file is stable for one interval

_Signature: TypeAlias = tuple[int, int, int] | None


class ServerListWatch:
    """Watches the server list file for external changes.

    Signals:
        changed: The file changed and was applied; carries the ServerListDiff.
        problem_found: The file cannot be used as it is; the servers stay as they were. Carries a sentence.
        problem_resolved: That problem is gone; carries the sentence.
    """

    def __init__(self, servers: ServerRegistry) -> None:
        self.changed: Signal[ServerListDiff] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.problem_resolved: Signal[str] = Signal()
        self._servers = servers
        self._tasks = TaskScope()
        self._reported: frozenset[str] = frozenset()
        self._is_watching = False

    def start(self) -> None:
        """Watch until `close`. Problems at startup were already reported on load."""
        server_list = self._servers.server_list
        if server_list is not None and not self._is_watching:
            self._is_watching = True
            self._tasks.spawn("watch the server list", self._watch(server_list))

    async def close(self) -> None:
        await self._tasks.close()

    async def reload(self) -> ServerListDiff:
        """Apply the file's current content, whether it changed or not."""
        server_list = self._servers.server_list
        if server_list is None:
            return ServerListDiff()
        return await self._reload(server_list)

    async def _watch(self, server_list: ServerListFile) -> None:
        self._reported = frozenset(self._servers.load_warnings)
        used = latest = await asyncio.to_thread(_signature, server_list.path)
        await self._reload(server_list)  # it may have changed since it was loaded
        while True:
            await asyncio.sleep(_POLL_INTERVAL)
            before, latest = latest, await asyncio.to_thread(_signature, server_list.path)
            if latest == before and latest != used:  # stable: the writer is done
                used = latest
                await self._reload(server_list)

    async def _reload(self, server_list: ServerListFile) -> ServerListDiff:
        diff = ServerListDiff()
        async with self._servers.lock:
            loaded = await _load(server_list)
            warnings = loaded.problems
            if not server_list.path.exists() and self._has_saved():
                warnings = (
                    f"{server_list.path} no longer exists. Its servers stay until you quit MCP Lens.",
                )
            elif loaded.is_readable:
                diff = await self._apply(loaded)
        for warning in self._reported.difference(warnings):
            self.problem_resolved.emit(warning)
        for warning in warnings:
            if warning not in self._reported:
                self.problem_found.emit(warning)
        self._reported = frozenset(warnings)
        if diff:
            self.changed.emit(diff)
        return diff

    async def _apply(self, loaded: LoadedServerList) -> ServerListDiff:
        """Apply the loaded servers without writing anything.

        Unchanged connections are left alone, and so is a server whose entry is now unusable.
        """
        saved = {server.entry.name: server.entry for server in self._servers.all() if server.is_saved}
        new = {entry.name: entry for entry in loaded.entries}
        usable = {name: saved[name] for name in loaded.broken if name in saved} | new
        after = [usable[name] for name in loaded.names if name in usable]
        diff = compare_entries(list(saved.values()), after)
        for name in diff.removed:
            await self._servers.drop(name)
        for before, name in diff.renamed:
            await self._rename(before, new[name])
        for change in diff.changed:
            await self._change(new[change.name])
        for name in diff.added:
            self._servers.add_quietly(new[name])
        if diff.is_reordered or diff.added or diff.renamed:
            self._servers.reorder(loaded.names)
        return diff

    async def _change(self, entry: Entry) -> None:
        try:
            await self._servers.apply_entry(entry.name, entry)
        except UserError as exc:
            self.problem_found.emit(str(exc))

    async def _rename(self, before: str, entry: Entry) -> None:
        try:
            await self._servers.renamer.follow_file(before, entry)
        except UserError as exc:  # e.g. the name is taken by an unsaved server
            await self._servers.drop(before)
            self.problem_found.emit(str(exc))

    def _has_saved(self) -> bool:
        return any(server.is_saved for server in self._servers.all())


async def _load(server_list: ServerListFile) -> LoadedServerList:
    """Read the file on a thread; repeat if we wrote it meanwhile."""
    while True:
        writes = server_list.writes
        loaded = await asyncio.to_thread(server_list.load)
        if writes == server_list.writes:
            return loaded


def _signature(path: Path) -> _Signature:
    """Return a fingerprint of the file (mtime, size, inode), None if it cannot be read."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
