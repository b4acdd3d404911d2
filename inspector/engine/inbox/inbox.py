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
from inspector.engine.inbox.pending import (
    CANCEL,
    EarlierRounds,
    PendingInboxRequest,
    RequestHistory,
    elicitation_ids_of,
    items_of,
    notes_of,
    results_of,
)
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem, Round
from inspector.engine.settings import SettingsStore
from inspector.protocol.jsonrpc import INTERNAL_ERROR
from inspector.protocol.revisions import Revision
from inspector.protocol.server_requests.request import ELICITATION, RequestEnd
from inspector.session.server_requests import (
    Replies,
    RequestRefused,
    Responder,
    ServerRequest,
)
from inspector.session.state import RequestHandler

_log = logging.getLogger(__name__)

MAX_OPEN = 5_000  # per server; beyond that, requests are rejected
# Message size in bytes from which checks run off the loop: it may contain images.
_LARGE_REQUEST = 256 * 1024
# Give rules a moment before a request is shown: what they answer at once must not flash up.
_RULE_DELAY = 0.05
_TIMEOUT_REPLY = Reply(code=-1, message="The user did not answer in time")


class Rules(Protocol):
    """Answers server requests automatically."""

    async def reply(self, server: str, input_request: RequestItem, revision: Revision) -> Reply | None:
        """Return the reply with its rule's name; None leaves it to the user.

        Raising LensError leaves it to the user too.
        """
        ...


class Inbox:
    """Pending server requests of all servers.

    Signals:
        changed: A request was added, changed or ended; carries its InboxRequest.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        rules: Rules | None = None,
        settings: SettingsStore | None = None,
    ) -> None:
        self.changed: Signal[InboxRequest] = Signal()
        self.settings = settings or SettingsStore()
        self.rules = rules
        self._clock = clock or SystemClock()
        self._ids = itertools.count(1)
        self._open: dict[int, PendingInboxRequest] = {}
        self._hidden: dict[int, PendingInboxRequest] = {}  # those of `_open` not shown yet
        self._by_server_request: dict[ServerRequest, PendingInboxRequest] = {}
        self._counts: Counter[str] = Counter()  # open requests by server
        self._past = RequestHistory()
        self._rounds = EarlierRounds()

    def inbox_requests(self) -> tuple[InboxRequest, ...]:
        """Return pending requests, oldest first."""
        return tuple(pending.inbox_request for pending in self._open.values() if pending.is_shown)

    def past(self) -> tuple[InboxRequest, ...]:
        """Return recently ended requests, most recent last."""
        return self._past.inbox_requests()

    def reply(self, inbox_id: int, key: str, reply: Reply) -> None:
        """Reply to one of its input requests; all replies are sent together. Raises UserError."""
        pending = self._find(inbox_id)
        input_request = pending.input_request(key)
        if (
            input_request is None
            or input_request.reply is not None
            or pending.inbox_request.awaits_completion
        ):
            raise UserError("This server request already has a reply.", "Undo the reply first, if possible.")
        self._accept_reply(pending, key, reply)

    def retract(self, inbox_id: int, key: str) -> None:
        """Withdraw a reply while others are missing. Raises UserError."""
        pending = self._find(inbox_id)
        input_request = pending.input_request(key)
        if input_request is None or input_request.reply is None or pending.inbox_request.awaits_completion:
            raise UserError("There is no reply to undo.", "It may already have been sent.")
        pending.set_reply(key, None)
        self._show(pending)

    def mark_completed(self, inbox_id: int) -> None:
        """Mark a URL elicitation as done by the user, whatever the server says. Raises UserError."""
        self._end(self._find_awaiting(inbox_id), RequestEnd.ANSWERED)

    def dismiss(self, inbox_id: int) -> None:
        """Stop waiting for a URL elicitation; a waiting call fails. Raises UserError."""
        pending = self._find_awaiting(inbox_id)
        for input_request in (
            pending.inbox_request.input_requests if pending.server_request.awaits_urls else ()
        ):
            pending.set_reply(input_request.key, CANCEL)
        self._end(
            pending,
            RequestEnd.ANSWERED,
            "Dismissed before the server reported that the page was completed.",
        )

    def _find(self, inbox_id: int) -> PendingInboxRequest:
        try:
            return self._open[inbox_id]
        except KeyError:
            raise UserError("This server request is no longer pending.", "Nothing was sent.") from None

    def _find_awaiting(self, inbox_id: int) -> PendingInboxRequest:
        pending = self._find(inbox_id)
        if not pending.inbox_request.awaits_completion:
            raise UserError("This server request is pending.", "Accept, decline or cancel it.")
        return pending

    def responder(
        self, server: str, known: Mapping[str, RequestHandler], note: Callable[[str], None]
    ) -> Responder:
        """Return a server's responder. `known` answers some methods; `note` writes to its log."""
        return _ServerInbox(self, server, known, note)

    def elicitation_completed(self, server: str, elicitation_id: str) -> None:
        """Handle a server's report that a URL elicitation is complete. Unknown ids are ignored."""
        for pending in tuple(self._open.values()):
            if pending.inbox_request.server == server and elicitation_id in pending.elicitation_ids:
                pending.elicitation_ids.discard(elicitation_id)
                if pending.inbox_request.awaits_completion and not pending.elicitation_ids:
                    self._end(pending, RequestEnd.ANSWERED)

    def server_disconnected(self, server: str, why: str) -> None:
        """End requests that wait for URL elicitations: the server will not report them any more."""
        for pending in tuple(self._open.values()):
            if pending.inbox_request.server == server and pending.decision.done():
                self._end(pending, RequestEnd.SERVER_GONE, why)

    async def respond(
        self,
        server: str,
        server_request: ServerRequest,
        known: Mapping[str, RequestHandler],
        note: Callable[[str], None],
    ) -> Replies:
        """Return the replies to a set of requests. Raises RequestRefused."""
        replies = {
            key: Reply(result=await known[input_request.method](input_request.source), is_built_in=True)
            for key, input_request in server_request.input_requests.items()
            if input_request.method in known
        }
        if len(replies) == len(server_request.input_requests):
            return results_of(replies)
        pending = self._make(server, server_request, replies, note)
        self._by_server_request[server_request] = pending
        if self._counts[server] >= MAX_OPEN:
            self._reject_over_limit(pending)
        self._open[pending.inbox_request.id] = self._hidden[pending.inbox_request.id] = pending
        self._counts[server] += 1
        if (timeout := self.settings.get("inbox.timeout")) is not None:
            pending.timer = asyncio.get_running_loop().call_later(timeout, self._on_timeout, pending)
        if server_request.size >= _LARGE_REQUEST:
            pending.put_notes(await asyncio.to_thread(notes_of, server_request))
        responses = await self._wait(pending)
        # Not earlier: the request may be cancelled while its replies are on their way.
        if server_request.round:
            self._by_server_request.pop(server_request, None)  # for a JSON-RPC request `sent` follows
        return results_of(responses)

    def _reject_over_limit(self, pending: PendingInboxRequest) -> None:
        """Reject a request over the limit: a flood would fill memory and could never be answered."""
        why = f"{MAX_OPEN:,} server requests are already pending"
        del self._by_server_request[pending.server_request]
        self._end(pending, RequestEnd.REFUSED, f"{why}.", is_responded=False)
        raise RequestRefused(next(iter(pending.server_request.input_requests)), INTERNAL_ERROR, why)

    def ended(
        self,
        server: str,
        server_request: ServerRequest,
        end: RequestEnd,
        why: str,
        known: Mapping[str, RequestHandler],
    ) -> None:
        pending = self._by_server_request.pop(server_request, None)
        if pending is None:
            # Rejected, or cancelled at once. Nothing to report for requests answered automatically.
            input_requests = server_request.input_requests.values()
            if end is not RequestEnd.REFUSED and all(
                input_request.method in known for input_request in input_requests
            ):
                return
            pending = self._make(server, server_request, {}, lambda text: None)
        self._end(pending, end, visible(why), is_responded=False)

    def sent(self, server_request: ServerRequest, problem: str) -> None:
        pending = self._by_server_request.pop(server_request, None)
        if pending is None or not problem:
            return
        note = f"Could not send the reply: {visible(problem)}"
        if pending.inbox_request.is_open:  # the user agreed to a URL
            self._end(pending, RequestEnd.NOT_SENT, note)
            return
        pending.inbox_request = replace(pending.inbox_request, end=RequestEnd.NOT_SENT, note=note)
        self._past.amend(pending.inbox_request)
        self.changed.emit(pending.inbox_request)

    def noted(self, server_request: ServerRequest, text: str) -> None:
        pending = self._by_server_request.get(server_request)
        if pending is not None and pending.inbox_request.is_open:
            pending.inbox_request = replace(pending.inbox_request, note=text)
            self._changed(pending)

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
            input_requests=items_of(server_request, known, has_notes=server_request.size < _LARGE_REQUEST),
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
        return PendingInboxRequest(
            inbox_request, server_request, note, responses, elicitation_ids_of(server_request)
        )

    def _earlier(self, server: str, server_request: ServerRequest) -> tuple[Round, ...]:
        if server_request.operation is None or server_request.round < 2:
            return ()
        return self._rounds.of(server, server_request.operation)

    async def _wait(self, pending: PendingInboxRequest) -> dict[str, Reply]:
        """Wait until everything is answered; cancelled when no reply is needed any more."""
        if self.rules is None:
            self._show(pending)
            return await pending.decision
        pending.waits_for_rules = True
        asking = asyncio.get_running_loop().create_task(self._ask_all_rules(self.rules, pending))
        either: set[asyncio.Future[Any]] = {asking, pending.decision}
        try:
            await asyncio.wait(either, timeout=_RULE_DELAY, return_when=asyncio.FIRST_COMPLETED)
            if pending.inbox_request.is_open:
                self._show(pending)
            return await pending.decision
        finally:
            asking.cancel()

    async def _ask_all_rules(self, rules: Rules, pending: PendingInboxRequest) -> None:
        async with asyncio.TaskGroup() as group:
            for input_request in pending.inbox_request.unanswered:
                group.create_task(self._ask_rules(rules, pending, input_request))

    async def _ask_rules(
        self, rules: Rules, pending: PendingInboxRequest, input_request: RequestItem
    ) -> None:
        try:
            reply = await rules.reply(
                pending.inbox_request.server, input_request, pending.inbox_request.revision
            )
        except Exception as exc:
            if not isinstance(exc, LensError):
                _log.exception("reply rule failed on %s", input_request.method)
            note = f"A reply rule failed: {visible(str(exc))}"
            pending.add_note_on(input_request.key, note)
            self._changed(pending)
            return
        found = pending.input_request(input_request.key)
        if (
            reply is not None
            and pending.inbox_request.id in self._open
            and found is not None
            and found.reply is None
        ):
            self._accept_reply(pending, input_request.key, reply)

    def _accept_reply(self, pending: PendingInboxRequest, key: str, reply: Reply) -> None:
        if reply.rule:
            pending.note(f"Answered by rule “{visible(reply.rule)}”.")
        elif reply.drafted_by:
            pending.note(f"Drafted by rule “{visible(reply.drafted_by)}”, sent by you.")
        pending.set_reply(key, reply)
        if not pending.is_decided:
            self._changed(pending)
        elif pending.elicitation_ids and pending.is_consented:
            self._await_completion(pending)
        else:
            self._end(pending, RequestEnd.ANSWERED)

    def _await_completion(self, pending: PendingInboxRequest) -> None:
        """After consent, send it at once, or when the URL elicitation is done if required."""
        if not pending.server_request.awaits_urls:
            pending.resolve()
        elif pending.timer is not None:
            pending.timer.cancel()
        pending.inbox_request = replace(pending.inbox_request, awaits_completion=True)
        self._show(pending)

    def _on_timeout(self, pending: PendingInboxRequest) -> None:
        for input_request in pending.inbox_request.unanswered:
            pending.set_reply(
                input_request.key, CANCEL if input_request.method == ELICITATION else _TIMEOUT_REPLY
            )
        self._end(pending, RequestEnd.TIMED_OUT)

    def _end(
        self, pending: PendingInboxRequest, end: RequestEnd, note: str = "", *, is_responded: bool = True
    ) -> None:
        if not pending.inbox_request.is_open:
            return
        now = self._clock.monotonic_ns()
        pending.inbox_request = replace(
            pending.inbox_request,
            end=end,
            note=note or pending.inbox_request.note,
            ended_ns=now,
            awaits_completion=False,
        )
        self._hidden.pop(pending.inbox_request.id, None)
        if self._open.pop(pending.inbox_request.id, None) is not None:
            self._counts[pending.inbox_request.server] -= 1
        self._past.add(pending.inbox_request, pending.server_request.size)
        self._rounds.add(pending.inbox_request, pending.server_request.size)
        if is_responded:
            pending.resolve()
        else:
            pending.close()
        self.changed.emit(pending.inbox_request)
        self._show_ready()

    def _show(self, pending: PendingInboxRequest) -> None:
        pending.waits_for_rules = False
        pending.is_ready = True
        if pending.is_shown:
            self._changed(pending)
        self._show_ready()

    def _show_ready(self) -> None:
        """Show new requests, the oldest first: one that waits for its reply rules delays newer ones."""
        for id, pending in tuple(self._hidden.items()):
            if pending.waits_for_rules:
                return
            if pending.is_ready:
                del self._hidden[id]
                pending.is_shown = True
                self._changed(pending)

    def _changed(self, pending: PendingInboxRequest) -> None:
        if pending.is_shown and pending.inbox_request.is_open:
            self.changed.emit(pending.inbox_request)


class _ServerInbox:
    """The Inbox as seen by one server's session."""

    def __init__(
        self, inbox: Inbox, server: str, known: Mapping[str, RequestHandler], note: Callable[[str], None]
    ) -> None:
        self._inbox, self._server, self._known, self._note = inbox, server, known, note

    async def respond(self, server_request: ServerRequest) -> Replies:
        return await self._inbox.respond(self._server, server_request, self._known, self._note)

    def ended(self, server_request: ServerRequest, end: RequestEnd, why: str) -> None:
        self._inbox.ended(self._server, server_request, end, why, self._known)

    def noted(self, server_request: ServerRequest, text: str) -> None:
        self._inbox.noted(server_request, text)

    def sent(self, server_request: ServerRequest, problem: str) -> None:
        self._inbox.sent(server_request, problem)
