"""The frontend: Qt application, theme, an empty traffic log and the main window.

Must not import the engine, asyncio or a transport: the window is shown before they are loaded
(`main.py`), which halves the time until it can be used.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication

from inspector.config.paths import resource_folder
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Scheme, Theme
from inspector.qt.window.main_window import MainWindow
from inspector.traffic.log import TrafficLog


@dataclass
class Frontend:
    """Objects that live on the window's thread as long as the window does."""

    qt: QApplication
    theme: Theme
    bridge: Bridge
    window: MainWindow


def make_frontend(layout: Path, scheme: Scheme | None = None) -> Frontend:
    """Build the window, bottom up. It is not shown yet and has no engine."""
    qt = make_qt_application()
    # The event loop must keep running after the window closes, to shut down the engine.
    qt.setQuitOnLastWindowClosed(False)
    remembered = QSettings(str(layout), QSettings.Format.IniFormat)
    theme = Theme(resource_folder() / "icons")
    theme.prepare(qt, scheme or _remembered_scheme(remembered))
    bridge = Bridge(TrafficLog())
    window = MainWindow(bridge, theme, remembered, resource_folder() / "help")
    theme.apply(qt, theme.scheme)
    return Frontend(qt, theme, bridge, window)


def make_qt_application() -> QApplication:
    """Return the QApplication, created and configured on first use."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    QApplication.setApplicationName("mcp-lens")
    QApplication.setApplicationDisplayName("MCP Lens")
    QApplication.setDesktopFileName("mcp-lens")
    QApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
    # Not `setStyle`, which returns the style: loading its class takes 6 ms, and it is not needed yet.
    return QApplication([*sys.argv[:1], "-style", "Fusion"])


def _remembered_scheme(layout: QSettings) -> Scheme:
    try:
        return Scheme(layout.value("scheme", Scheme.SYSTEM.value))
    except ValueError:
        return Scheme.SYSTEM
