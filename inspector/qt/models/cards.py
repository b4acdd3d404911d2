"""Which cards of the Inbox wait, by server; and which rows of the traffic asked for what."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from inspector.engine.cards import Card

_MOST_ROWS = 500  # rows remembered with their cards: as many as the Inbox keeps of closed ones


class OpenCards(QObject):
    """The open Inbox cards.

    Signals:
        opened: A new card; carries it.
        ended: A card was closed, even if it was never seen open; carries it.
        counted: A server's cards changed; carries its name.
    """

    opened = Signal(object)
    ended = Signal(object)
    counted = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open: dict[int, Card] = {}
        self._rows: dict[int, tuple[str, int]] = {}

    def put(self, card: Card) -> None:
        """Add, update or close a card."""
        is_new = card.id not in self._open
        if card.row is not None:
            self._remember(card.row, card)
        if card.is_open:
            self._open[card.id] = card
        else:
            self._open.pop(card.id, None)
        self.counted.emit(card.server)
        if not card.is_open:
            self.ended.emit(card)
        elif is_new:
            self.opened.emit(card)

    def of(self, server: str) -> tuple[Card, ...]:
        """Return the open cards of a server, oldest first."""
        return tuple(card for card in self._open.values() if card.server == server)

    def card(self, card_id: int) -> Card | None:
        """Return an open card; None if it is closed or unknown."""
        return self._open.get(card_id)

    @property
    def count(self) -> int:
        return len(self._open)

    def asked_in(self, row: int) -> tuple[str, int] | None:
        """Return the server and the card id of a request in the running traffic."""
        return self._rows.get(row)

    def _remember(self, row: int, card: Card) -> None:
        self._rows[row] = (card.server, card.id)
        if len(self._rows) > _MOST_ROWS:
            del self._rows[next(iter(self._rows))]
