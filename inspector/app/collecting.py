"""Garbage is collected on the window's thread, between events.

Python's collector runs wherever the next allocation happens: inside of a paint event, or on the engine's
thread. What it frees may be Qt's, and freeing a widget there takes the program down. So it is switched off,
and a timer does its work where nothing of Qt's is in use.

What a full collection leaves is put aside: the next one need not look at it again, which with 10,000 tools
listed takes a tenth of a second. All of it is looked at when nobody looks at the window.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication

_LOOK_MS = 500
# Collect the youngest generation after this many allocations, and an older one after this many collections
# of the one below it.
_MANY = 5_000
_LOOKS = 10


class Collector(QObject):
    """Runs the garbage collector from a timer for as long as it lives."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._on_state_changed)

    def look(self) -> None:
        """Collect what Python's collector would have collected by now, youngest generation first."""
        young, middle, old = gc.get_count()
        if old > _LOOKS:
            gc.collect()
            gc.freeze()
        elif middle > _LOOKS:
            gc.collect(1)
        elif young > _MANY:
            gc.collect(0)

    def look_at_all(self) -> None:
        """Run a full collection that includes frozen objects."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _on_state_changed(self, state: Qt.ApplicationState) -> None:
        if state is not Qt.ApplicationState.ApplicationActive:
            self.look_at_all()
