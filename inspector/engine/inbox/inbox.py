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
    items_of,
    notes_of,
    pages_of,
    results_of,
)
from inspector.engine.inbox.views import InboxRequest, InboxRequestEnd, Reply, RequestItem, Round
from inspector.protocol.jsonrpc import INTERNAL_ERROR
from inspector.protocol.revisions import Revision
from inspector.protocol.server_requests.request import ELICITATION
from inspector.session.server_requests import (
    Replies,
    RequestRefused,
    Responder,
    ServerRequest,
    ServerRequestEnd,
)
from inspector.session.state import RequestHandler

_log = logging.getLogger(__name__)

MAX_OPEN = 5_000  # per server; beyond that, requests are rejected
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

    async def reply(self, server: str, input_request: RequestItem, revision: Revision) -> Reply | None:
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
        self._requested: dict[ServerRequest, PendingInboxRequest] = {}
        self._counts: Counter[str] = Counter()  # open cards by server
        self._past = RequestHistory()
        self._rounds = EarlierRounds()

    def inbox_requests(self) -> tuple[InboxRequest, ...]:
        """Return pending cards, oldest first."""
        return tuple(waiting.inbox_request for waiting in self._open.values() if waiting.is_shown)

    def past(self) -> tuple[InboxRequest, ...]:
        """Return recently ended cards, most recent last."""
        return self._past.inbox_requests()

    def begin(self) -> None:
        """Load the preferences; problems are reported."""
        if self._prefs is not None:
            chosen, problems = self._prefs.load()
            self.answer_within = chosen.answer_within
            for problem in problems:
                self.problem_found.emit(problem)

    def choose_inbox_timeout(self, seconds: float | None) -> None:
        """Set and save the timeout of future requests. Raises ConfigError."""
        if self._prefs is not None:
            self._prefs.save(InboxPrefs(seconds))
        self.answer_within = seconds

    def reply(self, inbox_id: int, key: str, reply: Reply) -> None:
        """Answer one request of a card; replies are sent once all are answered. Raises UserError."""
        waiting = self._find(inbox_id)
        input_request = waiting.input_request(key)
        if input_request is None or input_request.reply is not None or waiting.inbox_request.awaits_page:
            raise UserError("This server request already has a reply.", "Undo the reply first, if possible.")
        self._take(waiting, key, reply)

    def retract(self, inbox_id: int, key: str) -> None:
        """Withdraw a reply while others are missing. Raises UserError."""
        waiting = self._find(inbox_id)
        input_request = waiting.input_request(key)
        if input_request is None or input_request.reply is None or waiting.inbox_request.awaits_page:
            raise UserError("There is no reply to undo.")
        waiting.set_reply(key, None)
        self._show(waiting)

    def page_done(self, inbox_id: int) -> None:
        """Mark a URL elicitation as done by the user, whatever the server says. Raises UserError."""
        self._end(self._find_awaiting(inbox_id), InboxRequestEnd.ANSWERED)

    def dismiss(self, inbox_id: int) -> None:
        """Stop waiting for a URL elicitation; a waiting call fails. Raises UserError."""
        waiting = self._find_awaiting(inbox_id)
        for input_request in (
            waiting.inbox_request.input_requests if waiting.server_request.awaits_pages else ()
        ):
            waiting.set_reply(input_request.key, CANCEL)
        self._end(
            waiting,
            InboxRequestEnd.ANSWERED,
            "Dismissed before the server reported that the page was completed.",
        )

    def _find(self, inbox_id: int) -> PendingInboxRequest:
        try:
            return self._open[inbox_id]
        except KeyError:
            raise UserError("This server request is no longer pending.", "Nothing was sent.") from None

    def _find_awaiting(self, inbox_id: int) -> PendingInboxRequest:
        waiting = self._find(inbox_id)
        if not waiting.inbox_request.awaits_page:
            raise UserError("This server request is pending.", "Accept, decline or cancel it.")
        return waiting

    def responder(
        self, server: str, known: Mapping[str, RequestHandler], note: Callable[[str], None]
    ) -> Responder:
        """Return a server's responder. `known` answers some methods; `note` writes to its log."""
        return _ServerInbox(self, server, known, note)

    def completed(self, server: str, elicitation_id: str) -> None:
        """Handle a server's report that a URL elicitation is complete. Unknown ids are ignored."""
        for waiting in tuple(self._open.values()):
            if waiting.inbox_request.server == server and elicitation_id in waiting.pages:
                waiting.pages.discard(elicitation_id)
                if waiting.inbox_request.awaits_page and not waiting.pages:
                    self._end(waiting, InboxRequestEnd.ANSWERED)

    def server_gone(self, server: str, why: str) -> None:
        """End cards that wait for URL elicitations: the server will not report them any more."""
        for waiting in tuple(self._open.values()):
            if waiting.inbox_request.server == server and waiting.decision.done():
                self._end(waiting, InboxRequestEnd.SERVER_GONE, why)

    async def respond(
        self,
        server: str,
        server_request: ServerRequest,
        known: Mapping[str, RequestHandler],
        note: Callable[[str], None],
    ) -> Replies:
        """Return the replies to a set of requests. Raises Refusal."""
        replies = {
            key: Reply(result=await known[input_request.method](input_request.params), is_known=True)
            for key, input_request in server_request.input_requests.items()
            if input_request.method in known
        }
        if len(replies) == len(server_request.input_requests):
            return results_of(replies)
        waiting = self._make(server, server_request, replies, note)
        self._requested[server_request] = waiting
        if self._counts[server] >= MAX_OPEN:
            self._refuse_one_more(waiting)
        self._open[waiting.inbox_request.id] = waiting
        self._counts[server] += 1
        if self.answer_within is not None:
            loop = asyncio.get_running_loop()
            waiting.timer = loop.call_later(self.answer_within, self._on_overdue, waiting)
        if server_request.size >= _MANY_BYTES:
            waiting.put_notes(await asyncio.to_thread(notes_of, server_request))
        responses = await self._wait(waiting)
        # Not earlier: the request may be cancelled while its replies are on their way.
        if server_request.round:
            self._requested.pop(server_request, None)  # for a JSON-RPC request `sent` follows
        return results_of(responses)

    def _refuse_one_more(self, waiting: PendingInboxRequest) -> None:
        """Reject a request over the limit: a flood would fill memory and could never be answered."""
        why = f"{MAX_OPEN:,} server requests are already pending"
        del self._requested[waiting.server_request]
        self._end(waiting, InboxRequestEnd.REFUSED, f"{why}.", is_responded=False)
        raise RequestRefused(next(iter(waiting.server_request.input_requests)), INTERNAL_ERROR, why)

    def ended(
        self,
        server: str,
        server_request: ServerRequest,
        end: ServerRequestEnd,
        why: str,
        known: Mapping[str, RequestHandler],
    ) -> None:
        waiting = self._requested.pop(server_request, None)
        if waiting is None:
            # Rejected, or cancelled at once. Nothing to report for requests answered automatically.
            input_requests = server_request.input_requests.values()
            if end is not ServerRequestEnd.REFUSED and all(
                input_request.method in known for input_request in input_requests
            ):
                return
            waiting = self._make(server, server_request, {}, lambda text: None)
        self._end(waiting, _ENDS[end], visible(why), is_responded=False)

    def sent(self, server_request: ServerRequest, problem: str) -> None:
        waiting = self._requested.pop(server_request, None)
        if waiting is None or not problem:
            return
        note = f"Could not send the reply: {visible(problem)}"
        if waiting.inbox_request.is_open:  # the user agreed to a URL
            self._end(waiting, InboxRequestEnd.NOT_SENT, note)
            return
        waiting.inbox_request = replace(waiting.inbox_request, end=InboxRequestEnd.NOT_SENT, note=note)
        self._past.amend(waiting.inbox_request)
        self.changed.emit(waiting.inbox_request)

    def noted(self, server_request: ServerRequest, text: str) -> None:
        waiting = self._requested.get(server_request)
        if waiting is not None and waiting.inbox_request.is_open:
            waiting.inbox_request = replace(waiting.inbox_request, note=text)
            self._changed(waiting)

    def _make(
        self,
        server: str,
        server_request: ServerRequest,
        known: Mapping[str, Reply],
        note: Callable[[str], None],
    ) -> PendingInboxRequest:
        inbox_request = InboxRequest(
            id=next(self._ids),
            server=server,
            revision=server_request.revision,
            input_requests=items_of(server_request, known, has_notes=server_request.size < _MANY_BYTES),
            requested_ns=self._clock.monotonic_ns(),
            requested_wall_ns=self._clock.wall_ns(),
            row=server_request.row,
            operation=server_request.operation,
            method=server_request.method,
            subject=server_request.subject,
            round=server_request.round,
            max_rounds=server_request.max_rounds,
            earlier=self._earlier(server, server_request),
            task_id=server_request.task_id,
        )
        responses: asyncio.Future[dict[str, Reply]] = asyncio.get_running_loop().create_future()
        return PendingInboxRequest(inbox_request, server_request, note, responses, pages_of(server_request))

    def _earlier(self, server: str, server_request: ServerRequest) -> tuple[Round, ...]:
        if server_request.operation is None or server_request.round < 2:
            return ()
        return self._rounds.of(server, server_request.operation)

    async def _wait(self, waiting: PendingInboxRequest) -> dict[str, Reply]:
        """Wait until everything is answered; cancelled when no reply is needed any more."""
        if self.rules is None:
            self._show(waiting)
            return await waiting.decision
        server_request = asyncio.get_running_loop().create_task(self._ask_all_rules(self.rules, waiting))
        either: set[asyncio.Future[Any]] = {server_request, waiting.decision}
        try:
            await asyncio.wait(either, timeout=_HEAD_START, return_when=asyncio.FIRST_COMPLETED)
            if waiting.inbox_request.is_open:
                self._show(waiting)
            return await waiting.decision
        finally:
            server_request.cancel()

    async def _ask_all_rules(self, rules: Rules, waiting: PendingInboxRequest) -> None:
        async with asyncio.TaskGroup() as group:
            for input_request in waiting.inbox_request.unanswered:
                group.create_task(self._ask_rules(rules, waiting, input_request))

    async def _ask_rules(
        self, rules: Rules, waiting: PendingInboxRequest, input_request: RequestItem
    ) -> None:
        try:
            reply = await rules.reply(
                waiting.inbox_request.server, input_request, waiting.inbox_request.revision
            )
        except Exception as exc:
            if not isinstance(exc, LensError):
                _log.exception("a rule failed on %s", input_request.method)
            note = f"A reply rule failed: {visible(str(exc))}"
            waiting.add_note_on(input_request.key, note)
            self._changed(waiting)
            return
        found = waiting.input_request(input_request.key)
        if (
            reply is not None
            and waiting.inbox_request.id in self._open
            and found is not None
            and found.reply is None
        ):
            self._take(waiting, input_request.key, reply)

    def _take(self, waiting: PendingInboxRequest, key: str, reply: Reply) -> None:
        if reply.rule:
            waiting.note(f"Answered by rule “{visible(reply.rule)}”.")
        elif reply.drafted_by:
            waiting.note(f"Drafted by rule “{visible(reply.drafted_by)}”, sent by you.")
        waiting.set_reply(key, reply)
        if not waiting.is_decided:
            self._changed(waiting)
        elif waiting.pages and waiting.is_consented:
            self._await_page(waiting)
        else:
            self._end(waiting, InboxRequestEnd.ANSWERED)

    def _await_page(self, waiting: PendingInboxRequest) -> None:
        """After consent, send it at once, or when the URL elicitation is done if required."""
        if not waiting.server_request.awaits_pages:
            waiting.resolve()
        elif waiting.timer is not None:
            waiting.timer.cancel()
        waiting.inbox_request = replace(waiting.inbox_request, awaits_page=True)
        self._show(waiting)

    def _on_overdue(self, waiting: PendingInboxRequest) -> None:
        for input_request in waiting.inbox_request.unanswered:
            waiting.set_reply(input_request.key, CANCEL if input_request.method == ELICITATION else _TOO_LATE)
        self._end(waiting, InboxRequestEnd.OVERDUE)

    def _end(
        self, waiting: PendingInboxRequest, end: InboxRequestEnd, note: str = "", *, is_responded: bool = True
    ) -> None:
        if not waiting.inbox_request.is_open:
            return
        now = self._clock.monotonic_ns()
        waiting.inbox_request = replace(
            waiting.inbox_request,
            end=end,
            note=note or waiting.inbox_request.note,
            ended_ns=now,
            awaits_page=False,
        )
        if self._open.pop(waiting.inbox_request.id, None) is not None:
            self._counts[waiting.inbox_request.server] -= 1
        self._past.add(waiting.inbox_request, waiting.server_request.size)
        self._rounds.add(waiting.inbox_request, waiting.server_request.size)
        if is_responded:
            waiting.resolve()
        else:
            waiting.close()
        self.changed.emit(waiting.inbox_request)

    def _show(self, waiting: PendingInboxRequest) -> None:
        waiting.is_shown = True
        self._changed(waiting)

    def _changed(self, waiting: PendingInboxRequest) -> None:
        if waiting.is_shown and waiting.inbox_request.is_open:
            self.changed.emit(waiting.inbox_request)


class _ServerInbox:
    """The Inbox as seen by one server's session."""

    def __init__(
        self, inbox: Inbox, server: str, known: Mapping[str, RequestHandler], note: Callable[[str], None]
    ) -> None:
        self._inbox, self._server, self._known, self._note = inbox, server, known, note

    async def respond(self, server_request: ServerRequest) -> Replies:
        return await self._inbox.respond(self._server, server_request, self._known, self._note)

    def ended(self, server_request: ServerRequest, end: ServerRequestEnd, why: str) -> None:
        self._inbox.ended(self._server, server_request, end, why, self._known)

    def noted(self, server_request: ServerRequest, text: str) -> None:
        self._inbox.noted(server_request, text)

    def sent(self, server_request: ServerRequest, problem: str) -> None:
        self._inbox.sent(server_request, problem)
