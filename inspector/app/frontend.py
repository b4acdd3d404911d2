"""The frontend: Qt application, theme, an empty traffic log and the main window.

Must not import the engine, asyncio or a transport: the window is shown before they are loaded
(`main.py`), which halves the startup time.
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
    """Objects that live on the GUI thread as long as the window does."""

    qt: QApplication
    theme: Theme
    bridge: Bridge
    window: MainWindow


def make_frontend(settings_path: Path, scheme: Scheme | None = None) -> Frontend:
    """Build the main window, without showing it or attaching an engine."""
    qt = make_qt_application()
    # The event loop must keep running after the window closes, to shut down the engine.
    qt.setQuitOnLastWindowClosed(False)
    window_settings = QSettings(str(settings_path), QSettings.Format.IniFormat)
    theme = Theme(resource_folder() / "icons")
    theme.prepare(qt, scheme or _saved_scheme(window_settings))
    bridge = Bridge(TrafficLog())
    window = MainWindow(bridge, theme, window_settings, resource_folder() / "help")
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
    # `-style` instead of `setStyle()`: PySide would import the class of the returned QStyle (6 ms).
    return QApplication([*sys.argv[:1], "-style", "Fusion"])


def _saved_scheme(window_settings: QSettings) -> Scheme:
    try:
        return Scheme(window_settings.value("scheme", Scheme.SYSTEM.value))
    except ValueError:
        return Scheme.SYSTEM
