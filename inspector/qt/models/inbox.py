"""The cards of the Inbox as a list: those that wait, the oldest first, then the earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt

from inspector.base.plaintext import one_line
from inspector.engine.cards import Card
from inspector.qt.models.inboxwords import (
    age_words,
    end_words,
    excerpt_of,
    note_words,
    waits_words,
    what_words,
)
from inspector.qt.models.logrows import Index
from inspector.qt.models.tips import plain_tip

CardRole = Qt.ItemDataRole.UserRole + 1
AgeRole = Qt.ItemDataRole.UserRole + 2
MOST_EARLIER = 500
EARLIER = "Earlier"
_NOWHERE = QModelIndex()


class InboxModel(QAbstractListModel):
    """Cards by row (`CardRole`), with an “Earlier” heading before the closed ones, if any.

    `server` restricts it to one server; None shows all. `now` is the clock of the cards' timestamps.
    """

    def __init__(self, server: str | None = None, now: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__()
        self.server = server
        self._now = now
        self._open: list[Card] = []
        self._earlier: list[Card] = []  # the latest first

    @property
    def open_cards(self) -> tuple[Card, ...]:
        return tuple(self._open)

    def put(self, card: Card) -> None:
        """Add, update or close a card."""
        if self.server is not None and card.server != self.server:
            return
        place = next((place for place, known in enumerate(self._open) if known.id == card.id), None)
        if card.is_open:
            self._put_open(place, card)
        else:
            self._end(place, card)

    def put_all(self, cards: Iterable[Card]) -> None:
        for card in cards:
            self.put(card)

    def card(self, row: int) -> Card | None:
        if 0 <= row < len(self._open):
            return self._open[row]
        place = row - len(self._open) - 1
        return self._earlier[place] if 0 <= place < len(self._earlier) else None

    def row_of(self, card_id: int) -> int | None:
        cards = (self.card(row) for row in range(self.rowCount()))
        return next((row for row, card in enumerate(cards) if card is not None and card.id == card_id), None)

    def tick(self) -> None:
        """Update the ages of the open cards."""
        if self._open:
            self.dataChanged.emit(self.index(0), self.index(len(self._open) - 1), [AgeRole])

    # --------------------------------------------------------------

    def _put_open(self, place: int | None, card: Card) -> None:
        if place is not None:
            self._open[place] = card
            self.dataChanged.emit(self.index(place), self.index(place))
        elif all(known.id != card.id for known in self._earlier):  # else a late update of a closed card
            at = sum(known.id < card.id for known in self._open)
            self.beginInsertRows(_NOWHERE, at, at)
            self._open.insert(at, card)
            self.endInsertRows()

    def _end(self, place: int | None, card: Card) -> None:
        known = next((at for at, each in enumerate(self._earlier) if each.id == card.id), None)
        if known is not None:
            self._earlier[known] = card
            index = self.index(len(self._open) + known + 1)
            self.dataChanged.emit(index, index)
            return
        if place is not None:
            self.beginRemoveRows(_NOWHERE, place, place)
            del self._open[place]
            self.endRemoveRows()
        at = sum(_ended(each) > _ended(card) for each in self._earlier)
        row = len(self._open) + at + 1
        self.beginInsertRows(_NOWHERE, row if self._earlier else row - 1, row)  # the first adds the heading
        self._earlier.insert(at, card)
        self.endInsertRows()
        if len(self._earlier) > MOST_EARLIER:
            last = self.rowCount() - 1
            self.beginRemoveRows(_NOWHERE, last, last)
            self._earlier.pop()
            self.endRemoveRows()

    # --------------------------------------------------------------

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        if parent.isValid():
            return 0
        return len(self._open) + (len(self._earlier) + 1 if self._earlier else 0)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.card(index.row()) is None:
            return Qt.ItemFlag.NoItemFlags  # arrow keys skip it
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        card = self.card(index.row())
        if card is None:
            return EARLIER if role == Qt.ItemDataRole.DisplayRole else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return what_words(card)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(note_words(card)) if card.note else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._spoken(card)
        if role == CardRole:
            return card
        return age_words(card, self._now()) if role == AgeRole and card.is_open else None

    def _spoken(self, card: Card) -> str:
        stands = f"waiting for {age_words(card, self._now())}" if card.is_open else end_words(card)
        words = (what_words(card), one_line(card.server), waits_words(card), stands, _about(card))
        return ", ".join(word for word in words if word)


def _ended(card: Card) -> int:
    return card.ended_ns or 0


def _about(card: Card) -> str:
    return next((words for words in map(excerpt_of, card.questions) if words), "")
