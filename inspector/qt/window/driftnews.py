"""Drift in a window: a line above what a server offers that says what changed, and leads to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.engine.drift import DriftView
from inspector.qt.bridge import Bridge
from inspector.qt.models.driftrows import strip_words
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.qt.dialogs.drift import DriftDialog
    from inspector.qt.window.mainwindow import MainWindow
    from inspector.qt.window.workspace import Workspace

_ABOUT = "drift"


class DriftNews(QObject):
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
            self.tell(workspace)

    def tell(self, workspace: Workspace) -> None:
        """Show or remove the strip in a server's workspace."""
        view = self._views.get(workspace.view.name)
        if view is None or view.is_kept or not (view.changes or view.problem):
            workspace.strips.take_back(_ABOUT)
            return
        workspace.strips.say(_ABOUT, strip_words(view), self._review(view.server), "warn")

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
