"""Notices of the window: server list changes, Doctor results, drift and logins.

Each is a strip with a button that leads to the details. `DoctorNotice` also starts the check of the
current server when it fails to connect, `LoginNotice` opens login pages in the browser.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.web_link import read_link
from inspector.config.servers.entry_diff import ServerListDiff
from inspector.engine.doctor.results import CheckReport
from inspector.engine.drift.drift import DriftView
from inspector.engine.login.logins import LoginRequested
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.oauth.login.steps import LoginView
from inspector.oauth.login_reason import LoginReason
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.compare.drift_rows import notice_text
from inspector.qt.models.servers import server_list_changes_text
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.qt.dialogs.drift import DriftDialog
    from inspector.qt.dialogs.servers.server_list_changes import ServerListChangesDialog
    from inspector.qt.window.main_window import MainWindow
    from inspector.qt.window.workspace import Workspace

# Keys of the strips.
_SERVER_LIST, _DOCTOR, _DRIFT = "server_list", "doctor", "drift"
_MAX_CHANGES = 50


class ServerListNotice(QObject):
    """Reports changes to the server list. Created for the first one.

    Changes since the strip was last dismissed are shown together.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme
        self._changes: deque[tuple[datetime, ServerListDiff]] = deque(maxlen=_MAX_CHANGES)
        self._dialog: ServerListChangesDialog | None = None
        self._show, self._dismiss = QAction("Show…", self), QAction("Dismiss", self)
        self._show.triggered.connect(self.open)
        self._dismiss.triggered.connect(self._on_dismissed)

    def put(self, diff: ServerListDiff) -> None:
        self._changes.append((datetime.now().astimezone(), diff))
        if self._dialog is not None:
            self._dialog.show_changes(list(self._changes))
        self._bridge.start("server list changed", self._show_message(diff))

    def open(self) -> None:
        from inspector.qt.dialogs.servers.server_list_changes import ServerListChangesDialog

        if self._dialog is None:
            self._dialog = ServerListChangesDialog(self._theme, list(self._changes), self._window)
            self._dialog.finished.connect(self._on_closed)
            self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    async def _show_message(self, diff: ServerListDiff) -> None:
        file = await self._bridge.ask(
            lambda engine: saved.path.name if (saved := engine.servers.server_list) else "The server list"
        )
        if shiboken6.isValid(self._window):
            text = f"{one_line(file)} changed on disk: {server_list_changes_text(diff)}."
            self._window.strips.show_message(_SERVER_LIST, text, "", [self._show, self._dismiss], "accent")

    def _on_closed(self) -> None:
        self._dialog = None

    def _on_dismissed(self) -> None:
        self._window.strips.close_topic(_SERVER_LIST)
        self._changes.clear()


class DoctorNotice(QObject):
    """Reports Doctor results. Created for the first server that fails, or the first check.

    A server that was in use and is lost is not checked automatically: that would restart it unasked.
    """

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._watched: WeakSet[Workspace] = WeakSet()
        self._show_diagnosis = QAction("Show diagnosis", self)
        self._show_diagnosis.triggered.connect(lambda: window.show_tab("doctor"))

    def follow(self, before: ServerStatus, view: ServerView) -> None:
        """Handle a changed server, which may have failed while it is shown."""
        workspace = self._window.workspaces.get(view.name)
        if view.status is not ServerStatus.FAILED:
            if workspace is not None:
                workspace.strips.close_topic(_DOCTOR)
            return
        is_in_front = workspace is not None and self._window.workspace() is workspace
        if before is ServerStatus.CONNECTING and is_in_front:
            self._bridge.start(f"check {view.name}", self._check(view.name))

    async def _check(self, server: str) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.doctor.check_after_failure(server))
        except UserError:
            return  # removed meanwhile

    def put(self, report: CheckReport) -> None:
        """Handle progress of a check: its end is reported where the user is."""
        workspace = self._window.workspaces.get(report.server)
        if workspace is None:
            return
        failure = report.failure
        is_up = workspace.view.status is ServerStatus.CONNECTED  # reconnected, or never lost
        if report.is_running or failure is None or is_up or workspace.is_at("doctor"):
            workspace.strips.close_topic(_DOCTOR)
            return
        if workspace not in self._watched:
            self._watched.add(workspace)
            workspace.tab_changed.connect(self._on_tab_changed)
        workspace.strips.show_message(_DOCTOR, failure.cause, "", [self._show_diagnosis], "error")

    def _on_tab_changed(self) -> None:
        """Remove the strip once the user sees the Doctor tab."""
        workspace = self._window.workspace()
        if workspace is not None and workspace.is_at("doctor"):
            workspace.strips.close_topic(_DOCTOR)


class DriftNotice(QObject):
    """Reports changes since the baseline. Created when the first lists are compared or viewed."""

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._views: dict[str, DriftView] = {}
        self._actions: dict[str, QAction] = {}
        self._dialogs: dict[str, DriftDialog] = {}

    def put(self, view: DriftView) -> None:
        """Handle a changed difference between a server and its baseline."""
        self._views[view.server] = view
        workspace = self._window.workspaces.get(view.server)
        if workspace is not None:
            self.notify(workspace)

    def notify(self, workspace: Workspace) -> None:
        """Show or remove the strip in a server's workspace."""
        view = self._views.get(workspace.view.name)
        if view is None or view.is_acknowledged or not (view.changes or view.problem):
            workspace.strips.close_topic(_DRIFT)
            return
        workspace.strips.show_message(_DRIFT, notice_text(view), "", [self._review(view.server)], "warn")

    def open(self, server: str) -> None:
        """Open the changes, item by item. One window per server."""
        from inspector.qt.dialogs.drift import DriftDialog

        if server in self._dialogs:
            self._dialogs[server].raise_()
            self._dialogs[server].activateWindow()
            return
        dialog = self._dialogs[server] = DriftDialog(self._bridge, self._theme, server, self._window)
        dialog.finished.connect(lambda: self._dialogs.pop(server, None))
        dialog.show()

    def _review(self, server: str) -> QAction:
        if server not in self._actions:
            self._actions[server] = QAction("Review…", self)
            self._actions[server].triggered.connect(lambda: self.open(server))
        return self._actions[server]


class LoginNotice(QObject):
    """Reports logins that are not in view. Created for the first login."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.opener = LinkOpener()
        self._actions: dict[str, QAction] = {}

    def put(self, login: LoginView) -> None:
        """Handle a changed login."""
        name = one_line(login.server)
        if login.is_over or self._is_in_view(login.server):
            self._withdraw(login.server)
        elif login.prompt is not None:
            self._show_message(login.server, f"The login to {name} needs your input.")
        elif login.waiting is not None:
            host = read_link(login.waiting.authorization_url).ascii_host
            self._show_message(login.server, f"{name}: waiting for login in the browser at {host}.")
        else:
            self._withdraw(login.server)

    def show_requested(self, requested: LoginRequested) -> None:
        """Report that a server in use requires a login. On connect, the server's state shows it."""
        if requested.occasion is not LoginReason.CONNECT and not self._is_in_view(requested.server):
            self._show_message(
                requested.server, f"{one_line(requested.server)}: {one_line(requested.reason)}"
            )

    def open_page(self, url: str) -> None:
        """Open a login page after the user started the login. Raises UserError.

        Without a browser the login continues all the same: the user may have one elsewhere.
        """
        try:
            self.opener.open(url)
        except UserError as exc:
            if read_link(url).problem:  # returns why not
                raise
            self._window.notices.show_problem(f"{exc.summary} {exc.next_step}".strip())

    def _is_in_view(self, server: str) -> bool:
        workspace = self._window.workspaces.get(server)
        return workspace is not None and workspace.is_at("auth")

    def _show_message(self, server: str, text: str) -> None:
        if server not in self._actions:
            self._actions[server] = QAction("Show login", self)
            self._actions[server].triggered.connect(partial(self._show, server))
        self._window.strips.show_message(_strip_key(server), text, "", [self._actions[server]])

    def _withdraw(self, server: str) -> None:
        self._window.strips.close_topic(_strip_key(server))

    def _show(self, server: str) -> None:
        self._window.servers.choose(server)
        self._window.show_tab("auth")
        self._withdraw(server)


def _strip_key(server: str) -> str:
    return f"login {server}"
