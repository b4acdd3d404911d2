"""The real window, visible, with one connected server or none."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tests.bench.enginehost import SERVER
from tests.bench.sandbox import sandbox
from tests.bench.servercommand import entry

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.engine.server_view import ServerView

T = TypeVar("T")

_REST_S = 0.5
_MAX_S = 1_200  # what takes longer waits for something that never comes


def in_window(options: argparse.Namespace, measure: Callable[[App], Awaitable[T]]) -> T:
    """Show the window, connect the server of these options, and measure on the window's loop."""

    async def connect_and_measure(app: App) -> T:
        await _connect(app, options)
        return await measure(app)

    return in_empty_window(connect_and_measure)


def in_empty_window(measure: Callable[[App], Awaitable[T]], max_s: float = _MAX_S) -> T:
    """Build the app as `mcp-lens` does, show it, and measure on the window's loop, for `max_s` at most."""
    with sandbox() as env:
        os.environ.update(env)
        from inspector.app.main import build, tune_interpreter
        from inspector.config.paths import Files

        app = build(Files(captures=Path(env["HOME"], "captures")), Path(env["HOME"], "layout.ini"))
        tune_interpreter(app.window)
        with contextlib.closing(app.loop):
            return app.loop.run_until_complete(_measure(app, measure, max_s))


async def _measure(app: App, measure: Callable[[App], Awaitable[T]], max_s: float) -> T:
    from inspector.app.backend import shut_down

    app.window.show()
    try:
        await app.bridge.ask(lambda engine: engine.captures.begin())
        async with asyncio.timeout(max_s):
            return await measure(app)
    finally:
        await shut_down(app)


async def _connect(app: App, options: argparse.Namespace) -> None:
    """Wait until the server is connected, its tools are listed and the window is idle."""
    from inspector.engine.views import ServerStatus

    ended = asyncio.get_running_loop().create_future()

    def on_changed(view: ServerView) -> None:
        if view.status in (ServerStatus.CONNECTED, ServerStatus.FAILED) and not ended.done():
            ended.set_result(view)

    app.bridge.server_changed.connect(on_changed)
    await app.bridge.ask(lambda engine: engine.servers.add(entry(options)))
    await app.bridge.ask(lambda engine: engine.servers.connector.connect_soon(SERVER))
    view = await ended
    if view.status is ServerStatus.FAILED:
        raise SystemExit(f"The server did not connect: {view.reason} {view.next_step}")
    app.window.show_tab("tools")
    await app.bridge.ask(lambda engine: engine.list_tools(SERVER))
    await asyncio.sleep(_REST_S)  # the forms of the first tool are being built
