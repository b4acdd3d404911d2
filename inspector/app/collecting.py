"""Garbage is collected on the window's thread, between events.

Python's collector runs wherever the next allocation happens: inside of a paint event, or on the engine's
thread. What it frees may be Qt's, and freeing a widget there takes the program down. So it is switched off,
and a timer does its work where nothing of Qt's is in use.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_LOOK_MS = 500
# New objects that are worth looking at, and so many looks until older ones are looked at too.
_MANY = 5_000
_LOOKS = 10


class Collector(QObject):
    """At work for as long as it lives."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    def look(self) -> None:
        """Collect what Python would have collected by now, the youngest first."""
        young, middle, old = gc.get_count()
        if old > _LOOKS:
            gc.collect(2)
        elif middle > _LOOKS:
            gc.collect(1)
        elif young > _MANY:
            gc.collect(0)
