"""Base class of the Inbox sections, the view of a sent reply, and earlier rounds of a call.

A section shows one server request, its reply controls and, once there is one, the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.json.values import JSON, text_of
from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem, Round
from inspector.protocol.server_requests.request import SAMPLING
from inspector.qt.models.content_parts import messages_of, shown_json
from inspector.qt.models.inbox import excerpt_of, kind_text, reply_text, rule_text
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, Theme, Tone
from inspector.qt.views.messages import MessageCard
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.layout import CollapsibleSection
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MOST_SHOWN = 4_000
_NOT_TOLD = "The call was not made again: this revision has no way to tell the server no."
_TONES: dict[str, Tone] = {"accepted": "ok", "answered": "ok", "answered by itself": "ok"}


class ReplyView(QWidget):
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
        question: RequestItem,
        reply: Reply,
        *,
        is_in_result: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        words = reply_text(reply)
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(Badge(theme, words, _TONES.get(words, "muted")))
        head.addWidget(Badge(theme, rule_text(reply), "wait"))
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

    def _parts(self, question: RequestItem, reply: Reply, is_in_result: bool) -> list[QWidget]:
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
        return [*cards, MutedLabel(self._theme, " · ".join(one_line(fact) for fact in facts if fact))]

    def _json(self, value: JSON) -> QWidget:
        shown = shown_json(value, _MOST_SHOWN)
        return PlainLabel(self._theme, shown, mono=True, wrap=True, selectable=True)


_MOST = 20  # requests shown per round


class EarlierRounds(QWidget):
    """The earlier rounds, each collapsed. Hidden if there are none.

    Signals:
        content_requested, uri_requested: As in `Section`.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, card: InboxRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_2, SPACE_2, SPACE_3, 0)
        column.setSpacing(SPACE_1)
        first = card.round - len(card.earlier)  # the number of the oldest known round
        self.steps = [
            CollapsibleSection(theme, _words(first + place, each), partial(self._make, each))
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
            column.addWidget(MutedLabel(self._theme, f"And {len(earlier.questions) - _MOST:,} more."))
        return inside

    def _parts(self, question: RequestItem) -> list[QWidget]:
        about = excerpt_of(question)
        words = f"{kind_text(question)}: {about}" if about else kind_text(question)
        parts: list[QWidget] = [PlainLabel(self._theme, words, wrap=True, selectable=True)]
        if question.reply is not None:
            given = ReplyView(self._theme, question, question.reply)
            given.content_requested.connect(self.content_requested)
            given.uri_requested.connect(self.uri_requested)
            parts.append(given)
        return parts


def _words(number: int, earlier: Round) -> str:
    said = dict.fromkeys(reply_text(each.reply) for each in earlier.questions if each.reply is not None)
    kinds = dict.fromkeys(kind_text(each) for each in earlier.questions)
    return f"Round {number}: {', '.join(kinds)} · {', '.join(said)} after {duration(earlier.waited_ns)}"


class ReplyBar(QWidget):
    """The buttons of a request, with the reply's problems above them."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.alert = Alert(theme)
        self._row = QHBoxLayout()
        self._row.setSpacing(SPACE_2)
        self._row.addStretch(1)
        self._words: PlainLabel | None = None
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._line.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._line.setSpacing(SPACE_2)
        self._line.addLayout(self._row)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.alert)
        column.addLayout(self._line)

    def add(self, action: QAction, kind: ButtonKind = "plain") -> ActionButton:
        button = ActionButton(action, kind)
        button.setAutoDefault(False)
        self._row.insertWidget(self._row.count() - 1, button)
        return button

    def add_words(self, label: PlainLabel) -> None:
        """Add text after the buttons; above them if there is not enough room."""
        self._words = label
        self._line.addWidget(label, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_words()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._place_words()
        return super().event(event)

    def _place_words(self) -> None:
        if self._words is None:
            return
        wanted = self._words.fontMetrics().horizontalAdvance(self._words.text()) + SPACE_2
        room = self.width() - 2 * SPACE_3 - self._row.sizeHint().width()
        beside, above = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.BottomToTop
        direction = beside if wanted <= room else above
        if direction is not self._line.direction():
            self._line.setDirection(direction)


class Section(QWidget):
    """One server request. Its content stays; the reply replaces the controls once there is one.

    For a card with one request, `bar` is moved below, where it is always visible.

    Signals:
        decided: The user replies; carries the Reply.
        retracted: The user withdraws the reply.
        content_requested: The user wants to see some content separately; carries it.
        uri_requested: The user wants to follow a link; carries its URI.
    """

    decided = Signal(object)
    retracted = Signal()
    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, card: InboxRequest, question: RequestItem) -> None:
        super().__init__()
        self._theme = theme
        self._card = card
        self._question = question
        self._given: ReplyView | None = None
        self._given_reply: Reply | None = None
        self._shown_remarks: Sequence[str] = ()
        self._is_one_of_many = False
        self.title = Heading(theme, kind_text(question))
        self.key_badge = Badge(theme)
        self.state_badge = Badge(theme)
        self.remarks = Alert(theme)
        self.asked = QWidget()
        self.answer = QWidget()
        self.bar = ReplyBar(theme)
        self.take_back_action = self._action("Take back", self.retracted.emit, "Answer it in another way")
        self._take_back = ActionButton(self.take_back_action, "quiet")
        self._lay_out()
        self._show_remarks(question.remarks)
        self.answer.setEnabled(card.is_open)  # nothing was typed into it

    @property
    def question(self) -> RequestItem:
        return self._question

    def show_heading(self, place: str) -> None:
        """Show which one this is, for a card with several requests."""
        self.title.setText(f"{place}{kind_text(self._question)}")
        self._is_one_of_many = True
        self.key_badge.set_text(self._question.key)
        self.key_badge.setToolTip("The name of this question in the server's result")
        self._head.show()

    def show_question(self, card: InboxRequest, question: RequestItem, held: Reply | None = None) -> None:
        """Update the request, which may be answered now or no longer; `held` is an unsent reply."""
        self._card, self._question = card, question
        self._show_remarks(question.remarks)
        reply = question.reply or held
        self._show_reply(reply)
        self.bar.setVisible(self.is_asked)
        self.answer.setVisible(reply is None)
        self._take_back.setVisible(reply is not None and not reply.is_known and self._may_retract())
        self.state_badge.set_text(self._state_words(reply), "ok" if reply is not None else "wait")
        if not self.is_asked:
            self.bar.alert.close_all()

    @property
    def is_asked(self) -> bool:
        """True if a reply is needed and there is none."""
        return self._card.is_open and self._given_reply is None

    @property
    def has_typed(self) -> bool:
        """True if the user has typed something that would be lost."""
        return False

    def submit(self) -> None:
        """Reply with the current input, as Ctrl+Return does."""

    def enter(self) -> bool:
        """Focus the input; return False if there is none."""
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_one_of_many:
            painter = QPainter(self)
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    # -------------------------------------------------------------- for each kind

    def _action(self, words: str, slot: Callable[[], object], tip: str = "") -> QAction:
        action = QAction(words, self)
        action.triggered.connect(slot)
        if tip:
            action.setToolTip(tip)
        return action

    def _fill(self, place: QWidget, parts: Sequence[QWidget], *, margin: int = SPACE_3) -> QVBoxLayout:
        column = QVBoxLayout(place)
        column.setContentsMargins(margin, 0, margin, 0)
        column.setSpacing(SPACE_2)
        for part in parts:
            column.addWidget(part)
        return column

    def _decide(self, reply: Reply) -> None:
        self.bar.alert.close_all()
        self.decided.emit(reply)

    # --------------------------------------------------------------

    def _may_retract(self) -> bool:
        return self._card.is_open and not self._card.awaits_page and len(self._card.questions) > 1

    def _state_words(self, reply: Reply | None) -> str:
        if reply is None:
            return "not answered yet" if self._card.is_open else "not answered"
        return "answered"

    def _show_remarks(self, remarks: Sequence[str]) -> None:
        if remarks == self._shown_remarks:
            return
        self._shown_remarks = remarks
        self.remarks.close_all()
        for number, remark in enumerate(remarks):
            self.remarks.say(str(number), remark)

    def _show_reply(self, reply: Reply | None) -> None:
        if reply == self._given_reply:
            return
        if self._given is not None:
            self._given.hide()
            self._given.deleteLater()
            self._given = None
        self._given_reply = reply
        if reply is not None:
            is_in_result = self._card.round > 0
            self._given = ReplyView(self._theme, self._question, reply, is_in_result=is_in_result)
            self._given.content_requested.connect(self.content_requested)
            self._given.uri_requested.connect(self.uri_requested)
            self._column.insertWidget(self._column.indexOf(self._take_back), self._given)
            self._given.show()  # now: the layout would do so only after pending events

    def _lay_out(self) -> None:
        self._head = QWidget()
        row = QHBoxLayout(self._head)
        row.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(self.title)
        row.addWidget(self.key_badge)
        row.addWidget(self.state_badge)
        row.addStretch(1)
        self._head.hide()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_2)
        for part in (self._head, self.remarks, self.asked, self.answer):
            self._column.addWidget(part)
        self._column.addWidget(self._take_back, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addWidget(self.bar)


class UnreadableSection(Section):
    """A request answered automatically, or not answerable: shown as received."""

    def __init__(self, theme: Theme, card: InboxRequest, question: RequestItem) -> None:
        super().__init__(theme, card, question)
        words = MutedLabel(theme, f"{question.method}, as it came:", wrap=True)
        shown = shown_json(question.params, _MOST_SHOWN)
        text = PlainLabel(theme, shown, mono=True, wrap=True, selectable=True)
        self._fill(self.asked, (words, text))
        self.answer.setMaximumHeight(0)
        self.show_question(card, question)
