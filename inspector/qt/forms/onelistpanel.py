"""A panel of one list, with a search above it and the chosen item beside it: tools, prompts."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.errors import LensError
from inspector.protocol.types import Listing
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.offeredlist import OfferedList, counted
from inspector.qt.forms.offeredpanel import OfferedPanel, column_in
from inspector.qt.models.offered import Item, OfferedModel
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.searchfield import SearchField
from inspector.qt.widgets.toolbar import PanelHeader


class OneListPanel(OfferedPanel):
    """A panel with one list. The first item is selected initially.

    The selected item stays shown even when it is no longer in the list.
    """

    def __init__(
        self,
        bridge: Bridge,
        server: str,
        actions: Actions,
        theme: Theme,
        model: OfferedModel,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(bridge, server, actions, theme, parent)
        self._current: Item | None = None
        self._wanted = ""  # an item to select once the list is loaded
        model.setParent(self)
        self._offered = model
        self.search = SearchField(theme, f"Search {self._what}")
        self.list = OfferedList(theme, model, self._what.capitalize())
        self._nothing = Muted(theme, "Nothing fits.", wrap=True)
        self._nothing.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._nothing.hide()
        self._header = PanelHeader(theme, self._what.capitalize())
        self._header.add_action(actions[f"{self.kind}.refresh"])
        self.search.text_settled.connect(lambda words: model.set_words(words.strip()))
        model.searched.connect(self._on_searched)
        self.list.chosen.connect(self._go_to)

    @property
    def total(self) -> int:
        return self._offered.total

    def choose(self, name: str) -> bool:
        return self.list.go_to(name)

    def choose_soon(self, name: str) -> None:
        """Select an item even if a search hides it, or as soon as the list is loaded."""
        self._wanted = name if self._offered.find(name) is None else ""
        if self._wanted:
            return
        if not self.choose(name):
            self.search.clear()
            self.search.settle()
            self.choose(name)
        self._on_chosen_soon(name)

    # -------------------------------------------------------------- what each panel has of its own

    async def _fetch(self) -> Listing[Any]:
        raise NotImplementedError

    def _show_item(self, item: Item) -> None:
        """Show an item beside the list; it may be a new version of the current one."""
        raise NotImplementedError

    def _show_nothing(self) -> None:
        """Called when the list is empty."""

    def _on_chosen_soon(self, name: str) -> None:
        """Called when the item requested by `choose_soon` is shown."""

    # --------------------------------------------------------------

    def _lay_out_beside(self, page: QWidget, width: int) -> None:
        left = QWidget()
        column = column_in(left)
        column.addWidget(self._header)
        boxed = QVBoxLayout()
        boxed.setContentsMargins(SPACE_2, SPACE_2, SPACE_2, SPACE_2)
        boxed.addWidget(self.search)
        column.addLayout(boxed)
        column.addWidget(self._nothing)
        column.addWidget(self.list, 1)
        self._lay_out(left, page, [width, 1140 - width])

    async def _list_all(self) -> None:
        self._explain_listing()
        try:
            listing = await self._fetch()
        except LensError as exc:
            self._show_failure(exc)
            return
        if self._is_connected:
            await self._show_listing(listing)

    async def _show_listing(self, listing: Listing[Any]) -> None:
        """Show a list in steps: ten thousand rows and the first form at once would block the window."""
        self._offered.set_listing(listing)
        await asyncio.sleep(0)
        self._choose_again()
        await asyncio.sleep(0)
        if self._is_connected:
            self._open(f"The server's list of {self._what} is empty.")
        if self._wanted:
            self.choose_soon(self._wanted)
        news = await self._offered.news_soon()
        self.news.tell(self._what, news)
        self._offered.mark_news(news)

    def _choose_again(self) -> None:
        first = self._offered.item(0)
        if not self.total:
            self._current = None
            self._show_nothing()
        elif self._current is not None:
            renewed = self._offered.renewed(self._current)
            if renewed is not None and renewed != self._current:
                self._current = renewed
                self._show_item(renewed)
        elif first is not None:
            self.list.hold(first)
            self._go_to(first)

    def _go_to(self, item: Item) -> None:
        self._current = item
        self._offered.see(item)
        self._show_item(item)

    def _on_searched(self) -> None:
        self._header.set_detail(counted(self._offered))
        self._nothing.setVisible(bool(self._offered.words) and not self._offered.rowCount())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and self.search.hasFocus():
            self.list.setFocus()
        else:
            super().keyPressEvent(event)
