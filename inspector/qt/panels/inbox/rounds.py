"""Earlier rounds of the same call, as steps that can be opened: what was asked then, and answered."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.units import duration
from inspector.engine.cards import Card, Question, Round
from inspector.qt.models.inboxwords import excerpt_of, kind_words, reply_words
from inspector.qt.panels.inbox.given import GivenView
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, Theme
from inspector.qt.widgets.fold import Fold
from inspector.qt.widgets.labels import Muted, PlainLabel

_MOST = 20  # requests shown per round


class EarlierRounds(QWidget):
    """The earlier rounds, each collapsed. Hidden if there are none.

    Signals:
        content_requested, uri_requested: As in `Section`.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, card: Card, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_2, SPACE_2, SPACE_3, 0)
        column.setSpacing(SPACE_1)
        first = card.round - len(card.earlier)  # the number of the oldest known round
        self.steps = [
            Fold(theme, _words(first + place, each), partial(self._make, each))
            for place, each in enumerate(card.earlier)
        ]
        for step in self.steps:
            column.addWidget(step)
        if not self.steps:
            self.hide()

    def _make(self, earlier: Round) -> QWidget:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(SPACE_6, 0, 0, SPACE_2)
        column.setSpacing(SPACE_1)
        for question in earlier.questions[:_MOST]:
            for part in self._parts(question):
                column.addWidget(part)
        if len(earlier.questions) > _MOST:
            column.addWidget(Muted(self._theme, f"And {len(earlier.questions) - _MOST:,} more."))
        return inside

    def _parts(self, question: Question) -> list[QWidget]:
        about = excerpt_of(question)
        words = f"{kind_words(question)}: {about}" if about else kind_words(question)
        parts: list[QWidget] = [PlainLabel(self._theme, words, wrap=True, selectable=True)]
        if question.reply is not None:
            given = GivenView(self._theme, question, question.reply)
            given.content_requested.connect(self.content_requested)
            given.uri_requested.connect(self.uri_requested)
            parts.append(given)
        return parts


def _words(number: int, earlier: Round) -> str:
    said = dict.fromkeys(reply_words(each.reply) for each in earlier.questions if each.reply is not None)
    kinds = dict.fromkeys(kind_words(each) for each in earlier.questions)
    return f"Round {number}: {', '.join(kinds)} · {', '.join(said)} after {duration(earlier.waited_ns)}"
