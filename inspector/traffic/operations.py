"""Operations: the rows that belong to one user action; time axis; cost of a call.

An operation begins with a request of ours and is identified by that row. Other requests of ours continue
it: the retry with replies to an `input_required` result, and requests about a task that it became.
Responses, progress, HTTP exchanges and server requests on the way belong to it as well. Only certain
links are made; a request that could continue two operations starts its own. Log messages and stderr name
no request and are never linked: `analysis.related` shows those that came during an operation.

`TimeAxis`: lengths come from the monotonic clock; positions are nanoseconds since 1970, the monotonic
time plus the offset between the clocks, which is determined again where they diverge (another run in the
same capture, sleep, a clock change). `CallCost`: stderr and stray lines name no call, so those between
its start and its end are attributed to it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.base.units import duration, plural
from inspector.protocol.jsonrpc import Kind, Message, RequestId
from inspector.protocol.round_trips import INPUT_REQUIRED_METHODS
from inspector.protocol.tasks import related_task
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind

LATEST = 2**62  # the maximum position: a file may hold any number, and adding to it must not overflow
PARTING_NS = 1_000_000_000
_STRIDE = 1024


class TimeAxis:
    """Positions of rows on the time axis. Reads at most every row once, usually far fewer."""

    def __init__(self, log: TrafficLog) -> None:
        self._columns = log.columns
        self._seen = 0
        # Where the clocks diverged, and their offset from there on.
        self._rows: list[int] = []
        self._distances: list[int] = []

    def position(self, row: int) -> int:
        if row >= self._seen:
            self._look_until(row)
        index = -1 if row >= self._rows[-1] else bisect_right(self._rows, row) - 1
        return min(max(self._columns.monotonic[row] + self._distances[index], 0), LATEST)

    def end_of_run(self, row: int) -> int | None:
        """Return where the clocks next diverged, which ended what was open; None if nowhere."""
        index = bisect_right(self._rows, row)
        return self.position(self._rows[index] - 1) if index < len(self._rows) else None

    def _look_until(self, row: int) -> None:
        """Check the last row of each stretch; if the clocks diverged within it, check every row."""
        while self._seen <= row:
            if not self._rows:
                self._part(0)
            last = min(self._seen + _STRIDE, row + 1)
            if self._has_parted(last - 1):
                self._part(next(one for one in range(self._seen, last) if self._has_parted(one)))
                last = self._rows[-1] + 1
            self._seen = last

    def _has_parted(self, row: int) -> bool:
        distance = self._columns.wall[row] - self._columns.monotonic[row]
        return abs(distance - self._distances[-1]) > PARTING_NS

    def _part(self, row: int) -> None:
        self._rows.append(row)
        self._distances.append(self._columns.wall[row] - self._columns.monotonic[row])


def elapsed_ns(log: TrafficLog, first: int, second: int) -> int:
    """Return the time from one row to another; negative if the second was earlier."""
    columns = log.columns
    monotonic = columns.monotonic[second] - columns.monotonic[first]
    wall = columns.wall[second] - columns.wall[first]
    return monotonic if abs(monotonic - wall) <= PARTING_NS else wall


MAX_LINES = 500
_SPAN = 100_000  # rows to search (10 ms)
_STRAY = (RecordKind.TEXT, RecordKind.INVALID)
_WRITTEN = (RecordKind.STDERR, *_STRAY)


@dataclass(frozen=True, slots=True)
class CallCost:
    """Resources used by a call.

    `cpu_ns` is that of the whole process tree; None if it could not be measured. `rows` are the log rows of
    the first lines written.
    """

    cpu_ns: int | None
    stderr: int = 0
    stray: int = 0
    rows: tuple[int, ...] = ()

    def text(self) -> str:
        """Format as `CPU 12 ms · 3 stderr lines · 1 stray line`, omitting what is zero."""
        parts = [f"CPU {duration(self.cpu_ns)}"] if self.cpu_ns is not None else []
        if self.stderr:
            parts.append(plural(self.stderr, "stderr line"))
        if self.stray:
            parts.append(plural(self.stray, "stray line"))
        return " · ".join(parts)


def cost_of(log: TrafficLog, server: str, first: int, last: int, cpu_ns: int | None) -> CallCost:
    """Return the cost of a call that ran while the log grew from `first` to `last`. Thread-safe."""
    rows = written_rows(log, server, first, last)
    stray = sum(log.kind(row) in _STRAY for row in rows)
    return CallCost(cpu_ns, len(rows) - stray, stray, tuple(rows[:MAX_LINES]))


def written_rows(log: TrafficLog, server: str, first: int, last: int) -> list[int]:
    """Return a server's stderr and stray-line rows in this range; the cost is bounded."""
    number, last = log.server_number(server), min(last, first + _SPAN, len(log))
    columns = log.columns
    kinds = zip(range(first, last), columns.kind[first:last], columns.server[first:last], strict=False)
    return [row for row, kind, whose in kinds if whose == number and kind in _WRITTEN]


def last_stderr(log: TrafficLog, server: str, first: int, last: int, maximum: int) -> list[bytes]:
    """Return the last non-empty stderr lines in this range; the cost is bounded."""
    first = max(first, last - _SPAN)
    found: list[bytes] = []
    for row in reversed(written_rows(log, server, first, last)):
        if log.kind(row) == RecordKind.STDERR and (line := log.head(row, 2_000)).strip():
            found.append(line)
        if len(found) == maximum:
            break
    return found[::-1]


K = TypeVar("K")
V = TypeVar("V")

NEEDS_USER = ("sampling/createMessage", "elicitation/create")
_ASKS = (*NEEDS_USER, "roots/list")
_ABOUT_A_TASK = ("tasks/get", "tasks/result", "tasks/update", "tasks/cancel")
_TASK_CHANGES = ("notifications/tasks", "notifications/tasks/status")
_NEVER_ASK = ("ping", "subscriptions/listen")  # open for long, or at any time, and the cause of nothing
# Notifications that name a request or a task. Others are not parsed: they come in floods.
_TELLING = frozenset(("notifications/progress", "notifications/cancelled", *_TASK_CHANGES))

# Looked up once: accessing an enum member takes 0.1 µs, and most of this runs for every frame.
_NOTIFICATION, _REQUEST, _RESULT = Kind.NOTIFICATION, Kind.REQUEST, Kind.RESULT
_IN, _OUT = Direction.IN, Direction.OUT

_REMEMBERED = 4096
_MAX_REQUESTS = 256
_MAX_NAME_LENGTH = 1000  # of a task id: longer ones are not remembered
_PEEK = 64 * 1024
_MAX_READ_SIZE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the latest `input_required` result of an operation waits for."""

    operation: int
    about: tuple[int, int]  # word indices of method and subject
    state: bytes | None
    keys: frozenset[str]


class OperationLinker:
    """Links a server's rows to operations, in the order they are appended. Bounded memory."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        # Operations by the rows of our pending requests, by the ids and progress tokens of our requests,
        # and by task id.
        self._open: dict[int, int] = {}
        self._ids: dict[RequestId, int] = {}
        self._tokens: dict[RequestId, int] = {}
        self._tasks: dict[str, int] = {}
        self._requested: dict[int, _Asked] = {}
        self._mixed = -1  # the latest batch with responses for several operations

    def new_conversation(self) -> None:
        """Reset ids and tokens. Tasks and request states are kept: servers may keep them."""
        self._open.clear()
        self._ids.clear()
        self._tokens.clear()
        for requested in [requested for requested in self._requested.values() if requested.state is None]:
            del self._requested[requested.operation]

    def frame(
        self,
        row: int,
        message: Message,
        direction: Direction,
        requested: int | None = None,
        exchange: int = -1,
        *,
        is_resent: bool = False,
    ) -> None:
        """Link an appended frame.

        `requested` is the row of the request that it responds to, `exchange` that of the HTTP exchange that
        carried it. A request resent by the user continues nothing.
        """
        kind = message.kind
        if kind is _NOTIFICATION:
            if message.method not in _TELLING:
                return
            operation = self._of_notification(message, direction)
        elif kind is _REQUEST:
            is_ours = direction is _OUT
            operation = (
                self._ours(row, message, not is_resent) if is_ours else self._theirs(message, exchange)
            )
        elif requested is not None:
            operation = self._of_response(requested, message, direction)
        else:
            return
        if operation is None or operation < 0:
            return
        self._log.belongs_to(row, operation)
        if exchange > operation and kind is not _REQUEST:
            self._take_up(exchange, operation)

    def item(self, row: int, item: Message, direction: Direction, requested: int | None) -> None:
        """Link a message in a batch. The batch belongs to an operation if all its messages do."""
        if item.kind is Kind.REQUEST and direction is Direction.OUT:
            self._ours(row, item, may_continue=False)
            self._log.belongs_to(row, row)
        elif requested is not None:
            operation = self._of_response(requested, item, direction)
            if self._log.columns.operation[row] not in (-1, operation):
                self._mixed = row
            self._log.belongs_to(row, -1 if self._mixed == row else operation)

    def exchanged(self, exchange: int, carried: int) -> None:
        """Link a new HTTP exchange to the operation of the frame that it carries."""
        operation = self._log.columns.operation[carried]
        if operation >= 0:
            self._log.belongs_to(exchange, operation)

    def end_request(self, request: int) -> None:
        """Stop tracking a request that is no longer waited for."""
        self._open.pop(request, None)

    def _ours(self, row: int, message: Message, may_continue: bool) -> int:
        params = _params(message)
        operation = row
        if may_continue:
            continued = None
            if message.method in _ABOUT_A_TASK:
                continued = self._of_task(params.get("taskId"))
            elif "requestState" in params or "inputResponses" in params:
                continued = self._retried(row, params)
            operation = row if continued is None else continued
        _remember(self._open, row, operation)
        if message.id is not None:
            _remember(self._ids, message.id, operation)
        meta = params.get("_meta")
        token = meta.get("progressToken") if type(meta) is dict else None
        if type(token) is int or type(token) is str:
            _remember(self._tokens, token, operation)
        return operation

    def _retried(self, row: int, params: JSONObject) -> int | None:
        """Return the operation that waits for this retry; None if there is none, or it is ambiguous."""
        state, about = _fingerprint(params.get("requestState")), self._about(row)
        waiting = [one for one in self._requested.values() if one.state == state and one.about == about]
        if state is None or len(waiting) > 1:
            keys = frozenset(_object(params.get("inputResponses")))
            waiting = [one for one in waiting if one.keys == keys]
        if len(waiting) != 1 or state is None:
            # Keys identify less than a state does: they are good for one retry only. And after an ambiguous
            # retry, it is unknown which operation still waits.
            for one in waiting:
                del self._requested[one.operation]
        return waiting[0].operation if len(waiting) == 1 else None

    def _theirs(self, message: Message, exchange: int) -> int | None:
        task = related_task(_params(message).get("_meta"))
        if task and (operation := self._tasks.get(task)) is not None:
            return operation
        if exchange >= 0 and (operation := self._log.columns.operation[exchange]) >= 0:
            return operation
        return self._only_open() if message.method in _ASKS else None

    def _only_open(self) -> int | None:
        """Return the single open operation, if it is of a kind that may ask for input."""
        method = self._log.method
        open = [one for one in set(self._open.values()) if method(one) not in _NEVER_ASK]
        return open[0] if len(open) == 1 and method(open[0]) in INPUT_REQUIRED_METHODS else None

    def _of_response(self, requested: int, response: Message, direction: Direction) -> int:
        operation = self._log.columns.operation[requested]
        is_first = direction is _IN and self._open.pop(requested, None) is not None
        if is_first and response.kind is _RESULT:
            self._learn(operation, requested, _result(response))
        return operation

    def _learn(self, operation: int, request: int, result: JSONObject) -> None:
        """Learn from a result how the operation continues."""
        kind = result.get("resultType")
        if kind == "input_required":
            self._wait_for_input(operation, request, result)
            return
        if self._requested:
            self._requested.pop(operation, None)
        created = result if kind == "task" else result.get("task")
        if isinstance(created, dict) and (kind == "task" or "content" not in result):
            task = created.get("taskId")
            if isinstance(task, str) and task and len(task) <= _MAX_NAME_LENGTH:
                _remember(self._tasks, task, operation)

    def _wait_for_input(self, operation: int, request: int, result: JSONObject) -> None:
        state = _fingerprint(result.get("requestState"))
        keys = frozenset(_object(result.get("inputRequests")))
        self._requested.pop(operation, None)
        if state is not None or keys:
            requested = _Asked(operation, self._about(request), state, keys)
            _remember(self._requested, operation, requested, _MAX_REQUESTS)

    def _about(self, row: int) -> tuple[int, int]:
        columns = self._log.columns
        return columns.method[row], columns.subject[row]

    def _of_notification(self, message: Message, direction: Direction) -> int | None:
        params = _params(message)
        if message.method in _TASK_CHANGES:
            return self._of_task(params.get("taskId"))
        is_progress = message.method == "notifications/progress"
        # Progress that we send, and cancellations by a server, are about server requests.
        if is_progress is (direction is Direction.OUT):
            return None
        name = params.get("progressToken" if is_progress else "requestId")
        if type(name) is not int and type(name) is not str:  # `True == 1` in Python, but a bool is not an id
            return None
        return (self._tokens if is_progress else self._ids).get(name)

    def _of_task(self, task: JSON) -> int | None:
        return self._tasks.get(task) if isinstance(task, str) else None

    def _take_up(self, exchange: int, operation: int) -> None:
        """Link an exchange that carried nothing but resumed a broken stream."""
        if self._log.columns.operation[exchange] >= 0:
            return
        http = self._log.http(exchange)
        if http is not None and any(name.lower() == "last-event-id" for name, _ in http.request_headers):
            self._log.belongs_to(exchange, operation)


def _remember(latest: dict[K, V], key: K, value: V, maximum: int = _REMEMBERED) -> None:
    """Add an entry; drop the oldest half now and then, so that `maximum` to twice that are kept."""
    latest[key] = value
    if len(latest) > 2 * maximum:
        for old in list(latest)[:maximum]:
            del latest[old]


def _params(message: Message) -> JSONObject:
    parsed = message.parsed
    return _peeked(message, "params") if parsed is None else _object(parsed.get("params"))


def _result(response: Message) -> JSONObject:
    parsed = response.parsed
    return _peeked(response, "result") if parsed is None else _object(parsed.get("result"))


def _peeked(message: Message, member: str) -> JSONObject:
    """Return a member of a frame too large to parse on arrival; parsed only if it seems useful."""
    raw = message.raw
    if len(raw) > _MAX_READ_SIZE or not any(_has(raw, word) for word in _LABELS[member]):
        return {}
    try:
        return _object(message.body().get(member))
    except JSONError:
        return {}


_LABELS = {
    "params": (b'"requestState"', b'"inputResponses"', b'"progressToken"'),
    "result": (b'"input_required"', b'"taskId"'),
}


def _has(raw: bytes, word: bytes) -> bool:
    return raw.find(word, 0, _PEEK) >= 0 or raw.find(word, max(0, len(raw) - _PEEK)) >= 0


def _object(value: JSON) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _fingerprint(state: JSON) -> bytes | None:
    """Return a short hash of a request state.

    An empty string is a state; None for anything that is not a string.
    """
    if not isinstance(state, str):
        return None
    return blake2b(state.encode(errors="surrogatepass"), digest_size=16).digest()
