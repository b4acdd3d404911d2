"""The Prompts panel: the list, the arguments and the messages, side by side."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListView, QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import LensError, UserError
from inspector.engine.views import ServerStatus, ServerView
from inspector.protocol.methods import missing_capability
from inspector.protocol.types import Listing, Malformed, Prompt
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.newsstrip import NewsStrip
from inspector.qt.forms.refreshing import Refreshing
from inspector.qt.models.offered import NoteRole, OfferedModel, ToneRole
from inspector.qt.models.prompts import PROMPTS
from inspector.qt.models.standing import standing_of
from inspector.qt.panels.prompts.getting import PromptView
from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_list
from inspector.qt.widgets.markedrows import MarkedRows
from inspector.qt.widgets.searchfield import SearchField
from inspector.qt.widgets.toolbar import PanelHeader


class PromptsPanel(QWidget):
    """The prompts of one server. Listed when it connects, and again when it says so."""

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._status: ServerStatus | None = None
        self._is_moving = False
        self.model = OfferedModel(PROMPTS)
        self.search = SearchField(theme, "Search prompts")
        self.list = QListView()
        self.news = NewsStrip(theme)
        self.view = PromptView(bridge, server, actions, theme)
        self._header = PanelHeader(theme, "Prompts")
        self._refreshing = Refreshing(bridge, f"list prompts of {server}", self._list_all, self)
        self._gate = Gate(theme, self._make_content())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self._connect()

    def set_view(self, view: ServerView) -> None:
        is_new = view.status is not self._status
        self._status = view.status
        self.view.set_connected(view.status is ServerStatus.CONNECTED)
        if is_new or view.status is ServerStatus.CONNECTING:
            self._show_standing(view)

    def refresh(self) -> None:
        """List them again; what is chosen and typed stays."""
        self._refreshing.refresh()

    def choose(self, name: str) -> bool:
        """Go to a prompt by name."""
        row = self.model.row_of(name)
        if row is not None:
            self.list.setCurrentIndex(self.model.index(row))
        return row is not None

    # --------------------------------------------------------------

    def _explain_listing(self) -> None:
        if not self.model.total:
            self._gate.explain(
                "loading", "prompt", "Listing prompts", "Waiting for the answer to prompts/list."
            )

    async def _list_all(self) -> None:
        self._explain_listing()
        try:
            listing = await self._bridge.list_prompts(self._server)
        except LensError as exc:
            self._show_failure(exc)
        else:
            self._show_listing(listing)

    def _show_listing(self, listing: Listing[Prompt]) -> None:
        if self._status is not ServerStatus.CONNECTED:
            return
        self.model.set_items(listing.items, listing.malformed)
        news = self.model.news()
        self.news.tell("prompts", news)
        self.model.mark_new(news.added)
        chosen = self.view.prompt
        renewed = self.model.find(chosen.name) if chosen is not None else None
        if isinstance(renewed, Prompt) and renewed != chosen:
            self.view.set_prompt(renewed)  # here also when a search hides it from the list
        if self.model.total:
            self._gate.open()
            if self.view.prompt is None:
                self.list.setCurrentIndex(self.model.index(0))
        else:
            self._gate.explain("empty", "prompt", "No prompts", "The server's list of prompts is empty.")

    def _show_failure(self, error: LensError) -> None:
        if self._status is not ServerStatus.CONNECTED:
            return  # the connection ended meanwhile, and the panel says so already
        summary = error.summary if isinstance(error, UserError) else f"{error}."
        next_step = error.next_step if isinstance(error, UserError) else "The Traffic view has the exchange."
        title, action = "The prompts could not be listed", self._actions["prompt.refresh"]
        self._gate.explain("failed", "prompt", title, summary, next_step, action)

    def _show_standing(self, view: ServerView) -> None:
        standing = standing_of(view)
        if standing is not None:
            action = self._actions[standing.command]
            self._gate.explain(
                standing.look, "prompt", standing.title, standing.sentence, standing.next_step, action
            )
        elif not view.offers("prompts"):
            sentence = "This server does not offer prompts: it did not declare the capability."
            self._gate.explain("empty", "prompt", "No prompts", sentence)
        else:
            assert view.agreement is not None, "it is connected"
            self.view.completes = not missing_capability(
                "completion/complete", view.agreement.capabilities, view.agreement.revision
            )
            self._explain_listing()
            self.refresh()

    def _on_searched(self) -> None:
        """The rows are others: the chosen prompt is on another one, or on none."""
        shown, total = self.model.rowCount(), self.model.total
        self._header.set_detail(f"{shown:,} of {total:,}" if shown != total else f"{total:,}")
        chosen = self.view.prompt
        row = self.model.row_of(chosen.name) if chosen is not None else None
        self._is_moving = True
        self.list.setCurrentIndex(self.model.index(row) if row is not None else QModelIndex())
        self._is_moving = False

    def _on_current_changed(self, current: QModelIndex) -> None:
        item = self.model.item(current.row())
        if self._is_moving:
            return
        if isinstance(item, Prompt):
            self.view.set_prompt(item)
        elif isinstance(item, Malformed):
            self.view.set_malformed(item)

    def _on_activated(self) -> None:
        """Return on a prompt: on to its arguments, or at once where it has none."""
        rows = self.view.form.rows
        if rows:
            next(iter(rows.values())).setFocus()
        else:
            self.view.get()

    def _on_list_changed(self, server: str, what: str) -> None:
        if server == self._server and what == "prompts" and self._status is ServerStatus.CONNECTED:
            self.refresh()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and self.search.hasFocus():
            self.list.setFocus()
        else:
            super().keyPressEvent(event)

    def _connect(self) -> None:
        self._bridge.list_changed.connect(self._on_list_changed)
        self.search.text_settled.connect(lambda words: self.model.set_words(words.strip()))
        self.model.searched.connect(self._on_searched)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.list.activated.connect(self._on_activated)

    def _make_content(self) -> QWidget:
        self.list.setModel(self.model)
        self.list.setAccessibleName("Prompts")
        dress_list(self.list, self._theme)
        self.list.setFont(self._theme.mono_font(0.95))
        self.list.setItemDelegate(MarkedRows(self._theme, NoteRole, ToneRole, self.list))
        self._header.add_action(self._actions["prompt.refresh"])
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
        splitter.addWidget(self.view)
        splitter.setSizes([220, 920])
        splitter.setStretchFactor(1, 1)
        inside = QWidget()
        whole = QVBoxLayout(inside)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.news)
        whole.addWidget(splitter, 1)
        return inside
