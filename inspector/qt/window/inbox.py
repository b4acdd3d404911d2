"""Inbox controller of the window: panels, pending count, toasts, navigation to a request."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAction

from inspector.base.plain_text import one_line
from inspector.engine.inbox.views import InboxRequest
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.inbox import PendingRequestIndex, ended_text, is_notable_end, toast_text
from inspector.qt.panels.inbox.panel import InboxPanel, RequestViewCache
from inspector.qt.theme import Theme
from inspector.qt.widgets.notices.toasts import Toasts
from inspector.qt.window.tabs import INBOX

if TYPE_CHECKING:
    from inspector.qt.window.main_window import MainWindow
    from inspector.qt.window.workspace import Workspace

_SHOW = "traffic.inbox"


class InboxController(QObject):
    """The Inbox panels and notifications. Created for the first server request, or on first use."""

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._opener = LinkOpener()
        self._view_cache = RequestViewCache(bridge, theme, self._opener, self)
        self._panels: list[InboxPanel] = []
        self._unseen: list[InboxRequest] = []  # closed while not visible
        self.inbox_requests = PendingRequestIndex(self)
        self.toasts = Toasts(theme, window)
        self._show_unseen = QAction("Show in Inbox", self)
        self._dismiss_unseen = QAction("Dismiss", self)
        self._connect()

    def put(self, inbox_request: InboxRequest) -> None:
        """Add, update or close a request."""
        self.inbox_requests.put(inbox_request)

    @cached_property
    def overall(self) -> InboxPanel:
        """The Inbox of all servers."""
        return self.make_panel(None)

    def make_panel(self, server: str | None) -> InboxPanel:
        panel = InboxPanel(self._bridge, self._theme, self._opener, server, self._view_cache)
        panel.operation_requested.connect(lambda _, row: self._window.traffic_commands.show_in_traffic(row))
        panel.uri_requested.connect(self._on_uri_requested)
        panel.task_requested.connect(self._on_task_requested)
        panel.installEventFilter(self)
        panel.destroyed.connect(lambda: self._panels.remove(panel))
        self._panels.append(panel)
        return panel

    def go_to(self, server: str, inbox_id: int) -> None:
        """Show a request: in its server's tab if that server is current, otherwise in the Inbox of all."""
        workspace = self._window.workspace()
        if workspace is not None and workspace.view.name == server:
            panel = workspace.go_to(INBOX)
        else:
            self._window.servers.choose_inbox()
            panel = self.overall
        panel.list.setFocus()
        self._bridge.start("go to a server request", self._show(panel, inbox_id), panel)

    def is_in_view(self, server: str) -> bool:
        """Return whether the requests of a server are visible."""
        return any(each.isVisible() and each.model.server in (None, server) for each in self._panels)

    def _on_count_changed(self, server: str) -> None:
        inbox_requests = self.inbox_requests.of(server)
        self._window.servers.set_waiting(server, len(inbox_requests), self.inbox_requests.count)
        workspace = self._window.workspaces.get(server)
        if workspace is not None:
            workspace.context.set_requests(inbox_requests)
        self._update_traffic()

    def _on_opened(self, inbox_request: InboxRequest) -> None:
        if not self.is_in_view(inbox_request.server):
            self.toasts.put(inbox_request.id, *toast_text(inbox_request), action_text="Reply")

    def _on_ended(self, inbox_request: InboxRequest) -> None:
        self.toasts.withdraw(inbox_request.id)
        if is_notable_end(inbox_request) and not self.is_in_view(inbox_request.server):
            self._unseen.append(inbox_request)
            text = ended_text(self._unseen)
            self._window.strips.show_message(
                "inbox", text, "", [self._show_unseen, self._dismiss_unseen], "warn"
            )

    def _on_panel_shown(self, server: str | None) -> None:
        """Remove notifications about requests the user can see now."""
        for toast in self.toasts.all_keys():
            inbox_request = self.inbox_requests.inbox_request(toast)
            if inbox_request is None or server in (None, inbox_request.server):
                self.toasts.withdraw(toast)
        if any(server in (None, inbox_request.server) for inbox_request in self._unseen):
            self._clear_unseen()

    def _clear_unseen(self) -> None:
        self._unseen.clear()
        self._window.strips.close_topic("inbox")

    async def _show(self, panel: InboxPanel, inbox_id: int) -> None:
        if not panel.show_request(inbox_id):
            # A new panel has requested its own just before.
            await self._bridge.ask(lambda engine: engine.inbox.inbox_requests())
            panel.show_request(inbox_id)

    def _on_toast_clicked(self, inbox_id: int) -> None:
        inbox_request = self.inbox_requests.inbox_request(inbox_id)
        if inbox_request is not None:
            self.go_to(inbox_request.server, inbox_id)

    def _on_show_unseen(self) -> None:
        latest = self._unseen[-1]
        self.go_to(latest.server, latest.id)

    def _on_uri_requested(self, server: str, uri: str) -> None:
        if (workspace := self._workspace_of(server)) is not None:
            workspace.open_uri(uri)
        else:
            text = f"The server “{one_line(server)}” no longer exists, so its resource cannot be read."
            self._bridge.problem_found.emit(text)

    def _on_task_requested(self, server: str, id: str) -> None:
        if (workspace := self._workspace_of(server)) is not None:
            workspace.show_task(id)
        else:
            text = f"The server “{one_line(server)}” no longer exists, so its tasks cannot be shown."
            self._bridge.problem_found.emit(text)

    def _workspace_of(self, server: str) -> Workspace | None:
        """Select a server and return its workspace; None if it no longer exists."""
        self._window.servers.choose(server)
        workspace = self._window.workspace()
        return workspace if workspace is not None and workspace.view.name == server else None

    def _on_show_in_inbox(self) -> None:
        found = self._requested_in_traffic()
        if found is not None:
            self.go_to(*found)

    def _requested_in_traffic(self) -> tuple[str, int] | None:
        """Return the server and id of the request in the selected row, or of the row it replies to."""
        row = self._window.traffic.current_number()
        if row is None:
            return None
        partner = self._bridge.log.partner(row)
        return self.inbox_requests.requested_in(row) or (
            self.inbox_requests.requested_in(partner) if partner is not None else None
        )

    def _update_traffic(self) -> None:
        self._window.traffic.local_actions[_SHOW].setEnabled(self._requested_in_traffic() is not None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Show and isinstance(watched, InboxPanel):
            self._on_panel_shown(watched.model.server)
        return super().eventFilter(watched, event)

    def _connect(self) -> None:
        self.inbox_requests.counted.connect(self._on_count_changed)
        self.inbox_requests.opened.connect(self._on_opened)
        self.inbox_requests.ended.connect(self._on_ended)
        self.toasts.action_triggered.connect(self._on_toast_clicked)
        self.toasts.all_requested.connect(self._window.servers.choose_inbox)
        self._show_unseen.triggered.connect(self._on_show_unseen)
        self._dismiss_unseen.triggered.connect(self._clear_unseen)
        traffic = self._window.traffic
        traffic.current_changed.connect(self._update_traffic)
        traffic.local_actions[_SHOW].triggered.connect(self._on_show_in_inbox)
        self._update_traffic()
