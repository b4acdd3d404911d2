"""One configured server and the life it leads: at most one session at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from inspector.base.clock import Clock
from inspector.base.errors import LensError, RequestCancelled, UserError
from inspector.config.entries import Entry
from inspector.config.settings import Settings
from inspector.engine.backoff import TRIES, delays
from inspector.engine.views import ServerView
from inspector.session.client import Client
from inspector.session.connect import make_answerers, make_profile, make_routes
from inspector.session.route import Answerer
from inspector.session.session import Session
from inspector.session.state import SessionState, Status
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
        answerers: Mapping[str, Answerer] | None = None,
    ) -> None:
        self.entry = entry
        self.is_kept = is_kept
        settings = _with_own_timeouts(settings, entry)
        answerers = {**make_answerers(entry), **(answerers or {})}
        routes = make_routes(entry, answerers, guard, clock, settings)
        self.session = Session(routes, Recorder(log, entry.name, clock), settings, answerers)
        self.client = Client(
            self.session, make_profile(answerers).capabilities, answerers, settings.most_pages
        )
        self._on_change = on_change
        self._tasks = TaskScope()
        self._connecting: asyncio.Task[None] | None = None
        self._wish = 0
        self._restarting: asyncio.Task[None] | None = None
        self._restart_words = ""
        self._was_connected = False
        self._keep_alive = settings.keep_alive
        self.session.state_changed.connect(self._on_state_changed)

    @property
    def view(self) -> ServerView:
        return ServerView.of(self.entry, self.session.state, self.is_kept, self._restart_words)

    async def connect(self) -> None:
        """Connect, or connect anew. Raises UserError when that fails, or when somebody wanted otherwise."""
        wish = self._make_wish()
        self._stop_restarting()
        await self._stop_connecting()
        if wish != self._wish:
            raise RequestCancelled("Connecting was stopped.")
        task = self._connecting = self._tasks.spawn(f"connect {self.entry.name}", self._connect_quietly())
        await asyncio.wait([task])  # whoever waits may give up: the connecting goes on
        if task.cancelled():
            raise RequestCancelled("Connecting was stopped.")
        if self._failure is not None:
            raise self._failure

    async def disconnect(self) -> None:
        wish = self._make_wish()
        self._stop_restarting()
        await self._stop_connecting()
        if wish == self._wish:
            await self.session.close()

    def _make_wish(self) -> int:
        """Number what the person wants: a call that finds a later one when it goes on leaves it to that."""
        self._wish += 1
        return self._wish

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
        is_lost = self._was_connected and state.status is Status.FAILED
        self._was_connected = state.status is Status.CONNECTED
        if self._was_connected:
            self._on_connected()
        if is_lost and self.entry.auto_restart and self._restarting is None:
            self._restarting = self._tasks.spawn(f"restart {self.entry.name}", self._restart())
        self.announce()

    def _on_connected(self) -> None:
        self.client.listen()
        if self._keep_alive > 0:
            self.session.spawn("keep alive", self._stay_in_touch())

    async def _stay_in_touch(self) -> None:
        """Ask now and then whether the server is there; the answer, or its lack, shows in the traffic."""
        while True:
            await asyncio.sleep(self._keep_alive)
            with contextlib.suppress(LensError):
                await self.client.ping()

    # -------------------------------------------------------------- connecting again by itself

    async def _restart(self) -> None:
        """A lost connection is made again: five tries, each after a longer wait."""
        try:
            for number, delay in enumerate(delays(), 1):
                self._say_restarting(f"connecting again in {delay:.1f} s, try {number} of {TRIES}")
                await asyncio.sleep(delay)
                self._say_restarting(f"connecting again, try {number} of {TRIES}")
                await self._connect_quietly()
                if self._failure is None:
                    break
        finally:
            self._restarting = None
            self._say_restarting("")

    def _say_restarting(self, words: str) -> None:
        self._restart_words = words
        self.announce()

    def _stop_restarting(self) -> None:
        if self._restarting is not None:
            self._restarting.cancel()


def _with_own_timeouts(settings: Settings, entry: Entry) -> Settings:
    own = entry.timeouts
    return replace(
        settings,
        connect_timeout=own.connect or settings.connect_timeout,
        request_timeout=own.request or settings.request_timeout,
        longest_request=own.total or settings.longest_request,
        keep_alive=own.keep_alive or settings.keep_alive,
    )
