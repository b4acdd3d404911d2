"""One of the two messages of an exchange, under a head that says which; or why there is none."""

from __future__ import annotations

import time
from functools import cached_property

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.bridge import Bridge
from inspector.qt.panels.traffic.message import MessageView
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.labels import Muted, plain_tooltip
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

_TICK_MS = 1000


class Side(QWidget):
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
        self._caption = Muted(theme)
        self._head = QWidget()
        self._pages = QStackedWidget()
        self._timer = QTimer(self, interval=_TICK_MS)
        self._timer.timeout.connect(self._tell_elapsed)
        self._lay_out()

    @cached_property
    def _absence(self) -> EmptyState:
        absence = EmptyState(self._theme)
        self._pages.addWidget(absence)
        return absence

    @property
    def has_message(self) -> bool:
        return self._pages.currentWidget() is self.message

    def set_headed(self, is_headed: bool) -> None:
        self._head.setVisible(is_headed)

    def show_row(self, log: TrafficLog, row: int) -> None:
        if row != self._row or not self.has_message:
            self._row = row
            self.message.show_row(log, row)
            self._pages.setCurrentWidget(self.message)
        self._waiting_since = None
        self._timer.stop()
        self.show_head(log, row)

    def show_head(self, log: TrafficLog, row: int) -> None:
        kind = RecordKind(log.kind(row)).name.lower()
        self._go.setText(f"#{row + 1:,}")
        self._go.setToolTip("Go to this row")
        self._go_button.show()
        self._caption.setContentsMargins(0, 0, 0, 0)
        self._caption.setText(f"{kind} · {time_of_day(log.wall_ns(row))} · {size(log.size(row))}")
        self._caption.setToolTip(plain_tooltip(full_time(log.wall_ns(row))))

    def show_absence(self, log: TrafficLog, request: int, *, is_live: bool) -> None:
        """Show that there is no response, yet or at all."""
        self._row = None
        self._go_button.hide()
        self._caption.setContentsMargins(SPACE_3, 0, 0, 0)
        self._caption.setText("no answer")
        status = log.status(request)
        self._waiting_since = log.wall_ns(request) if status is Status.PENDING and is_live else None
        if self._waiting_since is not None:
            self._tell_elapsed()
            self._keep_time()
        else:
            self._timer.stop()
            self._absence.show_empty(*_ABSENCES.get(status, _NEVER_ANSWERED))
        self._pages.setCurrentWidget(self._absence)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._keep_time()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    def _keep_time(self) -> None:
        if self._waiting_since is not None and self.isVisible():
            self._timer.start()

    def _tell_elapsed(self) -> None:
        assert self._waiting_since is not None
        elapsed = max(0, time.time_ns() - self._waiting_since)
        self._absence.show_loading("No answer yet", f"Sent {duration(elapsed)} ago.")

    def _on_go(self) -> None:
        if self._row is not None:
            self.row_requested.emit(self._row)

    def _lay_out(self) -> None:
        self._head.setFixedHeight(self._theme.row_height() + SPACE_1)
        row = QHBoxLayout(self._head)
        row.setContentsMargins(0, 0, SPACE_3, 0)
        row.setSpacing(SPACE_1)
        row.addWidget(self._go_button)
        row.addWidget(self._caption, 1)
        self._pages.addWidget(self.message)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._pages, 1)


_NEVER_ANSWERED = ("info", "No answer", "The recording ended before one came.")
_ABSENCES = {
    Status.GIVEN_UP: (
        "stop",
        "Given up",
        "It was cancelled, took too long, or its connection ended. A late answer has a row of its own.",
    ),
    Status.NOT_SENT: ("unplug", "Not sent", "There was no way to the server: it never left."),
}
