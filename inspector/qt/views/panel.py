"""`Panel`, the content of a tab of one server, and `PanelContext`, which panels are created from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from inspector.engine.inbox.views import InboxRequest
    from inspector.engine.server_view import ServerView
    from inspector.qt.actions import Actions
    from inspector.qt.bridge import Bridge
    from inspector.qt.theme import Theme


class Panel(QWidget):
    """A panel of one server. A tab creates it from a `PanelContext` and shows the server's state in it."""

    def set_view(self, view: ServerView) -> None:
        """Show the server's state; called once the panel is created, and for each change."""

    def focus_first(self) -> None:
        """Focus what can be chosen from, not the button that happens to be first."""


class PanelContext(QObject):
    """What the panels of one server are created from, and what they tell each other and the window.

    `make_inbox` creates a server's Inbox: the Inboxes of a window share their request views.

    Signals:
        row_requested: The user wants to see a row in the traffic; carries its number.
        reply_requested: The user wants to reply to a server request; carries its Inbox ID.
        uri_requested: The user wants to read a resource; carries its URI.
        task_requested: The user wants to see a task; carries its ID.
        call_requested: The user wants to see a saved call in the Tools tab; carries the SavedCall.
        call_readiness_changed: What can be done with a tool may have changed.
        readiness_changed: What can be done with a resource or prompt may have changed.
        list_compared: A list was fetched again; carries its name and the ListChanges.
        requests_changed: The pending server requests changed; carries them.
    """

    row_requested = Signal(int)
    reply_requested = Signal(int)
    uri_requested = Signal(str)
    task_requested = Signal(str)
    call_requested = Signal(object)
    call_readiness_changed = Signal()
    readiness_changed = Signal()
    list_compared = Signal(str, object)
    requests_changed = Signal(object)

    def __init__(
        self,
        bridge: Bridge,
        server: str,
        actions: Actions,
        theme: Theme,
        make_inbox: Callable[[str], Panel],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.bridge, self.server = bridge, server
        self.actions, self.theme = actions, theme
        self.make_inbox = make_inbox
        self.requests: tuple[InboxRequest, ...] = ()  # pending
        self.running_tasks: set[str] = set()

    def set_requests(self, requests: tuple[InboxRequest, ...]) -> None:
        self.requests = requests
        self.requests_changed.emit(requests)
