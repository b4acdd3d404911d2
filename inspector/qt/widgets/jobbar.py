"""A strip for work that takes a while: what is being done, how far it has come, and a way to stop it."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel

# Shorter jobs are not worth a strip that appears and disappears.
_PATIENCE_MS = 300
_STEPS = 1000


class Job(QObject):
    """A running job, from `JobBar.begin` until `end`.

    Signals:
        stopped: The user wants it to stop.
    """

    stopped = Signal()
    ended = Signal()
    progressed = Signal(object, object)  # integers of any size

    def set_progress(self, done: int, total: int) -> None:
        """Set the progress. Also safe after the end: reports from other threads may be late."""
        if shiboken6.isValid(self):
            self.progressed.emit(done, total)

    def end(self) -> None:
        if shiboken6.isValid(self):  # the window may be closed before the job ends
            self.ended.emit()


class JobBar(QWidget):
    """One line per running job; hidden if there is none."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    def begin(self, words: str) -> Job:
        """Start a job; `words` describe it: “Opening monday.mcpcap”."""
        job = Job(self)
        line = _Line(self._theme, words, job)
        self._column.addWidget(line)
        line.hide()
        waiting = QTimer(job, singleShot=True, interval=_PATIENCE_MS)
        waiting.timeout.connect(lambda: self._show(line))
        waiting.start()
        job.ended.connect(lambda: self._remove(job, line))
        return job

    def lines(self) -> list[str]:
        """Return the descriptions shown."""
        return [line.words for line in self.findChildren(_Line) if line.isVisibleTo(self)]

    def _show(self, line: _Line) -> None:
        line.show()
        self.show()

    def _remove(self, job: Job, line: _Line) -> None:
        self._column.removeWidget(line)
        line.setParent(None)
        line.deleteLater()
        job.deleteLater()
        self.setVisible(bool(self.lines()))


class _Line(QWidget):
    def __init__(self, theme: Theme, words: str, job: Job) -> None:
        super().__init__()
        self.words = words
        self._theme = theme
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(220, 6)
        self._bar.setAccessibleName(words)
        stop = QAction("Stop", self)
        theme.dress(stop, "stop")
        stop.triggered.connect(job.stopped)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, SPACE_1)
        row.setSpacing(SPACE_2)
        row.addWidget(PlainLabel(theme, words, elide=Qt.TextElideMode.ElideMiddle), 1)
        row.addWidget(self._bar)
        row.addWidget(ActionButton(stop, "quiet"))
        job.progressed.connect(self._on_progressed)

    def _on_progressed(self, done: int, total: int) -> None:
        """Scale the progress: the bytes of a large capture exceed 32 bits."""
        self._bar.setRange(0, _STEPS if total else 0)
        self._bar.setValue(done * _STEPS // total if total else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("raised"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
