"""How long the window's thread was away from its event loop, measured from inside."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer

_BEAT_MS = 2


class Heartbeat(QObject):
    """A precise timer with a period of 2 ms; `gaps` are the times between beats, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self._last = 0.0
        self._timer = QTimer(self, interval=_BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_beat)

    def start(self) -> None:
        self.gaps.clear()
        self._last = time.perf_counter()
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        self._on_beat()  # a freeze at the very end counts too

    def worst_ms(self) -> float:
        return round(max(self.gaps) * 1000, 1)

    def p99_ms(self) -> float:
        """Return the 99th percentile of the gaps, in milliseconds."""
        return round(sorted(self.gaps)[len(self.gaps) * 99 // 100] * 1000, 1)

    def _on_beat(self) -> None:
        now = time.perf_counter()
        self.gaps.append(now - self._last)
        self._last = now


class Work(Heartbeat):
    """Also counts the thread's processor time between beats, without waits for a busy machine."""

    def __init__(self) -> None:
        super().__init__()
        self.spells: list[float] = []
        self._worked = 0.0

    def start(self) -> None:
        self.spells.clear()
        self._worked = time.thread_time()
        super().start()

    def max_ms(self) -> float:
        return round(max(self.spells) * 1000, 1)

    def _on_beat(self) -> None:
        now = time.thread_time()
        self.spells.append(now - self._worked)
        self._worked = now
        super()._on_beat()
