"""Editor for a raw message with its send actions, and the view of its response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import shiboken6
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.units import duration, size
from inspector.engine.server_view import ServerView
from inspector.engine.views import RawOutcome, ServerStatus
from inspector.protocol.jsonrpc import Kind, read
from inspector.protocol.raw_message import compacted, describe, has_id, indented, is_one_line, with_new_id
from inspector.qt.actions import native_keys
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.models.traffic.console import raw_message_state, rejection_status
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.response_view import ResponseView
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.raw_edit import RawEdit, claim_keys, is_submit
from inspector.qt.widgets.inputs.controls import ActionButton, Segments
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.empty_state import Spinner
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

# Text is parsed on each key press only while that is not noticeable.
_MAX_DESCRIBED = 256 * 1024
_DESCRIBE_DELAY_MS = 120
_NEW_ID = 0


class RawComposer(QWidget):
    """An editor, a description of its bytes and the buttons that send them.

    Nothing typed is lost when sending fails: the reason is shown below, with a button that helps. With
    `one_at_a_time`, nothing can be sent while a response is pending.

    Signals:
        send_started: Bytes are about to be sent; carries the length of the log, where their row will be.
        sent: They were sent and the result is known; carries a RawOutcome.
        ended: No request is pending any more, whatever the result.
    """

    send_started = Signal(int)
    sent = Signal(object)
    ended = Signal()

    def __init__(
        self, bridge: Bridge, theme: Theme, *, one_at_a_time: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._view: ServerView | None = None
        self._one_at_a_time = one_at_a_time
        self.has_failed = False  # True if the last send failed
        self._tasks: set[asyncio.Task[None]] = set()
        self.resent_of: Callable[[], int | None] = lambda: None
        self.editor = RawEdit(theme, "Message")
        self.status = PlainLabel(theme, tone="muted", wrap=True)
        self.ids = Segments(theme, ("New ID", "As written"))
        self.ids.setAccessibleName("Message ID")
        self.ids.button(0).setToolTip("Replace the ID with an unused one")
        self.ids.button(1).setToolTip("Send the ID as written, even if it was used before")
        self.compact = QCheckBox("Compact when sending")
        self.compact.setToolTip("Remove whitespace between tokens: over stdio, one line is one message")
        self.alert = Alert(theme)
        self._spinner, self._waiting = Spinner(theme), MutedLabel(theme)
        self._make_actions(theme)
        self._timer = QTimer(self, interval=_DESCRIBE_DELAY_MS, singleShot=True)
        self._lay_out()
        self._connect()
        self._update_state()

    @property
    def is_waiting(self) -> bool:
        return bool(self._tasks)

    def set_view(self, view: ServerView | None) -> None:
        """Set the state of the server to send to."""
        is_other = self._view is None or view is None or self._view.name != view.name
        self._view = view
        if is_other or (view is not None and view.status is ServerStatus.CONNECTED):
            self.alert.close_topic("connection")
        self._update_state()

    def send(self, *, split: bool = False) -> None:
        """Send the text; on failure show why and offer a remedy.

        With `split` each line is a separate message, over stdio.
        """
        if self._view is None or (self._one_at_a_time and self.is_waiting):
            return
        self.alert.close_all()
        self.has_failed = False
        raw = self.editor.raw()
        raw = compacted(raw) if self.compact.isChecked() else raw
        self.send_started.emit(len(self._bridge.log))
        task = self._bridge.start("send a raw message", self._send(self._view, raw, split), self)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        self._update_state()

    def cancel(self) -> None:
        """Cancel the pending request; the server is notified."""
        for task in tuple(self._tasks):
            task.cancel()

    def set_raw(self, raw: bytes) -> None:
        """Replace the content with these bytes; can be undone."""
        self.editor.set_raw(raw)
        self._show_status()

    def pretty_print(self) -> None:
        """Pretty-print the text. The line breaks are not the user's, so they are not sent."""
        if self.editor.is_too_big:
            return
        self.set_raw(indented(self.editor.raw()))
        self.compact.setChecked(True)

    async def _send(self, view: ServerView, raw: bytes, split: bool) -> None:
        try:
            if self.ids.index() == _NEW_ID and has_id(raw):
                raw = with_new_id(
                    raw,
                    await self._bridge.ask(lambda engine: engine.servers.get(view.name).session.next_id()),
                )
            resent_of = self.resent_of()
            outcome = await self._bridge.ask(
                lambda engine: engine.send_raw(view.name, raw, resent_of=resent_of, split=split)
            )
        except UserError as exc:
            self._show_failure(exc, raw)
            return
        self.sent.emit(outcome)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not shiboken6.isValid(self):  # it was closed while waiting
            return
        self._update_state()
        if not self._tasks:
            self.ended.emit()

    def _show_failure(self, error: UserError, raw: bytes) -> None:
        self.has_failed = True
        view = self._view
        if view is not None and view.status not in UP_STATUSES:
            text = f"Not sent: {one_line(view.name)} is not connected."
            self.alert.show_message("connection", text, "Connect and send again.", [self._connect_action])
        elif view is not None and view.transport == "stdio" and not is_one_line(raw):
            options = [self._compact_action, self._split_action]
            self.alert.show_message("break", f"Not sent: {error.summary}", actions=options)
        else:
            self.alert.show_message("failure", f"Not sent: {error.summary}", error.next_step)

    def _on_connect(self) -> None:
        if self._view is not None:
            name = self._view.name
            self._bridge.start(
                f"connect {name}",
                self._bridge.ask(lambda engine: engine.servers.connector.connect_soon(name)),
            )

    def _on_compact_and_send(self) -> None:
        self.compact.setChecked(True)
        self.send()

    def _update_state(self) -> None:
        is_waiting = self.is_waiting
        self.send_action.setEnabled(self._view is not None and not (self._one_at_a_time and is_waiting))
        self.cancel_action.setEnabled(is_waiting)
        self._cancel_button.setVisible(is_waiting)
        self._spinner.setVisible(is_waiting)
        count = len(self._tasks)
        self._waiting.setText("Waiting" if count < 2 else f"Waiting for {count} responses")
        self._waiting.setVisible(is_waiting)
        self._show_status()

    def _show_status(self) -> None:
        raw = self.editor.raw()
        if len(raw) > _MAX_DESCRIBED:
            text, is_warning = (
                self.editor.warning() or f"{size(len(raw))}: too large to check while typing.",
                False,
            )
        else:
            text, is_warning = self._described(raw)
        self.status.setText(text)
        self.status.set_tone("warn" if is_warning else "muted")
        self._show_state_hint(raw)

    def _described(self, raw: bytes) -> tuple[str, bool]:
        text = [describe(raw)] if raw else []
        if self.ids.index() == _NEW_ID and has_id(raw):
            text.append("A new ID is assigned when it is sent.")
        if not self.compact.isChecked() and not is_one_line(raw) and self._is_stdio:
            text.append("It contains line breaks; over stdio it must be compacted.")
        text.append(self.editor.warning())
        is_warning = bool(raw) and read(raw).kind in (Kind.INVALID, Kind.TEXT)
        return " ".join(filter(None, text)), is_warning

    def _show_state_hint(self, raw: bytes) -> None:
        """Warn about a requestState.

        In a multi round-trip request the server's state is returned to it and may be valid only once.
        """
        if b'"requestState"' in raw:
            text = (
                "This message contains a requestState from the server, which may reject a used or expired "
                "one."
            )
            self.alert.show_message(
                "state", text, "If it does, start with the first request of the operation."
            )
        else:
            self.alert.close_topic("state")

    @property
    def _is_stdio(self) -> bool:
        return self._view is not None and self._view.transport == "stdio"

    def event(self, event: QEvent) -> bool:
        return claim_keys(event, is_submit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_submit(event):
            self.send()
        else:
            super().keyPressEvent(event)

    def _make_actions(self, theme: Theme) -> None:
        self.send_action = QAction("Send", self)
        self.send_action.setToolTip(native_keys("Send these bytes (Ctrl+Return)"))
        self.cancel_action = QAction("Cancel", self)
        self.cancel_action.setToolTip("Cancel the request and notify the server")
        self.pretty_action = QAction("Pretty-print", self)
        self.pretty_action.setToolTip("Format the JSON on several lines; it is compacted again when sent")
        self._connect_action = QAction("Connect", self)
        self._compact_action = QAction("Compact and send", self)
        self._split_action = QAction("Send each line", self)
        self._split_action.setToolTip("Send each line as a separate message")

    def _connect(self) -> None:
        self.send_action.triggered.connect(lambda: self.send())
        self.cancel_action.triggered.connect(self.cancel)
        self.pretty_action.triggered.connect(self.pretty_print)
        self._connect_action.triggered.connect(self._on_connect)
        self._compact_action.triggered.connect(self._on_compact_and_send)
        self._split_action.triggered.connect(lambda: self.send(split=True))
        self.editor.submitted.connect(lambda: self.send())
        self.editor.textChanged.connect(self._timer.start)
        self._timer.timeout.connect(self._show_status)
        self.ids.chosen.connect(lambda index: self._show_status())
        self.compact.toggled.connect(lambda checked: self._show_status())

    def _lay_out(self) -> None:
        self.tool_row = hbox(None, STRETCH)
        self.add_tool(ActionButton(self.pretty_action))
        self._cancel_button = ActionButton(self.cancel_action)
        row = hbox(
            None,
            ActionButton(self.send_action, "primary"),
            self._cancel_button,
            self._spinner,
            self._waiting,
            STRETCH,
            self.compact,
            SPACE_2,
            self.ids,
        )
        vbox(self, self.tool_row, (self.editor, 1), self.status, self.alert, row, margin=(SPACE_3, SPACE_2))
        for button in self.findChildren(ActionButton):
            button.setAutoDefault(False)  # Return in a dialog belongs to the text
        self.setFocusProxy(self.editor)
        self.status.setAlignment(Qt.AlignmentFlag.AlignTop)

    def add_tool(self, widget: QWidget) -> None:
        """Add a widget above the editor, on the right."""
        self.tool_row.addWidget(widget)


class RawResponse(ResponseView):
    """A sent or received message, or why there is none, with its status and actions."""

    def __init__(
        self, bridge: Bridge, theme: Theme, actions: Sequence[QAction] = (), parent: QWidget | None = None
    ) -> None:
        self.text = JsonView(theme, "Response")
        super().__init__(bridge, theme, "", self.text, parent)
        self.row: int | None = None  # of the message that is shown
        self._buttons = [ActionButton(action, "quiet") for action in actions]
        self._lay_out()

    async def show_outcome(self, outcome: RawOutcome) -> None:
        """Show the response, or why there is none."""
        if outcome.response_row is not None:
            await self.show_row(outcome.response_row, outcome.elapsed_ns)
        else:
            await self.show_row(outcome.row, outcome.elapsed_ns, of_response=True)
        if outcome.summary:
            self.alert.show_message("outcome", outcome.summary, outcome.next_step)

    async def show_row(self, row: int, elapsed_ns: int | None = None, *, of_response: bool = False) -> None:
        """Show a message of the log.

        With `of_response` it is a request without a response, and that is what is shown.
        """
        log = self._bridge.log
        elapsed = log.duration_ns(row) if elapsed_ns is None else elapsed_ns
        refused = rejection_status(log, row)
        text, tone = raw_message_state(log, row)
        facts = [] if elapsed is None else [duration(elapsed)]
        body = log.readable_http(row) if refused else None
        facts.append(size(len(body.body) if body is not None else log.size(row)))
        generation = self._clear()
        self._set_row(row)
        self.badge.set_text(text, tone)
        self._facts.setText(" · ".join(facts))
        if body is not None and body.body:
            self._show_text(
                body.body.decode(errors="replace"), is_json=body.body.lstrip()[:1] in (b"{", b"[")
            )
        elif of_response:
            self._stack.explain("empty", "arrow-out", "Sent", _no_response_text(log, row))
        else:
            try:
                pretty = await self._bridge.ask(lambda engine: engine.pretty(log, row))
            except UserError as exc:
                if generation == self._generation:
                    self._stack.explain("failed", "", "Could not be read", exc.summary, exc.next_step)
                return
            if generation == self._generation:
                self._show_text(pretty.text, is_json=pretty.is_json)

    def _clear(self) -> int:
        self._set_row(None)
        return super()._clear()

    def _set_row(self, row: int | None) -> None:
        self.row = row
        for button in self._buttons:
            button.setVisible(row is not None)

    def _show_text(self, text: str, *, is_json: bool) -> None:
        self.text.set_text(text, "json" if is_json else "text")
        self._stack.open()

    def _lay_out(self) -> None:
        strip = hbox(None, self.badge, (self._facts, 1), margin=(SPACE_3, SPACE_2))
        for button in self._buttons:
            button.setAutoDefault(False)
            strip.addWidget(button)
        vbox(self, strip, self.alert, (self._stack, 1), gap=0)


def _no_response_text(log: TrafficLog, row: int) -> str:
    if log.kind(row) == RecordKind.REQUEST:
        return "No response received. A late response will appear in Traffic."
    return "This message expects no response. Anything the server sends appears in Traffic."
