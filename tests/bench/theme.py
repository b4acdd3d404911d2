"""Switching the theme with ten connected servers whose tabs have been looked at.

Measures the processor time of the window's thread from the command until the window is repainted, and
that of showing a server that was hidden during the switch, against showing it again.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.report import Result, note
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.app.tour.guide import Guide

MAX_SWITCH_MS = 150
_SETTLE_S = 0.3
_TABS = (
    "overview", "tools", "resources", "prompts", "tasks", "client", "auth", "raw", "console", "process",
    "doctor",
)  # fmt: skip
_TOOLS = ("forecast", "args_optional", "add_numbers")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--servers", type=int, default=10, help="connected servers (default: %(default)s)")
    parser.add_argument("--switches", type=int, default=6, help="counted switches (default: %(default)s)")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        from inspector.app.tour.guide import Guide

        with tempfile.TemporaryDirectory() as folder:
            return await _measure(Guide(app, Path(folder), Path(folder)), options)

    return in_empty_window(measure)


async def _measure(guide: Guide, options: argparse.Namespace) -> Result:
    from PySide6.QtWidgets import QApplication

    names = [f"server {number + 1}" for number in range(options.servers)]
    await _connect(guide, names)
    for name in names:
        await _look_at(guide, name)
    guide.server(names[0])
    await asyncio.sleep(_SETTLE_S)
    switches, hidden, again = [], [], []
    for number in range(options.switches):
        theme = ("theme.dark", "theme.light")[number % 2]
        switches.append(await _cpu_ms(lambda: guide.do(theme)))  # noqa: B023
        hidden.append(await _cpu_ms(lambda: guide.server(names[1])))
        guide.server(names[0])
        await asyncio.sleep(_SETTLE_S)
        again.append(await _cpu_ms(lambda: guide.server(names[1])))
        guide.server(names[0])
        await asyncio.sleep(_SETTLE_S)
        note(f"{theme}: {switches[-1]:.0f} ms, a hidden server {hidden[-1]:.0f} ms, again {again[-1]:.0f} ms")
    switch = statistics.median(switches)
    numbers = {
        "platform": guide.app.frontend.qt.platformName(),
        "servers": options.servers,
        "widgets": len(QApplication.allWidgets()),
        "switch_ms": round(switch),
        "hidden_server_ms": round(statistics.median(hidden)),
        "again_ms": round(statistics.median(again)),
    }
    return Result("theme", numbers, {"switch<=150ms": switch <= MAX_SWITCH_MS})


async def _connect(guide: Guide, names: list[str]) -> None:
    from inspector.app.demo_servers import demo_entries
    from inspector.engine.views import ServerStatus

    entry = next(entry for entry in demo_entries() if entry.name == "everything")
    for name in names:
        await guide.app.bridge.ask(lambda engine: engine.servers.add(replace(entry, name=name)))  # noqa: B023
        await guide.app.bridge.ask(lambda engine: engine.servers.connector.connect_soon(name))  # noqa: B023
        await guide.until(f"{name} to connect", lambda: guide.status(name) is ServerStatus.CONNECTED)  # noqa: B023


async def _look_at(guide: Guide, name: str) -> None:
    guide.server(name)
    for tab in _TABS:
        guide.do(f"view.{tab}")
        await asyncio.sleep(_SETTLE_S)
    for tool in _TOOLS:
        await guide.tool(tool)
        await asyncio.sleep(_SETTLE_S)


async def _cpu_ms(act: Callable[[], object]) -> float:
    """Return the processor time of an action and everything it caused in this thread, in milliseconds."""
    began = time.thread_time()
    act()
    await asyncio.sleep(_SETTLE_S)
    return (time.thread_time() - began) * 1000
