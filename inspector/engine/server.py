"""One configured server and the life it leads: at most one session at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.config.entries import Entry
from inspector.config.settings import Settings
from inspector.engine.views import ServerView
from inspector.session.client import Client
from inspector.session.connect import make_answerers, make_negotiation, make_transport
from inspector.session.session import Session
from inspector.session.state import SessionState
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.transport.orphanguard import OrphanGuard
from inspector.transport.tasks import TaskScope


class Server:
    """`connect` and `disconnect` may be called at any time, in any order; the later one wins."""

    def __init__(
        self,
        entry: Entry,
        log: TrafficLog,
        guard: OrphanGuard,
        settings: Settings,
        clock: Clock,
        *,
        is_kept: bool,
        on_change: Callable[[ServerView], None],
    ) -> None:
        self.entry = entry
        self.is_kept = is_kept
        self.session = Session(
            lambda: make_transport(self.entry, guard, clock, settings),
            lambda: make_negotiation(self.entry),
            Recorder(log, entry.name, clock),
            settings,
            make_answerers(entry),
        )
        self.client = Client(self.session, settings.most_pages)
        self._on_change = on_change
        self._tasks = TaskScope()
        self._connecting: asyncio.Task[None] | None = None
        self.session.state_changed.connect(self._on_state_changed)

    @property
    def view(self) -> ServerView:
        return ServerView.of(self.entry, self.session.state, self.is_kept)

    async def connect(self) -> None:
        """Connect, or connect anew. Raises UserError when that fails."""
        await self._stop_connecting()
        self._connecting = self._tasks.spawn(f"connect {self.entry.name}", self._connect_quietly())
        await asyncio.shield(self._connecting)
        if self._failure is not None:
            raise self._failure

    async def disconnect(self) -> None:
        await self._stop_connecting()
        await self.session.close()

    def announce(self) -> None:
        self._on_change(self.view)

    async def _connect_quietly(self) -> None:
        """Failures are kept for the caller: a task that nobody awaits any more must not shout."""
        self._failure: UserError | None = None
        try:
            await self.session.connect()
        except UserError as exc:
            self._failure = exc

    async def _stop_connecting(self) -> None:
        task, self._connecting = self._connecting, None
        if task is not None and not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _on_state_changed(self, state: SessionState) -> None:
        self.announce()
