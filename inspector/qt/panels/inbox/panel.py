"""Inbox panel: pending and ended server requests of one server or of all; view cache.

A request has one view per window, so what was typed is kept wherever the request is opened next.
"""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.inbox.views import InboxRequest
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.models.inbox import InboxModel
from inspector.qt.panels.inbox.request_list import RequestList
from inspector.qt.panels.inbox.request_view import RequestView
from inspector.qt.theme import Theme
from inspector.qt.widgets.code.raw_edit import is_submit
from inspector.qt.widgets.layout import PanelHeader
from inspector.qt.widgets.notices.empty_state import EmptyState

_MAX_ENDED = 20


class RequestViewCache(QObject):
    """The card views, shared by all Inbox panels of a window.

    A card has one view, and the front panel has it.

    Signals:
        operation_requested, uri_requested, task_requested: As in `CardView`.
        answered: The user has answered a card; carries its id.
    """

    operation_requested = Signal(str, int)
    uri_requested = Signal(str, str)
    task_requested = Signal(str, str)
    responded = Signal(int)

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
        """Return a card's view, created on first use."""
        view = self._alive(inbox_request.id)
        self._views.pop(inbox_request.id, None)
        if view is None:
            view = RequestView(self._bridge, self._theme, self._opener, inbox_request, self._hidden_parent)
            view.operation_requested.connect(self.operation_requested)
            view.uri_requested.connect(self.uri_requested)
            view.task_requested.connect(self.task_requested)
            view.responded.connect(lambda: self.responded.emit(inbox_request.id))
        self._views[inbox_request.id] = view  # moved to the end
        self._forget_some()
        return view

    def put_away(self, view: RequestView) -> None:
        view.setParent(self._hidden_parent)

    def _on_inbox_changed(self, inbox_request: InboxRequest) -> None:
        view = self._alive(inbox_request.id)
        if view is not None:
            view.show_request(inbox_request)

    def _alive(self, inbox_id: int) -> RequestView | None:
        """Return a view unless it was deleted with its panel, as when a server is removed."""
        view = self._views.get(inbox_id)
        return view if view is not None and shiboken6.isValid(view) else None

    def _forget_some(self) -> None:
        """Drop views of ended cards, which can be recreated; open ones hold what was typed."""
        self._views = {id: view for id, view in self._views.items() if self._alive(id) is not None}
        ended = [id for id, view in self._views.items() if not view.inbox_request.is_open]
        for id in ended[:-_MAX_ENDED]:
            self._views.pop(id).deleteLater()


_TICK_MS = 1_000
_WIDTHS = [300, 840]
_HINT = (
    "Sampling requests, form elicitations and URL elicitations wait here for your reply. Try the tool "
    "“elicit_form” of the demo server “everything”."
)


class InboxPanel(QWidget):
    """The Inbox. `server` restricts it to one server; None shows all.

    Panels of one window share a `view_cache`.

    Signals:
        count_changed: Carries the number of pending cards.
        operation_requested: Show a call in the traffic; carries the server and the row.
        uri_requested: Read a resource; carries the server and the URI.
        task_requested: Show a task; carries the server and the task's id.
    """

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
        self._position = QWidget()
        self._request_column = _column(self._position)
        self._nothing = EmptyState(theme)
        self._nothing.show_empty("inbox", "No pending requests", "Select a request to read it again.")
        self._request_column.addWidget(self._nothing)
        self._shown: RequestView | None = None
        self._follows = False  # the shown card is done: the next one replaces it
        self._count = 0
        self._ticks = QTimer(self, interval=_TICK_MS)
        self._arrived: list[InboxRequest] = []
        self._changes_soon = QTimer(self, interval=0, singleShot=True)
        self._pages = QStackedWidget()
        self._lay_out()
        self._connect()
        bridge.start_when_attached("load the inbox", self._load())

    @property
    def count(self) -> int:
        """The number of pending cards."""
        return len(self.model.open_requests)

    @property
    def request_view(self) -> RequestView | None:
        """The view of the card shown."""
        view = self._shown
        if view is None or not shiboken6.isValid(view) or view.parentWidget() is not self._position:
            return None  # in another panel, or deleted with it
        return view

    def show_request(self, inbox_id: int) -> bool:
        """Select a card; return False if it is not, or no longer, in the list."""
        if self._arrived:
            self._on_changes()
        row = self.model.row_of(inbox_id)
        inbox_request = self.model.inbox_request(row) if row is not None else None
        if inbox_request is None:
            return False
        self.list.hold(inbox_id)
        self._go_to(inbox_request)
        return True

    async def _load(self) -> None:
        for inbox_request in await self._bridge.ask_inbox(
            lambda inbox: (*inbox.past(), *inbox.inbox_requests())
        ):
            self._take(inbox_request)
        self._update()

    def _on_inbox_changed(self, inbox_request: InboxRequest) -> None:
        if self.model.server is None or inbox_request.server == self.model.server:
            self._arrived.append(inbox_request)
            self._changes_soon.start()

    def _on_changes(self) -> None:
        """Apply a batch of changes by age: the oldest card is shown, whichever arrived first."""
        changes, self._arrived = self._arrived, []
        for inbox_request in sorted(changes, key=lambda inbox_request: inbox_request.id):
            self._take(inbox_request)
        self._update()

    def _take(self, inbox_request: InboxRequest) -> None:
        self.list.put(inbox_request)
        current = self.list.current()
        if inbox_request.is_open and (current is None or (self._follows and not current.is_open)):
            self.show_request(inbox_request.id)
        elif (
            not inbox_request.is_open
            and self._follows
            and current is not None
            and current.id == inbox_request.id
        ):
            self._go_on()

    def _on_replied(self, inbox_id: int) -> None:
        current = self.list.current()
        if current is None or current.id != inbox_id:
            return
        self._follows = True
        if not current.is_open:
            self._go_on()

    def _go_on(self) -> None:
        """Go to the next pending card; if there is none, the answered one stays."""
        waiting = self.model.open_requests
        if waiting:
            self.show_request(waiting[0].id)

    def _on_chosen(self, inbox_request: InboxRequest) -> None:
        self._follows = False
        self._go_to(inbox_request)

    def _on_entered(self) -> None:
        if self.request_view is not None:
            self.request_view.enter()

    def _go_to(self, inbox_request: InboxRequest) -> None:
        if inbox_request.is_open:
            self._follows = False
        if not self.isVisible():
            return  # the front panel has the view; it moves here when shown
        view = self.view_cache.view_of(inbox_request)
        if view is self.request_view:
            return
        had_keys = self._position.isAncestorOf(QApplication.focusWidget() or self.list)
        self._put_away()
        self._shown = view
        view.show_request(inbox_request)
        self._nothing.hide()
        self._request_column.addWidget(view)
        view.show()
        if had_keys:  # the focused widget is gone: from the list, Tab leads into the card
            self.list.setFocus()

    def _put_away(self) -> None:
        view = self.request_view
        if view is not None:
            self._request_column.removeWidget(view)
            view.hide()
            self.view_cache.put_away(view)
        self._shown = None

    def _update(self) -> None:
        self._pages.setCurrentIndex(1 if self.model.rowCount() else 0)
        self._header.set_detail(f"{self.count:,} waiting" if self.count else "")
        if self.count != self._count:
            self._count = self.count
            self.count_changed.emit(self.count)

    def _on_tick(self) -> None:
        self.model.tick()
        if self.request_view is not None:
            self.request_view.tick()

    def event(self, event: QEvent) -> bool:
        # The window has another command on these keys; here they send.
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and is_submit(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not is_submit(event):
            super().keyPressEvent(event)
        elif self.request_view is not None:
            self.request_view.submit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ticks.start()
        self._on_tick()
        current = self.list.current()
        if current is None or not current.is_open:
            self._go_on()
            current = self.list.current()
        if current is not None:
            self._go_to(current)

    def hideEvent(self, event: QHideEvent) -> None:
        self._ticks.stop()
        super().hideEvent(event)

    def _connect(self) -> None:
        self._bridge.inbox_changed.connect(self._on_inbox_changed)
        self.list.chosen.connect(self._on_chosen)
        self.list.entered.connect(self._on_entered)
        self.view_cache.responded.connect(self._on_replied)
        self.view_cache.operation_requested.connect(self._on_operation_requested)
        self.view_cache.uri_requested.connect(self._on_uri_requested)
        self.view_cache.task_requested.connect(self._on_task_requested)
        self._ticks.timeout.connect(self._on_tick)
        self._changes_soon.timeout.connect(self._on_changes)

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
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(left)
        splitter.addWidget(self._position)
        splitter.setSizes(_WIDTHS)
        splitter.setStretchFactor(1, 1)
        self._pages.addWidget(self._empty)
        self._pages.addWidget(splitter)
        _column(self).addWidget(self._pages)
        name = "Inbox" if self.model.server is None else f"Inbox of {one_line(self.model.server)}"
        self.setAccessibleName(name)


def _column(widget: QWidget) -> QVBoxLayout:
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column
