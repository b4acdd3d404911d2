"""The call under way: how far it is, how fast it goes, how long it took so far."""

from __future__ import annotations

import time

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.units import duration
from inspector.protocol.connection import Progressed
from inspector.protocol.tasks import Task
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted

_LEAST_SPAN_S = 0.2  # a rate over less says nothing


class RunningStrip(QWidget):
    """A bar, the server's words on how far it is, and the time. Hidden while nothing runs."""

    def __init__(self, theme: Theme, cancel: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._started = 0
        self._first: tuple[float, float] | None = None  # when progress came first, and how much
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(4)
        self._bar.setAccessibleName("Progress of the call")
        self._words = Muted(theme)
        self._elapsed = Muted(theme)
        self._timer = QTimer(self, interval=100)
        self._timer.timeout.connect(self._on_tick)
        row = QHBoxLayout()
        row.addWidget(self._words, 1)
        row.addWidget(self._elapsed)
        row.addWidget(ActionButton(cancel, "quiet"))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_1, SPACE_1, 0)
        column.setSpacing(SPACE_1)
        column.addWidget(self._bar)
        column.addLayout(row)
        self.hide()

    def begin(self, words: str = "Waiting for the answer") -> None:
        self._started = time.monotonic_ns()
        self._first = None
        self._bar.setRange(0, 0)
        self._words.setText(words)
        self._elapsed.setText("")
        self._timer.start()
        self.show()

    def end(self) -> None:
        self._timer.stop()
        self._bar.setRange(0, 1)  # an endless bar would go on animating
        self.hide()

    def elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def show_progress(self, event: Progressed) -> None:
        """The server's progress; what comes late is nobody's any more."""
        if self.isHidden():
            return
        counted = f"{event.progress:g}"
        if event.total is not None and event.total > 0:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(max(event.progress / event.total, 0), 1)))
            counted = f"{counted} of {event.total:g}"
        words = [counted, one_line(event.message), self._rate(event.progress)]
        self._words.setText("  ".join(word for word in words if word))

    def show_task(self, task: Task) -> None:
        """The call became a task: how that stands."""
        if not self.isHidden():
            status = task.status.value.replace("_", " ")
            self._words.setText(f"Task {status}  {one_line(task.message)}".strip())

    def show_count(self, done: int, wanted: int) -> None:
        """Of many calls."""
        self._bar.setRange(0, max(wanted, 1))
        self._bar.setValue(done)
        self._words.setText(f"{done:,} of {wanted:,} calls")

    def _rate(self, progress: float) -> str:
        """`1.5/s`, from the first progress on."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, progress)
        since, begun = now - self._first[0], self._first[1]
        if since < _LEAST_SPAN_S or progress <= begun:
            return ""
        return f"{(progress - begun) / since:.3g}/s"

    def _on_tick(self) -> None:
        self._elapsed.setText(duration(self.elapsed_ns()))
