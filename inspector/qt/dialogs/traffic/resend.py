"""Resend dialog: a sent request as raw JSON, to edit and send again, and its response."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QComboBox, QDialog, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import time_of_day
from inspector.engine.server_view import ServerView
from inspector.engine.views import RawOutcome, ServerStatus
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.views.raw_composer import RawComposer, RawResponse
from inspector.qt.views.response_view import CANCELLED_TEXT
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, vbox, vsplit
from inspector.qt.widgets.text.labels import Heading, MutedLabel
from inspector.traffic.records import RecordKind


class ResendDialog(QDialog):
    """Resends a request: the original above, the response below. Stays open for retries.

    `views` are the servers in their current state; the bridge reports changes. Raises UserError if the
    request cannot be read.

    Signals:
        row_requested: Show a row of the running traffic; carries its number.
        compare_requested: Show the differences between the old and the new exchange; carries the new row.
    """

    help_page = "traffic"
    row_requested = Signal(int)
    compare_requested = Signal(int)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        source: TrafficSource,
        row: int,
        views: Iterable[ServerView],
        parent: QWidget | None = None,
    ) -> None:
        raw = source.log.raw(row)  # first: it may fail
        super().__init__(parent)
        self._bridge = bridge
        self._source = source
        self._row = row
        self._raw = raw
        self._views = {view.name: view for view in views}
        self._outcome: RawOutcome | None = None
        self.server = QComboBox()
        self.server.setAccessibleName("Server to send to")
        self.composer = RawComposer(bridge, theme, one_at_a_time=True)
        self.restore_action = QAction("Restore original", self)
        self.restore_action.setToolTip("Restore the request exactly as it was sent")
        self.show_action = QAction("Show in Traffic", self)
        self.compare_action = QAction("Compare with original response", self)
        self.response = RawResponse(bridge, theme, [self.compare_action, self.show_action])
        self._lay_out(theme)
        self._connect()
        self._fill_servers(source.log.server_name(row))
        self.restore_original()
        self._explain()

    def restore_original(self) -> None:
        self.composer.set_raw(self._raw)
        self.composer.compact.setChecked(False)

    def _resent_of(self) -> int | None:
        """Return the row being resent if it is a request of the running traffic.

        Rows of another capture cannot be linked.
        """
        is_request = self._source.log.kind(self._row) == RecordKind.REQUEST
        return self._row if is_request and self._source.log is self._bridge.log else None

    def _on_send_started(self) -> None:
        self._outcome = None
        title, cancel = "Waiting for the response", self.composer.cancel_action
        self.response.explain("loading", title, "Sent as shown above.", action=cancel)

    def _on_sent(self, outcome: RawOutcome) -> None:
        self._outcome = outcome
        has_old = self._source.log.partner(self._row) is not None
        self.compare_action.setEnabled(has_old and outcome.response_row is not None)
        self._bridge.start("show response", self.response.show_outcome(outcome), self)

    def _on_ended(self) -> None:
        if self._outcome is None and self.composer.has_failed:
            text = "See the error above. Your text is still there."
            self.response.explain("empty", "Not sent", text, icon="error")
        elif self._outcome is None:
            self.response.explain("empty", "Cancelled", CANCELLED_TEXT, icon="stop")

    def _explain(self) -> None:
        text = "Edit the request and send it. The response appears here."
        self.response.explain("empty", "Not resent yet", text, icon="edit")

    def _on_show(self) -> None:
        if self._outcome is not None:
            row = self._outcome.row if self._outcome.response_row is None else self._outcome.response_row
            self.row_requested.emit(row)

    def _on_compare(self) -> None:
        if self._outcome is not None:
            self.compare_requested.emit(self._outcome.row)

    def _fill_servers(self, wanted: str) -> None:
        """Select the original server; if it does not exist here, the first connected one."""
        self.server.clear()
        for view in self._views.values():
            self.server.addItem(_status(view), view.name)
        connected = (view.name for view in self._views.values() if view.status is ServerStatus.CONNECTED)
        position = self.server.findData(wanted if wanted in self._views else next(connected, wanted))
        self.server.setCurrentIndex(max(position, 0))
        self.server.setEnabled(self.server.count() > 0)
        self._on_server_chosen()

    def _on_server_chosen(self) -> None:
        view = self._views.get(self.server.currentData())
        self.composer.set_view(view)
        if view is None:
            text = "There is no server to send this to."
            self.composer.alert.show_message("servers", text, "Add a server to the server list.")
        else:
            self.composer.alert.close_topic("servers")

    def _on_server_changed(self, view: ServerView) -> None:
        is_new = view.name not in self._views
        self._views[view.name] = view
        if is_new:
            self._fill_servers(self.server.currentData() or view.name)
            return
        self.server.setItemText(self.server.findData(view.name), _status(view))
        self._on_server_chosen()

    def _on_server_removed(self, name: str) -> None:
        self._views.pop(name, None)
        self._fill_servers(self.server.currentData() or "")

    def _connect(self) -> None:
        composer = self.composer
        composer.resent_of = self._resent_of
        composer.send_started.connect(self._on_send_started)
        composer.sent.connect(self._on_sent)
        composer.ended.connect(self._on_ended)
        self.restore_action.triggered.connect(self.restore_original)
        self.show_action.triggered.connect(self._on_show)
        self.compare_action.triggered.connect(self._on_compare)
        self.server.activated.connect(self._on_server_chosen)
        self._bridge.server_changed.connect(self._on_server_changed)
        self._bridge.server_removed.connect(self._on_server_removed)
        self.finished.connect(composer.cancel)

    def _lay_out(self, theme: Theme) -> None:
        log, row = self._source.log, self._row
        what = shorten(one_line(f"{log.method(row)} {log.subject(row)}".strip()), 80)
        self.setWindowTitle(f"Resend {what}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.resize(860, 720)
        button = ActionButton(self.restore_action)
        button.setAutoDefault(False)
        self.composer.add_tool(button)
        position = f"row {row + 1:,} of {one_line(self._source.title)} · {time_of_day(log.wall_ns(row))}"
        head = hbox(
            None,
            Heading(theme, what),
            (MutedLabel(theme, position), 1),
            MutedLabel(theme, "Send to"),
            self.server,
            margin=(SPACE_3, SPACE_3, SPACE_3, 0),
        )
        splitter = vsplit(self.composer, self.response, sizes=[380, 300])
        vbox(self, head, (splitter, 1), gap=0)
        self.composer.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ignore Escape: closing by accident would lose the user's input."""
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)


def _status(view: ServerView) -> str:
    return f"{shorten(one_line(view.name), 60)} · {view.status.value}"
