"""Workspace of one server: a status strip above the tabs of its panels.

Most panels are created when their tab is first shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QTabWidget, QVBoxLayout, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.panels.console import ConsolePanel, RawConsole
from inspector.qt.panels.overview import OverviewPanel
from inspector.qt.panels.server_list import MARKS
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.notices.notices import StatusStrips
from inspector.qt.widgets.text.badge import Badge, StateDot
from inspector.qt.widgets.text.labels import Heading, PlainLabel

if TYPE_CHECKING:
    from inspector.config.calls.saved_calls import SavedCall
    from inspector.engine.calls.regression_calls import RegressionView
    from inspector.engine.inbox.views import InboxRequest
    from inspector.engine.tasks.views import TaskView
    from inspector.qt.models.feature_list import ListChanges
    from inspector.qt.panels.client.panel import ClientPanel
    from inspector.qt.panels.doctor.panel import DoctorPanel
    from inspector.qt.panels.inbox.panel import InboxPanel
    from inspector.qt.panels.login.panel import LoginPanel
    from inspector.qt.panels.processes.panel import ProcessPanel
    from inspector.qt.panels.prompts.panel import PromptsPanel
    from inspector.qt.panels.resources.panel import ResourcesPanel
    from inspector.qt.panels.tasks.panel import TasksPanel

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


class Workspace(QWidget):
    """The panels of one server. They keep input and selection while another server is shown.

    `make_inbox` creates a server's Inbox on first use: the Inboxes of a window share their request views.

    Signals:
        tab_changed: The user switched tabs.
        readiness_changed: What can be done with a resource or prompt may have changed.
        row_requested: The user wants to see a row in the traffic; carries its number.
        reply_requested: The user wants to reply to a server request; carries its id.
    """

    tab_changed = Signal()
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
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.view = view
        self.overview = OverviewPanel(actions, theme)
        self.tools = ToolsPanel(bridge, view.name, actions, theme)
        self._bridge, self._actions, self._theme = bridge, actions, theme
        self._resources: ResourcesPanel | None = None
        self._prompts: PromptsPanel | None = None
        self._tasks: TasksPanel | None = None
        self._client: ClientPanel | None = None
        self._auth: LoginPanel | None = None
        self._process: ProcessPanel | None = None
        self._doctor: DoctorPanel | None = None
        self._inbox: InboxPanel | None = None
        self._inbox_requests: tuple[InboxRequest, ...] = ()
        self._running_tasks: set[str] = set()
        self._make_inbox = make_inbox
        self._pages = {
            name: QWidget()
            for name in ("resources", "prompts", "tasks", "inbox", "client", "auth", "process", "doctor")
        }
        self.console = ConsolePanel(bridge, view.name, theme)
        self.raw = RawConsole(bridge, view.name, actions["server.connect"], theme)
        self._dot = StateDot(theme, *MARKS[view.status], view.status.value)
        self._title = Heading(theme)
        self._address = PlainLabel(theme, tone="muted", mono=True, elide=Qt.TextElideMode.ElideMiddle)
        self._revision = Badge(theme)
        self._unverified = Badge(theme, tone="warn")
        self.regression_badge = Badge(theme)
        self._login_button = ActionButton(actions["server.login"])
        self._connect_button = ActionButton(actions["server.connect"], "primary")
        self._disconnect_button = ActionButton(actions["server.disconnect"])
        self.strips = StatusStrips(theme)
        self.tabs = QTabWidget()
        self._lay_out()
        self.tabs.currentChanged.connect(self._on_tab_changed)
        self.tools.call_view.result.uri_requested.connect(self.open_uri)
        self.tools.call_view.result.task_requested.connect(self.show_task)
        self.tools.call_view.reply_requested.connect(self.reply_requested)
        bridge.tasks_changed.connect(self._on_tasks_changed)
        bridge.regression_calls_changed.connect(self._on_reruns_changed)
        self.tools.change_strip.reported.connect(self._on_list_changes)
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
        self.overview.set_view(view)
        self.tools.set_view(view)
        if self._resources is not None:
            self._resources.set_view(view)
        if self._prompts is not None:
            self._prompts.set_view(view)
        if self._tasks is not None:
            self._tasks.set_view(view)
        if self._client is not None:
            self._client.set_view(view)
        if self._auth is not None:
            self._auth.set_view(view)
        if self._process is not None:
            self._process.set_view(view)
        if self._doctor is not None:
            self._doctor.set_view(view)
        self.raw.set_view(view)

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
    def resources(self) -> ResourcesPanel:
        """The Resources panel, created on first use, like the prompts: many users only need tools."""
        if self._resources is None:
            from inspector.qt.panels.resources.panel import ResourcesPanel

            panel = ResourcesPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._resources = panel
            panel.readiness_changed.connect(self.readiness_changed)
            panel.change_strip.reported.connect(self._on_list_changes)
            self._put("resources", panel)
            panel.set_view(self.view)
        return self._resources

    @property
    def prompts(self) -> PromptsPanel:
        if self._prompts is None:
            from inspector.qt.panels.prompts.panel import PromptsPanel

            panel = PromptsPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._prompts = panel
            panel.view.readiness_changed.connect(self.readiness_changed)
            panel.change_strip.reported.connect(self._on_list_changes)
            panel.view.result.uri_requested.connect(self.open_uri)
            self._put("prompts", panel)
            panel.set_view(self.view)
        return self._prompts

    @property
    def tasks(self) -> TasksPanel:
        if self._tasks is None:
            from inspector.qt.panels.tasks.panel import TasksPanel

            panel = TasksPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._tasks = panel
            panel.row_requested.connect(self.row_requested)
            panel.reply_requested.connect(self.reply_requested)
            panel.detail.show_requests(self._inbox_requests)
            panel.detail.result.uri_requested.connect(self.open_uri)
            self._put("tasks", panel)
            panel.set_view(self.view)
        return self._tasks

    @property
    def client(self) -> ClientPanel:
        if self._client is None:
            from inspector.qt.panels.client.panel import ClientPanel

            self._client = ClientPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._put("client", self._client)
            self._client.set_view(self.view)
        return self._client

    @property
    def auth(self) -> LoginPanel:
        if self._auth is None:
            from inspector.qt.link_opener import LinkOpener
            from inspector.qt.panels.login.login_actions import EngineLoginActions
            from inspector.qt.panels.login.panel import LoginPanel

            login_actions = EngineLoginActions(self._bridge, self.view.name)
            self._auth = LoginPanel(self._bridge, self.view.name, login_actions, LinkOpener(), self._theme)
            self._auth.row_requested.connect(self.row_requested)
            self._put("auth", self._auth)
            self._auth.set_view(self.view)
        return self._auth

    @property
    def process(self) -> ProcessPanel:
        if self._process is None:
            from inspector.qt.panels.processes.panel import ProcessPanel

            panel = ProcessPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._process = panel
            panel.row_requested.connect(self.row_requested)
            panel.call_requested.connect(self._open_saved)
            self._put("process", panel)
            panel.set_view(self.view)
        return self._process

    @property
    def doctor(self) -> DoctorPanel:
        if self._doctor is None:
            from inspector.qt.panels.doctor.panel import DoctorPanel

            self._doctor = DoctorPanel(self._bridge, self.view.name, self._actions, self._theme)
            self._put("doctor", self._doctor)
            self._doctor.set_view(self.view)
        return self._doctor

    def _open_saved(self, call: SavedCall) -> None:
        self.show_tab("tools")
        self.tools.open_saved(call)

    def _on_list_changes(self, what: str, changes: ListChanges) -> None:
        """Also report list changes in the Process panel, after a restart."""
        if self._process is not None:
            self._process.show_changes(what, changes)

    def _on_reruns_changed(self, view: RegressionView) -> None:
        """Show the result of the regression calls as a badge above the tabs."""
        if view.server == self.view.name:
            from inspector.qt.models.regression_calls import badge

            self.regression_badge.set_text(*badge(view))

    @property
    def inbox(self) -> InboxPanel:
        if self._inbox is None:
            self._inbox = self._make_inbox(self.view.name)
            self._put("inbox", self._inbox)
            self._inbox.show()  # at once: the caller goes to a request in it
        return self._inbox

    def show_requests(self, inbox_requests: tuple[InboxRequest, ...]) -> None:
        """Set this server's pending requests."""
        self.tabs.setTabText(
            TABS.index("inbox"), f"Inbox {len(inbox_requests):,}" if inbox_requests else "Inbox"
        )
        self.tools.call_view.show_requests(inbox_requests)
        self._inbox_requests = inbox_requests
        if self._tasks is not None:
            self._tasks.detail.show_requests(inbox_requests)

    def show_task(self, id: str) -> None:
        self.show_tab("tasks")
        self.tasks.show_task(id)

    def _on_tasks_changed(self, server: str, views: Mapping[str, TaskView | None]) -> None:
        if server != self.view.name:
            return
        for id, view in views.items():
            is_running = view is not None and view.is_running
            (self._running_tasks.add if is_running else self._running_tasks.discard)(id)
        count = len(self._running_tasks)
        self.tabs.setTabText(TABS.index("tasks"), f"Tasks {count:,}" if count else "Tasks")

    def existing_resources(self) -> ResourcesPanel | None:
        """Return the panel if it was created already."""
        return self._resources

    def existing_prompts(self) -> PromptsPanel | None:
        return self._prompts

    def _put(self, name: str, panel: QWidget) -> None:
        column = QVBoxLayout(self._pages[name])
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(panel)

    def _on_tab_changed(self, index: int) -> None:
        if TABS[index] in self._pages:
            getattr(self, TABS[index])  # creates it
        self.tab_changed.emit()

    def open_uri(self, uri: str) -> None:
        """Read a resource linked from this workspace."""
        self.show_tab("resources")
        self.resources.open_uri(uri)

    def _lay_out(self) -> None:
        strip = QHBoxLayout()
        strip.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self._dot)
        strip.addWidget(self._title)
        strip.addWidget(self._revision)
        strip.addWidget(self._unverified)
        strip.addWidget(self.regression_badge)
        strip.addWidget(self._address, 1)
        strip.addWidget(self._login_button)
        strip.addWidget(self._connect_button)
        strip.addWidget(self._disconnect_button)
        created = {"overview": self.overview, "tools": self.tools, "raw": self.raw, "console": self.console}
        panels: dict[str, QWidget] = {**self._pages, **created}
        for name in TABS:
            self.tabs.addTab(panels[name], name.capitalize())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(strip)
        column.addWidget(self.strips)
        column.addWidget(self.tabs, 1)


def _short(address: str) -> str:
    """Return a command without the program's folders; Overview shows it in full."""
    program, space, rest = address.partition(" ")
    is_url = "://" in program
    return address if is_url else f"{program.rstrip('/').rpartition('/')[2]}{space}{rest}"
