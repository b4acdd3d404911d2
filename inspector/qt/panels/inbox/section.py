"""Inbox section of one server request: the request, the reply controls, then the reply.

Base class of the sections, and the views of a reply and of earlier rounds of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from inspector.base.json.values import JSON, text_of
from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem, Round
from inspector.protocol.jsonrpc import error_code_text
from inspector.protocol.server_requests.request import SAMPLING
from inspector.qt.models.content_parts import messages_of, shown_json
from inspector.qt.models.inbox import excerpt_of, kind_text, reply_text, rule_text
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, Theme
from inspector.qt.views.messages import MessageCard
from inspector.qt.widgets.inputs.controls import ActionButton, ButtonKind
from inspector.qt.widgets.layout import STRETCH, CollapsibleSection, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

_MAX_JSON_LENGTH = 4_000
_NOT_RETRIED = "The call was not retried: this protocol version has no way to decline."
_MAX_ROUND_REQUESTS = 20  # requests shown per round


class Section(QWidget):
    """One server request. Its content stays; the reply replaces the controls once there is one.

    If it is the only one of an Inbox request, its `bar` is moved to the footer.

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

    def __init__(self, theme: Theme, inbox_request: InboxRequest, input_request: RequestItem) -> None:
        super().__init__()
        self._theme = theme
        self._inbox_request = inbox_request
        self._input_request = input_request
        self._reply_view: ReplyView | None = None
        self._reply: Reply | None = None
        self._shown_notes: Sequence[str] = ()
        self._is_one_of_many = False
        self.title = Heading(theme, kind_text(input_request))
        self.key_badge = Badge(theme)
        self.state_badge = Badge(theme)
        self.notes = Alert(theme)
        self.request_area = QWidget()
        self.reply_area = QWidget()
        self.bar = ReplyBar(theme)
        self.undo_action = self._action(
            "Undo reply", self.retracted.emit, "Reply to this request differently"
        )
        self._undo_button = ActionButton(self.undo_action, "quiet")
        self._lay_out()
        self._show_notes(input_request.notes)
        self.reply_area.setEnabled(inbox_request.is_open)  # nothing was typed into it

    @property
    def input_request(self) -> RequestItem:
        return self._input_request

    def show_heading(self, position: str) -> None:
        """Show which one this is, if there are several."""
        self.title.setText(f"{position}{kind_text(self._input_request)}")
        self._is_one_of_many = True
        self.key_badge.set_text(self._input_request.key)
        self.key_badge.setToolTip("Key of this request in the server's result")
        self._head.show()

    def show_input_request(
        self, inbox_request: InboxRequest, input_request: RequestItem, held: Reply | None = None
    ) -> None:
        """Update the request and its reply; `held` is a reply that was not sent yet."""
        self._inbox_request, self._input_request = inbox_request, input_request
        self._show_notes(input_request.notes)
        reply = input_request.reply or held
        self._show_reply(reply)
        self.bar.setVisible(self.needs_reply)
        self.reply_area.setVisible(reply is None)
        self._undo_button.setVisible(reply is not None and not reply.is_built_in and self._can_retract())
        self.state_badge.set_text(self._state_text(reply), "ok" if reply is not None else "wait")
        if not self.needs_reply:
            self.bar.alert.close_all()

    @property
    def needs_reply(self) -> bool:
        """Whether a reply is needed and there is none."""
        return self._inbox_request.is_open and self._reply is None

    @property
    def has_typed(self) -> bool:
        """Whether the user has typed something that would be lost."""
        return False

    def submit(self) -> None:
        """Reply with the current input, as Ctrl+Return does."""

    def focus_first_field(self) -> bool:
        """Focus the input; return False if there is none."""
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_one_of_many:
            painter = QPainter(self)
            painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def _action(self, text: str, slot: Callable[[], object], tip: str = "") -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        if tip:
            action.setToolTip(tip)
        return action

    def _fill(self, area: QWidget, parts: Sequence[QWidget], *, margin: int = SPACE_3) -> QVBoxLayout:
        return vbox(area, *parts, margin=(margin, 0))

    def _decide(self, reply: Reply) -> None:
        self.bar.alert.close_all()
        self.decided.emit(reply)

    def _can_retract(self) -> bool:
        return (
            self._inbox_request.is_open
            and not self._inbox_request.awaits_completion
            and len(self._inbox_request.input_requests) > 1
        )

    def _state_text(self, reply: Reply | None) -> str:
        if reply is None:
            return "no reply yet" if self._inbox_request.is_open else "no reply"
        return "replied"

    def _show_notes(self, notes: Sequence[str]) -> None:
        if notes == self._shown_notes:
            return
        self._shown_notes = notes
        self.notes.close_all()
        for number, note in enumerate(notes):
            self.notes.show_message(str(number), note)

    def _show_reply(self, reply: Reply | None) -> None:
        if reply == self._reply:
            return
        if self._reply_view is not None:
            self._reply_view.hide()
            self._reply_view.deleteLater()
            self._reply_view = None
        self._reply = reply
        if reply is not None:
            is_in_result = self._inbox_request.round > 0
            self._reply_view = ReplyView(self._theme, self._input_request, reply, is_in_result=is_in_result)
            self._reply_view.content_requested.connect(self.content_requested)
            self._reply_view.uri_requested.connect(self.uri_requested)
            self._column.insertWidget(self._column.indexOf(self._undo_button), self._reply_view)
            self._reply_view.show()  # the layout would show it only after pending events

    def _lay_out(self) -> None:
        self._head = QWidget()
        hbox(
            self._head,
            self.title,
            self.key_badge,
            self.state_badge,
            STRETCH,
            margin=(SPACE_3, SPACE_3, SPACE_3, 0),
        )
        self._head.hide()
        self._column = vbox(
            self,
            self._head,
            self.notes,
            self.request_area,
            self.reply_area,
            (self._undo_button, 0, Qt.AlignmentFlag.AlignLeft),
            self.bar,
        )


class UnreadableSection(Section):
    """A request that is replied to automatically, or malformed: shown as received."""

    def __init__(self, theme: Theme, inbox_request: InboxRequest, input_request: RequestItem) -> None:
        super().__init__(theme, inbox_request, input_request)
        caption = MutedLabel(theme, f"{input_request.method}, as received:", wrap=True)
        shown = shown_json(input_request.params, _MAX_JSON_LENGTH)
        params = PlainLabel(theme, shown, mono=True, wrap=True, selectable=True)
        self._fill(self.request_area, (caption, params))
        self.reply_area.setMaximumHeight(0)
        self.show_input_request(inbox_request, input_request)


class ReplyBar(QWidget):
    """The buttons of a request, with the errors of the reply above them."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.alert = Alert(theme)
        self._row = hbox(None, STRETCH)
        self._label: PlainLabel | None = None
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._line.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._line.setSpacing(SPACE_2)
        self._line.addLayout(self._row)
        vbox(self, self.alert, self._line, gap=0)

    def add(self, action: QAction, kind: ButtonKind = "plain") -> ActionButton:
        button = ActionButton(action, kind)
        button.setAutoDefault(False)
        self._row.insertWidget(self._row.count() - 1, button)
        return button

    def add_text(self, label: PlainLabel) -> None:
        """Add text after the buttons; above them if there is not enough room."""
        self._label = label
        self._line.addWidget(label, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_text()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self._place_text()
        return super().event(event)

    def _place_text(self) -> None:
        if self._label is None:
            return
        needed = self._label.fontMetrics().horizontalAdvance(self._label.text()) + SPACE_2
        room = self.width() - 2 * SPACE_3 - self._row.sizeHint().width()
        horizontal, above = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.BottomToTop
        direction = horizontal if needed <= room else above
        if direction is not self._line.direction():
            self._line.setDirection(direction)


class ReplyView(QWidget):
    """A read-only view of a reply.

    `is_in_result`: the request was part of an input-required result, to which no error can be sent.

    Signals:
        content_requested: Show some content separately; carries it.
        uri_requested: Follow a link; carries its URI.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(
        self,
        theme: Theme,
        input_request: RequestItem,
        reply: Reply,
        *,
        is_in_result: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        head = hbox(
            None,
            Badge(theme, reply_text(reply), "ok" if reply.is_positive else "muted"),
            Badge(theme, rule_text(reply), "wait"),
            STRETCH,
        )
        vbox(
            self,
            head,
            *self._parts(input_request, reply, is_in_result),
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2),
        )
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("sunken"))

    def _parts(self, input_request: RequestItem, reply: Reply, is_in_result: bool) -> list[QWidget]:
        if reply.result is None and is_in_result:
            return [PlainLabel(self._theme, _NOT_RETRIED, wrap=True)]
        if reply.result is None:
            text = f"{error_code_text(reply.code, from_client=True)}: {reply.message}"
            return [PlainLabel(self._theme, text, wrap=True, selectable=True)]
        if input_request.method == SAMPLING:
            return self._sampling_parts(reply.result)
        if set(reply.result) <= {"action"}:
            return []
        is_form = set(reply.result) <= {"action", "content"}
        return [self._json(reply.result.get("content") if is_form else reply.result)]

    def _sampling_parts(self, result: dict[str, JSON]) -> list[QWidget]:
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
        return [
            *cards,
            MutedLabel(self._theme, " · ".join(one_line(fact) for fact in facts if fact)),
        ]

    def _json(self, value: JSON) -> QWidget:
        shown = shown_json(value, _MAX_JSON_LENGTH)
        return PlainLabel(self._theme, shown, mono=True, wrap=True, selectable=True)


class EarlierRounds(QWidget):
    """The earlier rounds, each collapsed. Hidden if there are none.

    Signals:
        content_requested, uri_requested: As in `Section`.
    """

    content_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, theme: Theme, inbox_request: InboxRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        first = inbox_request.round - len(inbox_request.earlier)  # the number of the oldest known round
        self.steps = [
            CollapsibleSection(theme, _round_text(first + position, each), partial(self._make, each))
            for position, each in enumerate(inbox_request.earlier)
        ]
        vbox(self, *self.steps, gap=SPACE_1, margin=(SPACE_2, SPACE_2, SPACE_3, 0))
        if not self.steps:
            self.hide()

    def _make(self, earlier: Round) -> QWidget:
        content = QWidget()
        column = vbox(content, gap=SPACE_1, margin=(SPACE_6, 0, 0, SPACE_2))
        for input_request in earlier.input_requests[:_MAX_ROUND_REQUESTS]:
            for part in self._parts(input_request):
                column.addWidget(part)
        if len(earlier.input_requests) > _MAX_ROUND_REQUESTS:
            column.addWidget(
                MutedLabel(self._theme, f"And {len(earlier.input_requests) - _MAX_ROUND_REQUESTS:,} more.")
            )
        return content

    def _parts(self, input_request: RequestItem) -> list[QWidget]:
        excerpt = excerpt_of(input_request)
        text = f"{kind_text(input_request)}: {excerpt}" if excerpt else kind_text(input_request)
        parts: list[QWidget] = [PlainLabel(self._theme, text, wrap=True, selectable=True)]
        if input_request.reply is not None:
            reply = ReplyView(self._theme, input_request, input_request.reply)
            reply.content_requested.connect(self.content_requested)
            reply.uri_requested.connect(self.uri_requested)
            parts.append(reply)
        return parts


def _round_text(number: int, earlier: Round) -> str:
    replies = dict.fromkeys(
        reply_text(each.reply) for each in earlier.input_requests if each.reply is not None
    )
    kinds = dict.fromkeys(kind_text(each) for each in earlier.input_requests)
    return f"Round {number}: {', '.join(kinds)} · {', '.join(replies)} after {duration(earlier.waited_ns)}"
