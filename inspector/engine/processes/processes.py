"""Running and ended processes of stdio servers, and the resources that calls use.

Nothing is measured unless requested: `scan` samples the tree, `measured` a manual call. Both read the
process table on a thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from inspector.base.clock import Clock
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.engine.processes.sample import Sample, take_sample, tree_cpu_ns
from inspector.engine.views import CallOutcome
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import CallCost, cost_of, last_stderr
from inspector.transport.base import ProcessExited, ProcessStarted

MAX_ENDED = 50
_LAST_LINES = 5
_MAX_LINE_LENGTH = 500
_DEEP_INTERVAL_NS = 5_000_000_000  # interval of detailed memory and file samples
_GROWTH = 0.25  # … or when memory changed by this fraction since


@dataclass(frozen=True, slots=True)
class EndedProcess:
    """A process that ended. `was_requested`: we ended it, to disconnect or reconnect."""

    pid: int
    status: str  # "exited with code 1", "was terminated by signal SIGKILL"
    started_ns: int  # wall time
    ended_ns: int
    was_requested: bool
    last_lines: tuple[str, ...] = ()  # stderr
    rows: range = range(0)  # log rows while it ran
    server: str = ""  # its name at that time


@dataclass(frozen=True, slots=True)
class ProcessView:
    """A server's processes. `pid`, `folder` and `sample` are of the running one, if any.

    `ended` is newest first.
    """

    server: str
    pid: int | None = None
    folder: str = ""
    started_ns: int = 0  # wall time
    sample: Sample | None = None
    ended: tuple[EndedProcess, ...] = ()


@dataclass(slots=True)
class _Running:
    pid: int
    folder: str
    started_ns: int
    first_row: int
    sample: Sample | None = None
    deep_at_ns: int = 0
    deep_rss: int = 0


class Processes:
    """Processes of stdio servers. Runs on the engine's loop.

    Signals:
        changed: A process of a server started or ended; carries the server's name.
    """

    def __init__(self, log: TrafficLog, clock: Clock) -> None:
        self.changed: Signal[str] = Signal()
        self._log = log
        self._clock = clock
        self._running: dict[str, _Running] = {}
        self._ended: dict[str, deque[EndedProcess]] = {}
        self._folders: dict[str, str] = {}
        self._forgotten: tuple[str, deque[EndedProcess]] | None = None  # history of the last forgotten server

    def on_event(self, server: str, event: ProcessStarted | ProcessExited, *, was_requested: bool) -> None:
        """Handle the start or end of a process; `was_requested` if we closed the connection."""
        at = self._clock.wall_ns() - (self._clock.monotonic_ns() - event.at)
        if isinstance(event, ProcessStarted):
            self._running[server] = _Running(event.pid, event.cwd, at, len(self._log))
            self._folders[server] = event.cwd
        elif (running := self._running.get(server)) is not None and running.pid == event.pid:
            del self._running[server]
            rows = range(running.first_row, len(self._log))
            ended = EndedProcess(
                event.pid, event.status, running.started_ns, at, was_requested, rows=rows, server=server
            )
            self._ended.setdefault(server, deque(maxlen=MAX_ENDED)).appendleft(ended)
        self.changed.emit(server)

    def forget(self, server: str) -> None:
        self._running.pop(server, None)
        self._folders.pop(server, None)
        ended = self._ended.pop(server, None)
        self._forgotten = (server, ended) if ended is not None else None

    def rename(self, before: str, after: str) -> None:
        """Move the history of the server just forgotten to its new name."""
        if self._forgotten is not None and self._forgotten[0] == before:
            self._ended[after] = self._forgotten[1]
        self._forgotten = None

    def folder(self, server: str) -> str:
        """Return the working directory of the latest process; "" if none, or ours."""
        return self._folders.get(server, "")

    async def scan(self, server: str) -> ProcessView:
        """Return the current state. Call again after a second to get the CPU usage in between."""
        running = self._running.get(server)
        if running is not None:
            await self._sample(running)
        ended = self._ended.get(server)
        if ended and any(each.rows and not each.last_lines for each in ended):
            read = await asyncio.to_thread(self._with_lines, tuple(ended))
            self._merge_lines(server, read)
        view = ProcessView(server, ended=tuple(self._ended.get(server, ())))
        if running is None or self._running.get(server) is not running:
            return view
        return replace(
            view,
            pid=running.pid,
            folder=running.folder,
            started_ns=running.started_ns,
            sample=running.sample,
        )

    async def _sample(self, running: _Running) -> None:
        now = self._clock.monotonic_ns()
        before = running.sample
        growth = abs(before.rss - running.deep_rss) if before is not None else 0
        is_deep = now - running.deep_at_ns >= _DEEP_INTERVAL_NS or growth > _GROWTH * running.deep_rss
        sample = await asyncio.to_thread(take_sample, running.pid, before, deep=is_deep)
        if sample is not None and running.sample is before:  # otherwise a concurrent sample is newer
            running.sample = sample
            if is_deep:
                running.deep_at_ns, running.deep_rss = now, sample.rss

    def _with_lines(self, ended: tuple[EndedProcess, ...]) -> tuple[EndedProcess, ...]:
        return tuple(self._lines_of(each) if each.rows else each for each in ended)

    def _lines_of(self, ended: EndedProcess) -> EndedProcess:
        rows = ended.rows
        lines = last_stderr(self._log, ended.server, rows.start, rows.stop, _LAST_LINES)
        texts = (one_line(line.decode(errors="replace").rstrip()) for line in lines)  # keep indentation
        return replace(
            ended, last_lines=tuple(shorten(text, _MAX_LINE_LENGTH) for text in texts), rows=range(0)
        )

    def _merge_lines(self, server: str, read: tuple[EndedProcess, ...]) -> None:
        """Merge the lines read; more processes may have ended meanwhile."""
        known = {(each.pid, each.started_ns): each for each in read}
        ended = self._ended.get(server)
        if ended is not None:
            merged = [known.get((each.pid, each.started_ns), each) for each in ended]
            self._ended[server] = deque(merged, maxlen=MAX_ENDED)

    async def measured(self, server: str, call: Callable[[], Awaitable[CallOutcome]]) -> CallOutcome:
        """Make a call and add its cost (CPU, output) to the outcome, if we started the server."""
        running = self._running.get(server)
        if running is None:
            return await call()
        cpu_before = await asyncio.to_thread(tree_cpu_ns, running.pid)
        first = len(self._log)
        outcome = await call()
        cost = await asyncio.to_thread(self._cost, server, running.pid, cpu_before, first, len(self._log))
        if outcome.row is not None:
            operation = self._log.operation(outcome.row)
            self._log.set_cost(outcome.row if operation is None else operation, cost)
            self._log.publish()
        return outcome._replace(cost=cost)

    def _cost(self, server: str, pid: int, cpu_before: int | None, first: int, last: int) -> CallCost:
        now = tree_cpu_ns(pid) if cpu_before is not None else None
        used = None if now is None or cpu_before is None else max(0, now - cpu_before)
        return cost_of(self._log, server, first, last, used)
