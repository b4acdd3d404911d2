"""The traffic table and the detail of the chosen row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QComboBox, QHeaderView, QSplitter, QTableView, QVBoxLayout, QWidget

from inspector.base.units import plural
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.source import TrafficSource
from inspector.qt.models.traffic import Column, TrafficModel
from inspector.qt.theme import Theme
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_table
from inspector.qt.widgets.searchfield import SearchField
from inspector.qt.widgets.toolbar import PanelHeader

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.detail import DetailView

_WIDTHS = {
    Column.NUMBER: 64,
    Column.TIME: 104,
    Column.DIRECTION: 28,
    Column.SERVER: 110,
    Column.ID: 56,
    Column.STATUS: 84,
    Column.DURATION: 84,
    Column.SIZE: 80,
}
# A message must be readable: with less room for it than this, what tells least goes first.
_LEAST_FOR_MESSAGE = 180
_EXPENDABLE = (Column.ID, Column.NUMBER, Column.SERVER, Column.SIZE)


class TrafficPanel(QWidget):
    """All servers, or the one in the workspace. Follows the newest row while `traffic.follow` is on."""

    def __init__(
        self,
        source: TrafficSource,
        bridge: Bridge,
        actions: Actions,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._bridge = bridge
        self.actions_here = self._actions = actions.local("traffic.", self)
        self._actions["traffic.follow"].setChecked(source.is_live)
        self._theme = theme
        self._server = ""
        self._is_moving = False
        self.model = TrafficModel(source.log, theme)
        self.table = QTableView()
        self.search = SearchField(theme, "Search method, tool, status")
        self.scope = QComboBox()
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._place_of_detail = EmptyState(theme)
        self.header = PanelHeader(theme, "Traffic")
        self._gate = Gate(theme, self._make_table())
        self._lay_out()
        self._connect()
        self._explain_or_show()

    @cached_property
    def detail(self) -> DetailView:
        """Made for the first row that is chosen: its viewers take 50 ms of the window's start to build."""
        from inspector.qt.panels.traffic.detail import DetailView

        sizes = self._splitter.sizes()
        view = DetailView(self._source, self._bridge, self._theme)
        self._splitter.replaceWidget(1, view)
        self._place_of_detail.deleteLater()
        view.show()
        self._splitter.setSizes(sizes)
        return view

    @property
    def _has_detail(self) -> bool:
        return "detail" in vars(self)

    def set_server(self, name: str) -> None:
        """The workspace shows another server."""
        self._server = name
        self._apply_scope()

    def choose(self, number: int) -> bool:
        """Go to a row of the log."""
        row = self.model.find_row(number)
        if row is None:
            return False
        self._actions["traffic.follow"].setChecked(False)
        self.table.setCurrentIndex(self.model.index(row, Column.MESSAGE))
        self.table.scrollTo(self.model.index(row, Column.MESSAGE), QTableView.ScrollHint.PositionAtCenter)
        return True

    def go_to_partner(self) -> None:
        """From a request to its answer, or back."""
        number = self._current_number()
        partner = self._source.log.partner(number) if number is not None else None
        if partner is not None:
            self.choose(partner)

    # --------------------------------------------------------------

    def _make_table(self) -> QTableView:
        self.table.setAccessibleName("Traffic")
        self.table.setModel(self.model)
        dress_table(self.table, self._theme)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.setFont(self._theme.mono_font(0.95))
        header = self.table.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(Column.MESSAGE, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(24)
        for column, width in _WIDTHS.items():
            self.table.setColumnWidth(column, width)
        self.table.viewport().installEventFilter(self)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.table.addActions([self._actions["traffic.copy"], self._actions["traffic.partner"]])
        # Only here: elsewhere the same keys copy what is selected in a text.
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._actions["traffic.copy"].trigger)
        return self.table

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QResizeEvent) and watched is self.table.viewport():
            self._fit_columns(event.size().width())
        return super().eventFilter(watched, event)

    def _fit_columns(self, width: int) -> None:
        """Leave room for the message: hide columns one after the other, and show them again."""
        room = width - sum(_WIDTHS.values())
        for column in _EXPENDABLE:
            is_hidden = room < _LEAST_FOR_MESSAGE
            self.table.setColumnHidden(column, is_hidden)
            room += _WIDTHS[column] if is_hidden else 0

    def _lay_out(self) -> None:
        self.scope.setAccessibleName("Whose traffic")
        self.scope.addItems(["All servers", "This server"])
        self.search.setMinimumWidth(220)
        self.search.setMaximumWidth(420)
        for widget in (self.scope, self.search):
            self.header.add_widget(widget)
        self.header.add_gap()
        for id in ("traffic.events", "traffic.follow", "traffic.partner", "traffic.clear"):
            self.header.add_action(self._actions[id])
        sentence = "Choose a row to see its message and its bytes."
        self._place_of_detail.show_empty("traffic", "No message chosen", sentence)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self._gate)
        self._splitter.addWidget(self._place_of_detail)
        self._splitter.setSizes([880, 520])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._splitter, 1)

    def _connect(self) -> None:
        self._source.grew.connect(self._on_traffic_grew)
        self.search.text_settled.connect(self._on_words_settled)
        self.scope.currentIndexChanged.connect(self._apply_scope)
        self.table.selectionModel().currentRowChanged.connect(self._on_current_changed)
        self.table.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self._actions["traffic.events"].toggled.connect(self._on_events_toggled)
        self._actions["traffic.follow"].toggled.connect(self._on_follow_toggled)
        self._actions["traffic.clear"].triggered.connect(self._on_clear)
        self._actions["traffic.partner"].triggered.connect(self.go_to_partner)
        self._actions["traffic.copy"].triggered.connect(self._on_copy)

    def _on_traffic_grew(self, length: int) -> None:
        self._is_moving = True
        self.model.extend(length)
        self._explain_or_show()
        if self._actions["traffic.follow"].isChecked():
            self.table.scrollToBottom()
        self._is_moving = False
        # Requests on screen may have got their answers: their cells are read anew.
        self.table.viewport().update()
        if self._has_detail:
            self.detail.refresh()

    def _on_scrolled(self, value: int) -> None:
        """Scrolling away from the end stops following; coming back to it starts again."""
        if not self._is_moving and self.table.isVisible():
            self._actions["traffic.follow"].setChecked(value >= self.table.verticalScrollBar().maximum() - 2)

    def _on_follow_toggled(self, follow: bool) -> None:
        if follow:
            self.table.scrollToBottom()

    def _on_words_settled(self, words: str) -> None:
        self._keep_current(lambda: self.model.set_words(words.strip()))

    def _on_events_toggled(self, shown: bool) -> None:
        self._keep_current(lambda: self.model.set_with_events(shown))

    def _apply_scope(self) -> None:
        server = self._server if self.scope.currentIndex() == 1 else None
        self._keep_current(lambda: self.model.set_server(server))

    def _on_copy(self) -> None:
        if (number := self._current_number()) is not None:
            text = self._source.log.raw(number).decode(errors="replace")
            QGuiApplication.clipboard().setText(text)

    def _on_clear(self) -> None:
        self.model.clear_view()
        self._show_row(None)
        self._explain_or_show()

    def _keep_current(self, change: Callable[[], None]) -> None:
        """Change which rows are shown. The chosen one stays chosen, or is again when it comes back."""
        number = self.detail.number if self._has_detail else None
        self._is_moving = True
        change()
        self._is_moving = False
        self._explain_or_show()
        if number is not None and (row := self.model.find_row(number)) is not None:
            self.table.setCurrentIndex(self.model.index(row, Column.MESSAGE))
        elif self._actions["traffic.follow"].isChecked():
            self.table.scrollToBottom()

    def _current_number(self) -> int | None:
        index = self.table.currentIndex()
        return self.model.number(index.row()) if index.isValid() else None

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        self._show_row(self.model.number(current.row()) if current.isValid() else None)

    def _show_row(self, number: int | None) -> None:
        if number is not None or self._has_detail:
            self.detail.show_row(number)

    def _explain_or_show(self) -> None:
        count = self.model.rowCount()
        self.header.set_detail(plural(count, "message") if count else "")
        if count:
            self._gate.open()
        elif self.model.is_filtered:
            sentence = "No recorded message fits the search and the choice of server."
            self._gate.explain("empty", "filter", "Nothing fits", sentence)
        elif self.model.is_cleared:
            sentence = "New messages show up here. What was there before is still in the log."
            self._gate.explain("empty", "clear", "View cleared", sentence)
        else:
            sentence = "Connect a server: every message shows up here, with its bytes."
            self._gate.explain("empty", "traffic", "No traffic yet", sentence)
