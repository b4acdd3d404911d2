"""The Tools panel: the list, the call and the result, side by side."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QSplitter, QTableView, QVBoxLayout, QWidget

from inspector.base.errors import LensError, UserError
from inspector.base.plaintext import one_line
from inspector.base.units import duration, plural
from inspector.config.savedcalls import SavedCall
from inspector.engine.views import ServerStatus, ServerView
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.newsstrip import NewsStrip
from inspector.qt.forms.refreshing import Refreshing
from inspector.qt.models.offered import NoteRole, ToneRole
from inspector.qt.models.standing import standing_of
from inspector.qt.models.tools import ToolsModel
from inspector.qt.panels.tools.call import CallView
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_table
from inspector.qt.widgets.markedrows import MarkedRows
from inspector.qt.widgets.searchfield import SearchField
from inspector.qt.widgets.toolbar import PanelHeader


class ToolsPanel(QWidget):
    """The tools of one server. Its list is fetched when the server connects, and again when it says so."""

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._status: ServerStatus | None = None
        self._freshness = ""
        self._is_moving = False
        self._wanted = ""  # a tool to go to when the list is there
        self._wanted_call: SavedCall | None = None
        self.model = ToolsModel(self)
        self.search = SearchField(theme, "Search tools")
        self.list = QTableView()  # unlike a list view it does not lay out ten thousand rows one by one
        self.news = NewsStrip(theme)
        self.call_view = CallView(bridge, server, actions, theme)
        self._refreshing = Refreshing(bridge, f"list tools of {server}", self._list_tools, self)
        self._header = PanelHeader(theme, "Tools")
        self._gate = Gate(theme, self._make_content())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self._connect()

    def set_view(self, view: ServerView) -> None:
        is_new = view.status is not self._status
        self._status = view.status
        self.call_view.set_connected(view.status is ServerStatus.CONNECTED, view.agreement)
        if not is_new and view.status is not ServerStatus.CONNECTING:
            return
        if view.status is not ServerStatus.CONNECTED:
            self._explain(view)
        elif not view.offers("tools"):
            sentence = "This server does not offer tools: it did not declare the capability."
            self._gate.explain("empty", "tool", "No tools", sentence)
        else:
            self.refresh()

    def refresh(self) -> None:
        """Fetch the list again; what is selected and typed stays."""
        self._refreshing.refresh()

    def choose(self, name: str) -> bool:
        """Go to a tool by name."""
        row = self.model.row_of(name)
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row))
        return row is not None

    def choose_soon(self, name: str) -> None:
        """Go to a tool also when a search hides it, or as soon as the list is there."""
        tool = self.model.find(name)
        if not isinstance(tool, Tool):
            self._wanted = name
            return
        self._wanted = ""
        if not self.choose(name):
            self.search.clear()
            self.search.settle()
            self.choose(name)
        if (call := self._wanted_call) is not None and call.tool == name:
            self._wanted_call = None
            self.call_view.put_saved(call)

    def open_saved(self, call: SavedCall) -> None:
        """Go to a saved call's tool, with its arguments."""
        self._wanted_call = call
        self.choose_soon(call.tool)
        if self._wanted and self.model.total:
            words = f"The server has no tool “{one_line(call.tool)}”, which “{one_line(call.name)}” is for."
            self.call_view.alert.say("saved", words)

    # --------------------------------------------------------------

    def _make_content(self) -> QWidget:
        self.list.setAccessibleName("Tools")
        self.list.setModel(self.model)
        dress_table(self.list, self._theme)
        self.list.horizontalHeader().hide()
        self.list.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFont(self._theme.mono_font(0.95))
        self.list.setItemDelegate(MarkedRows(self._theme, NoteRole, ToneRole, self.list))
        self._header.add_action(self._actions["tool.refresh"])
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._header)
        boxed = QVBoxLayout()
        boxed.setContentsMargins(SPACE_2, SPACE_2, SPACE_2, SPACE_2)
        boxed.addWidget(self.search)
        column.addLayout(boxed)
        column.addWidget(self.list, 1)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(left)
        splitter.addWidget(self.call_view)
        splitter.setSizes([240, 900])
        splitter.setStretchFactor(1, 1)
        inside = QWidget()
        whole = QVBoxLayout(inside)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.news)
        whole.addWidget(splitter, 1)
        return inside

    def _connect(self) -> None:
        self._bridge.list_changed.connect(self._on_list_changed)
        self.search.text_settled.connect(lambda words: self.model.set_words(words.strip()))
        self.model.searched.connect(self._on_searched)
        self.call_view.saved_picked.connect(self.open_saved)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)

    async def _list_tools(self) -> None:
        if not self.model.total:
            self._gate.explain("loading", "tool", "Listing tools", "Waiting for the answer to tools/list.")
        try:
            listing = await self._bridge.list_tools(self._server)
        except LensError as exc:
            self._show_failure(exc)
        else:
            self._show_listing(listing)

    def _show_failure(self, error: LensError) -> None:
        if self._status is not ServerStatus.CONNECTED:
            return  # the connection ended meanwhile, and the panel says so already
        summary = error.summary if isinstance(error, UserError) else f"{error}."
        next_step = error.next_step if isinstance(error, UserError) else "The Traffic view has the exchange."
        title, action = "The tools could not be listed", self._actions["tool.refresh"]
        self._gate.explain("failed", "tool", title, summary, next_step, action)

    def _show_listing(self, listing: Listing[Tool]) -> None:
        chosen = self.call_view.tool
        self._freshness = _freshness(listing)
        self.model.set_listing(listing)
        self._bridge.start("news of the tools", self._tell_news(), self)
        renewed = self.model.find(chosen.name) if chosen is not None else None
        if isinstance(renewed, Tool):
            self.call_view.set_tool(renewed)  # here also when a search hides it from the list
        elif self.model.rowCount():
            self.list.setCurrentIndex(self.model.index(0))
        else:
            self.call_view.set_nothing()
        if self._wanted:
            self.choose_soon(self._wanted)
        if self.model.total:
            self._gate.open()
        else:
            self._gate.explain("empty", "tool", "No tools", "The server's list of tools is empty.")

    async def _tell_news(self) -> None:
        news = await self.model.news_soon()
        self.news.tell("tools", news)
        self.model.mark_new(news.added)
        self.model.set_marks(dict.fromkeys(news.changed, ("changed", "accent")))

    def _explain(self, view: ServerView) -> None:
        standing = standing_of(view)
        if standing is None:
            return
        action = self._actions[standing.command]
        self._gate.explain(
            standing.look, "tool", standing.title, standing.sentence, standing.next_step, action
        )

    def _update_count(self) -> None:
        shown, total = self.model.rowCount(), self.model.total
        counted = f"{shown:,} of {total:,}" if shown != total else plural(total, "tool")
        self._header.set_detail(f"{counted} · {self._freshness}" if self._freshness else counted)

    def _on_searched(self) -> None:
        """The rows are others: the chosen tool is on another one, or on none."""
        self._update_count()
        tool = self.call_view.tool
        row = self.model.row_of(tool.name) if tool is not None else None
        self._is_moving = True
        self.list.setCurrentIndex(self.model.index(row) if row is not None else QModelIndex())
        self._is_moving = False

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        item = self.model.item(current.row())
        if self._is_moving:
            return
        if isinstance(item, Tool):
            self.model.set_marks({item.name: ("", "muted")})
            self.call_view.set_tool(item)
        elif isinstance(item, Malformed):
            self.call_view.set_malformed(item)

    def _on_list_changed(self, server: str, what: str) -> None:
        if server == self._server and what == "tools" and self._status is ServerStatus.CONNECTED:
            self.refresh()


def _freshness(listing: Listing[Tool]) -> str:
    """What the server says about keeping the list; we fetch it anew all the same."""
    if listing.cache is None or not listing.cache.ttl_ms:
        return ""
    return f"fresh for {duration(listing.cache.ttl_ms * 1_000_000)}"
