"""State of one pending Inbox request, and bounded histories of ended requests and rounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from inspector.base.json.values import JSONObject
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem, Round
from inspector.protocol.revisions import R4
from inspector.protocol.server_requests.request import UnreadableRequest, UrlElicitation, notes
from inspector.session.server_requests import ONLY_KEY, Replies, RequestRefused, ServerRequest

CANCEL = Reply(result={"action": "cancel"})


@dataclass(eq=False, slots=True)
class PendingInboxRequest:
    """An `InboxRequest` with the state that the Inbox needs until it ends.

    `decision` is set when the replies can be sent. `elicitation_ids` are those of URL elicitations whose
    completion the server will report.
    """

    inbox_request: InboxRequest
    server_request: ServerRequest
    note: Callable[[str], None]
    decision: asyncio.Future[dict[str, Reply]]
    elicitation_ids: set[str] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None
    waits_for_rules: bool = False
    is_ready: bool = False  # no reply rule has answered it in time
    is_shown: bool = False

    @property
    def replies(self) -> dict[str, Reply]:
        return {each.key: each.reply for each in self.inbox_request.input_requests if each.reply is not None}

    def input_request(self, key: str) -> RequestItem | None:
        return next(
            (
                input_request
                for input_request in self.inbox_request.input_requests
                if input_request.key == key
            ),
            None,
        )

    def set_reply(self, key: str, reply: Reply | None) -> None:
        self._update(key, lambda input_request: replace(input_request, reply=reply))

    def add_note_on(self, key: str, text: str) -> None:
        self._update(key, lambda input_request: replace(input_request, notes=(*input_request.notes, text)))

    def put_notes(self, notes: Mapping[str, tuple[str, ...]]) -> None:
        """Set the notes about its requests, by key, once they are known."""
        input_requests = tuple(
            replace(each, notes=notes.get(each.key, ())) for each in self.inbox_request.input_requests
        )
        self.inbox_request = replace(self.inbox_request, input_requests=input_requests)

    def _update(self, key: str, change: Callable[[RequestItem], RequestItem]) -> None:
        input_requests = tuple(
            change(each) if each.key == key else each for each in self.inbox_request.input_requests
        )
        self.inbox_request = replace(self.inbox_request, input_requests=input_requests)

    @property
    def is_decided(self) -> bool:
        """True if nothing remains to be asked.

        One refusal is enough where the protocol cannot send it along with the others.
        """
        if not self.inbox_request.unanswered:
            return True
        replies = self.replies.values()
        if self.server_request.awaits_urls:
            return not all(is_consent(reply) for reply in replies)
        return self.server_request.round > 0 and any(reply.is_error for reply in replies)

    @property
    def is_consented(self) -> bool:
        """True if the user agreed to all its URL elicitations."""
        return not self.inbox_request.unanswered and all(is_consent(reply) for reply in self.replies.values())

    def resolve(self) -> None:
        """Release the replies for sending."""
        self._stop_timer()
        if not self.decision.done():
            self.decision.set_result(self.replies)

    def close(self) -> None:
        """Cancel: no reply is needed any more."""
        self._stop_timer()
        self.decision.cancel()

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()


def is_consent(reply: Reply) -> bool:
    return reply.result is not None and reply.result.get("action") == "accept"


def items_of(
    server_request: ServerRequest, known: Mapping[str, Reply], *, has_notes: bool = True
) -> tuple[RequestItem, ...]:
    """Return the requests to show; `has_notes` includes what is wrong with them."""
    found = notes_of(server_request) if has_notes else {}
    return tuple(
        RequestItem(key, each, found.get(key, ()), known.get(key))
        for key, each in server_request.input_requests.items()
    )


def notes_of(server_request: ServerRequest) -> dict[str, tuple[str, ...]]:
    """Return what is wrong with each answerable request, by key."""
    return {
        key: notes(each, server_request.revision)
        for key, each in server_request.input_requests.items()
        if not isinstance(each, UnreadableRequest)  # rejected; the request says why
    }


def elicitation_ids_of(server_request: ServerRequest) -> set[str]:
    """Return the ids with which the server reports completed URL elicitations."""
    if server_request.awaits_urls:
        return set(server_request.input_requests)
    input_request = server_request.input_requests.get(ONLY_KEY)
    if not isinstance(input_request, UrlElicitation) or server_request.revision != R4:
        return set()
    return {input_request.elicitation_id} if input_request.elicitation_id else set()


def results_of(replies: Mapping[str, Reply]) -> Replies:
    """Return the results by key. Raises RequestRefused if one of them is an error."""
    results: dict[str, JSONObject] = {}
    for key, reply in replies.items():
        if reply.result is None:
            raise RequestRefused(key, reply.code, reply.message, reply.data)
        results[key] = reply.result
    return results


MAX_REQUESTS = 500
MAX_CALLS = 200
# Total size of the requests, which may contain large images. They stay in the traffic log anyway.
MAX_BYTES = 64 * 1024 * 1024


class RequestHistory:
    """Recently ended requests, bounded by number and size."""

    def __init__(self) -> None:
        self._inbox_requests: deque[tuple[InboxRequest, int]] = deque()
        self._bytes = 0

    def add(self, inbox_request: InboxRequest, size: int) -> None:
        """Add an ended request of `size` bytes. The newest is always kept."""
        self._inbox_requests.append((inbox_request, size))
        self._bytes += size
        while len(self._inbox_requests) > 1 and (
            len(self._inbox_requests) > MAX_REQUESTS or self._bytes > MAX_BYTES
        ):
            self._bytes -= self._inbox_requests.popleft()[1]

    def amend(self, inbox_request: InboxRequest) -> None:
        """Update a recent request whose end turned out differently."""
        for position in range(len(self._inbox_requests) - 1, -1, -1):
            if self._inbox_requests[position][0].id == inbox_request.id:
                self._inbox_requests[position] = inbox_request, self._inbox_requests[position][1]
                return

    def inbox_requests(self) -> tuple[InboxRequest, ...]:
        """Return the requests, newest last."""
        return tuple(inbox_request for inbox_request, _ in self._inbox_requests)


class EarlierRounds:
    """Earlier rounds by call: its server and first row."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], tuple[tuple[Round, ...], int]] = {}
        self._bytes = 0

    def of(self, server: str, operation: int) -> tuple[Round, ...]:
        return self._calls.get((server, operation), ((), 0))[0]

    def add(self, inbox_request: InboxRequest, size: int) -> None:
        """Add a finished round. The oldest calls are dropped over the limit."""
        if inbox_request.round == 0 or inbox_request.operation is None or inbox_request.ended_ns is None:
            return
        key = (inbox_request.server, inbox_request.operation)
        _, before = self._calls.pop(key, ((), 0))
        latest = Round(inbox_request.input_requests, inbox_request.ended_ns - inbox_request.requested_ns)
        self._calls[key] = (*inbox_request.earlier, latest), before + size
        self._bytes += size
        while len(self._calls) > 1 and (len(self._calls) > MAX_CALLS or self._bytes > MAX_BYTES):
            self._bytes -= self._calls.pop(next(iter(self._calls)))[1]
