"""A tool called in its panel that sends thousands of notifications, each of which changes the window.

`progress` moves the progress bar of the call, `tools` reports a changed list. Measures on the window's
thread how long its event loop was blocked, until the result is shown.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from inspector.qt.window.tabs import TOOLS
from tests.bench.report import Result, stopwatch
from tests.bench.servercommand import ECHO_SERVER, add_command
from tests.bench.windowhost import in_window

if TYPE_CHECKING:
    from inspector.app.backend import App

KINDS = ("progress", "tools")
WORST_GAP_MS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    add_command(parser, ECHO_SERVER)
    parser.add_argument("--count", type=int, default=50_000, help="notifications per kind")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _measure(app, options.count)

    return in_window(options, measure)


async def _measure(app: App, count: int) -> Result:
    values: dict[str, int | float | str | bool | None] = {"count": count}
    worst = 0.0
    for kind in KINDS:
        seconds, gap = await _storm(app, kind, count)
        values |= {f"{kind}_per_s": round(count / seconds), f"{kind}_worst_gap_ms": gap}
        worst = max(worst, gap)
    return Result("storm", values, {f"gap<={WORST_GAP_MS}ms": worst <= WORST_GAP_MS})


async def _storm(app: App, kind: str, count: int) -> tuple[float, float]:
    """Return how long the call took, in seconds, and the longest gap, in milliseconds."""
    from tests.bench.heartbeat import Heartbeat

    workspace = app.window.workspace()
    assert workspace is not None
    panel = workspace.panel(TOOLS)
    assert panel.choose("storm")
    panel.call_view.arguments.set_arguments({"kind": kind, "count": count})
    shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_shown(outcome: object) -> None:
        if not shown.done():
            shown.set_result(None)

    panel.call_view.result.shown.connect(on_shown)
    heartbeat = Heartbeat()
    heartbeat.start()
    with stopwatch() as watch:
        panel.call_view.call(force=True)
        await shown
        await app.bridge.ask(lambda engine: None)
    heartbeat.stop()
    panel.call_view.result.shown.disconnect(on_shown)
    return watch.seconds, heartbeat.worst_ms()
