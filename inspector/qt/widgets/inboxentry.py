"""The way to the questions of all servers: a row above the list of servers, with their number."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from inspector.base.units import plural
from inspector.qt.theme import Theme
from inspector.qt.widgets.sidebarentry import SidebarEntry


class InboxEntry(SidebarEntry):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Inbox", "inbox", parent=parent)
        self.set_count(0)

    def set_count(self, count: int) -> None:
        """Show the number of pending server requests."""
        waits = f"{plural(count, 'question')} {'waits' if count == 1 else 'wait'} for you"
        self.show_count(count, waits if count else "No server asks anything", "Ctrl+I")
