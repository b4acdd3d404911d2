"""Header and footer of a server request view.

The header shows the server, the kind of request, the waiting call, the age and the round. The footer holds
the buttons that apply to all requests of the view and is always visible.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inspector.base.units import full_time
from inspector.engine.inbox.views import InboxRequest
from inspector.protocol.server_requests.request import RequestEnd
from inspector.qt.actions import native_keys
from inspector.qt.models.inbox import (
    age_text,
    end_text,
    is_positive,
    note_text,
    request_phrase,
    requesting_task,
    round_text,
    waiting_call_text,
)
from inspector.qt.panels.inbox.section import ReplyBar, Section
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel, plain_tooltip

_NOT_SENT = "Your reply was not sent. You can still copy it here."


class RequestHeader(QWidget):
    """The header of an Inbox request.

    Signals:
        call_requested: The user wants to see the waiting call.
        task_requested: The user wants to see the task behind the request.
    """

    call_requested = Signal()
    task_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._inbox_request: InboxRequest | None = None
        self.title = Heading(theme)
        self.facts = MutedLabel(theme)
        self.round_badge = Badge(theme, tone="wait")
        self.state = Badge(theme)
        self.note = Alert(theme)
        self.call_action = QAction("Show call", self)
        self.call_action.triggered.connect(self.call_requested)
        self._call_button = ActionButton(self.call_action, "quiet")
        self.task_action = QAction("Show task", self)
        self.task_action.setToolTip("Show the task that sent this request")
        self.task_action.triggered.connect(self.task_requested)
        self._task_button = ActionButton(self.task_action, "quiet")
        self._lay_out()
        theme.changed.connect(self.update)

    def show_request(self, inbox_request: InboxRequest) -> None:
        self._inbox_request = inbox_request
        self.title.setText(request_phrase(inbox_request))
        self.round_badge.set_text(round_text(inbox_request))
        self._call_button.setVisible(inbox_request.operation is not None or inbox_request.row is not None)
        self._task_button.setVisible(bool(requesting_task(inbox_request)))
        is_call = inbox_request.operation is not None
        self.call_action.setText("Show call" if is_call else "Show in Traffic")
        self.call_action.setToolTip(
            "Show the waiting call in Traffic" if is_call else "Show the request in Traffic"
        )
        self.facts.setToolTip(plain_tooltip(f"Received at {full_time(inbox_request.requested_wall_ns)}"))
        self._show_state(inbox_request)
        self.tick()

    def tick(self) -> None:
        """Update the age."""
        inbox_request = self._inbox_request
        if inbox_request is None:
            return
        call = waiting_call_text(inbox_request)
        call = f"{call} is waiting" if call and inbox_request.is_open else call
        age = f"received {age_text(inbox_request, time.monotonic_ns())} ago" if inbox_request.is_open else ""
        self.facts.setText(" · ".join(fact for fact in (call, age, str(inbox_request.revision)) if fact))

    def _show_state(self, inbox_request: InboxRequest) -> None:
        if inbox_request.is_open:
            self.state.set_text("waiting for the browser" if inbox_request.awaits_completion else "", "wait")
        else:
            self.state.set_text(end_text(inbox_request), _tone(inbox_request))
        if note := note_text(inbox_request):
            self.note.show_message("note", note, tone="wait" if inbox_request.is_open else "warn")
        else:
            self.note.close_all()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def _lay_out(self) -> None:
        first = hbox(None, self.title, self.round_badge, self.state, STRETCH)
        second = hbox(None, self.facts, self._call_button, self._task_button, STRETCH)
        text = vbox(None, first, second, gap=0, margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1))
        vbox(self, text, self.note, gap=0, margin=(0, 0, 0, 1))


def _tone(inbox_request: InboxRequest) -> Tone:
    if inbox_request.end is not RequestEnd.ANSWERED:
        return "warn"
    return "ok" if is_positive(inbox_request) else "muted"


class RequestFooter(QWidget):
    """The buttons of an Inbox request.

    For one item its own, for several “Send replies”, and for an open page, how to continue.

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
        send_tip = native_keys("Send all replies (Ctrl+Return)")
        self.send_action = self._action("Send replies", self.send_requested, send_tip)
        self.done_action = self._action(
            "Continue", self.done_requested, "Continue without waiting for the server's confirmation"
        )
        self.again_action = self._action("Open again", self.again_requested)
        self.dismiss_action = self._action("Dismiss", self.dismiss_requested, "Stop waiting for the page")
        self.missing = MutedLabel(theme)
        self._not_sent = PlainLabel(theme, _NOT_SENT, tone="muted", wrap=True)
        self._not_sent.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._reply_bar = ReplyBar(theme)
        self._reply_bar.add(self.send_action, "primary")
        self._reply_bar.add_text(self.missing)
        self._page_bar = ReplyBar(theme)
        self._page_bar.add(self.done_action, "primary")
        self._page_bar.add(self.again_action)
        self._page_bar.add(self.dismiss_action)
        self._page_bar.add_text(MutedLabel(theme, "The server may report when you have completed the page."))
        self._column = vbox(
            self, self.alert, self._not_sent, self._reply_bar, self._page_bar, gap=0, margin=(0, 1, 0, 0)
        )
        theme.changed.connect(self.update)

    def add_bar(self, section: Section) -> None:
        """Show the buttons of the only item here, where they are always visible."""
        self._column.addWidget(section.bar)

    def show_replies(self, is_shown: bool, missing: Sequence[str]) -> None:
        self._reply_bar.setVisible(is_shown)
        self.send_action.setEnabled(is_shown and not missing)
        self.missing.setText(f"No reply yet: {', '.join(missing)}" if missing else "")

    def show_page(self, is_shown: bool) -> None:
        self._page_bar.setVisible(is_shown)

    def show_not_sent(self, is_shown: bool) -> None:
        self._not_sent.setVisible(is_shown)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _action(self, text: str, signal: SignalInstance, tip: str = "") -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda: signal.emit())
        if tip:
            action.setToolTip(tip)
        return action
