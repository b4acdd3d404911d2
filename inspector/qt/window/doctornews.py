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
    """Made for the first server that fails, or the first examination.

    A server that was used and is lost is not examined by itself: that would start it again unasked.
    """

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._watched: WeakSet[Workspace] = WeakSet()
        self._see = QAction("See the doctor", self)
        self._see.triggered.connect(lambda: window.show_tab("doctor"))

    def follow(self, before: ServerStatus, view: ServerView) -> None:
        """A server stands differently: it may have failed in front of the person."""
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
            return  # it was removed meanwhile

    def put(self, examination: Examination) -> None:
        """An examination goes on: its end is told where the person is."""
        workspace = self._window.workspaces.get(examination.server)
        if workspace is None:
            return
        failure = examination.failure
        is_up = workspace.view.status is ServerStatus.CONNECTED  # meanwhile, or all along
        if examination.is_running or failure is None or is_up or workspace.is_at("doctor"):
            workspace.strips.take_back(_ABOUT)
            return
        if workspace not in self._watched:
            self._watched.add(workspace)
            workspace.tab_changed.connect(self._on_tab_changed)
        workspace.strips.say(_ABOUT, failure.cause, self._see, "error")

    def _on_tab_changed(self) -> None:
        """Who sees the doctor need not be led there."""
        workspace = self._window.workspace()
        if workspace is not None and workspace.is_at("doctor"):
            workspace.strips.take_back(_ABOUT)
