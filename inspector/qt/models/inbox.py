"""Models and texts of the Inbox: pending server requests by server, and the request list.

The list has pending requests first, oldest on top, then the ended ones (at most 500). The texts are for
the Inbox itself, for toasts and for the strip above a waiting call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractListModel, QObject, Qt, Signal

from inspector.base.json.values import shorten, text_of
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural
from inspector.engine.inbox.views import InboxRequest, Reply, RequestItem
from inspector.protocol.jsonrpc import USER_REJECTED, error_code_text
from inspector.protocol.server_requests.replies import ACCEPT, CANCEL, DECLINE
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING, RequestEnd
from inspector.protocol.server_requests.sampling import USER
from inspector.qt.models.record_table import ROOT, Index, plain_tip

RequestRole = Qt.ItemDataRole.UserRole + 1
AgeRole = Qt.ItemDataRole.UserRole + 2
MAX_EARLIER = 500
EARLIER = "Earlier"

_MAX_ROWS = 500  # indexed log rows: as many as the Inbox has ended requests

_MAX_NAME_LENGTH = 40  # of a server, in a one-line text
_ENDS = {
    RequestEnd.WITHDRAWN: "{server} cancelled its request ({what}).",
    RequestEnd.TIMED_OUT: "A request from {server} timed out ({what}).",
    RequestEnd.SERVER_GONE: "{server} disconnected, and its request ended ({what}).",
    RequestEnd.NOT_SENT: "Could not send the reply to {server} ({what}).",
    RequestEnd.REFUSED: "A request from {server} was rejected automatically ({what}).",
}

_MAX_EXCERPT_LENGTH = 300
_KINDS = {
    "form": "Form elicitation",
    "url": "URL elicitation",
    SAMPLING: "Sampling request",
    ROOTS: "Roots request",
}
_ACTIONS = {ACCEPT: "accepted", DECLINE: "declined", CANCEL: "cancelled"}
_DRAFTED = "drafted"
_SECOND = 1_000_000_000


class PendingRequestIndex(QObject):
    """The pending server requests.

    Signals:
        opened: A new request; carries it.
        ended: A request ended, even if it was never seen pending; carries it.
        counted: A server's requests changed; carries its name.
    """

    opened = Signal(object)
    ended = Signal(object)
    counted = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._open: dict[int, InboxRequest] = {}
        self._rows: dict[int, tuple[str, int]] = {}

    def put(self, inbox_request: InboxRequest) -> None:
        """Add, update or end a request."""
        is_new = inbox_request.id not in self._open
        if inbox_request.row is not None:
            self._index_row(inbox_request.row, inbox_request)
        if inbox_request.is_open:
            self._open[inbox_request.id] = inbox_request
        else:
            self._open.pop(inbox_request.id, None)
        self.counted.emit(inbox_request.server)
        if not inbox_request.is_open:
            self.ended.emit(inbox_request)
        elif is_new:
            self.opened.emit(inbox_request)

    def of(self, server: str) -> tuple[InboxRequest, ...]:
        """Return the pending requests of a server, oldest first."""
        return tuple(inbox_request for inbox_request in self._open.values() if inbox_request.server == server)

    def inbox_request(self, inbox_id: int) -> InboxRequest | None:
        """Return a pending request; None if it has ended or is unknown."""
        return self._open.get(inbox_id)

    @property
    def count(self) -> int:
        return len(self._open)

    def requested_in(self, row: int) -> tuple[str, int] | None:
        """Return the server and the Inbox id of the request in a row of the live traffic."""
        return self._rows.get(row)

    def _index_row(self, row: int, inbox_request: InboxRequest) -> None:
        self._rows[row] = (inbox_request.server, inbox_request.id)
        if len(self._rows) > _MAX_ROWS:
            del self._rows[next(iter(self._rows))]


class InboxModel(QAbstractListModel):
    """Requests by row (`RequestRole`), with an “Earlier” heading before the ended ones, if any.

    `server` restricts it to one server; None shows all. `now` is the clock of the requests' timestamps.
    """

    def __init__(self, server: str | None = None, now: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__()
        self.server = server
        self._now = now
        self._open: list[InboxRequest] = []
        self._earlier: list[InboxRequest] = []  # the latest first

    @property
    def open_requests(self) -> tuple[InboxRequest, ...]:
        return tuple(self._open)

    def put(self, inbox_request: InboxRequest) -> None:
        """Add, update or end a request."""
        if self.server is not None and inbox_request.server != self.server:
            return
        position = next(
            (position for position, known in enumerate(self._open) if known.id == inbox_request.id), None
        )
        if inbox_request.is_open:
            self._put_open(position, inbox_request)
        else:
            self._end(position, inbox_request)

    def inbox_request(self, row: int) -> InboxRequest | None:
        if 0 <= row < len(self._open):
            return self._open[row]
        position = row - len(self._open) - 1
        return self._earlier[position] if 0 <= position < len(self._earlier) else None

    def row_of(self, inbox_id: int) -> int | None:
        inbox_requests = (self.inbox_request(row) for row in range(self.rowCount()))
        return next(
            (
                row
                for row, inbox_request in enumerate(inbox_requests)
                if inbox_request is not None and inbox_request.id == inbox_id
            ),
            None,
        )

    def tick(self) -> None:
        """Update the ages of the pending requests."""
        if self._open:
            self.dataChanged.emit(self.index(0), self.index(len(self._open) - 1), [AgeRole])

    def _put_open(self, position: int | None, inbox_request: InboxRequest) -> None:
        if position is not None:
            self._open[position] = inbox_request
            self.dataChanged.emit(self.index(position), self.index(position))
        elif all(
            known.id != inbox_request.id for known in self._earlier
        ):  # otherwise it is a late update of an ended request
            at = sum(known.id < inbox_request.id for known in self._open)
            self.beginInsertRows(ROOT, at, at)
            self._open.insert(at, inbox_request)
            self.endInsertRows()

    def _end(self, position: int | None, inbox_request: InboxRequest) -> None:
        known = next((at for at, each in enumerate(self._earlier) if each.id == inbox_request.id), None)
        if known is not None:
            self._earlier[known] = inbox_request
            index = self.index(len(self._open) + known + 1)
            self.dataChanged.emit(index, index)
            return
        if position is not None:
            self.beginRemoveRows(ROOT, position, position)
            del self._open[position]
            self.endRemoveRows()
        at = sum(_ended(each) > _ended(inbox_request) for each in self._earlier)
        row = len(self._open) + at + 1
        self.beginInsertRows(ROOT, row if self._earlier else row - 1, row)  # the first adds the heading
        self._earlier.insert(at, inbox_request)
        self.endInsertRows()
        if len(self._earlier) > MAX_EARLIER:
            last = self.rowCount() - 1
            self.beginRemoveRows(ROOT, last, last)
            self._earlier.pop()
            self.endRemoveRows()

    def rowCount(self, parent: Index = ROOT) -> int:
        if parent.isValid():
            return 0
        return len(self._open) + (len(self._earlier) + 1 if self._earlier else 0)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if self.inbox_request(index.row()) is None:
            return Qt.ItemFlag.NoItemFlags  # arrow keys skip it
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        inbox_request = self.inbox_request(index.row())
        if inbox_request is None:
            return EARLIER if role == Qt.ItemDataRole.DisplayRole else None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return what_text(inbox_request)
            case Qt.ItemDataRole.ToolTipRole:
                return plain_tip(note_text(inbox_request)) if inbox_request.note else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._spoken(inbox_request)
        if role == RequestRole:
            return inbox_request
        return age_text(inbox_request, self._now()) if role == AgeRole and inbox_request.is_open else None

    def _spoken(self, inbox_request: InboxRequest) -> str:
        state_text = (
            f"waiting for {age_text(inbox_request, self._now())}"
            if inbox_request.is_open
            else end_text(inbox_request)
        )
        text = (
            what_text(inbox_request),
            one_line(inbox_request.server),
            waiting_call_text(inbox_request),
            state_text,
            _about(inbox_request),
        )
        return ", ".join(part for part in text if part)


def _ended(inbox_request: InboxRequest) -> int:
    return inbox_request.ended_ns or 0


def _about(inbox_request: InboxRequest) -> str:
    return next((text for text in map(excerpt_of, inbox_request.input_requests) if text), "")


def toast_text(inbox_request: InboxRequest) -> tuple[str, str, str, str]:
    """Return the server, its request, an excerpt and the waiting call."""
    about = next((text for text in map(excerpt_of, for_user(inbox_request)) if text), "")
    return (
        one_line(inbox_request.server),
        what_text(inbox_request),
        about,
        waiting_call_text(inbox_request),
    )


def is_notable_end(inbox_request: InboxRequest) -> bool:
    """Return whether it ended in a way worth a notification."""
    return inbox_request.end in _ENDS


def ended_text(inbox_requests: Sequence[InboxRequest]) -> str:
    """Return how the last of them ended and the number of others. The Inbox has the reasons."""
    last = inbox_requests[-1]
    assert last.end is not None
    server = one_line(shorten(last.server, _MAX_NAME_LENGTH))
    text = _ENDS[last.end].format(server=server, what=_lowered(what_text(last)))
    return f"{text} {len(inbox_requests) - 1:,} more before that." if len(inbox_requests) > 1 else text


def request_of_call(inbox_requests: Sequence[InboxRequest], tool: str, since_ns: int) -> InboxRequest | None:
    """Return the oldest server request that a tool call is or may be waiting for.

    Not every request says which call it belongs to. `since_ns` is when the call started: earlier requests
    belong to other calls.
    """
    calls = (("tools/call", tool), ("", ""))
    found = (
        inbox_request
        for inbox_request in inbox_requests
        if (inbox_request.method, inbox_request.subject) in calls and inbox_request.requested_ns >= since_ns
    )
    return next(found, None)


def waiting_text(inbox_request: InboxRequest) -> str:
    """Return the text shown above a waiting call."""
    what = (
        "the page in the browser" if inbox_request.awaits_completion else _lowered(what_text(inbox_request))
    )
    return f"Waiting for you: {what}"


def _lowered(text: str) -> str:
    """Lower the first letter, but not that of an abbreviation: "URL elicitation"."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def is_url_elicitation(input_request: RequestItem) -> bool:
    return input_request.method == ELICITATION and input_request.params.get("mode") == "url"


def _kind(input_request: RequestItem) -> str:
    if input_request.method == ELICITATION:
        return "url" if is_url_elicitation(input_request) else "form"
    return input_request.method


def kind_text(input_request: RequestItem) -> str:
    """Return the kind of request: form or URL elicitation, sampling or roots."""
    return _KINDS.get(_kind(input_request)) or one_line(input_request.method)


def for_user(inbox_request: InboxRequest) -> tuple[RequestItem, ...]:
    """Return the requests that only the user, or a reply rule, can reply to."""
    return tuple(
        each for each in inbox_request.input_requests if each.reply is None or not each.reply.is_built_in
    )


def what_text(inbox_request: InboxRequest) -> str:
    """Return what is requested, in two or three words."""
    requested = for_user(inbox_request) or inbox_request.input_requests
    if not requested:  # a result that requires input, but names none that can be read
        return "Invalid input request"
    if len(requested) == 1:
        return kind_text(requested[0])
    kinds = {kind_text(each) for each in requested}
    return plural(len(requested), "request") if len(kinds) > 1 else f"{len(requested)} × {kinds.pop()}"


def request_phrase(inbox_request: InboxRequest) -> str:
    """Return e.g. "Form elicitation from everything"."""
    return f"{what_text(inbox_request)} from {one_line(inbox_request.server)}"


def excerpt_of(input_request: RequestItem) -> str:
    """Return a one-line excerpt: the message, or the last user message."""
    params = input_request.params
    text = (
        text_of(params, "message")
        if input_request.method == ELICITATION
        else _last_user_text(params.get("messages"))
    )
    return one_line(shorten(text.strip(), _MAX_EXCERPT_LENGTH))


def _last_user_text(messages: object) -> str:
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


def waiting_call_text(inbox_request: InboxRequest) -> str:
    """Return which call is waiting for the reply, e.g. "Call to roll_dice"."""
    if inbox_request.subject:
        what = {"tools/call": "Call to ", "prompts/get": "Prompt ", "resources/read": "Resource "}
        return f"{what.get(inbox_request.method, '')}{one_line(shorten(inbox_request.subject, 120))}"
    if inbox_request.task_id:
        return f"Task {one_line(shorten(inbox_request.task_id, 60))}"
    return one_line(inbox_request.method)


def requesting_task(inbox_request: InboxRequest) -> str:
    """Return the id of the server's task behind the request, "" if there is none.

    A request may itself run as a task of the client, which is not the server's.
    """
    is_ours = any("task" in input_request.params for input_request in inbox_request.input_requests)
    return "" if is_ours else inbox_request.task_id


def round_text(inbox_request: InboxRequest) -> str:
    """Return e.g. "Round 2 of at most 10"; "" for a request outside of multi round-trip calls."""
    if not inbox_request.round:
        return ""
    return (
        f"Round {inbox_request.round} of at most {inbox_request.max_rounds}"
        if inbox_request.max_rounds
        else f"Round {inbox_request.round}"
    )


def state_text(inbox_request: InboxRequest) -> str:
    """Return the state of an open request; "" if it is just pending."""
    if inbox_request.awaits_completion:
        return "waiting for the browser"
    requested = for_user(inbox_request)
    done = sum(each.reply is not None for each in requested)
    return f"{done} of {len(requested)} answered" if len(requested) > 1 and done else ""


def age_text(inbox_request: InboxRequest, now_ns: int) -> str:
    """Return the age: 12 s, 3 min, 2 h 05 min."""
    seconds = max(now_ns - inbox_request.requested_ns, 0) // _SECOND
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def reply_text(reply: Reply) -> str:
    """Return the kind of reply: accepted, declined, cancelled, answered or rejected."""
    if reply.is_built_in:
        return "answered automatically"
    if reply.result is None:
        is_plain = reply.code == USER_REJECTED
        return "rejected" if is_plain else f"rejected with {error_code_text(reply.code)}"
    action = reply.result.get("action")
    return _ACTIONS.get(action, "answered") if isinstance(action, str) else "answered"


def rule_text(reply: Reply) -> str:
    """Return the rule that replied or drafted, e.g. "by the rule “Echo”"; "" without a rule."""
    name = reply.rule or reply.drafted_by
    text = f"by rule “{one_line(shorten(name, 60))}”" if name else ""
    return f"{_DRAFTED} {text}" if text and not reply.rule else text


def end_text(inbox_request: InboxRequest) -> str:
    """Return how it ended, by whom and when: "accepted by the rule “Yes” after 1.2 s"."""
    if inbox_request.end is None:
        return ""
    text = inbox_request.end.value
    if inbox_request.end is RequestEnd.ANSWERED:
        replies = [
            each.reply
            for each in for_user(inbox_request) or inbox_request.input_requests
            if each.reply is not None
        ]
        kinds = dict.fromkeys(filter(None, map(reply_text, replies)))
        rules = dict.fromkeys(filter(None, map(rule_text, replies)))
        text = ", ".join(kinds) or text
        for rule in rules:
            text += f", {rule}" if rule.startswith(_DRAFTED) else f" {rule}"
    # A request rejected automatically was never pending.
    waited = waited_text(inbox_request) if inbox_request.end is not RequestEnd.REFUSED else ""
    return f"{text} after {waited}" if waited else text


def is_positive(inbox_request: InboxRequest) -> bool:
    """Return whether it ended with what the server asked for."""
    replies = [each.reply for each in for_user(inbox_request) or inbox_request.input_requests]
    return inbox_request.end is RequestEnd.ANSWERED and all(
        reply.is_positive for reply in replies if reply is not None
    )


def note_text(inbox_request: InboxRequest) -> str:
    """Return a sentence on why it ended, or a note on an open request."""
    note = inbox_request.note.strip()
    if not note:
        return ""
    text = note if note[-1] in ".!?…" else f"{note}."
    return f"Reason: {text}" if inbox_request.end is RequestEnd.WITHDRAWN else text


def waited_text(inbox_request: InboxRequest) -> str:
    return (
        duration(inbox_request.ended_ns - inbox_request.requested_ns)
        if inbox_request.ended_ns is not None
        else ""
    )
