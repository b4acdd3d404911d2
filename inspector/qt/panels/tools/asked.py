"""What the server asks while a call runs: the call waits for the person, not the person for the call."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.engine.cards import Card
from inspector.qt.theme import Theme
from inspector.qt.widgets.strips import Strips

_ASKED = "asked"


class AskedStrip(QWidget):
    """A line with a button that leads to the card. Hidden while the call waits for nothing.

    Signals:
        answer_requested: Carries the card's id.
    """

    answer_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cards: tuple[Card, ...] = ()
        self._tool = ""
        self._since = 0
        self._card_id = 0
        self._strips = Strips(theme)
        self._answer = QAction("Answer", self)
        self._answer.triggered.connect(lambda: self.answer_requested.emit(self._card_id))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._strips)
        self.hide()

    @property
    def words(self) -> str:
        return self._strips.text(_ASKED)

    def show_cards(self, cards: tuple[Card, ...]) -> None:
        """Set the server's pending cards."""
        self._cards = cards
        self._update()

    def set_running(self, tool: str) -> None:
        """Set the tool being called; "" for none."""
        if tool and not self._tool:
            self._since = time.monotonic_ns()
        self._tool = tool
        self._update()

    def _update(self) -> None:
        if not self._cards or not self._tool:
            self.hide()
            self._strips.take_back(_ASKED)
            return
        from inspector.qt.models.inboxnews import asked_of_call, waiting_words

        card = asked_of_call(self._cards, self._tool, self._since)
        self.setVisible(card is not None)
        if card is None:
            self._strips.take_back(_ASKED)
        else:
            self._card_id = card.id
            self._strips.say(_ASKED, waiting_words(card), self._answer)
