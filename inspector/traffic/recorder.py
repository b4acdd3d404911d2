"""Recorder: turns the events on one server's wire into rows of the log.

`Recorder` writes messages, and pairs requests with responses; its `HttpRecorder` writes HTTP exchanges
and server-sent events. The text of an event's row (`event_text`) can be parsed back (`read_event`)
unambiguously, whatever names the server uses in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from inspector.base.clock import Clock
from inspector.base.http_events import HttpEnded, HttpRequested, HttpResponded, SseReceived
from inspector.base.json.values import JSONError, quote_value, shorten
from inspector.base.redaction import masked_url
from inspector.base.units import plural
from inspector.protocol.jsonrpc import Correlator, Kind, Match, Message, RequestId, items_of
from inspector.protocol.revisions import R3, R5, find_revision, is_between
from inspector.protocol.subscriptions import LISTEN
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import OperationLinker
from inspector.traffic.records import Direction, HttpExchange, RecordKind, Status

# Member of the params that holds the subject of a request.
_SUBJECTS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
    "logging/setLevel": "level",
    "notifications/message": "level",
    "notifications/resources/updated": "uri",
}
# Looked up once: accessing an enum member takes 0.1 µs, and most of this runs for every frame.
_IN, _OUT, _OPEN = Direction.IN, Direction.OUT, Match.OPEN
_OK = Status.OK
_REQUEST, _RESULT, _ERROR, _BATCH = Kind.REQUEST, Kind.RESULT, Kind.ERROR, Kind.BATCH

# Limits for what stays in memory when a row's bytes are released: servers choose names freely.
_MAX_NAME_LENGTH = 300  # of a method and a subject
_MAX_ID_LENGTH = 1000
_MAX_SHOWN_ID = 80
_MAX_BATCH_FINDINGS = 10
_PEEKED_BYTES = 64 * 1024
_IS_ERROR = re.compile(rb'"isError"\s*:\s*true')

_SIZE = re.compile(r"[\d,]+ bytes of data\)")


class Recorder:
    """Writes one server's rows.

    Pairs requests with their responses, in both directions, and links what belongs to one operation.
    `subject` is that of the rows that are not messages.
    """

    def __init__(self, log: TrafficLog, server: str, clock: Clock, subject: str = "") -> None:
        self._log = log
        self._server = log.add_server(server)
        self._clock = clock
        self._subject = subject
        self._operations = OperationLinker(log)
        self.http = HttpRecorder(log, self._server, self._operations, subject)
        # Rows of pending requests, by direction. Not those of `protocol.connection`: rows are also paired in
        # imported captures, which have no connection, and where the connection refuses a message (an echoed
        # request, a flawed response, an id used twice, a reply that the user wrote).
        self._open: dict[Direction, Correlator[int]] = {}
        self.new_conversation()

    def new_conversation(self) -> None:
        """Reset ids; requests that are still pending will never be answered."""
        for correlator in self._open.values():
            for row in correlator.drain():
                self._log.end_request(row, Status.NO_RESPONSE)
        self._open = {Direction.IN: Correlator(), Direction.OUT: Correlator()}
        self._revision = 0
        self._operations.new_conversation()
        self.http.new_conversation()

    def set_revision(self, revision: str) -> None:
        """Set the negotiated protocol version, from now on."""
        self._revision = self._log.add_revision(revision)

    def sent(self, message: Message, resent_of: int | None = None) -> int:
        """Record a sent message; return its row.

        `resent_of` is the row of the older request that this one repeats.
        """
        now, wall = self._clock.monotonic_ns(), self._clock.wall_ns()
        row = self._frame(message, _OUT, now, wall, is_resent=resent_of is not None)
        if resent_of is not None:
            self._log.set_resent_of(row, resent_of)
        self._log.publish()
        return row

    def received(
        self,
        messages: Sequence[Message],
        at: int,
        sizes: Sequence[int] | None = None,
        exchange: int | None = None,
    ) -> range:
        """Record frames that arrived together; return their rows.

        `sizes` is given if a frame was not kept whole.
        """
        row, wall, carrier = -1, self.wall_of(at), self.http.row_of(exchange)
        for index, message in enumerate(messages):
            row = self._frame(message, _IN, at, wall, sizes[index] if sizes else -1, carrier)
        self._log.publish()
        return range(row + 1 - len(messages), row + 1)

    def stderr(self, lines: Iterable[bytes], at: int) -> None:
        wall = self.wall_of(at)
        for line in lines:
            self._log.append(self._server, RecordKind.STDERR, Direction.IN, at, wall, line)
        self._log.publish()

    def note(self, kind: RecordKind, text: str) -> None:
        """Record something that is not on the wire: a process event, a state, a local error."""
        now, wall = self._clock.monotonic_ns(), self._clock.wall_ns()
        raw = text.encode(errors="replace")
        self._log.append(self._server, kind, Direction.NONE, now, wall, raw, "", self._subject)
        self._log.publish()

    def add_finding(self, row: int, finding: str) -> None:
        """Add a finding to a recorded row."""
        self._log.add_problem(row, finding)
        self._log.publish()

    def login_body(self, body: bytes) -> int:
        """Record the body of a login request, which is not a message; return its row."""
        now, wall = self._clock.monotonic_ns(), self._clock.wall_ns()
        row = self._log.append(self._server, RecordKind.LOGIN, _OUT, now, wall, body, "", self._subject)
        self._log.publish()
        return row

    def end_request(self, id: RequestId, status: Status) -> None:
        """Stop waiting for the response to a request of ours. `status` says why there is none."""
        row = self._open[Direction.OUT].abandon(id)
        if row is not None:
            self._operations.end_request(row)
            self._log.end_request(row, status)
            self._log.publish()

    def cancel_server_request(self, id: RequestId) -> None:
        """Mark a server request that the server has cancelled."""
        row = self._open[Direction.IN].abandon(id)
        if row is not None:
            self._log.end_request(row, Status.CANCELLED)
            self._log.publish()

    def operation(self, row: int) -> int | None:
        """Return the first row of a row's operation."""
        return self._log.operation(row)

    def method_and_subject(self, row: int) -> tuple[str, str]:
        """Return a row's method and its subject: a tool's or prompt's name, a resource's URI."""
        return self._log.method(row), self._log.subject(row)

    def wall_of(self, at: int) -> int:
        """Convert a monotonic time to wall time."""
        return self._clock.wall_ns() - (self._clock.monotonic_ns() - at)

    def _frame(
        self,
        message: Message,
        direction: Direction,
        at: int,
        wall: int,
        size: int = -1,
        carrier: int = -1,
        *,
        is_resent: bool = False,
    ) -> int:
        """Record a frame, pair and link it; return its row. `carrier` is the row of its HTTP exchange."""
        kind, raw, method, id, problem, _ = message
        log, requested, match, subject = self._log, None, None, ""
        if id is not None and (kind is _RESULT or kind is _ERROR):
            match, requested = self._open[_OUT if direction is _IN else _IN].resolve(id)
            if match is not _OPEN:
                problem = problem or _mismatch(match, id)
        if requested is None:
            method, subject = method[:_MAX_NAME_LENGTH], _subject(message)
        if type(id) is str:
            id = id[:_MAX_ID_LENGTH]
        row = log.append(
            self._server, kind, direction, at, wall, raw, method, subject, id, problem, size, self._revision
        )
        if requested is not None:
            log.copy_names(requested, row)
        if match is _OPEN and requested is not None:
            log.link(requested, row, _status(message))
        elif match is Match.LATE and requested is not None:
            self._set_late(row, requested)
        elif kind is _REQUEST and message.id is not None:
            self._open[direction].open(message.id, row)
        elif kind is _BATCH:
            self._link_items(message, direction, row)
        if carrier >= 0:
            log.set_carrier(row, carrier)
        self._operations.link_frame(row, message, direction, requested, carrier, is_resent=is_resent)
        return row

    def _set_late(self, response: int, request: int) -> None:
        """Mark the response to a cancelled or timed-out request.

        Every listen stream that the client cancels may end with a response, so that one is not late.
        """
        if self._log.method(request) != LISTEN:
            self._log.set_late(response)

    def _link_items(self, batch: Message, direction: Direction, row: int) -> None:
        """Link the messages of a batch to its single row, which gets the findings about each of them."""
        items = items_of(batch)
        findings = _batch_findings(items, self._log.revision(row))
        for number, item in enumerate(items, 1):
            problem, requested = item.problem, None
            if item.kind is Kind.REQUEST and item.id is not None:
                self._open[direction].open(item.id, row)
            elif item.kind.is_response and item.id is not None:
                match, requested = self._open[_OUT if direction is _IN else _IN].resolve(item.id)
                if match is Match.OPEN and requested is not None:
                    self._log.link(requested, row, _status(item))
                else:
                    problem = problem or _mismatch(match, item.id)
            if problem:
                findings.append(f"item {number}: {problem}")
            self._operations.link_batch_item(row, item, direction, requested)
        if direction is _IN and findings:
            shown, hidden = findings[:_MAX_BATCH_FINDINGS], len(findings) - _MAX_BATCH_FINDINGS
            self._log.add_problem(row, "; ".join([*shown, f"{hidden} more"] if hidden > 0 else shown))


def _batch_findings(items: Sequence[Message], date: str) -> list[str]:
    """Return the finding about a batch where the protocol has none; it names each item."""
    revision = find_revision(date)
    if not items or (revision is not None and not is_between(revision, R3, R5)):
        return []
    names = [_item_name(item) for item in items[:_MAX_BATCH_FINDINGS]]
    names += ["…"] if len(items) > _MAX_BATCH_FINDINGS else []
    where = f"{revision} does not allow" if revision is not None else "is not allowed during negotiation"
    return [f"a batch of {plural(len(items), 'item')}, which {where}: {', '.join(names)}"]


def _item_name(item: Message) -> str:
    if item.kind.is_response:
        return "response without a valid ID" if item.id is None else f"response with ID {_shown(item.id)}"
    if item.method:
        return f"{item.kind.name.lower()} {quote_value(item.method)}"
    return "no message"


def _mismatch(match: Match, id: RequestId) -> str:
    """Return the finding about an unexpected response.

    A late response is none: the server may have sent it before it received the cancellation.
    """
    return "" if match is Match.LATE else f"{match.value} (ID {_shown(id)})"


def _shown(id: RequestId) -> str:
    """Format an id with its type: 7 is not '7'."""
    return shorten(repr(id), _MAX_SHOWN_ID)


def _subject(message: Message) -> str:
    """Return the subject of a message; only of frames that are already parsed."""
    member = _SUBJECTS.get(message.method)
    if member is None or message.parsed is None:
        return ""
    params = message.parsed.get("params")
    value = params.get(member) if type(params) is dict else None
    return value[:_MAX_NAME_LENGTH] if type(value) is str else ""


def _status(response: Message) -> Status:
    if response.kind is _ERROR:
        return Status.ERROR
    if response.parsed is not None:
        result = response.parsed.get("result")
        is_error = type(result) is dict and result.get("isError") is True
    else:
        is_error = _says_is_error(response)
    return Status.TOOL_ERROR if is_error else _OK


def _says_is_error(response: Message) -> bool:
    # A large result: search for the member without parsing megabytes; parse only if it is there. (SDKs
    # write "isError": false into every result, so its name alone is not enough.)
    if not _IS_ERROR.search(response.raw[:_PEEKED_BYTES]) and not _IS_ERROR.search(
        response.raw[-_PEEKED_BYTES:]
    ):
        return False
    try:
        return response.result.get("isError") is True
    except JSONError:
        return False


class HttpRecorder:
    """Records one row per exchange, written when it begins and completed as it goes on."""

    def __init__(self, log: TrafficLog, server: int, operations: OperationLinker, subject: str = "") -> None:
        self._log = log
        self._server = server
        self._operations = operations
        self._subject = subject
        self._rows: dict[int, int] = {}

    def new_conversation(self) -> None:
        """Reset the exchange numbers."""
        self._rows = {}

    def requested(self, number: int, exchange: HttpExchange, at: int, wall: int, carried: int) -> None:
        """Record a request. `carried` is the row of the frame sent with it; -1 for none."""
        line = f"{exchange.method} {masked_url(exchange.url)}".encode(errors="replace")
        row = self._append(RecordKind.HTTP, Direction.OUT, at, wall, line, exchange.method)
        self._rows[number] = row
        self._log.set_http(row, exchange)
        if carried >= 0:
            self._log.set_carrier(carried, row)
            self._operations.link_exchange(row, carried)
        self._log.publish()

    def update(self, number: int, **changes: object) -> None:
        """Update what is known of an exchange: its status, its end."""
        row = self._rows.get(number)
        exchange = self._log.readable_http(row) if row is not None else None
        if row is not None and exchange is not None:
            self._log.set_http(row, exchange._replace(**changes))  # type: ignore[arg-type]
            self._log.publish()

    def add_finding(self, number: int, finding: str) -> None:
        """Add a finding to the row of an exchange."""
        row = self._rows.get(number)
        if row is not None:
            self._log.add_problem(row, finding)
            self._log.publish()

    def event(self, number: int, text: str, at: int, wall: int, finding: str = "") -> None:
        """Record a server-sent event or a comment, as text."""
        row = self._append(RecordKind.SSE, Direction.IN, at, wall, text.encode(errors="replace"), "")
        if finding:
            self._log.add_problem(row, finding)
        if number in self._rows:
            self._log.set_carrier(row, self._rows[number])
            self._operations.link_exchange(row, self._rows[number])
        self._log.publish()

    def row_of(self, number: int | None) -> int:
        return self._rows.get(number, -1) if number is not None else -1

    def _append(
        self, kind: RecordKind, direction: Direction, at: int, wall: int, raw: bytes, method: str
    ) -> int:
        return self._log.append(self._server, kind, direction, at, wall, raw, method, self._subject)


def record_http(recorder: Recorder, event: object) -> None:
    """Record an event of an HTTP exchange; ignore any other event."""
    match event:
        case HttpRequested():
            exchange = HttpExchange(event.method, event.url, event.headers, event.size)
            wall = recorder.wall_of(event.at)
            recorder.http.requested(event.exchange, exchange, event.at, wall, event.tag)
        case HttpResponded():
            recorder.http.update(
                event.exchange,
                status=event.status,
                http_version=event.http_version,
                response_headers=event.headers,
            )
        case HttpEnded():
            _record_end(recorder, event)
        case SseReceived():
            wall = recorder.wall_of(event.at)
            recorder.http.event(event.exchange, _event_text(event), event.at, wall, _event_finding(event))


def _record_end(recorder: Recorder, event: HttpEnded) -> None:
    timings = event.timings
    recorder.http.update(
        event.exchange,
        response_size=event.size,
        dns_ns=timings.dns,
        connect_ns=timings.connect,
        tls_ns=timings.tls,
        first_byte_ns=timings.first_byte,
        total_ns=timings.total,
        error=event.error,
        body=event.body,
        is_over=True,
    )
    if event.finding:
        recorder.http.add_finding(event.exchange, event.finding)


def _event_finding(event: SseReceived) -> str:
    if event.event in ("", "message", "endpoint"):  # "": a comment
        return ""
    return f"the event type {quote_value(event.event)} is unknown: clients only read “message” events"


def _event_text(event: SseReceived) -> str:
    if not event.event:
        return comment_text(event.comment)
    return event_text(event.event, event.id, event.retry_ms, event.data, event.size)


class EventText(NamedTuple):
    """The text of an event's row, parsed. `data` is None if it is in the frame after the row."""

    event: str
    id: str | None
    retry_ms: int | None
    data: str | None


def event_text(event: str, id: str | None, retry_ms: int | None, data: bytes | None, size: int) -> str:
    """Format an event's row.

    `data` is given only if it is not a message, which has a separate row; `size` is always its length.
    """
    parts = [f"event: {event}"]
    parts += [f"id: {id}"] if id is not None else []
    parts += [f"retry: {retry_ms}"] if retry_ms is not None else []
    parts += [f"data: {data.decode(errors='replace')}"] if data else []
    return "  ".join([*parts, f"({size:,} bytes of data)"])


def comment_text(comment: str) -> str:
    """Format an SSE comment. An empty one keeps a stream alive."""
    return f": {comment}".rstrip()


def read_event(text: str) -> EventText | None:
    """Parse an event's row; None for a comment or anything else."""
    head, _, size = text.rpartition("  (")
    if not head.startswith("event: ") or not _SIZE.fullmatch(size):
        return None
    head, has_data, data = head.removeprefix("event: ").partition("  data: ")
    head, retry_ms = _without_retry(head)
    event, has_id, id = head.partition("  id: ")
    return EventText(event, id if has_id else None, retry_ms, data if has_data else None)


def _without_retry(head: str) -> tuple[str, int | None]:
    before, _, digits = head.rpartition("  retry: ")
    is_retry = digits.isdecimal() and len(digits) < 20 and digits != head
    return (before, int(digits)) if is_retry else (head, None)
