"""Opens what a traffic panel or a workspace asks for: a request to send again, two things to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from inspector.qt.bridge import Bridge

if TYPE_CHECKING:
    from inspector.qt.window.mainwindow import MainWindow
    from inspector.qt.window.workspace import Workspace


class Opening(QObject):
    """The dialogs are imported when the first one is needed."""

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge

    def watch_workspace(self, workspace: Workspace) -> None:
        workspace.raw.row_requested.connect(self.show_in_traffic)

    def show_in_traffic(self, row: int) -> None:
        """Go to a row of the running traffic."""
        window = self._window
        window.captures.bring_to_front(window.traffic)
        window.traffic.go_to(row)

    def send_raw(self) -> None:
        """Send what is written in the Raw tab of the server in front, which comes to the front."""
        workspace = self._window.workspace()
        if workspace is not None:
            workspace.show_tab("raw")
            workspace.raw.send()
