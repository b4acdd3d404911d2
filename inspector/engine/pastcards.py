"""Cards that ended, and what earlier rounds of a call asked: the latest, as many as there is room for."""

from __future__ import annotations

from collections import deque

from inspector.engine.cards import Card, Round

MOST_CARDS = 500
MOST_CALLS = 200
# Total size of the requests, which may contain large images. They stay in the traffic log anyway.
MOST_BYTES = 64 * 1024 * 1024


class PastCards:
    def __init__(self) -> None:
        self._cards: deque[tuple[Card, int]] = deque()
        self._bytes = 0

    def add(self, card: Card, size: int) -> None:
        """Add an ended card; `size` is that of its request. The newest card is always kept."""
        self._cards.append((card, size))
        self._bytes += size
        while len(self._cards) > 1 and (len(self._cards) > MOST_CARDS or self._bytes > MOST_BYTES):
            self._bytes -= self._cards.popleft()[1]

    def amend(self, card: Card) -> None:
        """Update a recent card whose end turned out differently."""
        for place in range(len(self._cards) - 1, -1, -1):
            if self._cards[place][0].id == card.id:
                self._cards[place] = card, self._cards[place][1]
                return

    def cards(self) -> tuple[Card, ...]:
        """Return the cards, newest last."""
        return tuple(card for card, _ in self._cards)


class EarlierRounds:
    """Earlier rounds by call: its server and first row."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], tuple[tuple[Round, ...], int]] = {}
        self._bytes = 0

    def of(self, server: str, operation: int) -> tuple[Round, ...]:
        return self._calls.get((server, operation), ((), 0))[0]

    def add(self, card: Card, size: int) -> None:
        """Add a finished round. The oldest calls are dropped over the limit."""
        if card.round == 0 or card.operation is None or card.ended_ns is None:
            return
        key = (card.server, card.operation)
        _, before = self._calls.pop(key, ((), 0))
        latest = Round(card.questions, card.ended_ns - card.asked_ns)
        self._calls[key] = (*card.earlier, latest), before + size
        self._bytes += size
        while len(self._calls) > 1 and (len(self._calls) > MOST_CALLS or self._bytes > MOST_BYTES):
            self._bytes -= self._calls.pop(next(iter(self._calls)))[1]
