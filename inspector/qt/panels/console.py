"""Console panels of one server: the process output, and a console for raw messages.

The output is stderr, stray lines on stdout, and process starts and exits. The raw console sends any
bytes, including deliberately invalid messages, and shows what comes back.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView, QToolButton, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.server_view import ServerView
from inspector.engine.views import RawOutcome, ServerStatus
from inspector.qt.actions import native_keys
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.models.traffic.console import (
    CONSOLE_WIDTHS,
    ConsoleColumn,
    ConsoleModel,
    RawMessageColumn,
    RawMessagesModel,
)
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.views.raw_composer import RawComposer, RawResponse
from inspector.qt.widgets.inputs.controls import bind_keys
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hsplit, vbox, vsplit
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert


class ConsolePanel(Panel):
    """One server's output. Follows the end while scrolled to it."""

    help_page = "troubleshooting"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server, theme = context.bridge, context.server, context.theme
        self.model = ConsoleModel(bridge.log, server, theme)
        self.model.refilter()
        self.table = QTableView()
        self.table.setAccessibleName(f"Output of {one_line(server)}")
        self.table.setModel(self.model)
        style_table(self.table, theme, CONSOLE_WIDTHS, [ConsoleColumn.TEXT])
        self._stack = ContentStack(theme, self.table)
        vbox(self, self._stack)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)  # the window copies other things
        copy.activated.connect(self._on_copy)
        bridge.traffic_grew.connect(self._on_traffic_grew)
        self._show_or_explain()

    def _on_traffic_grew(self, length: int) -> None:
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum() - 2
        self.model.extend(length)
        self._show_or_explain()
        if is_at_end:
            self.table.scrollToBottom()

    def _show_or_explain(self) -> None:
        if self.model.rowCount():
            self._stack.open()
        else:
            sentence = "The server's stderr output appears here."
            self._stack.explain("empty", "console", "No output yet", sentence)

    def _on_copy(self) -> None:
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        if rows:
            QGuiApplication.clipboard().setText("\n".join(self.model.line(row) for row in rows))


TEMPLATES: dict[str, bytes] = {
    "Ping": b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
    "List tools": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}',
    "Call tool": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", '
    b'"params": {"name": "", "arguments": {}}}',
    "Notification": b'{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}',
    "Unknown method": b'{"jsonrpc": "2.0", "id": 1, "method": "no/such/method"}',
    "Batch": b'[{"jsonrpc": "2.0", "id": "first", "method": "ping"}, '
    b'{"jsonrpc": "2.0", "id": "second", "method": "tools/list"}]',
    "Invalid JSON": b'{"jsonrpc": "2.0", "id": 1, "method": "ping"',
    "JSON, but not JSON-RPC": b'{"hello": "world"}',
    "Unsolicited response": b'{"jsonrpc": "2.0", "id": 4711, "result": {}}',
}
_MAX_HISTORY = 100


class RawConsole(Panel):
    """The raw console: the editor on the left, the messages on the right.

    The messages start with the first one sent; the selected one is shown in full below them.
    """

    help_page = "traffic"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server, theme = context.bridge, context.server, context.theme
        self._context = context
        self._bridge = bridge
        self._connect_action = context.actions["server.connect"]
        self._theme = theme
        self._history: list[bytes] = []
        self._position = 0  # in the history; past its end is the draft
        self._draft = b""
        self._is_chosen = False  # by the user, since the last message was sent
        self.strips = Alert(theme, is_compact=True)
        self.composer = RawComposer(bridge, theme)
        self.model = RawMessagesModel(bridge.log, server, theme)
        self.table = QTableView()
        self._show_action = QAction("Show in Traffic", self)
        self.response = RawResponse(bridge, theme, [self._show_action])
        self.stack = ContentStack(theme, self._make_right(server))
        self._lay_out()
        self._connect()
        self._explain()

    def set_view(self, view: ServerView) -> None:
        self.composer.set_view(view)
        if view.status is ServerStatus.CONNECTED:
            self.strips.close_topic("connection")
        elif view.status in UP_STATUSES:
            self.strips.show_message("connection", f"Still {view.status.value}: nothing can be sent yet.")
        else:
            text = "Not connected: your text stays here until you can send it."
            can_connect = view.status is not ServerStatus.DISABLED
            self.strips.show_message("connection", text, "", [self._connect_action] if can_connect else [])

    def send(self) -> None:
        self.composer.send()

    def use_template(self, name: str) -> None:
        """Replace the text with a template; can be undone."""
        self.composer.set_raw(TEMPLATES[name])
        self.composer.editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def step_history(self, steps: int) -> None:
        """Step through the history: -1 for the previous message, 1 for the next; the draft is last."""
        editor = self.composer.editor
        position = min(max(self._position + steps, 0), len(self._history))
        if position == self._position:
            return
        if self._position == len(self._history):
            self._draft = editor.raw()
        self._position = position
        self.composer.set_raw(self._draft if position == len(self._history) else self._history[position])

    def _on_begun(self, length: int) -> None:
        raw = self.composer.editor.raw()
        if not self._history or self._history[-1] != raw:
            self._history = [*self._history, raw][-_MAX_HISTORY:]
        self._position, self._draft = len(self._history), raw
        self._is_chosen = False
        self.model.begin(length)

    def _on_sent(self, outcome: RawOutcome) -> None:
        """Select the response, unless the user selected something else meanwhile."""
        self.model.extend(len(self._bridge.log))
        self._explain()
        if self._is_chosen:
            return
        row = self.model.find_row(outcome.row if outcome.response_row is None else outcome.response_row)
        if row is not None:
            self.table.selectionModel().blockSignals(True)
            self.table.setCurrentIndex(self.model.index(row, RawMessageColumn.TEXT))
            self.table.selectionModel().blockSignals(False)
            self.table.viewport().update()
        self._bridge.start("show response", self.response.show_outcome(outcome), self)

    def _on_traffic_grew(self, length: int) -> None:
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum() - 2
        self.model.extend(length)
        self._explain()
        if self.isVisible():
            self.table.viewport().update()  # statuses may have changed
        if is_at_end:
            self.table.scrollToBottom()

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self._is_chosen = True
            work = self.response.show_row(self.model.record(current.row()))
            self._bridge.start("show message", work, self)

    def _explain(self) -> None:
        if self.model.rowCount():
            self.stack.open()
        else:
            sentence = "Write any JSON-RPC message, or anything else, and see how the server reacts."
            self.stack.explain("empty", "edit", "Nothing sent yet", sentence)

    def _make_right(self, server: str) -> QWidget:
        self.table.setAccessibleName(f"Messages sent to and received from {one_line(server)}")
        self.table.setModel(self.model)
        style_table(self.table, self._theme)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        header = self.table.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(RawMessageColumn.TEXT, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(28)
        for column, width in (
            (RawMessageColumn.DIRECTION, 28),
            (RawMessageColumn.TIME, 100),
            (RawMessageColumn.STATUS, 92),
            (RawMessageColumn.DURATION, 76),
        ):
            self.table.setColumnWidth(column, width)
        return vsplit(self.table, self.response, sizes=[160, 240])

    def _lay_out(self) -> None:
        menu = QMenu(self)
        for name in TEMPLATES:
            menu.addAction(name).triggered.connect(lambda checked=False, name=name: self.use_template(name))
        button = QToolButton()
        button.setText("Templates")
        self._theme.set_icon(button, "chevron-down")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setMenu(menu)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.composer.tool_row.insertWidget(0, button)
        self.composer.editor.setPlaceholderText(
            'A message, such as {"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
            + native_keys("Alt+Up restores earlier messages.")
        )
        splitter = hsplit(self.composer, self.stack, sizes=[460, 540])
        vbox(self, self.strips, (splitter, 1), gap=0)

    def _connect(self) -> None:
        self.composer.send_started.connect(self._on_begun)
        self.composer.sent.connect(self._on_sent)
        self._bridge.traffic_grew.connect(self._on_traffic_grew)
        self.table.selectionModel().currentRowChanged.connect(self._on_current_changed)
        self.table.doubleClicked.connect(
            lambda index: self._context.row_requested.emit(self.model.record(index.row()))
        )
        self._show_action.triggered.connect(self._on_show)
        for keys, steps in (("Alt+Up", -1), ("Alt+Down", 1)):
            bind_keys(self.composer, keys, partial(self.step_history, steps))

    def _on_show(self) -> None:
        if self.response.row is not None:
            self._context.row_requested.emit(self.response.row)
