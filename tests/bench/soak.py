"""A long session in the visible window: nothing that was closed may stay in memory.

Each cycle adds a server, connects it, visits its tools and tabs, fills in forms, calls, does the same with
other tools of a server that stays, opens and closes every dialog and a capture, switches the theme,
reconnects and removes the first server. After each cycle it
counts memory, widgets, timers, QObjects and threads. The first cycles are the warm-up: modules and caches are
loaded there. The baseline is the end of the warm-up; the last quarter must not exceed it by over a tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from inspector.config.servers.entries import StdioEntry
from inspector.demo.servers import command
from inspector.qt.window.tabs import RESOURCES, TOOLS
from tests.bench.memory import anonymous_mib, rss_mib
from tests.bench.report import Number, Result, note
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.qt.window.workspace import Workspace

MAX_GROWTH = 1.10
_REST_S = 0.05
_TOOLS = 40  # to look at in a cycle, of each server
_TIMEOUT_S = 60.0
_CALLED = {"echo", "add", "long_text", "image", "structured_weather", "log_messages"}
_DIALOGS = (
    "app.settings",
    "app.secrets",
    "app.answers",
    "server.add",
    "server.edit",
    "server.export",
    "server.drift",
    "call.manage",
    "call.variables",
    "traffic.colors",
    "traffic.compare",
    "traffic.resend",
    "capture.export",
    "capture.kept",
    "capture.compare",
    "help.manual",
    "help.news",
    "help.about",
)


@dataclass(frozen=True)
class Count:
    """What is alive after a cycle. Memory in MiB, of this process only."""

    rss: float
    anonymous: float
    widgets: int
    timers: int
    objects: int
    threads: int


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=50, help="how long (default: %(default)s)")
    parser.add_argument("--cycles", type=int, help="this many cycles, instead of --minutes")
    parser.add_argument(
        "--warm-up", type=float, default=5, metavar="MINUTES", help="not counted (default: %(default)s)"
    )
    parser.add_argument("--kinds", action="store_true", help="note which kinds of QObjects became more")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _Soak(app, options).run()

    limit = options.cycles * _TIMEOUT_S * 10 if options.cycles else (options.minutes + 10) * 60
    return in_empty_window(measure, limit)


class _Soak:
    def __init__(self, app: App, options: argparse.Namespace) -> None:
        self._app = app
        self._options = options
        self._window = app.window
        self._cycle = 0
        self._permanent = ""

    async def run(self) -> Result:
        from PySide6.QtWidgets import QApplication

        app = QApplication.instance()
        assert isinstance(app, QApplication)
        counts: list[Count] = []
        began, warm, kinds = time.monotonic(), 0, Counter[str]()
        while not self._is_over(time.monotonic() - began):
            await self._play()
            counts.append(await self._count())
            note(f"cycle {self._cycle} at {time.monotonic() - began:.0f} s: {counts[-1]}")
            if not warm and self._is_warm(time.monotonic() - began):
                warm, kinds = self._cycle, _kinds()
        if self._options.kinds:
            note(f"more than after the warm-up: {(_kinds() - kinds).most_common(40)}")
        return _result(counts, max(warm, 1))

    def _is_over(self, seconds: float) -> bool:
        if self._options.cycles:
            return bool(self._cycle >= self._options.cycles)
        return bool(seconds >= self._options.minutes * 60)

    def _is_warm(self, seconds: float) -> bool:
        if self._options.cycles:
            return bool(self._cycle >= max(2, self._options.cycles // 4))
        return bool(seconds >= self._options.warm_up * 60)

    async def _play(self) -> None:
        """Play one cycle."""
        self._cycle += 1
        name = await self._add("everything")
        await self._connect(name)
        await self._visit_tools()
        await self._visit_tabs()
        if self._cycle == 1:
            self._permanent = await self._add("library")
            await self._connect(self._permanent)
        self._window.servers.choose(self._permanent)
        await self._visit_tools()
        await self._visit_tabs()
        await self._open_dialogs()
        await self._open_palette()
        await self._open_capture()
        for scheme in ("dark", "light"):
            self._do(f"theme.{scheme}")
            await asyncio.sleep(_REST_S)
        self._do("server.disconnect")
        await self._until(lambda: self._status() == "not connected")
        await self._connect(self._permanent)
        self._window.servers.choose(name)
        self._do("server.remove")
        await self._until(lambda: name not in self._window.workspaces)

    async def _add(self, demo: str) -> str:
        name = f"{demo} {self._cycle}"
        program, *args = command(demo)
        await self._app.bridge.ask(
            lambda engine: engine.servers.save_with_secrets(
                StdioEntry(name=name, command=program, args=tuple(args), era="legacy-first"), {}
            )
        )
        await self._until(lambda: self._window.servers.model.row_of(name) is not None)
        return name

    async def _connect(self, name: str) -> None:
        self._window.servers.choose(name)
        self._window.show_tab("tools")
        self._do("server.connect")
        await self._until(lambda: self._status() == "connected" and self._workspace.panel(TOOLS).total > 0)
        await asyncio.sleep(_REST_S)

    async def _visit_tools(self) -> None:
        """Look at the next tools of the server, fill in each form, call a few."""
        panel = self._workspace.panel(TOOLS)
        tools = panel.model.tools()
        start = (self._cycle - 1) * _TOOLS % len(tools)
        for tool in tools[start : start + _TOOLS]:
            panel.select_when_listed(tool.name)
            await asyncio.sleep(0)
            panel.call_view.arguments.fill_with_example()
            await asyncio.sleep(_REST_S)
            if tool.name in _CALLED and panel.call_view.can_call:
                self._do("tool.call_anyway")
                await self._until(lambda: not panel.call_view.is_running)

    async def _visit_tabs(self) -> None:
        from inspector.qt.window.tabs import TAB_IDS

        for tab in TAB_IDS:
            self._window.show_tab(tab)
            await asyncio.sleep(_REST_S)
        self._window.show_tab("resources")
        await self._until(lambda: self._workspace.panel(RESOURCES).total > 0)
        for id in ("resource.read", "prompt.get"):
            self._window.show_tab(f"{id.partition('.')[0]}s")
            await asyncio.sleep(2 * _REST_S)
            if self._window.actions_table[id].isEnabled():
                self._do(id)
                await asyncio.sleep(2 * _REST_S)
        self._window.show_tab("tools")

    async def _open_dialogs(self) -> None:
        table = self._window.traffic.table
        for id in _DIALOGS:
            self._select_rows(2 if id == "traffic.compare" else 1)
            if not self._window.actions_table[id].isEnabled():
                continue
            self._do(id)
            await asyncio.sleep(3 * _REST_S)
            _close_dialogs()
            await asyncio.sleep(_REST_S)
        table.clearSelection()

    def _select_rows(self, count: int) -> None:
        """Select the first requests that the window shows."""
        from PySide6.QtCore import QItemSelectionModel

        panel = self._window.traffic
        panel.table.clearSelection()
        flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
        model, selection, found = panel.table.model(), panel.table.selectionModel(), 0
        for row in range(model.rowCount()):
            record = panel.source.log.record(panel.model.search.rows[row])
            if record.method == "tools/list" and found < count:
                selection.setCurrentIndex(model.index(row, 0), flags)
                found += 1

    async def _open_palette(self) -> None:
        self._do("app.palette")
        await asyncio.sleep(2 * _REST_S)
        if (popup := self._window.command_palette.popup) is not None:
            popup.line.setText("tool")
            await asyncio.sleep(_REST_S)
            popup.close()

    async def _open_capture(self) -> None:
        """Save a copy of the traffic, open it, look at a row, close it."""
        captures, path = self._window.captures, Path.home() / f"soak {self._cycle}.mcpcap"
        captures.save(None, path)
        await self._until(path.exists)
        await asyncio.sleep(4 * _REST_S)
        captures.open([path])
        await self._until(lambda: bool(captures.all))
        panel = captures.all[0].panel
        await self._until(lambda: panel.table.model().rowCount() > 0)
        panel.go_to(0)
        self._do("capture.export")
        await asyncio.sleep(4 * _REST_S)
        _close_dialogs()
        captures.close(panel)
        await asyncio.sleep(4 * _REST_S)
        path.unlink()

    @property
    def _workspace(self) -> Workspace:
        workspace = self._window.workspace()
        assert workspace is not None
        return workspace

    def _status(self) -> str:
        view = self._window.current_view()
        return view.status.value if view is not None else ""

    def _do(self, id: str) -> None:
        action = self._window.actions_table[id]
        if not action.isEnabled():
            raise SystemExit(f"The command {id} is disabled in cycle {self._cycle}.")
        action.trigger()

    async def _count(self) -> Count:
        from PySide6.QtWidgets import QApplication

        await asyncio.sleep(2.0)  # longer than the garbage collector's interval
        objects = _objects()
        return Count(
            rss_mib(),
            anonymous_mib(),
            len(QApplication.allWidgets()),
            sum(1 for each in objects if each == "QTimer"),
            len(objects),
            # The thread pool starts its threads one by one, up to its limit.
            sum(1 for each in threading.enumerate() if not each.name.startswith("asyncio_")),
        )

    async def _until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + _TIMEOUT_S
        while not condition():
            if time.monotonic() > until:
                raise SystemExit(f"Cycle {self._cycle} stopped at line {condition.__code__.co_firstlineno}.")
            await asyncio.sleep(0.01)


def _close_dialogs() -> None:
    from PySide6.QtWidgets import QApplication, QDialog

    for widget in QApplication.topLevelWidgets():
        if isinstance(widget, QDialog) and widget.isVisible():
            widget.close()


def _objects() -> list[str]:
    """Return the class names of the QObjects that Python knows and Qt has not deleted."""
    import shiboken6
    from PySide6.QtCore import QObject

    return [type(each).__name__ for each in shiboken6.getAllValidWrappers() if isinstance(each, QObject)]


def _kinds() -> Counter[str]:
    gc.collect()
    return Counter(_objects())


def _result(counts: list[Count], warm: int) -> Result:
    first, numbers, bars = counts[warm - 1], dict[str, Number](), dict[str, bool]()
    last = counts[-max(1, len(counts) // 4) :]
    for what, before in asdict(first).items():
        after = median(getattr(each, what) for each in last)
        numbers |= {f"{what}_before": before, f"{what}_after": after}
        bars[f"{what}<=1.10x"] = after <= MAX_GROWTH * before
    return Result("soak", {"cycles": len(counts), "warm_up": warm, **numbers}, bars)
