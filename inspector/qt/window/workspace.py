"""Workspace of one server: a status strip above the tabs of its panels.

A panel is created when its tab is first shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.panels.server_list import MARKS
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import discard, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge, StateDot
from inspector.qt.widgets.text.labels import Heading, PlainLabel

if TYPE_CHECKING:
    from inspector.config.calls.saved_calls import SavedCall
    from inspector.engine.calls.regression_calls import RegressionView
    from inspector.engine.inbox.views import InboxRequest
    from inspector.engine.tasks.views import TaskView
    from inspector.qt.models.feature_list import ListChanges
    from inspector.qt.panels.client.panel import ClientPanel
    from inspector.qt.panels.console import ConsolePanel, RawConsole
    from inspector.qt.panels.doctor.panel import DoctorPanel
    from inspector.qt.panels.inbox.panel import InboxPanel
    from inspector.qt.panels.login.panel import LoginPanel
    from inspector.qt.panels.overview import OverviewPanel
    from inspector.qt.panels.processes.panel import ProcessPanel
    from inspector.qt.panels.prompts.panel import PromptsPanel
    from inspector.qt.panels.resources.panel import ResourcesPanel
    from inspector.qt.panels.tasks.panel import TasksPanel
    from inspector.qt.panels.tools.panel import ToolsPanel

TABS = (
    "overview",
    "tools",
    "resources",
    "prompts",
    "tasks",
    "inbox",
    "client",
    "auth",
    "raw",
    "console",
    "process",
    "doctor",
)
_STREAM = "stream"  # key of the strip
_WITHOUT_VIEW = {"inbox", "console"}  # panels that do not depend on the server's state


class Workspace(QWidget):
    """The panels of one server. They keep input and selection while another server is shown.

    `make_inbox` creates a server's Inbox on first use: the Inboxes of a window share their request views.
    `tab` is shown first.

    Signals:
        tab_changed: The user switched tabs.
        call_readiness_changed: What can be done with a tool may have changed.
        readiness_changed: What can be done with a resource or prompt may have changed.
        row_requested: The user wants to see a row in the traffic; carries its number.
        reply_requested: The user wants to reply to a server request; carries its id.
    """

    tab_changed = Signal()
    call_readiness_changed = Signal()
    readiness_changed = Signal()
    row_requested = Signal(int)
    reply_requested = Signal(int)

    def __init__(
        self,
        bridge: Bridge,
        view: ServerView,
        actions: Actions,
        theme: Theme,
        make_inbox: Callable[[str], InboxPanel],
        tab: str = "overview",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.view = view
        self._bridge, self._actions, self._theme = bridge, actions, theme
        self._panels: dict[str, Any] = {}
        self._inbox_requests: tuple[InboxRequest, ...] = ()
        self._running_tasks: set[str] = set()
        self._make_inbox = make_inbox
        self._pages = {name: QWidget() for name in TABS}
        self._dot = StateDot(theme, *MARKS[view.status], view.status.value)
        self._title = Heading(theme)
        self._address = PlainLabel(theme, tone="muted", mono=True, elide=Qt.TextElideMode.ElideMiddle)
        self._revision = Badge(theme)
        self._unverified = Badge(theme, tone="warn")
        self.regression_badge = Badge(theme)
        self._login_button = ActionButton(actions["server.login"])
        self._connect_button = ActionButton(actions["server.connect"], "primary")
        self._disconnect_button = ActionButton(actions["server.disconnect"])
        self.strips = Alert(theme, is_compact=True)
        self.tabs = QTabWidget()
        self._disposal = QTimer(self, singleShot=True, interval=0)
        self._disposal.timeout.connect(self._delete_next_panel)
        self._lay_out()
        self.tabs.setCurrentIndex(TABS.index(tab))
        self.tabs.currentChanged.connect(self._on_tab_changed)
        bridge.tasks_changed.connect(self._on_tasks_changed)
        bridge.regression_calls_changed.connect(self._on_reruns_changed)
        getattr(self, tab)  # creates it
        self.set_view(view)

    def set_view(self, view: ServerView) -> None:
        self.view = view
        self._dot.set_state(*MARKS[view.status], view.status.value)
        self._title.setText(one_line(view.name))
        self._address.setText(_short(view.address))
        self._revision.set_text(str(view.negotiated.revision) if view.negotiated else view.status.value)
        self._unverified.set_text("" if view.is_verified else "TLS not verified")
        is_up = view.status in UP_STATUSES
        self._login_button.setVisible(view.status is ServerStatus.NEEDS_LOGIN)
        self._connect_button.setVisible(not is_up)
        self._disconnect_button.setVisible(is_up)
        self._show_stream_problem(view.stream_problem)
        for name, panel in list(self._panels.items()):
            if name not in _WITHOUT_VIEW:
                panel.set_view(view)

    def _show_stream_problem(self, reason: str) -> None:
        if not reason:
            self.strips.close_topic(_STREAM)
            return
        text = f"Server messages are not received: {one_line(reason)}"
        self.strips.show_message(_STREAM, text, "", [self._actions["server.reopen_stream"]], "warn")

    def dispose(self) -> None:
        """Delete the panels one after the other, then the rest: at once, it would block for 0.1 s."""
        self.hide()
        self._disposal.start()

    def _delete_next_panel(self) -> None:
        if self._panels:
            discard(self._panels.popitem()[1])
            self._disposal.start()
        else:
            discard(self)

    def show_tab(self, name: str) -> None:
        self.tabs.setCurrentIndex(TABS.index(name))
        # Focus what can be chosen from, not the button that happens to be first.
        if name == "inbox":
            self.inbox.list.setFocus()
        elif name == "tasks":
            self.tasks.table.setFocus()

    def is_at(self, name: str) -> bool:
        """Return whether this tab is visible."""
        return self.isVisible() and TABS[self.tabs.currentIndex()] == name

    @property
    def overview(self) -> OverviewPanel:
        panel: OverviewPanel | None = self._panels.get("overview")
        return panel or self._make_overview()

    def _make_overview(self) -> OverviewPanel:
        from inspector.qt.panels.overview import OverviewPanel

        panel = OverviewPanel(self._actions, self._theme)
        self._put("overview", panel)
        panel.set_view(self.view)
        return panel

    @property
    def tools(self) -> ToolsPanel:
        return self.existing_tools() or self._make_tools()

    def existing_tools(self) -> ToolsPanel | None:
        """Return the panel if it was created already."""
        panel: ToolsPanel | None = self._panels.get("tools")
        return panel

    def _make_tools(self) -> ToolsPanel:
        from inspector.qt.panels.tools.panel import ToolsPanel

        panel = ToolsPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("tools", panel)
        panel.change_strip.reported.connect(self._on_list_changes)
        panel.call_view.readiness_changed.connect(self.call_readiness_changed)
        panel.call_view.result.uri_requested.connect(self.open_uri)
        panel.call_view.result.task_requested.connect(self.show_task)
        panel.call_view.reply_requested.connect(self.reply_requested)
        panel.call_view.show_requests(self._inbox_requests)
        panel.set_view(self.view)
        return panel

    @property
    def resources(self) -> ResourcesPanel:
        return self.existing_resources() or self._make_resources()

    def existing_resources(self) -> ResourcesPanel | None:
        """Return the panel if it was created already."""
        panel: ResourcesPanel | None = self._panels.get("resources")
        return panel

    def _make_resources(self) -> ResourcesPanel:
        from inspector.qt.panels.resources.panel import ResourcesPanel

        panel = ResourcesPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("resources", panel)
        panel.readiness_changed.connect(self.readiness_changed)
        panel.change_strip.reported.connect(self._on_list_changes)
        panel.set_view(self.view)
        return panel

    @property
    def prompts(self) -> PromptsPanel:
        return self.existing_prompts() or self._make_prompts()

    def existing_prompts(self) -> PromptsPanel | None:
        """Return the panel if it was created already."""
        panel: PromptsPanel | None = self._panels.get("prompts")
        return panel

    def _make_prompts(self) -> PromptsPanel:
        from inspector.qt.panels.prompts.panel import PromptsPanel

        panel = PromptsPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("prompts", panel)
        panel.view.readiness_changed.connect(self.readiness_changed)
        panel.change_strip.reported.connect(self._on_list_changes)
        panel.view.result.uri_requested.connect(self.open_uri)
        panel.set_view(self.view)
        return panel

    @property
    def tasks(self) -> TasksPanel:
        panel: TasksPanel | None = self._panels.get("tasks")
        return panel or self._make_tasks()

    def _make_tasks(self) -> TasksPanel:
        from inspector.qt.panels.tasks.panel import TasksPanel

        panel = TasksPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("tasks", panel)
        panel.row_requested.connect(self.row_requested)
        panel.reply_requested.connect(self.reply_requested)
        panel.detail.show_requests(self._inbox_requests)
        panel.detail.result.uri_requested.connect(self.open_uri)
        panel.set_view(self.view)
        return panel

    @property
    def inbox(self) -> InboxPanel:
        panel: InboxPanel | None = self._panels.get("inbox")
        if panel is None:
            panel = self._make_inbox(self.view.name)
            self._put("inbox", panel)
            panel.show()  # at once: the caller goes to a request in it
        return panel

    @property
    def client(self) -> ClientPanel:
        panel: ClientPanel | None = self._panels.get("client")
        return panel or self._make_client()

    def _make_client(self) -> ClientPanel:
        from inspector.qt.panels.client.panel import ClientPanel

        panel = ClientPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("client", panel)
        panel.set_view(self.view)
        return panel

    @property
    def auth(self) -> LoginPanel:
        panel: LoginPanel | None = self._panels.get("auth")
        return panel or self._make_auth()

    def _make_auth(self) -> LoginPanel:
        from inspector.qt.link_opener import LinkOpener
        from inspector.qt.panels.login.panel import LoginPanel

        panel = LoginPanel(self._bridge, self.view.name, LinkOpener(), self._theme)
        self._put("auth", panel)
        panel.row_requested.connect(self.row_requested)
        panel.set_view(self.view)
        return panel

    @property
    def raw(self) -> RawConsole:
        panel: RawConsole | None = self._panels.get("raw")
        return panel or self._make_raw()

    def _make_raw(self) -> RawConsole:
        from inspector.qt.panels.console import RawConsole

        panel = RawConsole(self._bridge, self.view.name, self._actions["server.connect"], self._theme)
        self._put("raw", panel)
        panel.row_requested.connect(self.row_requested)
        panel.set_view(self.view)
        return panel

    @property
    def console(self) -> ConsolePanel:
        panel: ConsolePanel | None = self._panels.get("console")
        return panel or self._make_console()

    def _make_console(self) -> ConsolePanel:
        from inspector.qt.panels.console import ConsolePanel

        panel = ConsolePanel(self._bridge, self.view.name, self._theme)
        self._put("console", panel)
        return panel

    @property
    def process(self) -> ProcessPanel:
        panel: ProcessPanel | None = self._panels.get("process")
        return panel or self._make_process()

    def _make_process(self) -> ProcessPanel:
        from inspector.qt.panels.processes.panel import ProcessPanel

        panel = ProcessPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("process", panel)
        panel.row_requested.connect(self.row_requested)
        panel.call_requested.connect(self._open_saved)
        panel.set_view(self.view)
        return panel

    @property
    def doctor(self) -> DoctorPanel:
        panel: DoctorPanel | None = self._panels.get("doctor")
        return panel or self._make_doctor()

    def _make_doctor(self) -> DoctorPanel:
        from inspector.qt.panels.doctor.panel import DoctorPanel

        panel = DoctorPanel(self._bridge, self.view.name, self._actions, self._theme)
        self._put("doctor", panel)
        panel.set_view(self.view)
        return panel

    def _put(self, name: str, panel: QWidget) -> None:
        self._panels[name] = panel
        vbox(self._pages[name], panel)

    def _on_tab_changed(self, index: int) -> None:
        getattr(self, TABS[index])  # creates it
        self.tab_changed.emit()

    def _open_saved(self, call: SavedCall) -> None:
        self.show_tab("tools")
        self.tools.open_saved(call)

    def open_uri(self, uri: str) -> None:
        """Read a resource linked from this workspace."""
        self.show_tab("resources")
        self.resources.open_uri(uri)

    def show_task(self, id: str) -> None:
        self.show_tab("tasks")
        self.tasks.show_task(id)

    def show_requests(self, inbox_requests: tuple[InboxRequest, ...]) -> None:
        """Set this server's pending requests."""
        self.tabs.setTabText(
            TABS.index("inbox"), f"Inbox {len(inbox_requests):,}" if inbox_requests else "Inbox"
        )
        self._inbox_requests = inbox_requests
        if (tools := self.existing_tools()) is not None:
            tools.call_view.show_requests(inbox_requests)
        if "tasks" in self._panels:
            self.tasks.detail.show_requests(inbox_requests)

    def _on_list_changes(self, what: str, changes: ListChanges) -> None:
        """Also report list changes in the Process panel, after a restart."""
        if "process" in self._panels:
            self.process.show_changes(what, changes)

    def _on_reruns_changed(self, view: RegressionView) -> None:
        """Show the result of the regression calls as a badge above the tabs."""
        if view.server == self.view.name:
            from inspector.qt.models.regression_calls import badge

            self.regression_badge.set_text(*badge(view))

    def _on_tasks_changed(self, server: str, views: Mapping[str, TaskView | None]) -> None:
        if server != self.view.name:
            return
        for id, view in views.items():
            is_running = view is not None and view.is_running
            (self._running_tasks.add if is_running else self._running_tasks.discard)(id)
        count = len(self._running_tasks)
        self.tabs.setTabText(TABS.index("tasks"), f"Tasks {count:,}" if count else "Tasks")

    def _lay_out(self) -> None:
        strip = hbox(
            None,
            self._dot,
            self._title,
            self._revision,
            self._unverified,
            self.regression_badge,
            (self._address, 1),
            self._login_button,
            self._connect_button,
            self._disconnect_button,
            margin=(SPACE_3, SPACE_2),
        )
        for name, page in self._pages.items():
            self.tabs.addTab(page, name.capitalize())
        vbox(self, strip, self.strips, (self.tabs, 1), gap=0)


def _short(address: str) -> str:
    """Return a command without the program's folders; Overview shows it in full."""
    if "://" in address.partition(" ")[0]:
        return address
    # On Windows, a program in a folder with a space is in double quotes.
    found = re.match(r'"(?P<quoted>[^"]*)"|(?P<plain>[^ ]*)', address)
    assert found is not None
    program = found["quoted"] or found["plain"]
    last = re.split(r"[/\\]", program.rstrip("/\\"))[-1]
    quote = '"' if " " in last and found["quoted"] else ""
    return f"{quote}{last}{quote}{address[found.end() :]}"
