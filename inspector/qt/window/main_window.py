"""Main window: servers on the left, the workspace in the middle, traffic below."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QMenu,
    QStackedWidget,
    QWidget,
)

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.views import ServerStatus
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.traffic_model import LiveSource
from inspector.qt.models.traffic.view_options import TrafficViewOptions
from inspector.qt.panels.server_list import ServerListPanel
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.theme import Scheme, Theme
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.notices.notices import Alert, JobBar, NoticeBar
from inspector.qt.window.captures import CaptureDocks, CaptureNotices, openable
from inspector.qt.window.command_palette import CommandPalette
from inspector.qt.window.commands import Commands, TrafficCommands
from inspector.qt.window.dialog_commands import DialogCommands
from inspector.qt.window.server_commands import AddServerCommands, ServerCommands
from inspector.qt.window.tabs import TAB_IDS

# The workspace and the dialogs are imported on demand, which saves 100 ms at startup.
if TYPE_CHECKING:
    from inspector.config.secrets.records import SecretsState
    from inspector.config.servers.entry_diff import ServerListDiff
    from inspector.engine.doctor.results import CheckReport
    from inspector.engine.drift.drift import DriftView
    from inspector.engine.inbox.views import InboxRequest
    from inspector.engine.login.logins import LoginRequested
    from inspector.engine.server_view import ServerView
    from inspector.oauth.login.steps import LoginView
    from inspector.qt.models.all_features import FeatureLists
    from inspector.qt.models.feature_list import ServerFeature
    from inspector.qt.panels.all_features import AllFeaturesPanel
    from inspector.qt.panels.discovered_servers.panel import DiscoveredServersPanel
    from inspector.qt.panels.inbox.panel import InboxPanel
    from inspector.qt.panels.welcome import WelcomePanel
    from inspector.qt.window.inbox import InboxController
    from inspector.qt.window.notices import (
        DoctorNotice,
        DriftNotice,
        LoginNotice,
        ServerListNotice,
    )
    from inspector.qt.window.status_bar import SecretsStatus
    from inspector.qt.window.workspace import Workspace

_LAYOUT_VERSION = 1
# Menu icons are loaded this long after startup: no menu is opened sooner.
_ICONS_MS = 400


class MainWindow(QMainWindow):
    """The main window: creates the parts once and places them.

    Signals:
        closing: The user closed the window; the app then stops the backend.
        demo_requested: The user wants to start the demo servers.
    """

    closing = Signal()
    demo_requested = Signal()

    def __init__(self, bridge: Bridge, theme: Theme, layout: QSettings, help_folder: Path) -> None:
        super().__init__()
        self._bridge = bridge
        self._theme = theme
        self._layout = layout
        self.actions_table = Actions(theme, self)
        self.servers = ServerListPanel(bridge, self.actions_table, theme)
        self.traffic_options = TrafficViewOptions(bridge, layout, self)
        self.traffic = TrafficPanel(
            LiveSource(bridge, self),
            bridge,
            self.actions_table,
            theme,
            options=self.traffic_options,
            memory=layout,
        )
        self.workspaces: dict[str, Workspace] = {}
        self._at_start = EmptyState(theme)
        self._stack = QStackedWidget()
        self.notices = NoticeBar(theme)
        self._capture_count = 0
        self.secrets_status: SecretsStatus | None = None
        self.strips = Alert(theme, is_compact=True)
        self.jobs = JobBar(theme)
        self.captures = CaptureDocks(
            bridge, self.actions_table, theme, self.traffic, self.jobs, self._add_capture_dock, self
        )
        self.traffic_commands = TrafficCommands(self, bridge, theme, layout)
        self.command_palette = CommandPalette(self, bridge, theme, layout)
        self.dialogs = DialogCommands(self, bridge, theme, layout, help_folder)
        self.server_commands = ServerCommands(self, bridge, theme)
        self.add_commands = AddServerCommands(self, bridge, theme)
        self._lay_out()
        self._make_menus()
        self.capture_notice = CaptureNotices(bridge, self.strips, self)
        self._may_lose_rows = False
        self._dismiss_message = QAction("Dismiss", self)
        self._dismiss_message.triggered.connect(lambda: self.strips.close_topic("message"))
        self._commands = Commands(self, bridge, self.actions_table)
        self._connect()
        self._restore()
        QTimer.singleShot(_ICONS_MS, theme.apply_deferred_icons)

    def workspace(self) -> Workspace | None:
        """Return the current workspace."""
        widget = self._stack.currentWidget()
        return next((each for each in self.workspaces.values() if each is widget), None)

    def traffic_in_front(self) -> TrafficPanel:
        """Return the traffic panel used last: the live one, or a capture's."""
        return self.captures.in_front()

    def current_view(self) -> ServerView | None:
        return self.servers.current()

    @cached_property
    def inbox(self) -> InboxController:
        """The Inboxes, created for the first server request or on first use."""
        from inspector.qt.window.inbox import InboxController

        return InboxController(self, self._bridge, self._theme)

    @cached_property
    def doctor_notice(self) -> DoctorNotice:
        """Doctor reports, created for the first server that fails or the first check."""
        from inspector.qt.window.notices import DoctorNotice

        return DoctorNotice(self, self._bridge)

    @cached_property
    def server_list_notice(self) -> ServerListNotice:
        """Server list reports, created for the first external change."""
        from inspector.qt.window.notices import ServerListNotice

        return ServerListNotice(self, self._bridge, self._theme)

    @cached_property
    def drift_notice(self) -> DriftNotice:
        """Baseline reports, created when the first lists are compared."""
        from inspector.qt.window.notices import DriftNotice

        return DriftNotice(self, self._bridge, self._theme)

    @cached_property
    def login_notice(self) -> LoginNotice:
        """Login reports, created for the first login."""
        from inspector.qt.window.notices import LoginNotice

        return LoginNotice(self)

    def show_tab(self, name: str) -> None:
        """Show a tab of the current server, or of the last one before the Inbox of all servers."""
        self.servers.go_back()
        if (workspace := self.workspace()) is not None:
            workspace.show_tab(name)

    def set_scheme(self, scheme: Scheme) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self._theme.apply(app, scheme)
        self._layout.setValue("scheme", scheme.value)
        self._check_scheme()

    def _lay_out(self) -> None:
        self.setWindowTitle("MCP Lens")
        self.setWindowIcon(self._theme.app_icon())
        self.resize(1440, 900)
        self.setAcceptDrops(True)
        self._at_start.show_empty(
            "server",
            "Nothing to inspect yet",
            "Add a server: a command to run, or a URL to connect to.",
            [self.actions_table["server.add"]],
        )
        self._stack.addWidget(self._at_start)
        self.setCentralWidget(self._with_notices(self._stack))
        self.setDockOptions(QMainWindow.DockOption.AnimatedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        self._servers_dock = self._add_dock("Servers", self.servers, Qt.DockWidgetArea.LeftDockWidgetArea)
        self._traffic_dock = self._add_dock("Traffic", self.traffic, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.resizeDocks([self._servers_dock], [260], Qt.Orientation.Horizontal)
        self.resizeDocks([self._traffic_dock], [360], Qt.Orientation.Vertical)

    def _with_notices(self, widget: QWidget) -> QWidget:
        page = QWidget()
        vbox(page, self.notices, self.strips, self.jobs, (widget, 1), gap=0)
        return page

    def _add_dock(self, name: str, panel: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(name, self)
        dock.setObjectName(name)
        dock.setWidget(panel)
        dock.setTitleBarWidget(QWidget())  # the panel has its own header
        self.addDockWidget(area, dock)
        return dock

    def _add_capture_dock(self, title: str, panel: QWidget) -> QDockWidget:
        """Add a capture's dock as a tab behind the live traffic, or beside it."""
        dock = QDockWidget(title, self)
        dock.setWidget(panel)
        dock.setTitleBarWidget(QWidget())
        self._capture_count += 1
        dock.setObjectName(f"capture {self._capture_count}")  # required by Qt; not used to find it
        before = self.captures.all[-1].dock if self.captures.all else self._traffic_dock
        is_split = self.actions_table["capture.side_by_side"].isChecked()
        self._place_next_to(before, dock, side_by_side=is_split)
        return dock

    def set_side_by_side(self, is_on: bool) -> None:
        """Show all traffic docks side by side, or as tabs."""
        before, height = self._traffic_dock, self._traffic_dock.height()
        # All of them: beside a dock that has tabs, Qt adds another tab.
        for dock in (self._traffic_dock, *(opened.dock for opened in self.captures.all)):
            self.removeDockWidget(dock)
        self.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, self._traffic_dock)
        self._traffic_dock.show()
        self.resizeDocks([self._traffic_dock], [height], Qt.Orientation.Vertical)
        for opened in self.captures.all:
            self._place_next_to(before, opened.dock, side_by_side=is_on)
            opened.dock.show()
            before = opened.dock
        if is_on:
            docks = [self._traffic_dock, *(opened.dock for opened in self.captures.all)]
            self.resizeDocks(docks, [self.width() // len(docks)] * len(docks), Qt.Orientation.Horizontal)
        self.captures.bring_to_front(self.captures.in_front())

    def _place_next_to(self, before: QDockWidget, dock: QDockWidget, *, side_by_side: bool) -> None:
        self.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, dock)
        if side_by_side:
            self.splitDockWidget(before, dock, Qt.Orientation.Horizontal)
        else:
            self.tabifyDockWidget(before, dock)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        from inspector.qt.forms.server.pasted_servers import dropped_config_files

        if openable(event.mimeData()) or dropped_config_files(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        from inspector.qt.forms.server.pasted_servers import dropped_config_files

        event.acceptProposedAction()
        others = dropped_config_files(event.mimeData())  # by its name, a .json may be either
        self.captures.open([path for path in openable(event.mimeData()) if path not in others])
        self.add_commands.open_dropped(others)

    def _make_menus(self, platform: str = sys.platform) -> None:
        for name, commands in self.actions_table.menus():
            if name == "Help" and platform == "darwin":
                self._make_window_menu()
            menu = QMenu(name, self)
            self.menuBar().addMenu(menu)
            submenus: dict[str, QMenu] = {"": menu}
            for command, action in commands:
                if command.begins_group:
                    menu.addSeparator()
                if command.submenu not in submenus:
                    submenus[command.submenu] = menu.addMenu(command.submenu)
                submenus[command.submenu].addAction(action)
            if name == "View":
                menu.addSeparator()
                menu.addAction(self._servers_dock.toggleViewAction())
                menu.addAction(self._traffic_dock.toggleViewAction())

    def _make_window_menu(self) -> None:
        """Add the menu that every macOS application has."""
        menu = self.menuBar().addMenu("Window")
        menu.addAction("Minimize", QKeySequence("Ctrl+M"), self.showMinimized)
        menu.addAction("Zoom", self._toggle_maximized)
        menu.addSeparator()
        menu.addAction("Bring All to Front", self.raise_)

    def _toggle_maximized(self) -> None:
        if self.isMaximized():
            self.showNormal()
        else:
            self.showMaximized()

    def _connect(self) -> None:
        self._bridge.server_changed.connect(self._on_server_changed)
        self._bridge.server_removed.connect(self._on_server_removed)
        self._bridge.problem_found.connect(self.notices.show_problem)
        self._bridge.problem_resolved.connect(self.notices.withdraw)
        self._bridge.secrets_changed.connect(self._on_secrets_changed)
        self._bridge.inbox_changed.connect(self._on_inbox_changed)
        self._bridge.discovered_servers_changed.connect(self._on_discovery_finished)
        self._bridge.server_list_changed.connect(self._on_server_list_changed)
        self._bridge.check_changed.connect(self._on_check_changed)
        self._bridge.drift_changed.connect(self._on_drift_changed)
        self._bridge.login_changed.connect(self._on_login_changed)
        self._bridge.login_required.connect(self._on_login_required)
        self._bridge.open_url = lambda url: self.login_notice.open_page(url)
        secret_clipboard().notified.connect(self._on_clipboard_notified)
        self.servers.server_chosen.connect(self._on_server_chosen)
        self.servers.inbox_chosen.connect(self._on_inbox_chosen)
        self.servers.features_chosen.connect(self._on_features_chosen)
        self.servers.discovered_chosen.connect(self._on_discovered_chosen)
        self.capture_notice.open_requested.connect(lambda path: self.captures.open([path]))
        self.captures.reported.connect(self.notify)
        self.captures.front_changed.connect(self._commands.update_traffic)
        self.captures.opened.connect(lambda opened: self._commands.watch_traffic(opened.panel))
        self.captures.closed.connect(self.traffic_commands.forget)

    def notify(self, text: str) -> None:
        """Report a success that is not otherwise visible."""
        self.strips.show_message("message", text, "", [self._dismiss_message], "ok")

    # Methods, not lambdas: Qt would keep a lambda, and the window with it, for as long as the bridge lives.
    def _on_server_list_changed(self, diff: ServerListDiff) -> None:
        self.server_list_notice.put(diff)

    def _on_check_changed(self, report: CheckReport) -> None:
        self.doctor_notice.put(report)

    def _on_drift_changed(self, view: DriftView) -> None:
        self.drift_notice.put(view)

    def _on_login_changed(self, login: LoginView) -> None:
        self.login_notice.put(login)

    def _on_login_required(self, requested: LoginRequested) -> None:
        self.login_notice.show_requested(requested)

    def _on_clipboard_notified(self, text: str, seconds: int) -> None:
        from inspector.qt.window.status_bar import show_in_status_bar

        show_in_status_bar(self, text, seconds)

    def _on_secrets_changed(self, state: SecretsState) -> None:
        """Create the status bar entry once there is something to show; it then updates itself."""
        if self.secrets_status is None:
            from inspector.qt.window.status_bar import add_secrets_status

            action = self.actions_table["app.secrets"]
            self.secrets_status = add_secrets_status(self, self._bridge, self._theme, action, state)

    def _on_server_changed(self, view: ServerView) -> None:
        workspace = self.workspaces.get(view.name)
        if workspace is not None:
            before = workspace.view.status
            workspace.set_view(view)
            if view.status is ServerStatus.FAILED or "doctor_notice" in vars(self):
                self.doctor_notice.follow(before, view)
        if view.name == self._current_name():
            self._commands.update(view)

    def _on_server_removed(self, name: str) -> None:
        workspace = self.workspaces.pop(name, None)
        if workspace is not None:
            workspace.dispose()

    def _on_server_chosen(self, name: str) -> None:
        view = self.current_view()
        if not name or view is None:
            self._stack.setCurrentWidget(self.welcome)
        else:
            self._stack.setCurrentWidget(self._workspace_of(view))
        self.setWindowTitle(f"{_short(view.name)} — MCP Lens" if view is not None else "MCP Lens")
        self.traffic.set_server(name)
        self._commands.update(view)

    def _on_inbox_chosen(self) -> None:
        panel = self.inbox.overall
        if self._stack.indexOf(panel) < 0:
            self._stack.addWidget(panel)
        self._stack.setCurrentWidget(panel)
        self.setWindowTitle("Inbox — MCP Lens")
        self._commands.update(None)

    @cached_property
    def welcome(self) -> WelcomePanel:
        """The start page, created when there is nothing else to show."""
        from inspector.qt.panels.welcome import WelcomePanel

        actions = self.actions_table
        panel = WelcomePanel(self._bridge, self._theme, actions["server.open_file"], actions["server.demo"])
        panel.pasted.connect(self.add_commands.open)
        panel.review_requested.connect(self.servers.choose_discovered)
        self._stack.addWidget(panel)
        return panel

    def _on_discovery_finished(self) -> None:
        """Show the start page if there are no servers after this last step of the startup."""
        if self._stack.currentWidget() is self._at_start and not self.servers.model.rowCount():
            self._stack.setCurrentWidget(self.welcome)

    @cached_property
    def discovered_servers(self) -> DiscoveredServersPanel:
        """The panel of discovered servers, created on first use."""
        from inspector.qt.panels.discovered_servers.panel import DiscoveredServersPanel

        panel = DiscoveredServersPanel(self._bridge, self._theme)
        panel.server_requested.connect(self.servers.choose)
        self._stack.addWidget(panel)
        return panel

    @cached_property
    def feature_lists(self) -> FeatureLists:
        """The lists of all servers, created when the palette or the features are first shown."""
        from inspector.qt.models.all_features import FeatureLists

        return FeatureLists(self._bridge, self)

    @cached_property
    def all_features(self) -> AllFeaturesPanel:
        """The panel with the features of all servers, created on first use."""
        from inspector.qt.panels.all_features import AllFeaturesPanel

        views, actions = self.servers.model.views, self.actions_table
        panel = AllFeaturesPanel(self._bridge, self.feature_lists, views, actions, self._theme)
        panel.feature_requested.connect(self._on_feature_requested)
        panel.selection_changed.connect(self._commands.update_copying)
        self._stack.addWidget(panel)
        return panel

    def shown_features(self) -> AllFeaturesPanel | None:
        """Return the panel with the features of all servers if it is shown."""
        panel: AllFeaturesPanel | None = vars(self).get("all_features")
        return panel if panel is not None and self._stack.currentWidget() is panel else None

    def _on_features_chosen(self) -> None:
        self._stack.setCurrentWidget(self.all_features)
        self.setWindowTitle("All features — MCP Lens")
        self._commands.update(None)
        self.all_features.search.setFocus()

    def _on_feature_requested(self, item: ServerFeature) -> None:
        self.command_palette.open_feature(item.kind, item.server, item.name)

    def _on_discovered_chosen(self) -> None:
        self._stack.setCurrentWidget(self.discovered_servers)
        self.setWindowTitle("Discovered servers — MCP Lens")
        self._commands.update(None)

    def _on_inbox_changed(self, inbox_request: InboxRequest) -> None:
        self.inbox.put(inbox_request)

    def _make_inbox(self, server: str) -> InboxPanel:
        return self.inbox.make_panel(server)

    def _workspace_of(self, view: ServerView) -> Workspace:
        """Return a server's workspace, created on first use."""
        if view.name not in self.workspaces:
            before = self.workspace()
            from inspector.qt.window.workspace import Workspace

            tab = before.tab_id if before is not None else TAB_IDS[0]
            actions = self.actions_table
            workspace = Workspace(self._bridge, view, actions, self._theme, self._make_inbox, tab)
            context = workspace.context
            context.call_readiness_changed.connect(self._commands.update_calls)
            context.readiness_changed.connect(self._commands.update_resources)
            context.reply_requested.connect(lambda inbox_id: self.inbox.go_to(view.name, inbox_id))
            context.row_requested.connect(self.traffic_commands.show_in_traffic)
            self.workspaces[view.name] = workspace
            if "inbox" in vars(self):
                context.set_requests(self.inbox.inbox_requests.of(view.name))
            if "drift_notice" in vars(self):
                self.drift_notice.notify(workspace)
            self._stack.addWidget(workspace)
        return self.workspaces[view.name]

    def _current_name(self) -> str:
        view = self.current_view()
        return view.name if view is not None else ""

    def _check_scheme(self) -> None:
        for scheme in Scheme:
            self.actions_table[f"theme.{scheme.value}"].setChecked(scheme is self._theme.scheme)

    def _restore(self) -> None:
        self._check_scheme()
        geometry, state = self._layout.value("geometry"), self._layout.value("state")
        if isinstance(geometry, QByteArray) and isinstance(state, QByteArray):
            self.restoreGeometry(geometry)
            self.restoreState(state, _LAYOUT_VERSION)

    def close_unasked(self) -> None:
        """Close the window even if rows are lost, as for a signal that ends the process."""
        self._may_lose_rows = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        rows = self.capture_notice.unsaved_rows()
        if rows and not self._may_lose_rows:
            event.ignore()
            self._ask_about_unsaved(rows)
            return
        self._layout.setValue("geometry", self.saveGeometry())
        self._layout.setValue("state", self.saveState(_LAYOUT_VERSION))
        secret_clipboard().clear()
        self.closing.emit()
        event.accept()

    def _ask_about_unsaved(self, rows: int) -> None:
        from inspector.qt.dialogs.traffic.captures import UnsavedRowsDialog

        state = self.capture_notice.recording
        if state is None or any(each.isVisible() for each in self.findChildren(UnsavedRowsDialog)):
            return
        dialog = UnsavedRowsDialog(self._theme, rows, state, self)
        dialog.save_requested.connect(lambda: self.captures.choose_and_save_running(self.close_unasked))
        dialog.discard_requested.connect(self.close_unasked)
        dialog.show()


def _short(name: str) -> str:
    """Return a server's name for the title bar: no hidden characters, limited in length."""
    return shorten(one_line(name), 80)
