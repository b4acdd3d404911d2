"""Opens what a traffic panel or a workspace asks for: a request to send again, two things to compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, QSettings

from inspector.qt.bridge import Bridge
from inspector.qt.theme import Theme

if TYPE_CHECKING:
    from inspector.qt.models.comparechoices import CompareChoices
    from inspector.qt.models.comparison import Side
    from inspector.qt.panels.traffic.panel import TrafficPanel
    from inspector.qt.window.mainwindow import MainWindow
    from inspector.qt.window.workspace import Workspace

_SET_LEFT, _COMPARE_LEFT = "traffic.left_side", "traffic.compare_left"


class Opening(QObject):
    """Opens dialogs for traffic. They are imported on demand; none of them is modal.

    Also remembers the row set as the left side of a comparison: the right one may be in another capture.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme, layout: QSettings) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._layout = layout
        self._left: Side | None = None
        self._panels: list[TrafficPanel] = []

    @cached_property
    def _choices(self) -> CompareChoices:
        from inspector.qt.models.comparechoices import CompareChoices

        return CompareChoices(self._layout, self)

    # -------------------------------------------------------------- who asks

    def watch(self, panel: TrafficPanel) -> None:
        """Connect a new traffic panel."""
        self._panels.append(panel)
        panel.resend_requested.connect(partial(self.open_resend, panel))
        panel.compare_requested.connect(partial(self._on_compare_requested, panel))
        panel.actions_here[_SET_LEFT].triggered.connect(partial(self._on_left_set, panel))
        panel.actions_here[_COMPARE_LEFT].triggered.connect(partial(self._on_compare_with_left, panel))
        panel.current_changed.connect(partial(self._update, panel))
        self._update(panel)

    def watch_workspace(self, workspace: Workspace) -> None:
        workspace.raw.row_requested.connect(self.show_in_traffic)
        workspace.row_requested.connect(self.show_in_traffic)

    # -------------------------------------------------------------- raw messages

    def show_in_traffic(self, row: int) -> None:
        """Go to a row of the running traffic."""
        window = self._window
        window.captures.bring_to_front(window.traffic)
        window.traffic.go_to(row)

    def send_raw(self) -> None:
        """Show the current server's Raw tab and send what is typed there."""
        workspace = self._window.workspace()
        if workspace is not None:
            workspace.show_tab("raw")
            workspace.raw.send()

    def open_resend(self, panel: TrafficPanel, row: int) -> None:
        """Edit and resend a sent message."""
        from inspector.qt.dialogs.resend import ResendDialog

        window, source = self._window, panel.source
        views = window.servers.model.views()
        dialog = ResendDialog(self._bridge, self._theme, source, row, views, window)
        dialog.row_requested.connect(self.show_in_traffic)
        dialog.compare_requested.connect(partial(self._on_compare_with_old, panel, row))
        dialog.show()

    def _on_compare_with_old(self, panel: TrafficPanel, old: int, new: int) -> None:
        answer, new_answer = panel.source.log.partner(old), self._bridge.log.partner(new)
        left = self._side(panel, old if answer is None else answer)
        self.open_compare(left, self._side(self._window.traffic, new if new_answer is None else new_answer))

    # -------------------------------------------------------------- comparing

    def open_compare(self, left: Side, right: Side) -> None:
        from inspector.qt.dialogs.compare import CompareDialog

        CompareDialog(self._bridge, self._theme, left, right, self._choices, self._window).show()

    def open_compare_captures(self) -> None:
        """Compare two of the open captures."""
        from inspector.qt.dialogs.comparecaptures import CompareCapturesDialog

        sources = [panel.source for panel in self._window.captures.panels()]
        dialog = CompareCapturesDialog(self._theme, sources, self._choices, self._window)
        dialog.pair_requested.connect(self.open_compare)
        dialog.show()

    def _on_compare_requested(self, panel: TrafficPanel, rows: Sequence[int]) -> None:
        if len(rows) == 2:
            first, second = sorted(rows)
            self.open_compare(self._side(panel, first), self._side(panel, second))

    def _on_left_set(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        if row is not None:
            self._left = self._side(panel, row)
            panel.strips.say("left side", f"Row {row + 1:,} is the left side of the next comparison.")
        self._panels = [each for each in self._panels if shiboken6.isValid(each)]
        for each in self._panels:
            self._update(each)

    def _on_compare_with_left(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        if row is None or self._left is None:
            return
        for each in self._panels:
            if shiboken6.isValid(each):
                each.strips.take_back("left side")
        self.open_compare(self._left, self._side(panel, row))

    def _update(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        panel.actions_here[_SET_LEFT].setEnabled(row is not None)
        panel.actions_here[_COMPARE_LEFT].setEnabled(row is not None and self._left is not None)

    def _side(self, panel: TrafficPanel, row: int) -> Side:
        from inspector.qt.models.comparison import Side

        return Side(panel.source.log, row, panel.source.title)
