"""Message of a row, alone or beside its request or response.

A side without a message says why there is none.
"""

from __future__ import annotations

import time
from functools import cached_property

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QToolButton, QWidget

from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.detail.http_view import secrets_switch
from inspector.qt.panels.traffic.detail.message_view import FORM_LABELS, Form, MessageView
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton, Segments
from inspector.qt.widgets.layout import STRETCH, hbox, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

_TICK_MS = 1000
_NO_RESPONSE = ("info", "No response", "The capture ended before a response arrived.")
_NO_RESPONSE_REASONS = {
    Status.CANCELLED: ("stop", "Cancelled", "The request was cancelled. A late response has its own row."),
    Status.TIMED_OUT: (
        "stop",
        "Timed out",
        "No response within the timeout. A late response has its own row.",
    ),
    Status.NO_RESPONSE: (
        "stop",
        "No response",
        "The connection ended, or the HTTP request failed. A late response has its own row.",
    ),
    Status.NOT_SENT: ("unplug", "Not sent", "There was no connection to the server, so nothing was sent."),
}
# Below this width, two messages are shown side by side only on request.
_MIN_BOTH_WIDTH = 900


class ExchangeView(QWidget):
    """A message, or both of an exchange: the request on the left, its response on the right.

    Both share one form switch, which persists from row to row. So does the choice between one and two, once
    made by the user; until then the width decides. `secrets` reveals those of a login row; it is off for
    every new row.

    Signals:
        filter_requested: As in `MessageView`.
        row_requested: The user wants to go to the exchange's other row; carries its number.
    """

    filter_requested = Signal(str, object, bool)
    row_requested = Signal(int)

    def __init__(
        self, source: TrafficSource, bridge: Bridge, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._bridge = bridge
        self._theme = theme
        self._row: int | None = None
        self._both_by_user: bool | None = None
        self._forms = Segments(theme, FORM_LABELS)
        self._forms.setAccessibleName("Message view")
        self.secrets = secrets_switch()
        self._own = self._make_side()
        self._other: MessageSide | None = None
        self._splitter = hsplit(self._own)
        self.both_action = self._action("columns", "Show request and response side by side", checkable=True)
        self.save_action = self._action("save", "Save message…")
        self._lay_out()
        self._forms.chosen.connect(self._on_form_chosen)
        self.secrets.toggled.connect(self._on_secrets_toggled)
        self.both_action.triggered.connect(self._on_both_triggered)
        self.save_action.triggered.connect(self._own.message.save)
        self.set_form(Form.PRETTY)

    def show_row(self, row: int) -> None:
        if row != self._row:
            self.secrets.setChecked(False)
        self._row = row
        self._own.show_row(self._source.log, row)
        self.secrets.setVisible(self._own.message.has_secrets)
        self._show_sides()

    def refresh(self) -> None:
        """Update after the response arrived or was ruled out."""
        if self._row is not None:
            self._own.show_header(self._source.log, self._row)
            self._show_sides()

    def set_form(self, form: Form) -> None:
        self._preferred = form
        for side in self._sides():
            side.message.set_form(form)
        self._show_forms()

    def shown_text(self) -> str:
        """Return the current row's message as shown for reading."""
        return self._own.message.shown_text()

    @property
    def own(self) -> MessageView:
        """The current row's message."""
        return self._own.message

    @property
    def other(self) -> MessageView | None:
        """The exchange's other message, while it is shown."""
        is_shown = self._other is not None and self._other.isVisibleTo(self) and self._other.has_message
        return self._other.message if is_shown and self._other is not None else None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._both_by_user is None:
            self._show_sides()

    def _show_sides(self) -> None:
        row, log = self._row, self._source.log
        has_two = row is not None and (log.partner(row) is not None or log.status(row) is not Status.NONE)
        by_width = self.width() >= _MIN_BOTH_WIDTH
        show_both = has_two and (by_width if self._both_by_user is None else self._both_by_user)
        self.both_action.setVisible(has_two)
        self.both_action.setChecked(show_both)
        self._own.set_header_visible(show_both)
        if show_both and row is not None:
            self._show_other(row)
        elif self._other is not None:
            self._other.hide()
        self._show_forms()

    def _show_other(self, row: int) -> None:
        log = self._source.log
        if self._other is None:
            self._other = self._make_side()
            self._other.message.set_form(self._preferred)
            self._other.set_header_visible(True)
        is_request = log.kind(row) == RecordKind.REQUEST
        self._splitter.insertWidget(1 if is_request else 0, self._other)
        partner = log.partner(row)
        if partner is None:
            self._other.show_no_response(log, row, is_live=self._source.is_live)
        else:
            self._other.show_row(log, partner)
        if not self._other.isVisibleTo(self):
            self._other.show()
            self._splitter.setSizes([self.width() // 2] * 2)

    def _sides(self) -> list[MessageSide]:
        return [self._own] if self._other is None else [self._own, self._other]

    def _show_forms(self) -> None:
        offered: set[Form] = set()
        for side in self._sides():
            if side is self._own or side.isVisibleTo(self):
                offered |= side.message.offered()
        for form in Form:
            self._forms.button(form).setVisible(form in offered)
        self._forms.choose(self._own.message.form() if self._row is not None else self._preferred)

    def _on_form_chosen(self, index: int) -> None:
        self.set_form(Form(index))

    def _on_secrets_toggled(self, shown: bool) -> None:
        self._own.message.show_secrets(shown)
        self._show_forms()

    def _on_form_requested(self, form: int) -> None:
        self.set_form(Form(form))

    def _on_both_triggered(self, both: bool) -> None:
        self._both_by_user = both
        self._show_sides()

    def _make_side(self) -> MessageSide:
        side = MessageSide(self._bridge, self._theme)
        side.row_requested.connect(self.row_requested)
        side.message.filter_requested.connect(self.filter_requested)
        side.message.form_requested.connect(self._on_form_requested)
        side.message.forms_changed.connect(self._show_forms)
        return side

    def _action(self, icon: str, text: str, *, checkable: bool = False) -> QAction:
        action = QAction(text, self)
        action.setCheckable(checkable)
        self._theme.set_icon(action, icon)
        return action

    def _lay_out(self) -> None:
        self.secrets.hide()
        strip = hbox(
            None,
            self._forms,
            STRETCH,
            self.secrets,
            *(_icon_button(action) for action in (self.both_action, self.save_action)),
            gap=SPACE_1,
            margin=(SPACE_2, SPACE_1),
        )
        vbox(self, strip, (self._splitter, 1), gap=0)


class MessageSide(QWidget):
    """A message with its header.

    Signals:
        row_requested: The number in the header was clicked; carries the row.
    """

    row_requested = Signal(int)

    def __init__(self, bridge: Bridge, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._row: int | None = None
        self._waiting_since: int | None = None
        self.message = MessageView(bridge, theme)
        self._go = QAction(self)
        self._go_button = ActionButton(self._go, "quiet")
        self._go.triggered.connect(self._on_go)
        self._caption = MutedLabel(theme)
        self._head = QWidget()
        self._pages = QStackedWidget()
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._show_elapsed)
        self._lay_out()

    @cached_property
    def _no_response(self) -> EmptyState:
        page = EmptyState(self._theme)
        self._pages.addWidget(page)
        return page

    @property
    def has_message(self) -> bool:
        return self._pages.currentWidget() is self.message

    def set_header_visible(self, visible: bool) -> None:
        self._head.setVisible(visible)

    def show_row(self, log: TrafficLog, row: int) -> None:
        if row != self._row or not self.has_message:
            self._row = row
            self.message.show_row(log, row)
            self._pages.setCurrentWidget(self.message)
        self._waiting_since = None
        self._timer.stop()
        self.show_header(log, row)

    def show_header(self, log: TrafficLog, row: int) -> None:
        kind = RecordKind(log.kind(row)).name.lower()
        self._go.setText(f"#{row + 1:,}")
        self._go.setToolTip("Go to this row")
        self._go_button.show()
        self._caption.setContentsMargins(0, 0, 0, 0)
        self._caption.setText(f"{kind} · {time_of_day(log.wall_ns(row))} · {size(log.size(row))}")
        self._caption.setToolTip(plain_tooltip(full_time(log.wall_ns(row))))

    def show_no_response(self, log: TrafficLog, request: int, *, is_live: bool) -> None:
        """Show that there is no response, yet or at all."""
        self._row = None
        self._go_button.hide()
        self._caption.setContentsMargins(SPACE_3, 0, 0, 0)
        self._caption.setText("no response")
        status = log.status(request)
        self._waiting_since = log.wall_ns(request) if status is Status.PENDING and is_live else None
        if self._waiting_since is not None:
            self._show_elapsed()
            self._start_timer()
        else:
            self._timer.stop()
            self._no_response.show_empty(*_NO_RESPONSE_REASONS.get(status, _NO_RESPONSE))
        self._pages.setCurrentWidget(self._no_response)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._start_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _start_timer(self) -> None:
        if self._waiting_since is not None and self.isVisible():
            self._timer.start()

    def _show_elapsed(self) -> None:
        assert self._waiting_since is not None
        elapsed = max(0, time.time_ns() - self._waiting_since)
        self._no_response.show_loading("No response yet", f"Sent {duration(elapsed)} ago.")

    def _on_go(self) -> None:
        if self._row is not None:
            self.row_requested.emit(self._row)

    def _lay_out(self) -> None:
        self._head.setFixedHeight(self._theme.row_height() + SPACE_1)
        hbox(self._head, self._go_button, (self._caption, 1), gap=SPACE_1, margin=(0, 0, SPACE_3, 0))
        self._pages.addWidget(self.message)
        vbox(self, self._head, (self._pages, 1), gap=0)


def _icon_button(action: QAction) -> QToolButton:
    button = ActionToolButton(action)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    action.visibleChanged.connect(lambda: button.setVisible(action.isVisible()))
    return button
