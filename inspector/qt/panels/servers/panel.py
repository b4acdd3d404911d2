"""The list of servers: each with its name, how it is reached, and how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QListView,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import ServersModel
from inspector.qt.panels.servers.rows import ServerRows
from inspector.qt.theme import Theme
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.inboxentry import InboxEntry
from inspector.qt.widgets.itemviews import dress_list, dress_sidebar
from inspector.qt.widgets.sidebarentry import SidebarEntry
from inspector.qt.widgets.toolbar import PanelHeader

if TYPE_CHECKING:
    from inspector.engine.foundviews import FoundReport

_NOT_TO_CONNECT = (ServerStatus.CONNECTED, ServerStatus.CONNECTING, ServerStatus.LOGGING_IN)
_MENU = (
    *("server.connect", "server.disconnect", "server.reconnect", "server.login", ""),
    *("server.edit", "server.duplicate", "server.enable", "server.remove", ""),
)
_COPY_AS = ("server.copy_claude", "server.copy_fragment")


class ServersPanel(QWidget):
    """The sidebar with the servers, the Inbox and the found servers.

    Signals:
        server_chosen: The user selected another server; carries its name, or "" for none.
        inbox_chosen: The user selected the Inbox of all servers.
        found_chosen: The user selected the servers found in other tools' files.
    """

    server_chosen = Signal(str)
    inbox_chosen = Signal()
    found_chosen = Signal()

    def __init__(self, bridge: Bridge, actions: Actions, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._theme = theme
        self.model = ServersModel()
        self.inbox = InboxEntry(theme)
        self.found = SidebarEntry(theme, "Found servers", "search", "accent")
        self.found.hide()  # until something is found
        self.list = QListView()
        self.list.setAccessibleName("Servers")
        self.list.setModel(self.model)
        dress_list(self.list, theme)
        self.list.setItemDelegate(ServerRows(theme, self.list))
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._empty = EmptyState(theme)
        self._empty.show_empty("server", "No servers yet", "Paste a command, a URL or a configuration.")
        self._pages = QStackedWidget()
        self._wanted = ""
        self._left = ""  # the selected server when it was removed
        self._lay_out()
        self._connect(bridge)

    def current(self) -> ServerView | None:
        """Return the selected server; None while the Inbox or the found servers are shown."""
        return None if self._is_elsewhere else self.model.view(self.list.currentIndex().row())

    def choose(self, name: str) -> None:
        """Select a server, now or as soon as it is added."""
        row = self.model.row_of(name)
        self._wanted = name if row is None else ""
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row))
            self._go_back()

    @property
    def _is_elsewhere(self) -> bool:
        return self.inbox.isChecked() or self.found.isChecked()

    def choose_inbox(self) -> None:
        """Show the Inbox of all servers. The list keeps its position for the way back."""
        self.found.setChecked(False)
        self.inbox.setChecked(True)
        self.list.clearSelection()
        self.inbox_chosen.emit()

    def choose_found(self) -> None:
        """Show the servers found in other tools' files; the list keeps its position."""
        self.inbox.setChecked(False)
        self.found.setChecked(True)
        self.list.clearSelection()
        self.found_chosen.emit()

    def go_back(self) -> None:
        """Return to the previously selected server."""
        self.list.setCurrentIndex(self.list.currentIndex())
        self._go_back()

    def set_waiting(self, name: str, count: int, total: int) -> None:
        """Set the number of pending requests of a server and of all servers."""
        self.model.set_waiting(name, count)
        self.inbox.set_count(total)

    def _lay_out(self) -> None:
        dress_sidebar(self)
        header = PanelHeader(self._theme, "Servers")
        header.add_action(self._actions["server.reconnect"])
        header.add_action(self._actions["server.add"])
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.list)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(header)
        column.addWidget(self.inbox)
        column.addWidget(self._pages, 1)
        column.addWidget(self.found)

    def _connect(self, bridge: Bridge) -> None:
        bridge.server_changed.connect(self._on_server_changed)
        bridge.server_removed.connect(self._on_server_removed)
        bridge.server_renamed.connect(self._on_server_renamed)
        bridge.servers_ordered.connect(self.model.set_order)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.list.clicked.connect(self._go_back)
        self.list.activated.connect(self._go_back)
        self.list.doubleClicked.connect(self._on_double_clicked)
        self.inbox.clicked.connect(self.choose_inbox)
        self.found.clicked.connect(self.choose_found)
        bridge.found_changed.connect(self._on_found_changed)
        self.list.customContextMenuRequested.connect(self._on_menu_requested)

    def _on_server_changed(self, view: ServerView) -> None:
        self.model.put(view)
        self._pages.setCurrentWidget(self.list)
        if view.name == self._wanted or not self.list.currentIndex().isValid():
            self.choose(view.name)

    def _on_server_removed(self, name: str) -> None:
        choose = self.choose_inbox if self.inbox.isChecked() else self.choose_found
        is_elsewhere, current = self._is_elsewhere, self.current()
        self._left = name if current is not None and current.name == name and not is_elsewhere else ""
        self.model.remove(name)
        if is_elsewhere:
            choose()  # the list moved to another server, not the user
        if not self.model.rowCount():
            self._pages.setCurrentWidget(self._empty)
            if not is_elsewhere:
                self.server_chosen.emit("")

    def _on_server_renamed(self, before: str, after: str) -> None:
        """Keep a renamed server selected."""
        if before == self._left:
            self.choose(after)

    def _on_found_changed(self, report: FoundReport) -> None:
        from inspector.qt.models.foundwords import news_count, summary_words

        self.found.setVisible(bool(report.files))
        self.found.show_count(news_count(report), f"{summary_words(report)} of other tools")

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        view = self.model.view(current.row())
        self.inbox.setChecked(False)
        self.found.setChecked(False)
        self.server_chosen.emit(view.name if view else "")

    def _go_back(self) -> None:
        """Emit `server_chosen` for the unchanged current server, which the list does not report."""
        if self._is_elsewhere:
            self.inbox.setChecked(False)
            self.found.setChecked(False)
            view = self.current()
            self.server_chosen.emit(view.name if view is not None else "")

    def _on_double_clicked(self, index: QModelIndex) -> None:
        view = self.model.view(index.row())
        if view is not None and view.status not in _NOT_TO_CONNECT:
            self._actions["server.connect"].trigger()

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.list.indexAt(at)
        if not index.isValid():
            return
        self.list.setCurrentIndex(index)
        self._go_back()
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for id in _MENU:
            if id:
                menu.addAction(self._actions[id])
            else:
                menu.addSeparator()
        copies = menu.addMenu("Copy as")
        for id in _COPY_AS:
            copies.addAction(self._actions[id])
        menu.popup(self.list.viewport().mapToGlobal(at))
