"""State of one pending Inbox request, and bounded histories of ended requests and rounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from inspector.base.json.values import JSONObject
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem, Round
from inspector.protocol.revisions import R4, Revision
from inspector.protocol.server_requests.request import ELICITATION, read_server_request, remarks
from inspector.protocol.types import InputRequest
from inspector.session.server_requests import OWN, Answers, RequestRefused, ServerRequest

CANCEL = Reply(result={"action": "cancel"})


@dataclass(eq=False, slots=True)
class PendingInboxRequest:
    """A pending card with its internal state.

    `answers` is set when the replies can be sent; `pages` are ids of URL elicitations whose completion the
    server will report.
    """

    card: InboxRequest
    asking: ServerRequest
    remark: Callable[[str], None]
    answers: asyncio.Future[dict[str, Reply]]
    pages: set[str] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None
    is_shown: bool = False

    @property
    def replies(self) -> dict[str, Reply]:
        return {each.key: each.reply for each in self.card.questions if each.reply is not None}

    def question(self, key: str) -> RequestItem | None:
        return next((question for question in self.card.questions if question.key == key), None)

    def answer(self, key: str, reply: Reply | None) -> None:
        self._update(key, lambda question: replace(question, reply=reply))

    def remark_on(self, key: str, text: str) -> None:
        self._update(key, lambda question: replace(question, remarks=(*question.remarks, text)))

    def put_remarks(self, remarks: Mapping[str, tuple[str, ...]]) -> None:
        """Set the remarks about its requests, by key, once they are known."""
        questions = tuple(replace(each, remarks=remarks.get(each.key, ())) for each in self.card.questions)
        self.card = replace(self.card, questions=questions)

    def _update(self, key: str, change: Callable[[RequestItem], RequestItem]) -> None:
        questions = tuple(change(each) if each.key == key else each for each in self.card.questions)
        self.card = replace(self.card, questions=questions)

    @property
    def is_decided(self) -> bool:
        """True if nothing remains to be asked.

        One refusal is enough where the protocol cannot send it along with the others.
        """
        if not self.card.unanswered:
            return True
        replies = self.replies.values()
        if self.asking.awaits_pages:
            return not all(is_consent(reply) for reply in replies)
        return self.asking.round > 0 and any(reply.is_error for reply in replies)

    @property
    def is_consented(self) -> bool:
        """True if the user agreed to all its URL elicitations."""
        return not self.card.unanswered and all(is_consent(reply) for reply in self.replies.values())

    def resolve(self) -> None:
        """Release the replies for sending."""
        self._stop_timer()
        if not self.answers.done():
            self.answers.set_result(self.replies)

    def close(self) -> None:
        """Cancel: no reply is needed any more."""
        self._stop_timer()
        self.answers.cancel()

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


def is_consent(reply: Reply) -> bool:
    return reply.result is not None and reply.result.get("action") == "accept"


def questions_of(
    asking: ServerRequest, known: Mapping[str, Reply], *, has_remarks: bool = True
) -> tuple[RequestItem, ...]:
    """Return the requests to show; `has_remarks` includes what is wrong with them."""
    found = remarks_of(asking) if has_remarks else {}
    return tuple(
        RequestItem(key, each.method, each.params, found.get(key, ()), known.get(key))
        for key, each in asking.questions.items()
    )


def remarks_of(asking: ServerRequest) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with each answerable request, by key."""
    return {key: _remarks(each, asking.revision) for key, each in asking.questions.items()}


def _remarks(question: InputRequest, revision: Revision) -> tuple[str, ...]:
    try:
        return remarks(read_server_request(question.method, question.params, revision), revision)
    except ValueError:
        return ()  # rejected; the card says why


def pages_of(asking: ServerRequest) -> set[str]:
    """Return the ids with which the server reports completed URL elicitations."""
    if asking.awaits_pages:
        return set(asking.questions)
    question = asking.questions.get(OWN)
    if question is None or question.method != ELICITATION or asking.revision != R4:
        return set()
    id = question.params.get("elicitationId")
    return {id} if question.params.get("mode") == "url" and isinstance(id, str) and id else set()


def answers_of(replies: Mapping[str, Reply]) -> Answers:
    """Return the results by key. Raises Refusal if one of them is an error."""
    results: dict[str, JSONObject] = {}
    for key, reply in replies.items():
        if reply.result is None:
            raise RequestRefused(key, reply.code, reply.message, reply.data)
        results[key] = reply.result
    return results


MOST_CARDS = 500
MOST_CALLS = 200
# Total size of the requests, which may contain large images. They stay in the traffic log anyway.
MOST_BYTES = 64 * 1024 * 1024


class RequestHistory:
    def __init__(self) -> None:
        self._cards: deque[tuple[InboxRequest, int]] = deque()
        self._bytes = 0

    def add(self, card: InboxRequest, size: int) -> None:
        """Add an ended card; `size` is that of its request. The newest card is always kept."""
        self._cards.append((card, size))
        self._bytes += size
        while len(self._cards) > 1 and (len(self._cards) > MOST_CARDS or self._bytes > MOST_BYTES):
            self._bytes -= self._cards.popleft()[1]

    def amend(self, card: InboxRequest) -> None:
        """Update a recent card whose end turned out differently."""
        for place in range(len(self._cards) - 1, -1, -1):
            if self._cards[place][0].id == card.id:
                self._cards[place] = card, self._cards[place][1]
                return

    def cards(self) -> tuple[InboxRequest, ...]:
        """Return the cards, newest last."""
        return tuple(card for card, _ in self._cards)


class EarlierRounds:
    """Earlier rounds by call: its server and first row."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], tuple[tuple[Round, ...], int]] = {}
        self._bytes = 0

    def of(self, server: str, operation: int) -> tuple[Round, ...]:
        return self._calls.get((server, operation), ((), 0))[0]

    def add(self, card: InboxRequest, size: int) -> None:
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
