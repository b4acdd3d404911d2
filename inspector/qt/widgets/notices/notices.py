"""Inline notices: alerts, application notices, status strips and job progress.

`Alert` is placed below what it concerns, with the cause, the next step and a button; the states of a view
are shown in a compact one, each with the button that ends it. `reported` shows the errors of a block of
code in an alert. `NoticeBar` is for errors that concern no panel. `JobBar` shows the progress of jobs,
with a Stop button.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inspector.base.errors import UserError
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import PlainLabel, plain_tooltip

_MAX_NOTICES = 50
# Shorter jobs are not shown, to avoid flicker.
_SHOW_DELAY_MS = 300
_PROGRESS_STEPS = 1000


class _Tinted(QWidget):
    """A widget with a tinted background and a bar of the same tone on the left."""

    def __init__(self, theme: Theme, tone: Tone = "warn", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.tone: Tone = tone
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint(self.tone))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color(self.tone))


class Alert(QWidget):
    """Any number of messages, one per topic, in the order of their first; hidden if there are none.

    Messages are wrapped. A compact alert shows each on one line.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, is_compact: bool = False) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_compact = is_compact
        self._lines: dict[str, _AlertLine] = {}
        self._column = vbox(self, gap=0 if is_compact else SPACE_1)
        self.hide()

    def show_message(
        self,
        topic: str,
        message: str,
        next_step: str = "",
        actions: Sequence[QAction] = (),
        tone: Tone | None = None,
    ) -> None:
        """Show the message of a topic, instead of its earlier one. A compact one is not a warning."""
        tone = tone or ("wait" if self._is_compact else "warn")
        line = self._lines.get(topic)
        if line is None or (line.shown_actions, line.tone) != (tuple(actions), tone):
            self.close_topic(topic)
            line = self._lines[topic] = _AlertLine(self._theme, tuple(actions), tone, self._is_compact)
            self._column.addWidget(line)
        line.text.setText(f"{message} {next_step}".strip())
        self.show()

    def close_topic(self, topic: str) -> None:
        line = self._lines.pop(topic, None)
        if line is not None:
            discard(line)
        self.setVisible(bool(self._lines))

    def close_all(self) -> None:
        for topic in tuple(self._lines):
            self.close_topic(topic)

    def text(self, topic: str) -> str:
        """Return the message of a topic, "" if none."""
        return self._lines[topic].text.text() if topic in self._lines else ""


class _AlertLine(_Tinted):
    def __init__(self, theme: Theme, actions: tuple[QAction, ...], tone: Tone, is_compact: bool) -> None:
        super().__init__(theme, tone)
        self.shown_actions = actions
        buttons = [ActionButton(action, "quiet" if is_compact else "plain") for action in actions]
        for button in buttons:
            button.setAutoDefault(False)
        if is_compact:  # elided, or a long text would widen the window
            self.text = PlainLabel(theme, elide=Qt.TextElideMode.ElideRight)
            hbox(self, self.text, *buttons, STRETCH, margin=(SPACE_3, 0, SPACE_2, 0))
            self.setFixedHeight(theme.row_height() + 4)
        else:
            self.text = PlainLabel(theme, wrap=True, selectable=True)
            hbox(self, (self.text, 1), *buttons, margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1))


@contextmanager
def reported(
    alert: Alert, topic: str, tone: Tone = "warn", actions: Sequence[QAction] = ()
) -> Iterator[None]:
    """Show a UserError of the block in `alert`; without one, close what the topic said before.

    The error is passed on if the alert was deleted meanwhile.
    """
    before = alert.text(topic)
    try:
        yield
    except UserError as exc:
        if not shiboken6.isValid(alert):
            raise
        alert.show_message(topic, exc.summary, exc.next_step, actions, tone)
    else:
        if shiboken6.isValid(alert) and alert.text(topic) == before:
            alert.close_topic(topic)


class NoticeBar(_Tinted):
    """The newest notice, with the number of earlier ones, which are in a tool tip; hidden if none.

    Repeated notices count once.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent=parent)
        self._texts: list[str] = []
        self.hide()

    @cached_property
    def _labels(self) -> tuple[PlainLabel, PlainLabel]:
        """The labels of the newest notice and of the number of earlier ones, created for the first one."""
        text = PlainLabel(self._theme, wrap=True, selectable=True)
        more = PlainLabel(self._theme, tone="muted")
        dismiss = QAction("Dismiss", self)
        self._theme.set_icon(dismiss, "close")
        dismiss.triggered.connect(self.dismiss)
        button = ActionToolButton(dismiss)
        button.setAccessibleName("Dismiss")
        hbox(self, (text, 1), more, button, gap=-1, margin=(SPACE_3, SPACE_2, SPACE_2, SPACE_2))
        return text, more

    def show_problem(self, text: str) -> None:
        self._texts = [*(each for each in self._texts if each != text), text][-_MAX_NOTICES:]
        self._show()

    def withdraw(self, text: str) -> None:
        """Remove a notice whose cause was resolved."""
        if text in self._texts:
            self._texts.remove(text)
            self._show()

    def text(self) -> str:
        return self._labels[0].text()

    def dismiss(self) -> None:
        self._texts = []
        self._show()

    def _show(self) -> None:
        *before, latest = self._texts or [""]
        text, more = self._labels
        text.setText(latest)
        more.setText(f"and {len(before)} earlier" if before else "")
        more.setToolTip(plain_tooltip("\n".join(reversed(before))))
        self.setVisible(bool(latest))


class JobBar(QWidget):
    """One line per running job; hidden if there is none."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._column = vbox(self, gap=0)
        self.hide()

    def begin(self, message: str) -> Job:
        """Start a job; `message` describes it: “Opening monday.mcpcap”."""
        job = Job(self)
        line = _JobLine(self._theme, message, job)
        self._column.addWidget(line)
        line.hide()
        delay = QTimer(job, singleShot=True, interval=_SHOW_DELAY_MS)
        delay.timeout.connect(lambda: self._show(line))
        delay.start()
        job.ended.connect(lambda: self._remove(job, line))
        return job

    def lines(self) -> list[str]:
        """Return the descriptions shown."""
        return [line.text for line in self.findChildren(_JobLine) if line.isVisibleTo(self)]

    def _show(self, line: _JobLine) -> None:
        line.show()
        self.show()

    def _remove(self, job: Job, line: _JobLine) -> None:
        discard(line)
        job.deleteLater()
        self.setVisible(bool(self.lines()))


class Job(QObject):
    """A running job, from `JobBar.begin` until `end`.

    Signals:
        stopped: The user pressed Stop.
        ended: The job has ended.
        progressed: Carries how much is done, and the total.
    """

    stopped = Signal()
    ended = Signal()
    progressed = Signal(object, object)  # integers of any size

    def set_progress(self, done: int, total: int) -> None:
        """Set the progress. Also safe after the end, as other threads may report late."""
        if shiboken6.isValid(self):
            self.progressed.emit(done, total)

    def end(self) -> None:
        if shiboken6.isValid(self):  # the window may be closed before the job ends
            self.ended.emit()


class _JobLine(QWidget):
    def __init__(self, theme: Theme, message: str, job: Job) -> None:
        from PySide6.QtWidgets import QProgressBar

        super().__init__()
        self.text = message
        self._theme = theme
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(220, 6)
        self._bar.setAccessibleName(message)
        stop = QAction("Stop", self)
        theme.set_icon(stop, "stop")
        stop.triggered.connect(job.stopped)
        hbox(
            self,
            (PlainLabel(theme, message, elide=Qt.TextElideMode.ElideMiddle), 1),
            self._bar,
            ActionButton(stop, "quiet"),
            margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1),
        )
        job.progressed.connect(self._on_progressed)

    def _on_progressed(self, done: int, total: int) -> None:
        """Scale the progress: the bytes of a large capture exceed 32 bits."""
        self._bar.setRange(0, _PROGRESS_STEPS if total else 0)
        self._bar.setValue(done * _PROGRESS_STEPS // total if total else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("raised"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))
