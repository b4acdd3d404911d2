"""Drift: what servers offer now, compared with what they offered when the person last agreed to it.

Lists are compared as they come, whoever asked for them. What nobody asked for in the first moment after
connecting, or after the server said that it changed, is asked for here. The first time is the baseline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.base.errors import ConfigError, LensError, RpcError, UserError
from inspector.base.jsonvalue import JSONObject
from inspector.base.signals import Signal
from inspector.config.baselines import identity_of
from inspector.config.entries import Entry
from inspector.engine.driftcheck import Checked, Place, accept, check, item_diff, packed, packed_item
from inspector.engine.views import ServerStatus, ServerView
from inspector.engine.workers import AT_ONCE
from inspector.protocol.drift import LISTS, SERVER, ItemChange, keyed
from inspector.protocol.handshake import Agreement
from inspector.protocol.jsonrpc import METHOD_NOT_FOUND
from inspector.protocol.types import Listing, Prompt, Resource, ResourceTemplate, Tool
from inspector.traffic.compare.diff import Diff
from inspector.transport.tasks import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

T = TypeVar("T")
Item = TypeVar("Item", Tool, Resource, ResourceTemplate, Prompt)

# Who looks at the lists asks for them at once: this is how long others are given, before we do.
QUIET_S = 1.0
# The capability under which each list is offered, and which lists a change of it is about.
_CAPABILITY = {"tools": "tools", "resources": "resources", "templates": "resources", "prompts": "prompts"}


@dataclass(frozen=True, slots=True)
class DriftView:
    """How a server's lists stand to its baseline, which is of `taken_ns`.

    `is_kept`: the person has seen these changes and keeps the baseline as it is. `problem` says why nothing
    can be compared. `seen` stands for exactly these lists: it is given back with the decision.
    """

    server: str
    taken_ns: int = 0
    changes: tuple[ItemChange, ...] = ()
    is_kept: bool = False
    problem: str = ""
    seen: str = ""


@dataclass
class _Watched:
    """One connection of a server: what was listed in it so far."""

    place: Place
    offer: dict[str, Sequence[JSONObject]]
    stale: set[str] = field(default_factory=set)  # lists that the server says have changed
    is_settled: bool = False  # the first lists are there
    is_refreshing: bool = False
    is_checking: bool = False
    is_behind: bool = False  # what was checked is not the latest
    checked: Checked | None = None


class Drift:
    """`folder` holds the baselines; without it nothing is remembered.

    Signals:
        changed: A server's lists stand differently to its baseline; carries a DriftView.
    """

    def __init__(self, engine: Engine, folder: Path | None) -> None:
        self.changed: Signal[DriftView] = Signal()
        self.quiet = QUIET_S
        self._engine = engine
        self._folder = folder
        self._watched: dict[str, _Watched] = {}
        self._connected: set[str] = set()
        self._kept: dict[str, str] = {}  # by server, the fingerprint of lists that differ and are to
        self._tasks = TaskScope()
        if folder is not None:
            engine.server_changed.connect(self._on_server_changed)
            engine.server_removed.connect(self._on_server_removed)
            engine.list_changed.connect(self._on_list_changed)
            engine.servers.renamed.connect(self._on_renamed)

    def saw(self, server: str, kind: str, listing: Listing[Item]) -> Listing[Item]:
        """A list came, whole, whoever asked for it: gives it back."""
        watched = self._watched.get(server)
        if watched is not None:
            watched.offer[kind] = [item.source for item in listing.items]
            watched.stale.discard(kind)
            if watched.is_settled:
                self._check_soon(server, watched)
        return listing

    def view(self, server: str) -> DriftView:
        """How it stands; empty where nothing is known."""
        watched = self._watched.get(server)
        checked = watched.checked if watched is not None else None
        if checked is None:
            return DriftView(server)
        is_kept = bool(checked.changes) and self._kept.get(server) == checked.digest
        return DriftView(server, checked.taken_ns, checked.changes, is_kept, checked.problem, checked.digest)

    # -------------------------------------------------------------- what the person does

    async def get(self, server: str) -> DriftView:
        """`view`, for those on another thread."""
        return self.view(server)

    async def accept(self, server: str, seen: str) -> None:
        """The lists that the person has `seen` are the baseline. Raises UserError when the server offers
        something else by now: nobody agrees to what was not shown."""
        watched = self._require(server)
        checked = await self._run(accept, await self._packed(watched, seen), watched.place)
        if checked.problem:
            raise ConfigError(checked.problem)
        self._kept.pop(server, None)
        self._tell(server, watched, checked)

    async def keep(self, server: str, seen: str) -> None:
        """The baseline stays. The changes that the person has `seen` are not told of again in this run,
        others are."""
        self._require(server)
        self._kept[server] = seen
        self.changed.emit(self.view(server))

    async def diff(self, server: str, change: ItemChange) -> Diff:
        """One change, member by member. Raises UserError."""
        watched = self._require(server)
        item = keyed(change.kind, watched.offer.get(change.kind, ())).get((change.name, change.number))
        found = await self._run(item_diff, packed_item(watched.place, change, item), watched.place)
        if found.diff is None:
            raise UserError(found.problem)
        return found.diff

    async def close(self) -> None:
        await self._tasks.close()

    def _require(self, server: str) -> _Watched:
        watched = self._watched.get(server)
        if watched is None:
            raise UserError(f"Nothing is known of what {server!r} offers.", "Connect to it first.")
        return watched

    # -------------------------------------------------------------- following the servers

    def _on_server_changed(self, view: ServerView) -> None:
        if view.status is not ServerStatus.CONNECTED:
            self._connected.discard(view.name)
        elif view.name not in self._connected and view.agreement is not None:
            self._connected.add(view.name)
            if self._engine.settings.remember_lists and self._folder is not None:
                place = Place(self._folder, view.name, identity_of(self._engine.entry(view.name)))
                self._begin(view.name, _Watched(place, _first_offer(view.agreement)))

    def _begin(self, server: str, watched: _Watched) -> None:
        before = self._watched.get(server)
        if before is not None:  # what is known stays until more is
            watched.checked = before.checked
        self._watched[server] = watched
        self._tasks.spawn(f"drift of {server}", self._settle(server, watched))

    def _on_server_removed(self, server: str) -> None:
        self._connected.discard(server)
        self._kept.pop(server, None)
        if self._watched.pop(server, None) is not None:
            self.changed.emit(DriftView(server))

    def _on_renamed(self, old: Entry, new: Entry) -> None:
        """It is the same server: what was agreed to goes along."""
        if self._folder is not None and identity_of(old) == identity_of(new):
            before, after = (Place(self._folder, each.name, identity_of(each)).path for each in (old, new))
            with contextlib.suppress(OSError):
                before.replace(after)

    def _on_list_changed(self, server: str, capability: str) -> None:
        watched = self._watched.get(server)
        if watched is None:
            return
        watched.stale |= {kind for kind, needs in _CAPABILITY.items() if needs == capability}
        if watched.is_settled:
            self._refresh_soon(server, watched)

    def _refresh_soon(self, server: str, watched: _Watched) -> None:
        if watched.stale and not watched.is_refreshing:
            watched.is_refreshing = True
            self._tasks.spawn(f"lists of {server}", self._refresh(server, watched))

    # -------------------------------------------------------------- asking for lists

    async def _settle(self, server: str, watched: _Watched) -> None:
        """The first lists of a connection: those that nobody else has asked for are asked for here."""
        await asyncio.sleep(self.quiet)
        for kind in LISTS:
            if kind not in watched.offer:
                await self._list(server, watched, kind)
        watched.is_settled = True
        self._check_soon(server, watched)
        self._refresh_soon(server, watched)

    async def _refresh(self, server: str, watched: _Watched) -> None:
        """A server that tells of changes all the time is asked once in a while."""
        try:
            while watched.stale and self._is_current(server, watched):
                await asyncio.sleep(self.quiet)
                for kind in [kind for kind in LISTS if kind in watched.stale]:
                    watched.stale.discard(kind)
                    await self._list(server, watched, kind)
        finally:
            watched.is_refreshing = False

    async def _list(self, server: str, watched: _Watched, kind: str) -> None:
        """It comes to `saw`. One that is not given is not compared: the traffic shows why."""
        if not self._engine.settings.ask_for_lists or not self._is_current(server, watched):
            return
        engine = self._engine
        ask = {
            "tools": engine.list_tools,
            "resources": engine.list_resources,
            "templates": engine.list_resource_templates,
            "prompts": engine.list_prompts,
        }[kind]
        try:
            await ask(server)
        except RpcError as exc:
            if exc.code == METHOD_NOT_FOUND and kind == "templates":  # many a server has no such method
                none: Listing[ResourceTemplate] = Listing()
                self.saw(server, kind, none)
        except LensError:
            return

    def _is_current(self, server: str, watched: _Watched) -> bool:
        return server in self._connected and self._watched.get(server) is watched

    # -------------------------------------------------------------- comparing

    def _check_soon(self, server: str, watched: _Watched) -> None:
        watched.is_behind = True
        if not watched.is_checking:
            watched.is_checking = True
            self._tasks.spawn(f"compare {server}", self._check(server, watched))

    async def _check(self, server: str, watched: _Watched) -> None:
        try:
            while watched.is_behind and self._watched.get(server) is watched:
                watched.is_behind = False
                with contextlib.suppress(UserError):  # of the process that compares: the next time, then
                    self._tell(
                        server, watched, await self._run(check, await self._packed(watched), watched.place)
                    )
        finally:
            watched.is_checking = False

    def _tell(self, server: str, watched: _Watched, checked: Checked) -> None:
        if self._watched.get(server) is watched:
            watched.checked = checked
            self.changed.emit(self.view(server))

    async def _packed(self, watched: _Watched, seen: str = "") -> bytes:
        """Ten thousand tools are written a few at a time: the engine goes on with the rest in between."""
        pieces: list[bytes] = []
        for piece in packed(watched.place, self._engine.clock.wall_ns(), dict(watched.offer), seen):
            pieces.append(piece)
            await asyncio.sleep(0)
        return b"".join(pieces)

    async def _run(self, function: Callable[[bytes], T], data: bytes, place: Place) -> T:
        """Beside the loop: on a thread, or in another process where much is to be read."""
        if len(data) + await asyncio.to_thread(_file_size, place.path) > AT_ONCE:
            return await self._engine.work(function, data, apart=True)
        return await asyncio.to_thread(function, data)


def _first_offer(agreement: Agreement) -> dict[str, Sequence[JSONObject]]:
    """What is known as soon as one is connected: the server's words of itself, and what it does not offer."""
    server = agreement.server
    info: JSONObject = {"name": server.name, "title": server.title, "version": server.version}
    about: JSONObject = {"serverInfo": {name: text for name, text in info.items() if text}}
    about["capabilities"] = agreement.capabilities
    if agreement.instructions:
        about["instructions"] = agreement.instructions
    missing = (kind for kind, capability in _CAPABILITY.items() if capability not in agreement.capabilities)
    return {SERVER: [about], **{kind: [] for kind in missing}}


def _file_size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
