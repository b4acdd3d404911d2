"""The call under way: how far it is, how fast it goes, how long it took so far."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.units import duration
from inspector.engine.pace import Pace
from inspector.protocol.connection import Progressed
from inspector.protocol.tasks import Task
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted


class RunningStrip(QWidget):
    """A progress bar, the server's progress message and the time. Hidden while nothing runs."""

    def __init__(self, theme: Theme, cancel: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._started = 0
        self._pace = Pace()
        self._message = ""
        self._said = ""  # shown instead of progress
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(4)
        self._bar.setAccessibleName("Progress of the call")
        self.leave = QAction("Leave it running", self)
        self.leave.setToolTip("Wait no longer; the task goes on, and Tasks shows what becomes of it")
        self._leave_button = ActionButton(self.leave, "quiet")
        self._words = Muted(theme)
        self._elapsed = Muted(theme)
        self._timer = QTimer(self, interval=100)
        self._timer.timeout.connect(self._on_tick)
        row = QHBoxLayout()
        row.addWidget(self._words, 1)
        row.addWidget(self._elapsed)
        row.addWidget(self._leave_button)
        row.addWidget(ActionButton(cancel, "quiet"))
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, 0)
        column.setSpacing(SPACE_1)
        column.addWidget(self._bar)
        column.addLayout(row)
        self.hide()

    def begin(self, words: str = "Waiting for the answer") -> None:
        self._started = time.monotonic_ns()
        self._pace, self._message, self._said = Pace(), "", words
        self._bar.setRange(0, 0)
        self._leave_button.hide()
        self._show_words()
        self._elapsed.setText("")
        self._timer.start()
        self.show()

    def end(self) -> None:
        self._timer.stop()
        self._bar.setRange(0, 1)  # an indeterminate bar would keep animating
        self.hide()

    def elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def show_progress(self, event: Progressed) -> None:
        """Show the server's progress; late notifications are ignored."""
        if self.isHidden():
            return
        self._pace.add(time.monotonic(), event.progress, event.total)
        self._message, self._said = one_line(event.message), ""
        share = event.progress / event.total if event.total else math.nan
        if math.isfinite(share):
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(max(share, 0), 1)))
        self._show_words()

    def show_task(self, task: Task) -> None:
        """Show the state of the task the call became."""
        if not self.isHidden():
            self._leave_button.setVisible(not task.status.is_terminal)
            status = task.status.value.replace("_", " ")
            self._said = f"Task {status}  {one_line(task.message)}".strip()
            self._show_words()

    def show_count(self, done: int, wanted: int) -> None:
        """Show how many of the calls are done."""
        self._bar.setRange(0, max(wanted, 1))
        self._bar.setValue(done)
        self._said = f"{done:,} of {wanted:,} calls"
        self._show_words()

    def _show_words(self) -> None:
        told = (self._pace.counted(), self._pace.words(time.monotonic()), self._message)
        words = self._said or "  ".join(word for word in told if word)
        if words != self._words.text():
            self._words.setText(words)

    def _on_tick(self) -> None:
        self._elapsed.setText(duration(self.elapsed_ns()))
        self._show_words()  # the remaining time decreases by itself
