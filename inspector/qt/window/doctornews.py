"""The doctor in a window: a server in front that cannot be connected is examined, and a line says why."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.base.errors import UserError
from inspector.engine.doctor.checks import Examination
from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.bridge import Bridge

if TYPE_CHECKING:
    from inspector.qt.window.mainwindow import MainWindow
    from inspector.qt.window.workspace import Workspace

_ABOUT = "doctor"


class DoctorNews(QObject):
    """Reports Doctor results. Created for the first server that fails, or the first check.

    A server that was in use and is lost is not checked automatically: that would restart it unasked.
    """

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._watched: WeakSet[Workspace] = WeakSet()
        self._see = QAction("See the doctor", self)
        self._see.triggered.connect(lambda: window.show_tab("doctor"))

    def follow(self, before: ServerStatus, view: ServerView) -> None:
        """Handle a changed server, which may have failed while it is shown."""
        workspace = self._window.workspaces.get(view.name)
        if view.status is not ServerStatus.FAILED:
            if workspace is not None:
                workspace.strips.take_back(_ABOUT)
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
            workspace.strips.take_back(_ABOUT)
            return
        if workspace not in self._watched:
            self._watched.add(workspace)
            workspace.tab_changed.connect(self._on_tab_changed)
        workspace.strips.say(_ABOUT, failure.cause, self._see, "error")

    def _on_tab_changed(self) -> None:
        """Remove the strip once the user sees the Doctor tab."""
        workspace = self._window.workspace()
        if workspace is not None and workspace.is_at("doctor"):
            workspace.strips.take_back(_ABOUT)
