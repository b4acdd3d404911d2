"""Restarting a server when its files change: edit, save, see.

The files that fit `watch` of a server's entry are looked at twice a second, on a thread, as long as somebody
wants the server connected; a server that fell over at its start is tried again with the next save. Editors
and builds write in several steps: what changed is acted on when it has been quiet for a moment.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector.base.errors import ConfigError, UserError
from inspector.base.plaintext import one_line
from inspector.base.signals import Signal
from inspector.config.entries import StdioEntry
from inspector.engine.fileglobs import Seen, check_globs, look
from inspector.engine.views import ServerStatus, ServerView
from inspector.transport.tasks import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_WANTED = (ServerStatus.CONNECTING, ServerStatus.CONNECTED, ServerStatus.FAILED, ServerStatus.RESTARTING)
_MOST_NAMED = 3
_MOST_CHANGED = 100


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals in seconds.

    `look` is the polling interval, `quiet` how long files must be unchanged, `longest` the limit of that
    wait.
    """

    look: float = 0.5
    quiet: float = 0.25
    longest: float = 3.0
    share: int = 10  # a slow scan is followed by a pause this many times as long


@dataclass(frozen=True, slots=True)
class FileWatchView:
    """State of one server's file watch. `changed` are the files that caused the last restart."""

    server: str
    globs: tuple[str, ...] = ()
    folder: str = ""
    is_on: bool = False
    files: int = 0
    problem: str = ""
    changed: tuple[str, ...] = ()
    changed_ns: int = 0  # wall time
    is_restarting: bool = False
    took_ns: int | None = None  # from restart to negotiation; None while restarting or if it failed
    failure: str = ""  # why the restart failed

    def cause(self) -> str:
        """Return e.g. `server.py and 2 more changed`."""
        names = [one_line(os.path.basename(path)) for path in self.changed[:_MOST_NAMED]]
        rest = len(self.changed) - len(names)
        return f"{', '.join(names)}{f' and {rest:,} more' if rest else ''} changed" if names else ""


class FileWatch:
    """Restarts servers when their files change. Runs on the engine's loop.

    Signals:
        changed: The watch of a server changed; carries its FileWatchView.
        restarted: A server reconnected after its files changed; carries its name and what changed.
        not_restarted: The restart failed; carries the same, and the reason.
    """

    def __init__(self, engine: Engine, pace: Pace | None = None) -> None:
        self.changed: Signal[FileWatchView] = Signal()
        self.restarted: Signal[str, str] = Signal()
        self.not_restarted: Signal[str, str, str] = Signal()
        self.pace = pace or Pace()
        self._engine = engine
        self._views: dict[str, FileWatchView] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskScope()
        engine.server_changed.connect(self._on_server_changed)
        engine.server_removed.connect(self._forget)

    async def view(self, server: str) -> FileWatchView:
        """Return a found server. Raises ConfigError."""
        return self._view(server)

    async def set_globs(self, server: str, globs: tuple[str, ...]) -> None:
        """Set and save the globs to watch. Raises ConfigError."""
        self._engine.set_watch(server, check_globs(globs))

    async def close(self) -> None:
        await self._tasks.close()

    # -------------------------------------------------------------- beginning and ending

    def _on_server_changed(self, view: ServerView) -> None:
        server, is_watching = view.name, view.name in self._watching
        if is_watching and self._views[server].is_restarting:
            return  # these state changes are ours
        try:
            globs = self._globs(server)
        except ConfigError:
            return  # already removed
        is_wanted = bool(globs) and view.status in _WANTED
        if is_watching and (not is_wanted or globs != self._views[server].globs):
            self._end(server)
            is_watching = False
        if is_wanted and not is_watching and view.status is not ServerStatus.CONNECTING:
            self._begin(server, globs)
        elif globs != self._view(server).globs:
            self._say(server, globs=globs, files=0, problem="")

    def _begin(self, server: str, globs: tuple[str, ...]) -> None:
        self._say(server, globs=globs, folder=str(self._folder(server)), is_on=True, files=0, problem="")
        self._watching[server] = self._tasks.spawn(f"watch files of {server}", self._watch(server, globs))

    def _end(self, server: str) -> None:
        task = self._watching.pop(server, None)
        if task is not None:
            task.cancel()
            self._say(server, is_on=False, is_restarting=False)

    def _forget(self, server: str) -> None:
        self._end(server)
        self._views.pop(server, None)

    # -------------------------------------------------------------- watching

    async def _watch(self, server: str, globs: tuple[str, ...]) -> None:
        try:
            seen = await self._look(server, globs)
            while True:
                now = await self._look_later(server, globs)
                if not now.changed(seen):
                    continue
                now = await self._quiet(server, globs, now)
                changed, seen = now.changed(seen), now
                if changed and not await self._restart(server, changed):
                    return
                if (chosen := self._globs(server)) != globs:  # changed by the user during the restart
                    self._say(server, globs=chosen, is_on=bool(chosen))
                    if not chosen:
                        return
                    globs, seen = chosen, await self._look(server, chosen)
        except ConfigError as exc:  # from a server list edited by hand
            self._say(server, is_on=False, problem=str(exc))
        finally:
            if self._watching.get(server) is asyncio.current_task():
                del self._watching[server]

    async def _look(self, server: str, globs: tuple[str, ...]) -> Seen:
        folder = Path(self._views[server].folder)
        seen = await asyncio.to_thread(look, folder, globs)
        problem = seen.problem or ("" if seen.files else f"No file fits in {one_line(str(folder))}.")
        known = self._views[server]
        if (len(seen.files), problem) != (known.files, known.problem):
            self._say(server, files=len(seen.files), problem=problem)
        return seen

    async def _look_later(self, server: str, globs: tuple[str, ...]) -> Seen:
        """Scan after a pause; a folder that is slow to scan is scanned less often."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.pace.look)
        begun = loop.time()
        seen = await self._look(server, globs)
        await asyncio.sleep(max(0.0, self.pace.share * (loop.time() - begun) - self.pace.look))
        return seen

    async def _quiet(self, server: str, globs: tuple[str, ...], seen: Seen) -> Seen:
        """Wait until nothing changes any more, up to the limit."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.pace.longest
        while loop.time() < deadline:
            await asyncio.sleep(self.pace.quiet)
            now = await self._look(server, globs)
            if not now.changed(seen):
                return now
            seen = now
        return seen

    async def _restart(self, server: str, changed: tuple[str, ...]) -> bool:
        """Reconnect. Returns False if the user did something else meanwhile: stop watching."""
        clock = self._engine.clock
        self._say(
            server,
            changed=changed[:_MOST_CHANGED],
            changed_ns=clock.wall_ns(),
            is_restarting=True,
            took_ns=None,
            failure="",
        )
        cause = self._views[server].cause()
        self._engine.remark(server, f"{cause}: restarting.")
        began, failure = clock.monotonic_ns(), ""
        took: int | None = None
        try:
            await self._engine.connect(server)
            took = clock.monotonic_ns() - began
        except UserError as exc:
            failure = exc.summary
        status = self._engine.view(server).status
        is_wanted = status in _WANTED
        if status is not ServerStatus.FAILED:
            failure = ""  # connected or disconnected by someone else
        self._say(server, is_restarting=False, is_on=is_wanted, took_ns=took, failure=failure)
        if status is ServerStatus.CONNECTED:
            self.restarted.emit(server, cause)
        elif failure:
            self.not_restarted.emit(server, cause, failure)
        return is_wanted

    # --------------------------------------------------------------

    def _globs(self, server: str) -> tuple[str, ...]:
        """Return the globs of stdio servers; other servers have no files here."""
        entry = self._engine.entry(server)
        return entry.watch if isinstance(entry, StdioEntry) else ()

    def _folder(self, server: str) -> Path:
        """Return the process's working directory, or the one it would get."""
        entry = self._engine.entry(server)
        configured = entry.cwd if isinstance(entry, StdioEntry) and "${" not in entry.cwd else ""
        return Path(self._engine.processes.folder(server) or configured or os.getcwd()).absolute()

    def _view(self, server: str) -> FileWatchView:
        known = self._views.get(server)
        return known or FileWatchView(server, self._globs(server), str(self._folder(server)))

    def _say(self, server: str, **news: Any) -> None:
        view = self._views[server] = replace(self._view(server), **news)
        self.changed.emit(view)
