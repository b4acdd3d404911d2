"""Detail of one task: state, actions and result."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QProgressBar, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import duration
from inspector.engine.tasks.views import TaskOrigin, TaskView, TrackingState
from inspector.protocol.tasks import TaskStatus
from inspector.qt.bridge import Bridge
from inspector.qt.models.tasks import age_text, message_text, poll_text, status_text, tone_of, ttl_text
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.result_view import ResultView
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.inbox.views import InboxRequest

_FETCHABLE = (TrackingState.FOLLOWED, TrackingState.STOPPED, TrackingState.ENDED)


class TaskDetail(QWidget):
    """Shows one TaskView at a time.

    Signals:
        row_requested: The user wants to see the call in the traffic; carries its row.
        reply_requested: The user wants to reply to the task's request; carries its Inbox ID.
    """

    row_requested = Signal(int)
    reply_requested = Signal(int)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._view: TaskView | None = None
        self._requests: tuple[InboxRequest, ...] = ()
        self._shown: tuple[object, ...] = ()
        self.fetches_result = False  # True if the protocol version has a request for that
        self.is_connected = False
        self.can_cancel = False
        self._title = Heading(theme)
        self.badge = Badge(theme)
        self.id = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self.message_label = PlainLabel(theme, wrap=True, selectable=True)
        self.facts = MutedLabel(theme, wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(4)
        self.bar.setAccessibleName("Task progress")
        self.alert = Alert(theme)
        self.result = ResultView(bridge, theme)
        self.reply = self._action("Reply", "Go to its request in the Inbox")
        self.poll = self._action("Poll now", "Request the task status now")
        self.fetch = self._action("Get result", "Wait for the result; the server may send requests meanwhile")
        self.cancel = self._action("Cancel task", "Ask the server to cancel the task")
        self.remove = self._action("Remove", "Remove the task from this list; the server is not notified")
        self.show_call = self._action("Show call in Traffic", "Go to the call that started this task")
        self._reply_button = ActionButton(self.reply, "primary")
        self._fetch_button = ActionButton(self.fetch)
        self._call_button = ActionButton(self.show_call, "quiet")
        self.show_call.triggered.connect(self._on_show_call)
        self.reply.triggered.connect(self._on_reply)
        self._lay_out()

    def _action(self, text: str, hint: str) -> QAction:
        action = QAction(text, self)
        action.setToolTip(hint)
        return action

    def _lay_out(self) -> None:
        buttons = hbox(
            None,
            self._reply_button,
            ActionButton(self.poll),
            self._fetch_button,
            ActionButton(self.cancel),
            self._call_button,
            ActionButton(self.remove, "quiet"),
            STRETCH,
            gap=SPACE_1,
        )
        info = vbox(
            None,
            hbox(None, self._title, self.badge, STRETCH),
            self.id,
            self.message_label,
            self.facts,
            self.bar,
            self.alert,
            SPACE_1,
            buttons,
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2),
        )
        vbox(self, info, (self.result, 1), gap=0)

    @property
    def view(self) -> TaskView | None:
        return self._view

    def show_view(self, view: TaskView) -> None:
        """Show a task, or its new state."""
        self._view = view
        self._title.setText(one_line(view.tool) or "Task")
        self.badge.set_text(status_text(view), tone_of(view))
        self.id.setText(view.id)
        self._show_progress(view)
        self._show_findings(view)
        self._set_actions(view)
        self.tick()
        if (view.id, view.outcome, view.tracking is TrackingState.UNKNOWN, view.is_terminal) != self._shown:
            self._show_outcome(view)

    def show_requests(self, requests: tuple[InboxRequest, ...]) -> None:
        """Set the pending server requests; some may belong to the task shown."""
        self._requests = requests
        self.update_actions()

    def tick(self) -> None:
        """Update the times."""
        view, now = self._view, time.monotonic_ns()
        if view is None:
            return
        remaining = ttl_text(view, now)
        facts = [view.origin.value, f"{age_text(now - view.created_ns)} old"]
        facts.append("no TTL" if view.expires_ns is None else f"TTL {remaining}")
        if view.tracking is TrackingState.FOLLOWED and not view.is_terminal:
            interval = duration(view.task.next_poll_ms * 1_000_000)
            facts.append(f"polled every {interval}, {poll_text(view, now)}".rstrip(", "))
        elif not view.is_terminal:
            facts.append(view.tracking.value)
        self.facts.setText(" · ".join(facts))

    def update_actions(self) -> None:
        if self._view is not None:
            self._set_actions(self._view)

    def _show_progress(self, view: TaskView) -> None:
        text = "" if view.note else message_text(view)
        self.message_label.setText(text)
        self.message_label.setVisible(bool(text))
        fraction = view.progress / view.total if view.progress is not None and view.total else None
        self.bar.setVisible(fraction is not None and not view.is_terminal)
        if fraction is not None:
            self.bar.setRange(0, 1000)
            self.bar.setValue(round(1000 * min(max(fraction, 0), 1)))

    def _show_findings(self, view: TaskView) -> None:
        self.alert.close_all()
        if view.note:
            self.alert.show_message("note", view.note)
        for number, finding in enumerate(view.problems):
            self.alert.show_message(f"finding {number}", finding)

    def _set_actions(self, view: TaskView) -> None:
        is_open = not view.is_terminal
        self._reply_button.setVisible(self._pending_request() is not None)
        self.poll.setEnabled(self.is_connected and is_open and not view.is_polling)
        self._fetch_button.setVisible(self.fetches_result)
        has_result = view.outcome is not None or view.task.status is TaskStatus.CANCELLED
        can_fetch = self.is_connected and not has_result and not view.is_fetching
        self.fetch.setEnabled(self.fetches_result and can_fetch and view.tracking in _FETCHABLE)
        is_known = view.tracking is not TrackingState.UNKNOWN
        self.cancel.setEnabled(self.is_connected and is_open and is_known and self.can_cancel)
        self.show_call.setEnabled(view.row is not None)
        self._call_button.setVisible(view.origin is TaskOrigin.CALLED)

    def _show_outcome(self, view: TaskView) -> None:
        self._shown = (view.id, view.outcome, view.tracking is TrackingState.UNKNOWN, view.is_terminal)
        if view.outcome is not None:
            self._bridge.start(f"show task {view.id}", self.result.show_outcome(view.outcome), self)
            return
        if view.tracking is TrackingState.UNKNOWN:
            sentence = "The server no longer knows this task, so there will be no result."
        elif view.is_terminal:
            sentence = (
                "The result was not fetched." if self.fetches_result else "The server returned no result."
            )
        else:
            sentence = "It appears here when the task has ended."
        title = "No result yet" if view.tracking is not TrackingState.UNKNOWN else "No result"
        self.result.explain("empty", title, sentence, icon="tasks")

    def _pending_request(self) -> InboxRequest | None:
        """Return the oldest pending request of the task shown."""
        id = self._view.id if self._view is not None else ""
        return next(
            (request for request in self._requests if id and request.task_id == id),
            None,
        )

    def _on_reply(self) -> None:
        request = self._pending_request()
        if request is not None:
            self.reply_requested.emit(request.id)

    def _on_show_call(self) -> None:
        if self._view is not None and self._view.row is not None:
            self.row_requested.emit(self._view.row)
