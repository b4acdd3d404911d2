"""Inbox panel: pending and ended server requests of one server or of all.

A request has one view per window, so typed input stays wherever the request is opened next.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.inbox.views import InboxRequest
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.inbox import InboxModel
from inspector.qt.panels.inbox.request_list import RequestList
from inspector.qt.panels.inbox.request_view import RequestView
from inspector.qt.theme import Theme
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.code.raw_edit import claim_keys, is_submit
from inspector.qt.widgets.layout import PanelHeader, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState

_MAX_ENDED = 20
_TICK_MS = 1_000
_WIDTHS = [300, 840]
_HINT = (
    "Sampling requests, form elicitations and URL elicitations wait here for your reply. Try the tool "
    "“elicit_form” of the demo server “everything”."
)


def server_inbox(context: PanelContext) -> Panel:
    """Return the Inbox of one server, for its tab."""
    return context.make_inbox(context.server)


class InboxPanel(Panel):
    """The Inbox. `server` restricts it to one server; None shows all.

    Panels of one window share a `view_cache`.

    Signals:
        count_changed: Carries the number of pending requests.
        operation_requested: Show a call in the traffic; carries the server and the row.
        uri_requested: Read a resource; carries the server and the URI.
        task_requested: Show a task; carries the server and the task's id.
    """

    help_page = "inbox"
    count_changed = Signal(int)
    operation_requested = Signal(str, int)
    uri_requested = Signal(str, str)
    task_requested = Signal(str, str)

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        opener: LinkOpener,
        server: str | None = None,
        view_cache: RequestViewCache | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme = bridge, theme
        self.view_cache = view_cache or RequestViewCache(bridge, theme, opener, self)
        self.model = InboxModel(server)
        self.model.setParent(self)
        self.list = RequestList(theme, self.model)
        self._header = PanelHeader(theme, "Inbox")
        self._empty = EmptyState(theme)
        self._empty.show_empty("inbox", "No server requests", _HINT)
        self._view_area = QWidget()
        self._request_column = _column(self._view_area)
        self._no_selection = EmptyState(theme)
        self._no_selection.show_empty("inbox", "No pending requests", "Select a request to read it again.")
        self._request_column.addWidget(self._no_selection)
        self._shown: RequestView | None = None
        self._advances = False  # the shown request has ended: the next one replaces it
        self._count = 0
        self._tick_timer = QTimer(self, interval=_TICK_MS)
        self._changes: list[InboxRequest] = []
        self._change_timer = QTimer(self, interval=0, singleShot=True)
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()
        bridge.start_when_attached("load the inbox", self._load())

    @property
    def count(self) -> int:
        """The number of pending requests."""
        return len(self.model.open_requests)

    @property
    def request_view(self) -> RequestView | None:
        """The view of the selected request."""
        view = self._shown
        if view is None or not shiboken6.isValid(view) or view.parentWidget() is not self._view_area:
            return None  # in another panel, or deleted with it
        return view

    def show_request(self, inbox_id: int) -> bool:
        """Select a request; return False if it is not, or no longer, in the list."""
        if self._changes:
            self._on_changes()
        row = self.model.row_of(inbox_id)
        inbox_request = self.model.inbox_request(row) if row is not None else None
        if inbox_request is None:
            return False
        self.list.select(inbox_id)
        self._show_view(inbox_request)
        return True

    def focus_first(self) -> None:
        self.list.setFocus()

    async def _load(self) -> None:
        for inbox_request in await self._bridge.ask(
            lambda engine: (*engine.inbox.past(), *engine.inbox.inbox_requests())
        ):
            self._apply(inbox_request)
        self._update()

    def _on_inbox_changed(self, inbox_request: InboxRequest) -> None:
        if self.model.server is None or inbox_request.server == self.model.server:
            self._changes.append(inbox_request)
            self._change_timer.start()

    def _on_changes(self) -> None:
        """Apply a batch of changes by age, so that the oldest request is shown."""
        changes, self._changes = self._changes, []
        for inbox_request in sorted(changes, key=lambda inbox_request: inbox_request.id):
            self._apply(inbox_request)
        self._update()

    def _apply(self, inbox_request: InboxRequest) -> None:
        self.list.put(inbox_request)
        current = self.list.current()
        if inbox_request.is_open and (current is None or (self._advances and not current.is_open)):
            self.show_request(inbox_request.id)
        elif (
            not inbox_request.is_open
            and self._advances
            and current is not None
            and current.id == inbox_request.id
        ):
            self._show_oldest()

    def _on_replied(self, inbox_id: int) -> None:
        current = self.list.current()
        if current is None or current.id != inbox_id:
            return
        self._advances = True
        if not current.is_open:
            self._show_oldest()

    def _show_oldest(self) -> None:
        """Show the oldest pending request; if there is none, the current one stays."""
        pending = self.model.open_requests
        if pending:
            self.show_request(pending[0].id)

    def _on_chosen(self, inbox_request: InboxRequest) -> None:
        self._advances = False
        self._show_view(inbox_request)

    def _on_entered(self) -> None:
        if self.request_view is not None:
            self.request_view.focus_first_item()

    def _show_view(self, inbox_request: InboxRequest) -> None:
        if inbox_request.is_open:
            self._advances = False
        if not self.isVisible():
            return  # the front panel has the view; it moves here when shown
        view = self.view_cache.view_of(inbox_request)
        if view is self.request_view:
            return
        had_focus = self._view_area.isAncestorOf(QApplication.focusWidget() or self.list)
        self._hide_view()
        self._shown = view
        view.show_request(inbox_request)
        self._no_selection.hide()
        self._request_column.addWidget(view)
        view.show()
        if had_focus:  # the focused widget is hidden: from the list, Tab leads into the request
            self.list.setFocus()

    def _hide_view(self) -> None:
        view = self.request_view
        if view is not None:
            self._request_column.removeWidget(view)
            view.hide()
            self.view_cache.hide_view(view)
        self._shown = None

    def _update(self) -> None:
        self._pages.setCurrentIndex(1 if self.model.rowCount() else 0)
        self._header.set_detail(f"{self.count:,} pending" if self.count else "")
        if self.count != self._count:
            self._count = self.count
            self.count_changed.emit(self.count)

    def _on_tick(self) -> None:
        self.model.tick()
        if self.request_view is not None:
            self.request_view.tick()

    def event(self, event: QEvent) -> bool:
        # The window has another command on these keys; here they send.
        return claim_keys(event, is_submit) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not is_submit(event):
            super().keyPressEvent(event)
        elif self.request_view is not None:
            self.request_view.submit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tick_timer.start()
        self._on_tick()
        current = self.list.current()
        if current is None or not current.is_open:
            self._show_oldest()
            current = self.list.current()
        if current is not None:
            self._show_view(current)

    def hideEvent(self, event: QHideEvent) -> None:
        self._tick_timer.stop()
        super().hideEvent(event)

    def _connect(self) -> None:
        self._bridge.inbox_changed.connect(self._on_inbox_changed)
        self.list.chosen.connect(self._on_chosen)
        self.list.entered.connect(self._on_entered)
        self.view_cache.replied.connect(self._on_replied)
        self.view_cache.operation_requested.connect(self._on_operation_requested)
        self.view_cache.uri_requested.connect(self._on_uri_requested)
        self.view_cache.task_requested.connect(self._on_task_requested)
        self._tick_timer.timeout.connect(self._on_tick)
        self._change_timer.timeout.connect(self._on_changes)

    def _on_operation_requested(self, server: str, row: int) -> None:
        if self.isVisible():
            self.operation_requested.emit(server, row)

    def _on_uri_requested(self, server: str, uri: str) -> None:
        if self.isVisible():
            self.uri_requested.emit(server, uri)

    def _on_task_requested(self, server: str, id: str) -> None:
        if self.isVisible():
            self.task_requested.emit(server, id)

    def _lay_out(self) -> None:
        left = QWidget()
        column = _column(left)
        column.addWidget(self._header)
        column.addWidget(self.list, 1)
        splitter = hsplit(left, self._view_area, sizes=_WIDTHS, stretch=1)
        self._pages.addWidget(self._empty)
        self._pages.addWidget(splitter)
        _column(self).addWidget(self._pages)
        name = "Inbox" if self.model.server is None else f"Inbox of {one_line(self.model.server)}"
        self.setAccessibleName(name)


def _column(widget: QWidget) -> QVBoxLayout:
    return vbox(widget, gap=0)


class RequestViewCache(QObject):
    """The views of Inbox requests, shared by all Inbox panels of a window.

    A request has one view, which belongs to the panel in front.

    Signals:
        operation_requested, uri_requested, task_requested: As in `RequestView`.
        replied: The user has replied to a request; carries its ID.
    """

    operation_requested = Signal(str, int)
    uri_requested = Signal(str, str)
    task_requested = Signal(str, str)
    replied = Signal(int)

    def __init__(
        self, bridge: Bridge, theme: Theme, opener: LinkOpener, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme, self._opener = bridge, theme, opener
        self._views: dict[int, RequestView] = {}
        self._hidden_parent = QWidget()  # parent of views not shown in any panel
        self.destroyed.connect(self._hidden_parent.deleteLater)
        bridge.inbox_changed.connect(self._on_inbox_changed)

    def view_of(self, inbox_request: InboxRequest) -> RequestView:
        """Return the view of a request, created on first use."""
        view = self._valid_view(inbox_request.id)
        self._views.pop(inbox_request.id, None)
        if view is None:
            view = RequestView(self._bridge, self._theme, self._opener, inbox_request, self._hidden_parent)
            view.operation_requested.connect(self.operation_requested)
            view.uri_requested.connect(self.uri_requested)
            view.task_requested.connect(self.task_requested)
            view.replied.connect(lambda: self.replied.emit(inbox_request.id))
        self._views[inbox_request.id] = view  # moved to the end
        self._drop_ended()
        return view

    def hide_view(self, view: RequestView) -> None:
        view.setParent(self._hidden_parent)

    def _on_inbox_changed(self, inbox_request: InboxRequest) -> None:
        view = self._valid_view(inbox_request.id)
        if view is not None:
            view.show_request(inbox_request)

    def _valid_view(self, inbox_id: int) -> RequestView | None:
        """Return a view unless it was deleted with its panel, as when a server is removed."""
        view = self._views.get(inbox_id)
        return view if view is not None and shiboken6.isValid(view) else None

    def _drop_ended(self) -> None:
        """Delete views of ended requests, which can be recreated. Open ones hold typed input."""
        self._views = {id: view for id, view in self._views.items() if self._valid_view(id) is not None}
        ended = [id for id, view in self._views.items() if not view.inbox_request.is_open]
        for id in ended[:-_MAX_ENDED]:
            self._views.pop(id).deleteLater()
