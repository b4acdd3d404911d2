"""What the window says of cards outside of the Inbox: in toasts, above a call, about those that ended."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.engine.cards import Card, CardEnd
from inspector.qt.models.inboxwords import excerpt_of, for_person, waits_words, what_words, wish_words

_NAME = 40  # letters of a server's name in a one-line text
_ENDS = {
    CardEnd.WITHDRAWN: "{server} took its question back ({what}).",
    CardEnd.OVERDUE: "A question of {server} was not answered in time ({what}).",
    CardEnd.SERVER_GONE: "{server} is gone, and its question with it ({what}).",
    CardEnd.NOT_SENT: "An answer to {server} could not be sent ({what}).",
    CardEnd.REFUSED: "A question of {server} was refused without asking you ({what}).",
}


def toast_words(card: Card) -> tuple[str, str, str, str]:
    """Return the server, its request, an excerpt and the waiting call."""
    wish = wish_words(card).removeprefix(one_line(card.server)).strip()
    about = next((words for words in map(excerpt_of, for_person(card)) if words), "")
    return one_line(card.server), wish[:1].upper() + wish[1:], about, waits_words(card)


def is_news(card: Card) -> bool:
    """Return whether it ended in a way worth a notification."""
    return card.end in _ENDS


def news_words(cards: Sequence[Card]) -> str:
    """Return how the last of them ended and the number of others. The Inbox has the reasons."""
    last = cards[-1]
    assert last.end is not None
    server = one_line(shorten(last.server, _NAME))
    words = _ENDS[last.end].format(server=server, what=what_words(last).lower())
    return f"{words} {len(cards) - 1:,} more before it." if len(cards) > 1 else words


def asked_of_call(cards: Sequence[Card], tool: str, since_ns: int) -> Card | None:
    """Return the oldest server request that a tool call waits for, or may be waiting for.

    Not every request says which call it belongs to. `since_ns` is when the call started: earlier requests
    belong to other calls.
    """
    whose = (("tools/call", tool), ("", ""))
    found = (card for card in cards if (card.method, card.subject) in whose and card.asked_ns >= since_ns)
    return next(found, None)


def waiting_words(card: Card) -> str:
    """Return the text shown above a waiting call."""
    what = "the page" if card.awaits_page else what_words(card).lower()
    return f"Waiting for you: {what}"
