"""Notices of the window: server list changes, Doctor results, drift, logins, secret store.

Each is a strip with a button that leads to the details; the secret store has a status bar entry once
there are secrets. `DoctorNotice` also starts the check of the current server when it fails to connect,
`LoginNotice` opens login pages in the browser.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakSet

import shiboken6
from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QMainWindow, QSizeGrip, QStatusBar, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.web_link import may_open, read_link
from inspector.config.secrets.records import SecretsState
from inspector.config.servers.entry_diff import ServerListDiff
from inspector.engine.doctor.results import Examination
from inspector.engine.drift.drift import DriftView
from inspector.engine.login.logins import LoginRequested
from inspector.engine.views import ServerStatus, ServerView
from inspector.oauth.login.steps import LoginView
from inspector.oauth.login_reason import LoginReason
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.compare.drift_rows import strip_text
from inspector.qt.models.discovered_servers import change_text
from inspector.qt.models.secrets import is_worth_showing, status_hint, status_text, status_tone
from inspector.qt.theme import ICON_SIZE, Theme
from inspector.qt.widgets.text.labels import plain_tooltip

if TYPE_CHECKING:
    from inspector.engine.servers.registry import ServerRegistry
    from inspector.qt.dialogs.drift import DriftDialog
    from inspector.qt.dialogs.servers.server_list_changes import ServerListChangesDialog
    from inspector.qt.window.main_window import MainWindow
    from inspector.qt.window.workspace import Workspace

_ABOUT = "server_list"
_MAX_CACHED = 50


class ServerListNotice(QObject):
    """Reports changes to the server list. Created for the first one.

    Changes since the strip was last dismissed are shown together.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._bridge, self._theme = window, bridge, theme
        self._changes: deque[tuple[datetime, ServerListDiff]] = deque(maxlen=_MAX_CACHED)
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
        async def name(servers: ServerRegistry) -> str:
            return servers.server_list.path.name if servers.server_list is not None else "The server list"

        file = await self._bridge.ask_servers(name)
        if shiboken6.isValid(self._window):
            text = f"{one_line(file)} changed on disk: {change_text(diff)}."
            self._window.strips.show_message(_ABOUT, text, self._show, "accent", self._dismiss)

    def _on_closed(self) -> None:
        self._dialog = None

    def _on_dismissed(self) -> None:
        self._window.strips.withdraw(_ABOUT)
        self._changes.clear()


_ABOUT_DOCTORNEWS = "doctor"


class DoctorNotice(QObject):
    """Reports Doctor results. Created for the first server that fails, or the first check.

    A server that was in use and is lost is not checked automatically: that would restart it unasked.
    """

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._watched: WeakSet[Workspace] = WeakSet()
        self._see = QAction("Open Doctor", self)
        self._see.triggered.connect(lambda: window.show_tab("doctor"))

    def follow(self, before: ServerStatus, view: ServerView) -> None:
        """Handle a changed server, which may have failed while it is shown."""
        workspace = self._window.workspaces.get(view.name)
        if view.status is not ServerStatus.FAILED:
            if workspace is not None:
                workspace.strips.withdraw(_ABOUT_DOCTORNEWS)
            return
        is_in_front = workspace is not None and self._window.workspace() is workspace
        if before is ServerStatus.CONNECTING and is_in_front:
            self._bridge.start(f"examine {view.name}", self._examine(view.name))

    async def _examine(self, server: str) -> None:
        try:
            await self._bridge.ask_doctor(lambda doctor: doctor.look_into_failure(server))
        except UserError:
            return  # removed meanwhile

    def put(self, examination: Examination) -> None:
        """Handle progress of a check: its end is reported where the user is."""
        workspace = self._window.workspaces.get(examination.server)
        if workspace is None:
            return
        failure = examination.failure
        is_up = workspace.view.status is ServerStatus.CONNECTED  # reconnected, or never lost
        if examination.is_running or failure is None or is_up or workspace.is_at("doctor"):
            workspace.strips.withdraw(_ABOUT_DOCTORNEWS)
            return
        if workspace not in self._watched:
            self._watched.add(workspace)
            workspace.tab_changed.connect(self._on_tab_changed)
        workspace.strips.show_message(_ABOUT_DOCTORNEWS, failure.cause, self._see, "error")

    def _on_tab_changed(self) -> None:
        """Remove the strip once the user sees the Doctor tab."""
        workspace = self._window.workspace()
        if workspace is not None and workspace.is_at("doctor"):
            workspace.strips.withdraw(_ABOUT_DOCTORNEWS)


_ABOUT_DRIFTNEWS = "drift"


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
        if view is None or view.is_saved or not (view.changes or view.problem):
            workspace.strips.withdraw(_ABOUT_DRIFTNEWS)
            return
        workspace.strips.show_message(_ABOUT_DRIFTNEWS, strip_text(view), self._review(view.server), "warn")

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
        self._shows: dict[str, QAction] = {}

    def put(self, login: LoginView) -> None:
        """Handle a changed login."""
        name = one_line(login.server)
        if login.is_over or self._is_in_view(login.server):
            self._withdraw(login.server)
        elif login.question is not None:
            self._show_message(login.server, f"The login to {name} needs your input.")
        elif login.waiting is not None:
            self._show_message(login.server, f"{name}: waiting for login in the browser.")
        else:
            self._withdraw(login.server)

    def want(self, wanted: LoginRequested) -> None:
        """Report that a server in use requires a login. On connect, the server's state shows it."""
        if wanted.occasion is not LoginReason.CONNECT and not self._is_in_view(wanted.server):
            self._show_message(wanted.server, f"{one_line(wanted.server)}: {one_line(wanted.reason)}")

    def open_page(self, url: str) -> None:
        """Open a login page after the user started the login. Raises UserError.

        Without a browser the login continues all the same: the user may have one elsewhere.
        """
        try:
            self.opener.open(url)
        except UserError as exc:
            if may_open(read_link(url)):  # returns why not
                raise
            self._window.notices.show_problem(f"{exc.summary} {exc.next_step}".strip())

    def _is_in_view(self, server: str) -> bool:
        workspace = self._window.workspaces.get(server)
        return workspace is not None and workspace.is_at("auth")

    def _show_message(self, server: str, text: str) -> None:
        if server not in self._shows:
            self._shows[server] = QAction("Show login", self)
            self._shows[server].triggered.connect(partial(self._show, server))
        self._window.strips.show_message(_about(server), text, self._shows[server])

    def _withdraw(self, server: str) -> None:
        self._window.strips.withdraw(_about(server))

    def _show(self, server: str) -> None:
        self._window.servers.choose(server)
        self._window.show_tab("auth")
        self._withdraw(server)


def _about(server: str) -> str:
    return f"login {server}"


class SecretsStatus(QToolButton):
    """The state of the secret store in the status bar. A click triggers `action`."""

    def __init__(self, bridge: Bridge, theme: Theme, action: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._state: SecretsState | None = None
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.clicked.connect(action.trigger)
        bridge.secrets_changed.connect(self.show_state)
        theme.changed.connect(self._apply_theme)

    def show_state(self, state: SecretsState) -> None:
        self._state = state
        text = status_text(state)
        self.setText(text)
        self.setAccessibleName(text)
        self.setToolTip(plain_tooltip(status_hint(state)))
        self._apply_theme()
        self.setVisible(is_worth_showing(state))
        bar = self.parentWidget()
        if isinstance(bar, QStatusBar):
            _show_bar(bar)

    def _apply_theme(self) -> None:
        if self._state is None:
            return
        tone = status_tone(self._state)
        self._theme.set_icon(self, "warning" if tone == "warn" else "key", tone)
        colors = QPalette(self.palette())
        colors.setColor(QPalette.ColorRole.ButtonText, self._theme.color(tone))
        self.setPalette(colors)


def show_in_status_bar(window: QMainWindow, text: str, seconds: int) -> None:
    """Show a message for a while; a bar created only for it is hidden again."""
    _bar_of(window).showMessage(text, seconds * 1_000)


def _bar_of(window: QMainWindow) -> QStatusBar:
    """Return the window's status bar, created on first use."""
    known = window.findChild(QStatusBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    if known is not None:
        return known
    bar = window.statusBar()
    bar.setSizeGripEnabled(False)
    bar.messageChanged.connect(lambda _: _show_bar(bar))
    return bar


def _show_bar(bar: QStatusBar) -> None:
    """Hide the bar while it is empty."""
    inside = bar.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    is_used = any(not each.isHidden() for each in inside if not isinstance(each, QSizeGrip))
    bar.setVisible(is_used or bool(bar.currentMessage()))


def add_to_status_bar(
    window: QMainWindow, bridge: Bridge, theme: Theme, action: QAction, state: SecretsState
) -> SecretsStatus | None:
    """Add the entry if there is something to show; without secrets there is no status bar."""
    if not is_worth_showing(state):
        return None
    status = SecretsStatus(bridge, theme, action)
    _bar_of(window).addPermanentWidget(status)
    status.show_state(state)
    return status
