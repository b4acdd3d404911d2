"""Server list sidebar: name, transport and state of each server; Inbox; all features; discovered servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QListView,
    QMenu,
    QStackedWidget,
    QStyledItemDelegate,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.views import ServerStatus
from inspector.qt.actions import Actions, native_keys
from inspector.qt.bridge import Bridge
from inspector.qt.models.record_table import RecordRole
from inspector.qt.models.servers import SERVER_TONES, ServersModel, WaitingRole, state_text
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.item_views import SidebarEntry, style_list, style_sidebar
from inspector.qt.widgets.layout import PanelHeader, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.badge import DotShape, badge_size, paint_badge, paint_dot

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

    from inspector.engine.server_view import ServerView
    from inspector.engine.servers.views import DiscoveryReport

_NOT_CONNECTABLE = (ServerStatus.CONNECTED, ServerStatus.CONNECTING, ServerStatus.LOGGING_IN)
_MENU = (
    *("server.connect", "server.disconnect", "server.reconnect", "server.login", ""),
    *("server.edit", "server.duplicate", "server.enable", "server.remove", ""),
)
_COPY_AS = ("server.copy_claude", "server.copy_fragment")
_STRIPE = 3
MARKS: dict[ServerStatus, tuple[DotShape, Tone]] = {
    ServerStatus.DISABLED: (DotShape.DASH, "muted"),
    ServerStatus.IDLE: (DotShape.RING, "muted"),
    ServerStatus.CONNECTING: (DotShape.RING, "wait"),
    ServerStatus.CONNECTED: (DotShape.FILLED, "ok"),
    ServerStatus.NEEDS_LOGIN: (DotShape.TRIANGLE, "warn"),
    ServerStatus.LOGGING_IN: (DotShape.RING, "wait"),
    ServerStatus.FAILED: (DotShape.CROSS, "error"),
    ServerStatus.RECONNECTING: (DotShape.RING, "warn"),
}


class ServerListPanel(QWidget):
    """The sidebar with the servers, the Inbox, the features of all servers and the discovered servers.

    Signals:
        server_chosen: The user selected another server; carries its name, or "" for none.
        inbox_chosen: The user selected the Inbox of all servers.
        features_chosen: The user selected the features of all servers.
        discovered_chosen: The user selected the servers found in other clients' files.
    """

    help_page = "servers"
    server_chosen = Signal(str)
    inbox_chosen = Signal()
    features_chosen = Signal()
    discovered_chosen = Signal()

    def __init__(self, bridge: Bridge, actions: Actions, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._theme = theme
        self.model = ServersModel(theme)
        self.inbox = InboxEntry(theme)
        self.features = SidebarEntry(theme, "All features", "tool")
        self.features.show_count(0, "Tools, resources and prompts of all connected servers")
        self.features.hide()  # until there is a server
        self.discovered = SidebarEntry(theme, "Discovered servers", "search", "accent")
        self.discovered.hide()  # until a server is discovered
        self.list = QListView()
        self.list.setAccessibleName("Servers")
        self.list.setModel(self.model)
        style_list(self.list, theme)
        self.list.setItemDelegate(ServerRowDelegate(theme, self.list))
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._empty = EmptyState(theme)
        self._empty.show_empty("server", "No servers yet", "Add a server to get started.")
        self._pages = QStackedWidget()
        self._awaited = ""
        self._removed_selection = ""  # the selected server when it was removed
        self._lay_out()
        self._connect(bridge)

    def current(self) -> ServerView | None:
        """Return the selected server; None while an entry beside the list is shown."""
        return None if self._is_elsewhere else self.model.find(self.list.currentIndex().row())

    def choose(self, name: str) -> None:
        """Select a server, now or as soon as it is added."""
        row = self.model.row_of(name)
        self._awaited = name if row is None else ""
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row, 0))
            self._go_back()

    @property
    def _is_elsewhere(self) -> bool:
        return any(entry.isChecked() for entry in self._entries)

    @property
    def _entries(self) -> tuple[SidebarEntry, ...]:
        return self.inbox, self.features, self.discovered

    def choose_inbox(self) -> None:
        """Show the Inbox of all servers. The list keeps its position for the way back."""
        self._check(self.inbox)
        self.inbox_chosen.emit()

    def choose_features(self) -> None:
        """Show the features of all servers; the list keeps its position."""
        self._check(self.features)
        self.features_chosen.emit()

    def choose_discovered(self) -> None:
        """Show the servers found in other clients' files; the list keeps its position."""
        self._check(self.discovered)
        self.discovered_chosen.emit()

    def _check(self, chosen: SidebarEntry | None) -> None:
        """Check one of the entries beside the list, or none."""
        for entry in self._entries:
            entry.setChecked(entry is chosen)
        if chosen is not None:
            self.list.clearSelection()

    def go_back(self) -> None:
        """Return to the previously selected server."""
        self.list.setCurrentIndex(self.list.currentIndex())
        self._go_back()

    def set_waiting(self, name: str, count: int, total: int) -> None:
        """Set the number of pending requests of a server and of all servers."""
        self.model.set_waiting(name, count)
        self.inbox.set_count(total)

    def _lay_out(self) -> None:
        style_sidebar(self)
        header = PanelHeader(self._theme, "Servers")
        header.add_action(self._actions["server.reconnect"])
        header.add_action(self._actions["server.add"])
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.list)
        vbox(self, header, self.inbox, self.features, (self._pages, 1), self.discovered, gap=0)

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
        self.features.clicked.connect(self.choose_features)
        self.discovered.clicked.connect(self.choose_discovered)
        bridge.discovered_servers_changed.connect(self._on_discovered_changed)
        self.list.customContextMenuRequested.connect(self._on_menu_requested)

    def _on_server_changed(self, view: ServerView) -> None:
        self.model.put(view)
        self._pages.setCurrentWidget(self.list)
        self.features.show()
        if view.name == self._awaited or not self.list.currentIndex().isValid():
            self.choose(view.name)

    def _on_server_removed(self, name: str) -> None:
        choose = (
            self.choose_inbox
            if self.inbox.isChecked()
            else self.choose_features
            if self.features.isChecked()
            else self.choose_discovered
        )
        is_elsewhere, current = self._is_elsewhere, self.current()
        self._removed_selection = (
            name if current is not None and current.name == name and not is_elsewhere else ""
        )
        self.model.remove(name)
        if is_elsewhere:
            choose()  # the list moved to another server, not the user
        if not self.model.rowCount():
            self._pages.setCurrentWidget(self._empty)
            if not is_elsewhere:
                self.server_chosen.emit("")

    def _on_server_renamed(self, before: str, after: str) -> None:
        """Keep a renamed server selected."""
        if before == self._removed_selection:
            self.choose(after)

    def _on_discovered_changed(self, report: DiscoveryReport) -> None:
        from inspector.qt.models.discovered_servers import summary_text, untrusted_count

        self.discovered.setVisible(bool(report.files))
        count = untrusted_count(report)
        text = f"{plural(count, 'server')} not trusted yet" if count else summary_text(report)
        self.discovered.show_count(count, text)

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        view = self.model.find(current.row())
        self._check(None)
        self.server_chosen.emit(view.name if view else "")

    def _go_back(self) -> None:
        """Emit `server_chosen` for the unchanged current server, which the list does not report."""
        if self._is_elsewhere:
            self._check(None)
            view = self.current()
            self.server_chosen.emit(view.name if view is not None else "")

    def _on_double_clicked(self, index: QModelIndex) -> None:
        view = self.model.find(index.row())
        if view is not None and view.status not in _NOT_CONNECTABLE:
            self._actions["server.connect"].trigger()

    def _on_menu_requested(self, position: QPoint) -> None:
        index = self.list.indexAt(position)
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
        menu.popup(self.list.viewport().mapToGlobal(position))


class InboxEntry(SidebarEntry):
    """The sidebar entry of the Inbox, with the number of pending requests."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Inbox", "inbox", parent=parent)
        self.set_count(0)

    def set_count(self, count: int) -> None:
        """Show the number of pending server requests."""
        text = plural(count, "pending request") if count else "No pending requests"
        self.show_count(count, text, native_keys("Ctrl+I"))


class ServerRowDelegate(QStyledItemDelegate):
    """Paints two lines per server, with its color at the left edge."""

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(160, 2 * QFontMetrics(self._theme.ui_font()).height() + SPACE_4)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        view: ServerView = index.data(RecordRole)
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        self._paint_background(painter, rect, state, view)
        top = rect.adjusted(SPACE_3, SPACE_1, -SPACE_2, -rect.height() // 2)
        bottom = rect.adjusted(SPACE_3, rect.height() // 2 - 1, -SPACE_2, -SPACE_1)
        self._paint_name(painter, top, view)
        self._paint_state(painter, self._paint_waiting(painter, bottom, index.data(WaitingRole)), view)
        painter.restore()

    def _paint_background(
        self, painter: QPainter, rect: QRect, state: QStyle.StateFlag, view: ServerView
    ) -> None:
        from PySide6.QtWidgets import QStyle  # costs 7 ms for its enums

        stripe = SERVER_TONES.get(view.color)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
            stripe = stripe or "accent"
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, self._theme.color("hover"))
        if stripe is not None:
            painter.fillRect(rect.x(), rect.y(), _STRIPE, rect.height(), self._theme.color(stripe))

    def _paint_name(self, painter: QPainter, rect: QRect, view: ServerView) -> None:
        shape, tone = MARKS[view.status]
        mark = QRectF(rect.x(), rect.y() + (rect.height() - ICON_SIZE) / 2, ICON_SIZE, ICON_SIZE)
        paint_dot(painter, mark, shape, self._theme.color(tone))
        badge = badge_size(self._theme, view.transport)
        left = rect.x() + ICON_SIZE + SPACE_1
        font = self._theme.ui_font(weight=QFont.Weight.Medium)
        self._paint_text(
            painter, QRect(left, rect.y(), rect.right() - left - badge.width() - SPACE_2, rect.height()),
            one_line(view.name), font, "text",
        )  # fmt: skip
        position = QRect(
            rect.right() - badge.width(), rect.center().y() - badge.height() // 2, *badge.toTuple()
        )
        paint_badge(painter, position, self._theme, view.transport, "muted")

    def _paint_waiting(self, painter: QPainter, rect: QRect, count: int) -> QRect:
        """Paint the number of pending requests at the right; return the remaining rectangle."""
        if not count:
            return rect
        text = f"{count:,} pending"
        size = badge_size(self._theme, text)
        position = QRect(rect.right() - size.width(), rect.center().y() - size.height() // 2, *size.toTuple())
        paint_badge(painter, position, self._theme, text, "wait")
        return rect.adjusted(0, 0, -size.width() - SPACE_2, 0)

    def _paint_state(self, painter: QPainter, rect: QRect, view: ServerView) -> None:
        is_bad = view.status in (ServerStatus.FAILED, ServerStatus.NEEDS_LOGIN)
        tone: Tone = MARKS[view.status][1] if is_bad else "muted"
        shifted = rect.adjusted(ICON_SIZE + SPACE_1, 0, 0, 0)
        self._paint_text(painter, shifted, state_text(view), self._theme.ui_font(0.92), tone)

    def _paint_text(self, painter: QPainter, rect: QRect, text: str, font: QFont, tone: Tone) -> None:
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), shown)
