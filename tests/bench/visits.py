"""The first look at a server, its tools one after the other, all tabs, and its removal, in the window.

Measures on the window's thread how long its event loop was blocked (`gap`), its processor time between two
iterations (`work`: the gap without the load of the machine), and the memory for each tool that was looked at.
The baseline is the same window when idle.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from inspector.config.servers.entries import StdioEntry
from inspector.demo.servers import command
from inspector.qt.window.tabs import TOOLS
from tests.bench.enginehost import SERVER
from tests.bench.memory import rss_mib
from tests.bench.report import Number, Result
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from inspector.app.backend import App

MAX_LOOK_MS = 100
MAX_REMOVAL_MS = 50
MAX_TOOL_MIB = 0.1
_REST_S = 0.5
_FIRST_TOOLS = 20  # caches are filled with these


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tools", type=int, default=200, help="how many to look at (default: %(default)s)")
    parser.add_argument("--servers", type=int, default=3, help="how many times (default: %(default)s)")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _Visits(app, options).run()

    return in_empty_window(measure)


class _Visits:
    def __init__(self, app: App, options: argparse.Namespace) -> None:
        self._app = app
        self._options = options
        self._numbers: dict[str, Number] = {}
        self._work: dict[str, list[float]] = {}

    async def run(self) -> Result:
        await asyncio.sleep(2 * _REST_S)
        async with self._watched("idle"):
            await asyncio.sleep(_REST_S)
        per_tool = [await self._visit(number) for number in range(self._options.servers)]
        # The first server also loads modules, which every window does once.
        looks, removals = self._work["look"][1:] or self._work["look"], self._work["removal"]
        self._numbers |= {
            "first_look_work_ms": self._work["look"][0],
            "look_work_ms": max(looks),
            "removal_work_ms": max(removals),
            "mib_per_tool": round(max(per_tool[1:] or per_tool), 3),
        }
        bars = {
            f"look<={MAX_LOOK_MS}ms": max(looks) <= MAX_LOOK_MS,
            f"removal<={MAX_REMOVAL_MS}ms": max(removals) <= MAX_REMOVAL_MS,
            f"tool<={MAX_TOOL_MIB}MiB": max(per_tool[1:] or per_tool) <= MAX_TOOL_MIB,
        }
        return Result("visits", self._numbers, bars)

    async def _visit(self, number: int) -> float:
        """Look at a new server and at its tools, remove it; return the memory per tool."""
        from inspector.qt.window.tabs import TAB_IDS

        name, window = f"{SERVER} {number}", self._app.window
        program, *args = command("library")
        async with self._watched("look"):
            await self._app.bridge.ask(
                lambda engine: engine.servers.add(StdioEntry(name=name, command=program, args=tuple(args)))
            )
            await self._until(lambda: window.servers.model.row_of(name) is not None)
            window.servers.choose(name)  # the only one is chosen already
            await asyncio.sleep(_REST_S)
        window.actions_table["server.connect"].trigger()
        window.show_tab("tools")
        panel = window.workspaces[name].panel(TOOLS)
        await self._until(lambda: panel.total > 0)
        await asyncio.sleep(_REST_S)
        tools = [tool.name for tool in panel.model.tools()][: self._options.tools]
        before = 0.0
        for position, tool in enumerate(tools):
            if position == _FIRST_TOOLS:
                before = rss_mib()
            panel.select_when_listed(tool)
            await asyncio.sleep(0.02)
        per_tool = (rss_mib() - before) / max(1, len(tools) - _FIRST_TOOLS)
        for tab in TAB_IDS:
            window.show_tab(tab)
            await asyncio.sleep(_REST_S / 5)
        async with self._watched("removal"):
            window.actions_table["server.remove"].trigger()
            await self._until(lambda: name not in window.workspaces)
            await asyncio.sleep(_REST_S)
        return per_tool

    @asynccontextmanager
    async def _watched(self, what: str) -> AsyncIterator[None]:
        from tests.bench.heartbeat import Work

        work = Work()
        work.start()
        yield
        work.stop()
        self._work.setdefault(what, []).append(work.max_ms())
        key = f"{what}_gap_ms"
        before = self._numbers.get(key)
        gap = work.worst_ms()
        self._numbers[key] = max(before, gap) if isinstance(before, float) else gap

    async def _until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not condition():
            if time.monotonic() > until:
                raise SystemExit("The window did not come to rest within a minute.")
            await asyncio.sleep(0.005)
