"""Builds the application once, in order, runs it, and takes it apart again."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from dataclasses import dataclass
from pathlib import Path

# qasync takes whichever Qt binding is imported first; ours is the only one there may be.
os.environ.setdefault("QT_API", "pyside6")

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from inspector.app.crash import install_crash_report
from inspector.app.demo import DemoHttpServer, add_demo_servers
from inspector.app.resources import resource_folder
from inspector.config.catalogue import Catalogue
from inspector.config.paths import catalogue_path, layout_path
from inspector.engine.engine import Engine
from inspector.engine.thread import EngineThread
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Scheme, Theme
from inspector.qt.window.mainwindow import MainWindow


@dataclass
class App:
    """Everything that lives as long as the window."""

    qt: QApplication
    loop: asyncio.AbstractEventLoop
    theme: Theme
    thread: EngineThread
    bridge: Bridge
    window: MainWindow
    demo_http: DemoHttpServer


def build(catalogue: Path | None, layout: Path, scheme: Scheme | None = None) -> App:
    """Build the parts, lowest first. Without a catalogue nothing is read or written."""
    qt = make_qt_application()
    qt.setQuitOnLastWindowClosed(False)  # the loop still has to end what runs behind the window
    loop = QEventLoop(qt)
    asyncio.set_event_loop(loop)
    remembered = QSettings(str(layout), QSettings.Format.IniFormat)
    theme = Theme(resource_folder() / "icons")
    theme.apply(qt, scheme or _remembered_scheme(remembered))
    thread = EngineThread(Engine(Catalogue(catalogue) if catalogue else None))
    bridge = Bridge(thread)
    window = MainWindow(bridge, theme, remembered, resource_folder() / "help")
    thread.start()  # last: were there an error above, a running thread would keep the process alive
    return App(qt, loop, theme, thread, bridge, window, DemoHttpServer())


def make_qt_application() -> QApplication:
    """The one QApplication, dressed for us."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    QApplication.setApplicationName("mcp-lens")
    QApplication.setApplicationDisplayName("MCP Lens")
    QApplication.setDesktopFileName("mcp-lens")
    QApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    qt = QApplication(sys.argv[:1])
    qt.setStyle("Fusion")
    # Closing the window begins the end: servers are stopped first, then the loop ends by itself.
    qt.setQuitOnLastWindowClosed(False)
    return qt


def tune_interpreter() -> None:
    """Once, when everything is built: what is there by then stays until the end."""
    # The garbage collector need not look at it again: a full collection took 20-30 ms, now 2-3.
    gc.freeze()
    # Both threads want Python's lock in a flood; a short slice halves the window's longest wait.
    sys.setswitchinterval(0.0005)


def run_window(demo: bool, catalogue: Path | None) -> int:
    """Open the window and stay until it is closed. The demo reads and writes no catalogue."""
    app = build(None if demo else catalogue or catalogue_path(), layout_path())
    tune_interpreter()
    install_crash_report(app.bridge.problem_found.emit)
    with contextlib.closing(app.loop):
        app.loop.run_until_complete(_live(app, demo))
    return 0


async def _live(app: App, demo: bool) -> None:
    """From the window being shown until nothing runs behind it any more."""
    closed = asyncio.Event()
    app.window.closing.connect(closed.set)
    app.window.show()
    app.bridge.start("first servers", _first_servers(app, demo))
    await closed.wait()
    await shut_down(app)


async def shut_down(app: App) -> None:
    """Nothing of ours runs afterwards: no task, no thread, no child process."""
    await app.bridge.close()
    await app.bridge.on_engine(app.demo_http.stop())
    await app.bridge.on_engine(app.thread.engine.close())
    app.thread.stop()


async def _first_servers(app: App, demo: bool) -> None:
    if demo:
        await add_demo_servers(app.bridge, app.demo_http)
    else:
        await app.bridge.load()


def _remembered_scheme(layout: QSettings) -> Scheme:
    try:
        return Scheme(layout.value("scheme", Scheme.SYSTEM.value))
    except ValueError:
        return Scheme.SYSTEM
