"""Ten thousand tools in the visible window: listed, changed, searched, found in the palette.

Measures on the window's thread how long its event loop was blocked (`gap`), and its processor time
between two iterations (`work`: the gap without the load of the machine). The baseline is the same window
when idle. Also measures how long a form of 2,000 properties takes to open, and the memory for each tool that
is looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.qt.window.tabs import TOOLS
from tests.bench.enginehost import SERVER
from tests.bench.memory import rss_mib
from tests.bench.report import Number, Result, stopwatch
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.base.json.values import JSONObject
    from inspector.protocol.connection import ProgressReceived
    from inspector.qt.panels.tools.panel import ToolsPanel

MAX_WORK_MS = 50
MAX_FORM_S = 0.5
MAX_TOOL_MIB = 0.02
_PROPERTIES = 2_000
_FIRST_TOOLS = 100  # caches are filled with these
_REST_S = 0.5
_LABELS = "tool_099"
_SCRIPTED = Path(__file__).parents[1] / "qt" / "scripted_server.py"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=10_000, help="how many tools (default: %(default)s)")
    parser.add_argument(
        "--visits", type=int, default=1_000, help="how many tools to look at (default: %(default)s)"
    )
    parser.add_argument("--page", type=int, default=500, help="how many in a page (default: %(default)s)")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _Measuring(app, options).run()

    return in_empty_window(measure)


class _Measuring:
    def __init__(self, app: App, options: argparse.Namespace) -> None:
        self._app = app
        self._options = options
        self._numbers: dict[str, Number] = {}
        self._work: list[float] = []

    async def run(self) -> Result:
        script = json.dumps({"many": self._options.count, "page": self._options.page})
        command = [sys.executable, "-I", "-S", str(_SCRIPTED), script]
        program, *args = command
        entry = StdioEntry(name=SERVER, command=program, args=tuple(args), era="2025-11-25")
        await self._app.bridge.ask(lambda engine: engine.servers.add(entry))
        self._app.window.servers.choose(SERVER)
        self._app.window.show_tab("tools")
        await asyncio.sleep(2 * _REST_S)  # the window is being made
        async with self._watched("idle"):
            await asyncio.sleep(_REST_S)
        self._work.clear()
        async with self._watched("listing"):
            await self._app.bridge.ask(lambda engine: engine.servers.connector.connect_soon(SERVER))
            await self._until(lambda: self._tools.total == self._options.count)
            await asyncio.sleep(_REST_S)
        for tool in ("grows", "alters"):
            async with self._watched(tool):
                await self._app.bridge.ask(lambda engine: engine.tool_caller.call(SERVER, ToolCall(tool, {})))  # noqa: B023
                await asyncio.sleep(_REST_S)
        await self._search()
        await self._search_palette()
        form_s, per_tool = self._open_form(), await self._visit()
        self._numbers |= {
            "command": shlex.join(command),
            "form_s": round(form_s, 3),
            "mib_per_tool": per_tool,
        }
        worst = max(self._work)
        bars = {
            "work<=50ms": worst <= MAX_WORK_MS,
            "form<0.5s": form_s < MAX_FORM_S,
            f"tool<={MAX_TOOL_MIB}MiB": per_tool <= MAX_TOOL_MIB,
        }
        return Result("offered", self._numbers, bars)

    @property
    def _tools(self) -> ToolsPanel:
        return self._app.window.workspaces[SERVER].panel(TOOLS)

    async def _search(self) -> None:
        model, field = self._tools.model, self._tools.search
        async with self._watched("searching"):
            for end in range(1, len(_LABELS) + 1):
                field.setText(_LABELS[:end])
                field.settle()
                await self._until(lambda: not model.is_searching)

    async def _search_palette(self) -> None:
        palette = self._app.window.command_palette
        async with self._watched("palette"):
            palette.open_palette()
            popup = palette.popup
            assert popup is not None
            for end in range(1, len(_LABELS) + 1):
                popup.line.setText(_LABELS[:end])
                await asyncio.sleep(0.02)
            await asyncio.sleep(_REST_S)
        popup.close()

    def _open_form(self) -> float:
        arguments = self._tools.call_view.arguments
        words = {"type": "string", "description": "Words."}
        members: JSONObject = {f"p{location}": {**words} for location in range(_PROPERTIES)}
        with stopwatch() as watch:
            arguments.set_schema({"type": "object", "properties": members})
            arguments.repaint()
        return watch.seconds

    async def _visit(self) -> float:
        """Look at many tools, one after the other; return the memory per tool."""
        before = 0.0
        self._tools.search.setText("")
        self._tools.search.settle()
        await self._until(lambda: not self._tools.model.is_searching)
        tools = [tool.name for tool in self._tools.model.tools()][: self._options.visits]
        for position, tool in enumerate(tools):
            if position == min(_FIRST_TOOLS, len(tools) - 1):
                before = rss_mib()
            self._tools.choose(tool)
            await asyncio.sleep(0.005)
        self._numbers["visited"] = len(tools)
        return round((rss_mib() - before) / max(1, len(tools) - _FIRST_TOOLS), 4)

    @asynccontextmanager
    async def _watched(self, what: str) -> AsyncIterator[None]:
        from tests.bench.heartbeat import Work

        work = Work()
        work.start()
        yield
        work.stop()
        self._numbers |= {f"{what}_gap_ms": work.worst_ms(), f"{what}_work_ms": work.max_ms()}
        self._work.append(work.max_ms())

    async def _until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + 60
        while not condition():
            if time.monotonic() > until:
                raise SystemExit("The window did not come to rest within a minute.")
            await asyncio.sleep(0.005)


def _ignore(event: ProgressReceived) -> None:
    """Ignore progress."""
