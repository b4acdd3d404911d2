"""Keeps the views of cards, so that what is typed is there wherever the card is looked at next."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from inspector.engine.cards import Card
from inspector.qt.bridge import Bridge
from inspector.qt.opener import Opener
from inspector.qt.panels.inbox.card import CardView
from inspector.qt.theme import Theme

_MOST_ENDED = 20


class CardDesk(QObject):
    """The card views, shared by all Inbox panels of a window.

    A card has one view, and the front panel has it.

    Signals:
        operation_requested, uri_requested, task_requested: As in `CardView`.
        answered: The user has answered a card; carries its id.
    """

    operation_requested = Signal(str, int)
    uri_requested = Signal(str, str)
    task_requested = Signal(str, str)
    answered = Signal(int)

    def __init__(self, bridge: Bridge, theme: Theme, opener: Opener, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge, self._theme, self._opener = bridge, theme, opener
        self._views: dict[int, CardView] = {}
        self._shelf = QWidget()  # parent of views not shown in any panel
        self.destroyed.connect(self._shelf.deleteLater)
        bridge.card_changed.connect(self._on_card_changed)

    def view_of(self, card: Card) -> CardView:
        """Return a card's view, created on first use."""
        view = self._alive(card.id)
        self._views.pop(card.id, None)
        if view is None:
            view = CardView(self._bridge, self._theme, self._opener, card, self._shelf)
            view.operation_requested.connect(self.operation_requested)
            view.uri_requested.connect(self.uri_requested)
            view.task_requested.connect(self.task_requested)
            view.answered.connect(lambda: self.answered.emit(card.id))
        self._views[card.id] = view  # moved to the end
        self._forget_some()
        return view

    def put_away(self, view: CardView) -> None:
        view.setParent(self._shelf)

    def _on_card_changed(self, card: Card) -> None:
        view = self._alive(card.id)
        if view is not None:
            view.show_card(card)

    def _alive(self, card_id: int) -> CardView | None:
        """Return a view unless it was deleted with its panel, as when a server is removed."""
        view = self._views.get(card_id)
        return view if view is not None and shiboken6.isValid(view) else None

    def _forget_some(self) -> None:
        """Drop views of ended cards, which can be recreated; open ones hold what was typed."""
        self._views = {id: view for id, view in self._views.items() if self._alive(id) is not None}
        ended = [id for id, view in self._views.items() if not view.card.is_open]
        for id in ended[:-_MOST_ENDED]:
            self._views.pop(id).deleteLater()
