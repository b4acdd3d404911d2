"""The bottom of a card: what concerns all of its questions, always in view."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.panels.inbox.section import AnswerBar, Section
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Muted, PlainLabel

_NOT_SENT = "What you wrote was not sent. It stays here for you to copy."


class CardFooter(QWidget):
    """The card's buttons.

    For one request its own; for several “Send answers”; for an open page, how to continue.

    Signals:
        send_requested, done_requested, again_requested, dismiss_requested: The user pressed the button.
    """

    send_requested = Signal()
    done_requested = Signal()
    again_requested = Signal()
    dismiss_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.alert = Alert(theme)
        self.send_action = self._action("Send answers", self.send_requested, "Send all of them (Ctrl+Return)")
        self.done_action = self._action("I'm done", self.done_requested, "Go on, whatever the server says")
        self.again_action = self._action("Open again", self.again_requested)
        self.dismiss_action = self._action("Dismiss", self.dismiss_requested, "Wait no longer for the page")
        self.missing = Muted(theme)
        self._not_sent = PlainLabel(theme, _NOT_SENT, tone="muted", wrap=True)
        self._not_sent.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._answers = AnswerBar(theme)
        self._answers.add(self.send_action, "primary")
        self._answers.add_words(self.missing)
        self._page = AnswerBar(theme)
        self._page.add(self.done_action, "primary")
        self._page.add(self.again_action)
        self._page.add(self.dismiss_action)
        self._page.add_words(Muted(theme, "The server says when the page is done with, if it does."))
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 1, 0, 0)
        self._column.setSpacing(0)
        for part in (self.alert, self._not_sent, self._answers, self._page):
            self._column.addWidget(part)
        theme.changed.connect(self.update)

    def take_bar(self, section: Section) -> None:
        """Show the buttons of the only request here, where they are always visible."""
        self._column.addWidget(section.bar)

    def show_answers(self, is_wanted: bool, missing: Sequence[str]) -> None:
        self._answers.setVisible(is_wanted)
        self.send_action.setEnabled(is_wanted and not missing)
        self.missing.setText(f"Not answered yet: {', '.join(missing)}" if missing else "")

    def show_page(self, is_awaited: bool) -> None:
        self._page.setVisible(is_awaited)

    def show_not_sent(self, is_so: bool) -> None:
        self._not_sent.setVisible(is_so)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _action(self, words: str, wanted: SignalInstance, tip: str = "") -> QAction:
        action = QAction(words, self)
        action.triggered.connect(lambda: wanted.emit())
        if tip:
            action.setToolTip(tip)
        return action
