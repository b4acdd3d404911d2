"""Reports when a window can be used: it was painted, and its event loop is idle."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

# A timer of no length fires once in each round of events, after them.
_QUIET_ROUNDS = 3
_WORK = (QEvent.Type.Paint, QEvent.Type.LayoutRequest, QEvent.Type.UpdateRequest, QEvent.Type.Resize)


class UsableMark(QObject):
    """Prints once: the time on the system-wide clock, and the processor time so far.

    Both in nanoseconds. The watched window keeps it alive.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._quiet_rounds = 0
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._on_round)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _WORK:
            self._quiet_rounds = 0
        if event.type() == QEvent.Type.Paint:
            self._timer.start()
        return False

    def _on_round(self) -> None:
        self._quiet_rounds += 1
        if self._quiet_rounds > _QUIET_ROUNDS:
            self._timer.stop()
            self._window.removeEventFilter(self)
            print(time.monotonic_ns(), time.process_time_ns(), flush=True)
