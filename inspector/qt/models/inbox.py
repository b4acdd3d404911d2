"""Models and texts of the Inbox: pending server requests by server, and the request list.

The list has pending requests first, oldest on top, then the ended ones (at most 500). The texts are for
the Inbox itself, for toasts and for the strip above a waiting call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, Signal

from inspector.base.json.values import shorten, text_of
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural
from inspector.engine.inbox.views import InboxRequest, InboxRequestEnd, Reply, RequestItem
from inspector.protocol.server_requests.replies import ACCEPT, CANCEL, DECLINE, USER_REJECTED
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING
from inspector.protocol.server_requests.sampling import USER
from inspector.qt.models.row_models import Index, plain_tip

_MOST_ROWS = 500  # rows remembered with their cards: as many as the Inbox keeps of closed ones


class PendingRequestIndex(QObject):
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
        self._open: dict[int, InboxRequest] = {}
        self._rows: dict[int, tuple[str, int]] = {}

    def put(self, card: InboxRequest) -> None:
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

    def of(self, server: str) -> tuple[InboxRequest, ...]:
        """Return the open cards of a server, oldest first."""
        return tuple(card for card in self._open.values() if card.server == server)

    def card(self, card_id: int) -> InboxRequest | None:
        """Return an open card; None if it is closed or unknown."""
        return self._open.get(card_id)

    @property
    def count(self) -> int:
        return len(self._open)

    def asked_in(self, row: int) -> tuple[str, int] | None:
        """Return the server and the card id of a request in the running traffic."""
        return self._rows.get(row)

    def _remember(self, row: int, card: InboxRequest) -> None:
        self._rows[row] = (card.server, card.id)
        if len(self._rows) > _MOST_ROWS:
            del self._rows[next(iter(self._rows))]


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
        self._open: list[InboxRequest] = []
        self._earlier: list[InboxRequest] = []  # the latest first

    @property
    def open_cards(self) -> tuple[InboxRequest, ...]:
        return tuple(self._open)

    def put(self, card: InboxRequest) -> None:
        """Add, update or close a card."""
        if self.server is not None and card.server != self.server:
            return
        place = next((place for place, known in enumerate(self._open) if known.id == card.id), None)
        if card.is_open:
            self._put_open(place, card)
        else:
            self._end(place, card)

    def put_all(self, cards: Iterable[InboxRequest]) -> None:
        for card in cards:
            self.put(card)

    def card(self, row: int) -> InboxRequest | None:
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

    def _put_open(self, place: int | None, card: InboxRequest) -> None:
        if place is not None:
            self._open[place] = card
            self.dataChanged.emit(self.index(place), self.index(place))
        elif all(known.id != card.id for known in self._earlier):  # else a late update of a closed card
            at = sum(known.id < card.id for known in self._open)
            self.beginInsertRows(_NOWHERE, at, at)
            self._open.insert(at, card)
            self.endInsertRows()

    def _end(self, place: int | None, card: InboxRequest) -> None:
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
                return what_text(card)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(note_text(card)) if card.note else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._spoken(card)
        if role == CardRole:
            return card
        return age_text(card, self._now()) if role == AgeRole and card.is_open else None

    def _spoken(self, card: InboxRequest) -> str:
        stands = f"waiting for {age_text(card, self._now())}" if card.is_open else end_text(card)
        words = (what_text(card), one_line(card.server), waits_text(card), stands, _about(card))
        return ", ".join(word for word in words if word)


def _ended(card: InboxRequest) -> int:
    return card.ended_ns or 0


def _about(card: InboxRequest) -> str:
    return next((words for words in map(excerpt_of, card.questions) if words), "")


_NAME = 40  # letters of a server's name in a one-line text
_ENDS = {
    InboxRequestEnd.WITHDRAWN: "{server} took its question back ({what}).",
    InboxRequestEnd.OVERDUE: "A question of {server} was not answered in time ({what}).",
    InboxRequestEnd.SERVER_GONE: "{server} is gone, and its question with it ({what}).",
    InboxRequestEnd.NOT_SENT: "An answer to {server} could not be sent ({what}).",
    InboxRequestEnd.REFUSED: "A question of {server} was refused without asking you ({what}).",
}


def toast_text(card: InboxRequest) -> tuple[str, str, str, str]:
    """Return the server, its request, an excerpt and the waiting call."""
    wish = wish_text(card).removeprefix(one_line(card.server)).strip()
    about = next((words for words in map(excerpt_of, for_person(card)) if words), "")
    return one_line(card.server), wish[:1].upper() + wish[1:], about, waits_text(card)


def is_news(card: InboxRequest) -> bool:
    """Return whether it ended in a way worth a notification."""
    return card.end in _ENDS


def news_text(cards: Sequence[InboxRequest]) -> str:
    """Return how the last of them ended and the number of others. The Inbox has the reasons."""
    last = cards[-1]
    assert last.end is not None
    server = one_line(shorten(last.server, _NAME))
    words = _ENDS[last.end].format(server=server, what=what_text(last).lower())
    return f"{words} {len(cards) - 1:,} more before it." if len(cards) > 1 else words


def asked_of_call(cards: Sequence[InboxRequest], tool: str, since_ns: int) -> InboxRequest | None:
    """Return the oldest server request that a tool call waits for, or may be waiting for.

    Not every request says which call it belongs to. `since_ns` is when the call started: earlier requests
    belong to other calls.
    """
    whose = (("tools/call", tool), ("", ""))
    found = (card for card in cards if (card.method, card.subject) in whose and card.asked_ns >= since_ns)
    return next(found, None)


def waiting_text(card: InboxRequest) -> str:
    """Return the text shown above a waiting call."""
    what = "the page" if card.awaits_page else what_text(card).lower()
    return f"Waiting for you: {what}"


_EXCERPT = 300
_KINDS = {"form": "Form", "url": "Page to open", SAMPLING: "Sampling", ROOTS: "Roots"}
_WISHES = {
    "form": "asks you to fill in a form",
    "url": "asks you to open a page",
    SAMPLING: "asks for a model's answer",
    ROOTS: "asks for the roots",
}
_ACTIONS = {ACCEPT: "accepted", DECLINE: "declined", CANCEL: "cancelled"}
_DRAFTED = "drafted"
_SECOND = 1_000_000_000


def is_page(question: RequestItem) -> bool:
    return question.method == ELICITATION and question.params.get("mode") == "url"


def _kind(question: RequestItem) -> str:
    if question.method == ELICITATION:
        return "url" if is_page(question) else "form"
    return question.method


def kind_text(question: RequestItem) -> str:
    """Return the kind: Form, Page to open, Sampling or Roots."""
    return _KINDS.get(_kind(question)) or one_line(question.method)


def for_person(card: InboxRequest) -> tuple[RequestItem, ...]:
    """Return the requests that only the user, or a reply rule, can answer."""
    return tuple(each for each in card.questions if each.reply is None or not each.reply.is_known)


def what_text(card: InboxRequest) -> str:
    """Return what a card asks for, in two or three words."""
    asked = for_person(card) or card.questions
    if len(asked) == 1:
        return kind_text(asked[0])
    kinds = {kind_text(each) for each in asked}
    return f"{plural(len(asked), 'question')}" if len(kinds) > 1 else f"{len(asked)} × {kinds.pop()}"


def wish_text(card: InboxRequest) -> str:
    """Return e.g. "everything asks you to fill in a form"."""
    asked = for_person(card) or card.questions
    wish = _WISHES.get(_kind(asked[0]), f"asks with {one_line(asked[0].method)}")
    if len(asked) > 1:
        wish = f"asks {plural(len(asked), 'question')}"
    return f"{one_line(card.server)} {wish}"


def excerpt_of(question: RequestItem) -> str:
    """Return a one-line excerpt: the message, or the last user message."""
    params = question.params
    text = (
        text_of(params, "message") if question.method == ELICITATION else _last_said(params.get("messages"))
    )
    return one_line(shorten(text.strip(), _EXCERPT))


def _last_said(messages: object) -> str:
    if not isinstance(messages, list):
        return ""
    for message in reversed(messages[-20:]):
        if not isinstance(message, dict) or message.get("role") != USER:
            continue
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, dict) and (text := text_of(block, "text")):
                return text
    return ""


def waits_text(card: InboxRequest) -> str:
    """Return which call waits for the reply, e.g. "tool roll_dice"."""
    if card.subject:
        what = {"tools/call": "tool ", "prompts/get": "prompt ", "resources/read": "resource "}
        return f"{what.get(card.method, '')}{one_line(shorten(card.subject, 120))}"
    if card.task_id:
        return f"task {one_line(shorten(card.task_id, 60))}"
    return one_line(card.method)


def asking_task(card: InboxRequest) -> str:
    """Return the id of the server's task behind the request, "" if there is none.

    A request may itself run as a task of the client, which is not the server's.
    """
    is_ours = any("task" in question.params for question in card.questions)
    return "" if is_ours else card.task_id


def round_text(card: InboxRequest) -> str:
    """Return e.g. "Round 2 of at most 10"; "" for a request outside of multi round-trip calls."""
    if not card.round:
        return ""
    return f"Round {card.round} of at most {card.most_rounds}" if card.most_rounds else f"Round {card.round}"


def state_text(card: InboxRequest) -> str:
    """Return the state of an open card; "" if it is just pending."""
    if card.awaits_page:
        return "waiting for the page"
    asked = for_person(card)
    done = sum(each.reply is not None for each in asked)
    return f"{done} of {len(asked)} answered" if len(asked) > 1 and done else ""


def age_text(card: InboxRequest, now_ns: int) -> str:
    """Return the age: 12 s, 3 min, 2 h 05 min."""
    seconds = max(now_ns - card.asked_ns, 0) // _SECOND
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


# ------------------------------------------------------------------ answers and ends


def reply_text(reply: Reply) -> str:
    """Return the kind of reply: accepted, declined, cancelled, answered or refused."""
    if reply.is_known:
        return "answered by itself"
    if reply.result is None:
        return "declined" if reply.code == USER_REJECTED else f"refused with error {reply.code}"
    action = reply.result.get("action")
    return _ACTIONS.get(action, "answered") if isinstance(action, str) else "answered"


def rule_text(reply: Reply) -> str:
    """Return the rule that replied or drafted, e.g. "by the rule “Echo”"; "" without a rule."""
    name = reply.rule or reply.drafted_by
    words = f"by the rule “{one_line(shorten(name, 60))}”" if name else ""
    return f"{_DRAFTED} {words}" if words and not reply.rule else words


def end_text(card: InboxRequest) -> str:
    """Return how it ended, by whom and when: "accepted by the rule “Yes” after 1.2 s"."""
    if card.end is None:
        return ""
    words = card.end.value
    if card.end is InboxRequestEnd.ANSWERED:
        replies = [each.reply for each in for_person(card) or card.questions if each.reply is not None]
        said = dict.fromkeys(filter(None, map(reply_text, replies)))
        rules = dict.fromkeys(filter(None, map(rule_text, replies)))
        words = ", ".join(said) or words
        for rule in rules:
            words += f", {rule}" if rule.startswith(_DRAFTED) else f" {rule}"
    # A request refused automatically was never pending.
    waited = waited_text(card) if card.end is not InboxRequestEnd.REFUSED else ""
    return f"{words} after {waited}" if waited else words


def is_yes(card: InboxRequest) -> bool:
    """Return whether it ended with what the server asked for."""
    replies = [each.reply for each in for_person(card) or card.questions]
    yes = ("answered", "answered by itself", _ACTIONS[ACCEPT])
    given = [reply_text(reply) for reply in replies if reply is not None]
    return card.end is InboxRequestEnd.ANSWERED and all(words in yes for words in given)


def note_text(card: InboxRequest) -> str:
    """Return a sentence on why it ended, or a note on an open card."""
    note = card.note.strip()
    if not note:
        return ""
    words = note if note[-1] in ".!?…" else f"{note}."
    return f"Reason: {words}" if card.end is InboxRequestEnd.WITHDRAWN else words


def waited_text(card: InboxRequest) -> str:
    return duration(card.ended_ns - card.asked_ns) if card.ended_ns is not None else ""
