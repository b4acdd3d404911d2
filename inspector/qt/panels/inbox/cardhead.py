"""The top of a card: who asks for what, which call waits for it, since when, in which round."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.units import full_time
from inspector.engine.cards import Card, CardEnd
from inspector.qt.models.inboxwords import (
    age_words,
    asking_task,
    end_words,
    is_yes,
    note_words,
    round_words,
    waits_words,
    wish_words,
)
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, plain_tooltip


class CardHead(QWidget):
    """The header of a card.

    Signals:
        call_requested: The user wants to see the waiting call.
        task_requested: The user wants to see the task behind the request.
    """

    call_requested = Signal()
    task_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._card: Card | None = None
        self.title = Heading(theme)
        self.facts = Muted(theme)
        self.round_badge = Badge(theme, tone="wait")
        self.state = Badge(theme)
        self.note = Alert(theme)
        self.call_action = QAction("Show call", self)
        self.call_action.triggered.connect(self.call_requested)
        self._call_button = ActionButton(self.call_action, "quiet")
        self.task_action = QAction("Show task", self)
        self.task_action.setToolTip("Show the task that asks, among those of the server")
        self.task_action.triggered.connect(self.task_requested)
        self._task_button = ActionButton(self.task_action, "quiet")
        self._lay_out()
        theme.changed.connect(self.update)

    def show_card(self, card: Card) -> None:
        self._card = card
        self.title.setText(wish_words(card))
        self.round_badge.set_text(round_words(card))
        self._call_button.setVisible(card.operation is not None or card.row is not None)
        self._task_button.setVisible(bool(asking_task(card)))
        is_call = card.operation is not None
        self.call_action.setText("Show call" if is_call else "Show in traffic")
        self.call_action.setToolTip(
            "Show the call that waits for the answer in the traffic" if is_call else "Show the question there"
        )
        self.facts.setToolTip(plain_tooltip(f"Asked at {full_time(card.asked_wall_ns)}"))
        self._show_state(card)
        self.tick()

    def tick(self) -> None:
        """Update the age."""
        card = self._card
        if card is None:
            return
        waits = waits_words(card)
        waits = f"{waits} waits" if waits and card.is_open else waits
        age = f"asked {age_words(card, time.monotonic_ns())} ago" if card.is_open else ""
        self.facts.setText(" · ".join(word for word in (waits, age, str(card.revision)) if word))

    def _show_state(self, card: Card) -> None:
        if card.is_open:
            self.state.set_text("waiting for the page" if card.awaits_page else "", "wait")
        else:
            self.state.set_text(end_words(card), _tone(card))
        if note := note_words(card):
            self.note.say("note", note, tone="wait" if card.is_open else "warn")
        else:
            self.note.close_all()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(SPACE_2)
        first.addWidget(self.title)
        first.addWidget(self.round_badge)
        first.addWidget(self.state)
        first.addStretch(1)
        second = QHBoxLayout()
        second.setSpacing(SPACE_2)
        second.addWidget(self.facts)
        second.addWidget(self._call_button)
        second.addWidget(self._task_button)
        second.addStretch(1)
        words = QVBoxLayout()
        words.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        words.setSpacing(0)
        words.addLayout(first)
        words.addLayout(second)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 1)
        column.setSpacing(0)
        column.addLayout(words)
        column.addWidget(self.note)


def _tone(card: Card) -> Tone:
    if card.end is not CardEnd.ANSWERED:
        return "warn"
    return "ok" if is_yes(card) else "muted"
