"""Drift detection: current lists of servers, compared with their baselines.

Lists are compared as they arrive, no matter what requested them. Lists that were not requested shortly after
connecting or after a change notification are fetched here, unless the user turned that off. The first
lists seen become the baseline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.base.errors import ConfigError, LensError, UserError
from inspector.base.json.values import JSONObject
from inspector.base.signals import Signal
from inspector.config.servers.entries import Entry
from inspector.engine.drift.baseline import (
    BaselineCheck,
    BaselineLocation,
    accept,
    check,
    identity_of,
    item_diff,
    packed,
    packed_item,
)
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.engine.workers import INLINE_LIMIT
from inspector.protocol.drift import LISTS, SERVER, ItemChange, keyed
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND, RpcError
from inspector.protocol.types import Listing, Prompt, Resource, ResourceTemplate, Tool
from inspector.traffic.compare.diff import Diff
from inspector.transport.task_scope import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

T = TypeVar("T")
Item = TypeVar("Item", Tool, Resource, ResourceTemplate, Prompt)

# Grace period before we fetch lists ourselves: panels that show them fetch them at once.
GRACE_S = 1.0
# The capability of each list kind; several lists can share one.
_CAPABILITY = {"tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts"}


@dataclass(frozen=True, slots=True)
class DriftView:
    """Differences between a server's lists and its baseline, taken at `taken_ns`.

    `is_acknowledged`: the user has seen these changes and keeps the baseline. `problem` says why there is no
    comparison. `seen` identifies exactly these lists; pass it back with the decision.
    """

    server: str
    taken_ns: int = 0
    changes: tuple[ItemChange, ...] = ()
    is_acknowledged: bool = False
    problem: str = ""
    seen: str = ""


@dataclass
class _ServerLists:
    """The lists seen so far on one connection."""

    location: BaselineLocation
    by_kind: dict[str, Sequence[JSONObject]]
    stale: set[str] = field(default_factory=set)  # lists with a pending list_changed
    is_settled: bool = False  # the first lists have arrived
    is_refreshing: bool = False
    is_checking: bool = False
    is_behind: bool = False  # checked lists are out of date
    checked: BaselineCheck | None = None


class Drift:
    """Compares servers' lists with their baselines.

    `folder` holds the baselines; without it nothing is remembered.

    Signals:
        changed: A server's differences from its baseline changed; carries a DriftView.
    """

    def __init__(self, engine: Engine, folder: Path | None) -> None:
        self.changed: Signal[DriftView] = Signal()
        self.grace = GRACE_S
        self._engine = engine
        self._folder = folder
        self._lists: dict[str, _ServerLists] = {}
        self._connected: set[str] = set()
        self._acknowledged: dict[
            str, str
        ] = {}  # by server, the digest of lists whose changes were acknowledged
        self._tasks = TaskScope()
        if folder is not None:
            engine.servers.changed.connect(self._on_server_changed)
            engine.servers.removed.connect(self._on_server_removed)
            engine.list_changed.connect(self._on_list_changed)
            engine.servers.renamed.connect(self._on_renamed)

    def record_list(self, server: str, kind: str, listing: Listing[Item]) -> Listing[Item]:
        """Record a complete list, no matter what fetched it, and return it.

        An incomplete one is not compared: the missing items would count as removed.
        """
        lists = self._lists.get(server)
        if lists is not None and not listing.incomplete:
            lists.by_kind[kind] = [item.source for item in listing.items]
            lists.stale.discard(kind)
            if lists.is_settled:
                self._check_soon(server, lists)
        return listing

    def view(self, server: str) -> DriftView:
        """Return the current differences; empty if unknown."""
        lists = self._lists.get(server)
        checked = lists.checked if lists is not None else None
        if checked is None:
            return DriftView(server)
        is_acknowledged = bool(checked.changes) and self._acknowledged.get(server) == checked.digest
        return DriftView(
            server, checked.taken_ns, checked.changes, is_acknowledged, checked.problem, checked.digest
        )

    async def get(self, server: str) -> DriftView:
        """Like `view`, for other threads."""
        return self.view(server)

    async def accept(self, server: str, seen: str) -> None:
        """Make the lists that the user has `seen` the baseline.

        Raises UserError if the server has changed since: only what was shown can be accepted.
        """
        lists = self._require(server)
        checked = await self._run(accept, await self._packed(lists, seen), lists.location)
        if checked.problem:
            raise ConfigError(checked.problem)
        self._acknowledged.pop(server, None)
        self._report(server, lists, checked)

    async def keep_baseline(self, server: str, seen: str) -> None:
        """Keep the baseline; changes that the user has `seen` are not reported again."""
        self._require(server)
        self._acknowledged[server] = seen
        self.changed.emit(self.view(server))

    async def diff(self, server: str, change: ItemChange) -> Diff:
        """Return one change, member by member. Raises UserError."""
        lists = self._require(server)
        item = keyed(change.kind, lists.by_kind.get(change.kind, ())).get((change.name, change.number))
        found = await self._run(item_diff, packed_item(lists.location, change, item), lists.location)
        if found.diff is None:
            raise UserError(found.problem)
        return found.diff

    async def close(self) -> None:
        await self._tasks.close()

    def _require(self, server: str) -> _ServerLists:
        lists = self._lists.get(server)
        if lists is None:
            raise UserError(f"The lists of {server!r} are not loaded.", "Connect to it first.")
        return lists

    def _on_server_changed(self, view: ServerView) -> None:
        if view.status is not ServerStatus.CONNECTED:
            self._connected.discard(view.name)
        elif view.name not in self._connected and view.negotiated is not None:
            self._connected.add(view.name)
            if self._engine.settings.get("lists.remember") and self._folder is not None:
                location = BaselineLocation(
                    self._folder, view.name, identity_of(self._engine.servers.entry(view.name))
                )
                self._begin(view.name, _ServerLists(location, _initial_lists(view.negotiated)))

    def _begin(self, server: str, lists: _ServerLists) -> None:
        before = self._lists.get(server)
        if before is not None:  # keep what is known until there is more
            lists.checked = before.checked
        self._lists[server] = lists
        self._tasks.spawn(f"drift of {server}", self._settle(server, lists))

    def _on_server_removed(self, server: str) -> None:
        self._connected.discard(server)
        self._acknowledged.pop(server, None)
        if self._lists.pop(server, None) is not None:
            self.changed.emit(DriftView(server))

    def _on_renamed(self, old: Entry, new: Entry) -> None:
        """Move the baseline along: it is the same server."""
        if self._folder is not None and identity_of(old) == identity_of(new):
            before, after = (
                BaselineLocation(self._folder, each.name, identity_of(each)).path for each in (old, new)
            )
            with contextlib.suppress(OSError):
                before.replace(after)

    def _on_list_changed(self, server: str, capability: str) -> None:
        lists = self._lists.get(server)
        if lists is None:
            return
        lists.stale |= {kind for kind, needs in _CAPABILITY.items() if needs == capability}
        if lists.is_settled:
            self._refresh_soon(server, lists)

    def _refresh_soon(self, server: str, lists: _ServerLists) -> None:
        if lists.stale and not lists.is_refreshing:
            lists.is_refreshing = True
            self._tasks.spawn(f"lists of {server}", self._refresh(server, lists))

    async def _settle(self, server: str, lists: _ServerLists) -> None:
        """Fetch the lists of a new connection that nothing else has fetched."""
        await asyncio.sleep(self.grace)
        for kind in LISTS:
            if kind not in lists.by_kind:
                await self._list(server, lists, kind)
        lists.is_settled = True
        self._check_soon(server, lists)
        self._refresh_soon(server, lists)

    async def _refresh(self, server: str, lists: _ServerLists) -> None:
        """Fetch changed lists again, rate-limited: some servers notify all the time."""
        try:
            while lists.stale and self._is_current(server, lists):
                await asyncio.sleep(self.grace)
                for kind in [kind for kind in LISTS if kind in lists.stale]:
                    lists.stale.discard(kind)
                    await self._list(server, lists, kind)
        finally:
            lists.is_refreshing = False

    async def _list(self, server: str, lists: _ServerLists, kind: str) -> None:
        """Fetch a list, which arrives in `record_list`. If that fails, it is not compared."""
        if not self._engine.settings.get("lists.askForLists") or not self._is_current(server, lists):
            return
        engine = self._engine
        fetch = {
            "tools": engine.list_tools,
            "resources": engine.list_resources,
            "templates": engine.list_resource_templates,
            "prompts": engine.list_prompts,
        }[kind]
        try:
            await fetch(server)
        except RpcError as exc:
            if exc.code == METHOD_NOT_FOUND and kind == "templates":  # many servers lack this method
                none: Listing[ResourceTemplate] = Listing()
                self.record_list(server, kind, none)
        except LensError:
            return

    def _is_current(self, server: str, lists: _ServerLists) -> bool:
        return server in self._connected and self._lists.get(server) is lists

    def _check_soon(self, server: str, lists: _ServerLists) -> None:
        lists.is_behind = True
        if not lists.is_checking:
            lists.is_checking = True
            self._tasks.spawn(f"compare {server}", self._check(server, lists))

    async def _check(self, server: str, lists: _ServerLists) -> None:
        try:
            while lists.is_behind and self._lists.get(server) is lists:
                lists.is_behind = False
                with contextlib.suppress(UserError):  # the worker failed: the next check retries
                    self._report(
                        server, lists, await self._run(check, await self._packed(lists), lists.location)
                    )
        finally:
            lists.is_checking = False

    def _report(self, server: str, lists: _ServerLists, checked: BaselineCheck) -> None:
        if self._lists.get(server) is lists:
            lists.checked = checked
            self.changed.emit(self.view(server))

    async def _packed(self, lists: _ServerLists, seen: str = "") -> bytes:
        """Serialize a few items at a time, yielding to the loop: there may be ten thousand tools."""
        pieces: list[bytes] = []
        for piece in packed(lists.location, self._engine.clock.wall_ns(), dict(lists.by_kind), seen):
            pieces.append(piece)
            await asyncio.sleep(0)
        return b"".join(pieces)

    async def _run(self, function: Callable[[bytes], T], data: bytes, location: BaselineLocation) -> T:
        """Run on a thread, or in another process for large data."""
        if len(data) + await asyncio.to_thread(_file_size, location.path) > INLINE_LIMIT:
            return await self._engine.work(function, data, separate=True)
        return await asyncio.to_thread(function, data)


def _initial_lists(negotiated: NegotiationResult) -> dict[str, Sequence[JSONObject]]:
    """Return what is known on connecting: the server's info, and the lists it does not lists."""
    server = negotiated.server
    info: JSONObject = {"name": server.name, "title": server.title, "version": server.version}
    about: JSONObject = {"serverInfo": {name: text for name, text in info.items() if text}}
    about["capabilities"] = negotiated.capabilities
    if negotiated.instructions:
        about["instructions"] = negotiated.instructions
    missing = (kind for kind, capability in _CAPABILITY.items() if capability not in negotiated.capabilities)
    return {SERVER: [about], **{kind: [] for kind in missing}}


def _file_size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
