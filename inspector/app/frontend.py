"""The frontend: Qt application, theme, an empty traffic log and the main window.

Must not import the engine, asyncio or a transport: the window is shown before they are loaded
(`main.py`), which halves the startup time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from PySide6.QtCore import QEvent, QSettings, Qt, Signal
from PySide6.QtGui import QPixmapCache
from PySide6.QtWidgets import QApplication

from inspector.app.qt_failures import reports_start_failure
from inspector.config.paths import resource_folder
from inspector.qt.bridge import Bridge
from inspector.qt.theme import Scheme, Theme
from inspector.qt.window.main_window import MainWindow
from inspector.traffic.log import TrafficLog

if TYPE_CHECKING:
    from PySide6.QtGui import QFileOpenEvent

_PIXMAP_CACHE_KIB = 2048  # as much as both themes use; Qt's 10 MB fill up with what is no longer shown


class Application(QApplication):
    """The QApplication, with the event by which macOS passes files to open.

    Signals:
        file_opened: A file was opened with MCP Lens in Finder; carries its path.
    """

    file_opened = Signal(str)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FileOpen and (path := cast("QFileOpenEvent", event).file()):
            self.file_opened.emit(path)
            return True
        return super().event(event)


class Frontend(NamedTuple):
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
    QPixmapCache.setCacheLimit(_PIXMAP_CACHE_KIB)
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
    with reports_start_failure():
        # `-style` instead of `setStyle()`: PySide would import the class of the returned QStyle (6 ms).
        return Application([*sys.argv[:1], "-style", "Fusion"])


def _saved_scheme(window_settings: QSettings) -> Scheme:
    try:
        return Scheme(window_settings.value("scheme", Scheme.SYSTEM.value))
    except ValueError:
        return Scheme.SYSTEM
