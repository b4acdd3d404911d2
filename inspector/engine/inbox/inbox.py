"""The Inbox: pending server requests of all servers, answered by reply rules or by the user.

Runs on the engine's loop. An `InboxRequest` is everything that one server asks at one moment, in either
era (`session.server_requests.ServerRequest`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from inspector.base.clock import Clock, SystemClock
from inspector.base.errors import LensError, UserError
from inspector.base.plain_text import visible
from inspector.base.signals import Signal
from inspector.config.preferences.sections import InboxPrefs, InboxPrefsFile
from inspector.engine.inbox.pending import (
    CANCEL,
    EarlierRounds,
    PendingInboxRequest,
    RequestHistory,
    answers_of,
    pages_of,
    questions_of,
    remarks_of,
)
from inspector.engine.inbox.views import InboxRequest, InboxRequestEnd, Reply, RequestItem, Round
from inspector.protocol.jsonrpc import INTERNAL_ERROR
from inspector.protocol.revisions import Revision
from inspector.protocol.server_requests.request import ELICITATION
from inspector.session.server_requests import (
    Answers,
    RequestRefused,
    Responder,
    ServerRequest,
    ServerRequestEnd,
)
from inspector.session.state import Answerer

_log = logging.getLogger(__name__)

MOST_OPEN = 5_000  # per server; beyond that, requests are rejected
# Message size in bytes from which checks run off the loop: it may contain images.
_MANY_BYTES = 256 * 1024
# Give rules a moment before a card is shown: what they answer at once must not flash up.
_HEAD_START = 0.05
_TOO_LATE = Reply(code=-1, message="The user did not answer in time")

_ENDS = {
    ServerRequestEnd.REFUSED: InboxRequestEnd.REFUSED,
    ServerRequestEnd.WITHDRAWN: InboxRequestEnd.WITHDRAWN,
    ServerRequestEnd.CALL_ENDED: InboxRequestEnd.CALL_ENDED,
    ServerRequestEnd.SERVER_GONE: InboxRequestEnd.SERVER_GONE,
    ServerRequestEnd.BY_HAND: InboxRequestEnd.ANSWERED,
}


class Rules(Protocol):
    """Answers server requests automatically."""

    async def reply(self, server: str, question: RequestItem, revision: Revision) -> Reply | None:
        """Return the reply with its rule's name; None leaves it to the user.

        Raising LensError leaves it to the user too.
        """
        ...


class Inbox:
    """All pending requests of all servers.

    `answer_within` is the Inbox timeout in seconds, None for unlimited; `prefs` saves it.

    Signals:
        changed: A card was opened, changed or ended; carries it.
        problem_found: Something is wrong with the preferences; carries a sentence.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        answer_within: float | None = None,
        rules: Rules | None = None,
        prefs: InboxPrefsFile | None = None,
    ) -> None:
        self.changed: Signal[InboxRequest] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.answer_within = answer_within
        self._prefs = prefs
        self.rules = rules
        self._clock = clock or SystemClock()
        self._ids = itertools.count(1)
        self._open: dict[int, PendingInboxRequest] = {}
        self._asked: dict[ServerRequest, PendingInboxRequest] = {}
        self._counts: Counter[str] = Counter()  # open cards by server
        self._past = RequestHistory()
        self._rounds = EarlierRounds()

    def cards(self) -> tuple[InboxRequest, ...]:
        """Return pending cards, oldest first."""
        return tuple(waiting.card for waiting in self._open.values() if waiting.is_shown)

    def past(self) -> tuple[InboxRequest, ...]:
        """Return recently ended cards, most recent last."""
        return self._past.cards()

    # -------------------------------------------------------------- what a person does

    def begin(self) -> None:
        """Load the preferences; problems are reported."""
        if self._prefs is not None:
            chosen, problems = self._prefs.load()
            self.answer_within = chosen.answer_within
            for problem in problems:
                self.problem_found.emit(problem)

    def choose_answer_within(self, seconds: float | None) -> None:
        """Set and save the timeout of future requests. Raises ConfigError."""
        if self._prefs is not None:
            self._prefs.save(InboxPrefs(seconds))
        self.answer_within = seconds

    def reply(self, card_id: int, key: str, reply: Reply) -> None:
        """Answer one request of a card; replies are sent once all are answered. Raises UserError."""
        waiting = self._find(card_id)
        question = waiting.question(key)
        if question is None or question.reply is not None or waiting.card.awaits_page:
            raise UserError("This question was answered already.", "Take the answer back first, if you can.")
        self._take(waiting, key, reply)

    def retract(self, card_id: int, key: str) -> None:
        """Withdraw a reply while others are missing. Raises UserError."""
        waiting = self._find(card_id)
        question = waiting.question(key)
        if question is None or question.reply is None or waiting.card.awaits_page:
            raise UserError("There is no answer that could be taken back.")
        waiting.answer(key, None)
        self._show(waiting)

    def page_done(self, card_id: int) -> None:
        """Mark a URL elicitation as done by the user, whatever the server says. Raises UserError."""
        self._end(self._find_awaiting(card_id), InboxRequestEnd.ANSWERED)

    def dismiss(self, card_id: int) -> None:
        """Stop waiting for a URL elicitation; a waiting call fails. Raises UserError."""
        waiting = self._find_awaiting(card_id)
        for question in waiting.card.questions if waiting.asking.awaits_pages else ():
            waiting.answer(question.key, CANCEL)
        self._end(
            waiting, InboxRequestEnd.ANSWERED, "Dismissed before the server said that the page is done."
        )

    def _find(self, card_id: int) -> PendingInboxRequest:
        try:
            return self._open[card_id]
        except KeyError:
            raise UserError("This is not asked any more.", "Nothing was sent.") from None

    def _find_awaiting(self, card_id: int) -> PendingInboxRequest:
        waiting = self._find(card_id)
        if not waiting.card.awaits_page:
            raise UserError("This card waits for an answer.", "Accept, decline or cancel it.")
        return waiting

    # -------------------------------------------------------------- what servers do

    def responder(
        self, server: str, known: Mapping[str, Answerer], remark: Callable[[str], None]
    ) -> Responder:
        """Return a server's responder. `known` answers some methods; `remark` writes to its log."""
        return _ServerInbox(self, server, known, remark)

    def completed(self, server: str, elicitation_id: str) -> None:
        """Handle a server's report that a URL elicitation is complete. Unknown ids are ignored."""
        for waiting in tuple(self._open.values()):
            if waiting.card.server == server and elicitation_id in waiting.pages:
                waiting.pages.discard(elicitation_id)
                if waiting.card.awaits_page and not waiting.pages:
                    self._end(waiting, InboxRequestEnd.ANSWERED)

    def server_gone(self, server: str, why: str) -> None:
        """End cards that wait for URL elicitations: the server will not report them any more."""
        for waiting in tuple(self._open.values()):
            if waiting.card.server == server and waiting.answers.done():
                self._end(waiting, InboxRequestEnd.SERVER_GONE, why)

    async def respond(
        self, server: str, asking: ServerRequest, known: Mapping[str, Answerer], remark: Callable[[str], None]
    ) -> Answers:
        """Return the replies to a set of requests. Raises Refusal."""
        replies = {
            key: Reply(result=await known[question.method](question.params), is_known=True)
            for key, question in asking.questions.items()
            if question.method in known
        }
        if len(replies) == len(asking.questions):
            return answers_of(replies)
        waiting = self._make(server, asking, replies, remark)
        self._asked[asking] = waiting
        if self._counts[server] >= MOST_OPEN:
            self._refuse_one_more(waiting)
        self._open[waiting.card.id] = waiting
        self._counts[server] += 1
        if self.answer_within is not None:
            loop = asyncio.get_running_loop()
            waiting.timer = loop.call_later(self.answer_within, self._on_overdue, waiting)
        if asking.size >= _MANY_BYTES:
            waiting.put_remarks(await asyncio.to_thread(remarks_of, asking))
        answers = await self._wait(waiting)
        # Not earlier: the request may be cancelled while its replies are on their way.
        if asking.round:
            self._asked.pop(asking, None)  # for a JSON-RPC request `sent` follows
        return answers_of(answers)

    def _refuse_one_more(self, waiting: PendingInboxRequest) -> None:
        """Reject a request over the limit: a flood would fill memory and could never be answered."""
        why = f"{MOST_OPEN:,} questions wait for an answer already"
        del self._asked[waiting.asking]
        self._end(waiting, InboxRequestEnd.REFUSED, f"{why}.", is_answered=False)
        raise RequestRefused(next(iter(waiting.asking.questions)), INTERNAL_ERROR, why)

    def ended(
        self,
        server: str,
        asking: ServerRequest,
        end: ServerRequestEnd,
        why: str,
        known: Mapping[str, Answerer],
    ) -> None:
        waiting = self._asked.pop(asking, None)
        if waiting is None:
            # Rejected, or cancelled at once. Nothing to report for requests answered automatically.
            questions = asking.questions.values()
            if end is not ServerRequestEnd.REFUSED and all(
                question.method in known for question in questions
            ):
                return
            waiting = self._make(server, asking, {}, lambda text: None)
        self._end(waiting, _ENDS[end], visible(why), is_answered=False)

    def sent(self, asking: ServerRequest, problem: str) -> None:
        waiting = self._asked.pop(asking, None)
        if waiting is None or not problem:
            return
        note = f"The answer could not be sent: {visible(problem)}"
        if waiting.card.is_open:  # the user agreed to a URL
            self._end(waiting, InboxRequestEnd.NOT_SENT, note)
            return
        waiting.card = replace(waiting.card, end=InboxRequestEnd.NOT_SENT, note=note)
        self._past.amend(waiting.card)
        self.changed.emit(waiting.card)

    def noted(self, asking: ServerRequest, text: str) -> None:
        waiting = self._asked.get(asking)
        if waiting is not None and waiting.card.is_open:
            waiting.card = replace(waiting.card, note=text)
            self._changed(waiting)

    # -------------------------------------------------------------- cards

    def _make(
        self, server: str, asking: ServerRequest, known: Mapping[str, Reply], remark: Callable[[str], None]
    ) -> PendingInboxRequest:
        card = InboxRequest(
            id=next(self._ids),
            server=server,
            revision=asking.revision,
            questions=questions_of(asking, known, has_remarks=asking.size < _MANY_BYTES),
            asked_ns=self._clock.monotonic_ns(),
            asked_wall_ns=self._clock.wall_ns(),
            row=asking.row,
            operation=asking.operation,
            method=asking.method,
            subject=asking.subject,
            round=asking.round,
            most_rounds=asking.most_rounds,
            earlier=self._earlier(server, asking),
            task_id=asking.task_id,
        )
        answers: asyncio.Future[dict[str, Reply]] = asyncio.get_running_loop().create_future()
        return PendingInboxRequest(card, asking, remark, answers, pages_of(asking))

    def _earlier(self, server: str, asking: ServerRequest) -> tuple[Round, ...]:
        if asking.operation is None or asking.round < 2:
            return ()
        return self._rounds.of(server, asking.operation)

    async def _wait(self, waiting: PendingInboxRequest) -> dict[str, Reply]:
        """Wait until everything is answered; cancelled when no reply is needed any more."""
        if self.rules is None:
            self._show(waiting)
            return await waiting.answers
        asking = asyncio.get_running_loop().create_task(self._ask_all_rules(self.rules, waiting))
        either: set[asyncio.Future[Any]] = {asking, waiting.answers}
        try:
            await asyncio.wait(either, timeout=_HEAD_START, return_when=asyncio.FIRST_COMPLETED)
            if waiting.card.is_open:
                self._show(waiting)
            return await waiting.answers
        finally:
            asking.cancel()

    async def _ask_all_rules(self, rules: Rules, waiting: PendingInboxRequest) -> None:
        async with asyncio.TaskGroup() as group:
            for question in waiting.card.unanswered:
                group.create_task(self._ask_rules(rules, waiting, question))

    async def _ask_rules(self, rules: Rules, waiting: PendingInboxRequest, question: RequestItem) -> None:
        try:
            reply = await rules.reply(waiting.card.server, question, waiting.card.revision)
        except Exception as exc:
            if not isinstance(exc, LensError):
                _log.exception("a rule failed on %s", question.method)
            remark = f"A rule that should have answered failed: {visible(str(exc))}"
            waiting.remark_on(question.key, remark)
            self._changed(waiting)
            return
        found = waiting.question(question.key)
        if reply is not None and waiting.card.id in self._open and found is not None and found.reply is None:
            self._take(waiting, question.key, reply)

    def _take(self, waiting: PendingInboxRequest, key: str, reply: Reply) -> None:
        if reply.rule:
            waiting.remark(f"Answered by the rule “{visible(reply.rule)}”.")
        elif reply.drafted_by:
            waiting.remark(f"Drafted by the rule “{visible(reply.drafted_by)}”, and sent by the person.")
        waiting.answer(key, reply)
        if not waiting.is_decided:
            self._changed(waiting)
        elif waiting.pages and waiting.is_consented:
            self._await_page(waiting)
        else:
            self._end(waiting, InboxRequestEnd.ANSWERED)

    def _await_page(self, waiting: PendingInboxRequest) -> None:
        """After consent, send it at once, or when the URL elicitation is done if required."""
        if not waiting.asking.awaits_pages:
            waiting.resolve()
        elif waiting.timer is not None:
            waiting.timer.cancel()
        waiting.card = replace(waiting.card, awaits_page=True)
        self._show(waiting)

    def _on_overdue(self, waiting: PendingInboxRequest) -> None:
        for question in waiting.card.unanswered:
            waiting.answer(question.key, CANCEL if question.method == ELICITATION else _TOO_LATE)
        self._end(waiting, InboxRequestEnd.OVERDUE)

    def _end(
        self, waiting: PendingInboxRequest, end: InboxRequestEnd, note: str = "", *, is_answered: bool = True
    ) -> None:
        if not waiting.card.is_open:
            return
        now = self._clock.monotonic_ns()
        waiting.card = replace(
            waiting.card, end=end, note=note or waiting.card.note, ended_ns=now, awaits_page=False
        )
        if self._open.pop(waiting.card.id, None) is not None:
            self._counts[waiting.card.server] -= 1
        self._past.add(waiting.card, waiting.asking.size)
        self._rounds.add(waiting.card, waiting.asking.size)
        if is_answered:
            waiting.resolve()
        else:
            waiting.close()
        self.changed.emit(waiting.card)

    def _show(self, waiting: PendingInboxRequest) -> None:
        waiting.is_shown = True
        self._changed(waiting)

    def _changed(self, waiting: PendingInboxRequest) -> None:
        if waiting.is_shown and waiting.card.is_open:
            self.changed.emit(waiting.card)


class _ServerInbox:
    """The Inbox as seen by one server's session."""

    def __init__(
        self, inbox: Inbox, server: str, known: Mapping[str, Answerer], remark: Callable[[str], None]
    ) -> None:
        self._inbox, self._server, self._known, self._remark = inbox, server, known, remark

    async def respond(self, asking: ServerRequest) -> Answers:
        return await self._inbox.respond(self._server, asking, self._known, self._remark)

    def ended(self, asking: ServerRequest, end: ServerRequestEnd, why: str) -> None:
        self._inbox.ended(self._server, asking, end, why, self._known)

    def noted(self, asking: ServerRequest, text: str) -> None:
        self._inbox.noted(asking, text)

    def sent(self, asking: ServerRequest, problem: str) -> None:
        self._inbox.sent(asking, problem)
