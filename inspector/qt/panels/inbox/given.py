"""An answer that was given: what, and by whom."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON
from inspector.base.plaintext import one_line
from inspector.engine.cards import Question, Reply
from inspector.protocol.asking import SAMPLING
from inspector.protocol.members import text_of
from inspector.qt.models.inboxwords import reply_words, rule_words
from inspector.qt.models.sampledmessages import messages_of, shown_json
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Muted, PlainLabel
from inspector.qt.widgets.messages import MessageCard

_MOST_SHOWN = 4_000
_NOT_TOLD = "The call was not made again: this revision has no way to tell the server no."
_TONES: dict[str, Tone] = {"accepted": "ok", "answered": "ok", "answered by itself": "ok"}


class GivenView(QWidget):
    """A read-only view of a reply.

    `is_in_result`: the request was part of a result, so no error can be sent to the server.

    Signals:
        content_requested: Show some content separately; carries it.
        uri_requested: Follow a link; carries its URI.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(
        self,
        theme: Theme,
        question: Question,
        reply: Reply,
        *,
        is_in_result: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        words = reply_words(reply)
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(Badge(theme, words, _TONES.get(words, "muted")))
        head.addWidget(Badge(theme, rule_words(reply), "wait"))
        head.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        column.setSpacing(SPACE_1)
        column.addLayout(head)
        for part in self._parts(question, reply, is_in_result):
            column.addWidget(part)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("sunken"))

    def _parts(self, question: Question, reply: Reply, is_in_result: bool) -> list[QWidget]:
        if reply.result is None and is_in_result:
            return [PlainLabel(self._theme, _NOT_TOLD, wrap=True)]
        if reply.result is None:
            return [PlainLabel(self._theme, f"{reply.message} ({reply.code})", wrap=True, selectable=True)]
        if question.method == SAMPLING:
            return self._sampled(reply.result)
        if set(reply.result) <= {"action"}:
            return []
        is_form = set(reply.result) <= {"action", "content"}
        return [self._json(reply.result.get("content") if is_form else reply.result)]

    def _sampled(self, result: dict[str, JSON]) -> list[QWidget]:
        try:
            messages = messages_of(text_of(result, "role"), result.get("content"))
        except ValueError:
            return [self._json(result)]
        cards: list[QWidget] = []
        for message in messages:
            card = MessageCard(self._theme, message, side=0)
            card.open_requested.connect(self.content_requested)
            card.uri_requested.connect(self.uri_requested)
            cards.append(card)
        facts = (text_of(result, "model"), text_of(result, "stopReason"))
        return [*cards, Muted(self._theme, " · ".join(one_line(fact) for fact in facts if fact))]

    def _json(self, value: JSON) -> QWidget:
        shown = shown_json(value, _MOST_SHOWN)
        return PlainLabel(self._theme, shown, mono=True, wrap=True, selectable=True)
