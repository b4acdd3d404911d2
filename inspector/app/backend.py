"""The backend of the window: asyncio event loop, engine thread, demo servers, shutdown.

`start_backend` attaches an engine to a window that already exists. SIGINT and SIGTERM (on Windows: Ctrl+C and
Ctrl+Break) close the window as a click would.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QSocketNotifier

# qasync uses whichever Qt binding was imported first; make sure that is PySide6.
os.environ.setdefault("QT_API", "pyside6")

from qasync import QEventLoop

# Preloaded once the window is up, so that the first selected row and the first filter do not wait.
import inspector.qt.panels.traffic.detail.detail_view
import inspector.traffic.filter.matcher  # noqa: F401
from inspector.app.demo_servers import DemoHttpServers, add_demo_servers
from inspector.app.frontend import Frontend
from inspector.config.foreign.discovery import local_locations, locations_for
from inspector.config.paths import Files
from inspector.config.servers.server_list import ServerListFile
from inspector.config.servers.trust import TrustStore
from inspector.engine.calls.library import CallLibrary
from inspector.engine.captures import Captures
from inspector.engine.engine import Engine, EngineThread
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.reply_rules import ReplyRules
from inspector.engine.secrets import Secrets, make_store
from inspector.engine.servers.discovered_servers import FindLocations
from inspector.engine.servers.server_path import is_started_from_desktop
from inspector.engine.settings import SettingsStore
from inspector.qt.bridge import Bridge
from inspector.qt.window.main_window import MainWindow


@dataclass
class App:
    """The running application: window, event loop, engine thread and demo servers."""

    frontend: Frontend
    loop: asyncio.AbstractEventLoop
    thread: EngineThread
    demo_http: DemoHttpServers
    demo_task: asyncio.Task[Any] | None = None

    @property
    def bridge(self) -> Bridge:
        return self.frontend.bridge

    @property
    def window(self) -> MainWindow:
        return self.frontend.window


def start_backend(frontend: Frontend, files: Files, *, is_running: bool) -> App:
    """Attach the engine to a window.

    `is_running`: Qt's event loop is already running, and asyncio takes it over from now on.
    """
    loop = QEventLoop(frontend.qt, already_running=is_running)
    asyncio.set_event_loop(loop)
    log, server_list = frontend.bridge.log, ServerListFile(files.server_list) if files.server_list else None
    settings = SettingsStore(files)
    secrets = Secrets(partial(make_store, files.secrets))
    reply_rules = ReplyRules(files.reply_rules, secrets.get)
    engine = Engine(
        server_list,
        settings,
        log=log,
        captures=Captures(log, files.captures, settings),
        calls=CallLibrary(files.history, files.calls, settings, secrets),
        secrets=secrets,
        inbox=Inbox(rules=reply_rules, settings=settings),
        reply_rules=reply_rules,
        trust=TrustStore(files.trust),
        locations=_locations(files),
        baselines=files.baselines,
    )
    engine.server_path.is_desktop_start = is_running and is_started_from_desktop()
    thread = EngineThread(engine)
    frontend.bridge.attach(thread)
    thread.start()  # last: were there an error above, a running thread would keep the process alive
    thread.call(engine.begin)
    app = App(frontend, loop, thread, DemoHttpServers())
    frontend.window.demo_requested.connect(lambda: _start_demo(app))
    return app


def _locations(files: Files) -> FindLocations | None:
    """Return where the config files of other MCP clients are.

    None without a trust file: there would be no way to approve the servers found in them.
    """
    if files.trust is None:
        return None
    return local_locations if files.home is None else partial(locations_for, sys.platform, files.home, {})


def _start_demo(app: App) -> None:
    """Start the demo servers, unless they are already starting."""
    if app.demo_task is None or app.demo_task.done():
        work = add_demo_servers(app.bridge, app.demo_http)
        app.demo_task = app.bridge.start("demo servers", work)


async def open_first_servers(app: App, demo: bool) -> None:
    """Start recording, then connect the first servers.

    Recording comes first so that no message is missed.
    """
    await app.bridge.ask(lambda engine: engine.captures.begin())
    if demo:
        await add_demo_servers(app.bridge, app.demo_http)
    else:
        await app.bridge.ask(lambda engine: engine.servers.load())
        await app.bridge.ask(lambda engine: engine.server_list_watch.start())
        await app.bridge.ask(lambda engine: engine.servers.connector.connect_at_start())
    await app.bridge.ask(lambda engine: engine.secrets.inspect())
    await app.bridge.ask(lambda engine: engine.discovery.scan())


async def shut_down(app: App) -> None:
    """Stop everything: no task, thread or child process is left running."""
    await app.bridge.close()
    await app.bridge.ask(lambda engine: app.demo_http.stop())
    await app.bridge.ask(lambda engine: engine.close())
    app.thread.stop()


def stop_synchronously(app: App) -> None:
    """Stop the engine thread and its processes after the window's event loop has ended.

    The synchronous counterpart of `shut_down`.
    """
    app.thread.submit(app.demo_http.stop()).result()
    app.thread.stop()


def close_on_signals(window: MainWindow) -> None:
    """Close the window on SIGINT, SIGTERM and SIGBREAK, for as long as it exists, without a question.

    Call it after `start_backend`: on Windows, an event loop that is created on the main thread takes over
    the socket to which the interpreter writes signals.
    """
    _SignalWatcher(window)


class _SignalWatcher(QObject):
    """Wakes Qt's event loop when a signal arrives.

    Python handles signals only between bytecode instructions, and Qt's loop runs none while it waits. So
    the interpreter writes each signal to a socket, which wakes Qt up.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for name in ("SIGINT", "SIGTERM", "SIGBREAK"):
            if (number := getattr(signal, name, None)) is not None:  # SIGBREAK exists on Windows only
                signal.signal(number, _ignore_signal)
        notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(self._on_signal)

    def _on_signal(self) -> None:
        # Emptied at once: on Windows, Qt serves a readable socket before timers, and asyncio uses timers.
        with suppress(BlockingIOError):
            self._reader.recv(4096)
        self._window.close_unasked()


def _ignore_signal(number: int, frame: object) -> None:
    """Do nothing: the signal has already been written to the socket."""
