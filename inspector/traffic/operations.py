"""Operations: the rows that belong to one user action.

An operation begins with a request of ours and is identified by that row. Other requests of ours continue
it: the retry with replies to an `input_required` result, and requests about a task that it became.
Responses, progress, HTTP exchanges and server requests on the way belong to it as well. Only certain
links are made; a request that could continue two operations starts a new one. Log messages and stderr
name no request and are never linked: `analysis.related` shows those that came during an operation.

`CallCost` is the CPU time of a call and what the server wrote meanwhile: stderr and stray lines name no call,
so those between its start and its end are attributed to it.
"""

from __future__ import annotations

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

K = TypeVar("K")
V = TypeVar("V")

NEEDS_USER = ("sampling/createMessage", "elicitation/create")
_SERVER_REQUESTS = (*NEEDS_USER, "roots/list")
_TASK_METHODS = frozenset(("tasks/get", "tasks/result", "tasks/update", "tasks/cancel"))
_TASK_CHANGES = ("notifications/tasks", "notifications/tasks/status")
_CAUSE_NOTHING = ("ping", "subscriptions/listen")  # may be open at any time, and cause no server requests
# Notifications that name a request or a task. Others are not parsed: they come in floods.
_REFERRING = frozenset(("notifications/progress", "notifications/cancelled", *_TASK_CHANGES))

# Looked up once: accessing an enum member takes 0.1 µs, and most of this runs for every frame.
_NOTIFICATION, _REQUEST, _RESULT = Kind.NOTIFICATION, Kind.REQUEST, Kind.RESULT
_IN, _OUT = Direction.IN, Direction.OUT

_MAX_REMEMBERED = 4096
_MAX_PENDING_INPUTS = 256
_MAX_TASK_ID_LENGTH = 1000  # longer ones are not tracked
_PEEKED_BYTES = 64 * 1024
_MAX_READ_SIZE = 1024 * 1024

_USEFUL_NAMES = {
    "params": (b'"requestState"', b'"inputResponses"', b'"progressToken"'),
    "result": (b'"input_required"', b'"taskId"'),
}


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
        self._pending_inputs: dict[int, _PendingInput] = {}
        self._mixed = -1  # the latest batch with responses for several operations

    def new_conversation(self) -> None:
        """Reset ids and tokens. Tasks and request states are kept: servers may keep them."""
        self._open.clear()
        self._ids.clear()
        self._tokens.clear()
        for pending in [pending for pending in self._pending_inputs.values() if pending.state is None]:
            del self._pending_inputs[pending.operation]

    def link_frame(
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
            if message.method not in _REFERRING:
                return
            operation = self._of_notification(message, direction)
        elif kind is _REQUEST:
            is_ours = direction is _OUT
            operation = (
                self._of_our_request(row, message, not is_resent)
                if is_ours
                else self._of_server_request(message, exchange)
            )
        elif requested is not None:
            operation = self._of_response(requested, message, direction)
        else:
            return
        if operation is None or operation < 0:
            return
        self._log.set_operation(row, operation)
        if exchange > operation and kind is not _REQUEST:
            self._link_resumed_stream(exchange, operation)

    def link_batch_item(self, row: int, item: Message, direction: Direction, requested: int | None) -> None:
        """Link a message in a batch. The batch belongs to an operation if all its messages do."""
        if item.kind is Kind.REQUEST and direction is Direction.OUT:
            self._of_our_request(row, item, may_continue=False)
            self._log.set_operation(row, row)
        elif requested is not None:
            operation = self._of_response(requested, item, direction)
            if self._log.columns.operation[row] not in (-1, operation):
                self._mixed = row
            self._log.set_operation(row, -1 if self._mixed == row else operation)

    def link_exchange(self, exchange: int, carried: int) -> None:
        """Link a new HTTP exchange to the operation of the frame that it carries."""
        operation = self._log.columns.operation[carried]
        if operation >= 0:
            self._log.set_operation(exchange, operation)

    def end_request(self, request: int) -> None:
        """Stop tracking a request that is no longer waited for."""
        self._open.pop(request, None)

    def _of_our_request(self, row: int, message: Message, may_continue: bool) -> int:
        params = _params(message)
        operation = row
        if may_continue:
            continued = None
            if message.method in _TASK_METHODS:
                continued = self._of_task(params.get("taskId"))
            elif "requestState" in params or "inputResponses" in params:
                continued = self._continued_by_retry(row, params)
            operation = row if continued is None else continued
        _remember(self._open, row, operation)
        if message.id is not None:
            _remember(self._ids, message.id, operation)
        if "_meta" in params:
            self._remember_token(params["_meta"], operation)
        return operation

    def _remember_token(self, meta: JSON, operation: int) -> None:
        token = meta.get("progressToken") if type(meta) is dict else None
        if type(token) is int or type(token) is str:
            _remember(self._tokens, token, operation)

    def _continued_by_retry(self, row: int, params: JSONObject) -> int | None:
        """Return the operation that this retry continues; None if there is none, or it is ambiguous."""
        state, target = _fingerprint(params.get("requestState")), self._method_and_subject(row)
        waiting = [
            pending
            for pending in self._pending_inputs.values()
            if pending.state == state and pending.method_and_subject == target
        ]
        if state is None or len(waiting) > 1:
            keys = frozenset(_object(params.get("inputResponses")))
            waiting = [pending for pending in waiting if pending.keys == keys]
        if len(waiting) != 1 or state is None:
            # Keys identify less than a state does: they are good for one retry only. And after an ambiguous
            # retry, it is unknown which operation still waits.
            for pending in waiting:
                del self._pending_inputs[pending.operation]
        return waiting[0].operation if len(waiting) == 1 else None

    def _of_server_request(self, message: Message, exchange: int) -> int | None:
        task = related_task(_params(message).get("_meta"))
        if task and (operation := self._tasks.get(task)) is not None:
            return operation
        if exchange >= 0 and (operation := self._log.columns.operation[exchange]) >= 0:
            return operation
        return self._only_open() if message.method in _SERVER_REQUESTS else None

    def _only_open(self) -> int | None:
        """Return the single open operation, if it is of a kind that may ask for input."""
        method = self._log.method
        open = [each for each in set(self._open.values()) if method(each) not in _CAUSE_NOTHING]
        return open[0] if len(open) == 1 and method(open[0]) in INPUT_REQUIRED_METHODS else None

    def _of_response(self, requested: int, response: Message, direction: Direction) -> int:
        operation = self._log.columns.operation[requested]
        is_first = direction is _IN and self._open.pop(requested, None) is not None
        if is_first and response.kind is _RESULT:
            self._note_continuation(operation, requested, _result(response))
        return operation

    def _note_continuation(self, operation: int, request: int, result: JSONObject) -> None:
        """Learn from a result how the operation continues."""
        kind = result.get("resultType")
        if kind == "input_required":
            self._wait_for_input(operation, request, result)
            return
        if self._pending_inputs:
            self._pending_inputs.pop(operation, None)
        created = result if kind == "task" else result.get("task")
        if isinstance(created, dict) and (kind == "task" or "content" not in result):
            task = created.get("taskId")
            if isinstance(task, str) and task and len(task) <= _MAX_TASK_ID_LENGTH:
                _remember(self._tasks, task, operation)

    def _wait_for_input(self, operation: int, request: int, result: JSONObject) -> None:
        state = _fingerprint(result.get("requestState"))
        keys = frozenset(_object(result.get("inputRequests")))
        self._pending_inputs.pop(operation, None)
        if state is not None or keys:
            pending = _PendingInput(operation, self._method_and_subject(request), state, keys)
            _remember(self._pending_inputs, operation, pending, _MAX_PENDING_INPUTS)

    def _method_and_subject(self, row: int) -> tuple[int, int]:
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

    def _link_resumed_stream(self, exchange: int, operation: int) -> None:
        """Link an exchange that carried nothing but resumed a broken stream."""
        if self._log.columns.operation[exchange] >= 0:
            return
        http = self._log.readable_http(exchange)
        if http is not None and any(name.lower() == "last-event-id" for name, _ in http.request_headers):
            self._log.set_operation(exchange, operation)


@dataclass(frozen=True, slots=True)
class _PendingInput:
    """What the latest `input_required` result of an operation requested."""

    operation: int
    method_and_subject: tuple[int, int]  # indices into the string table
    state: bytes | None
    keys: frozenset[str]


def _remember(latest: dict[K, V], key: K, value: V, maximum: int = _MAX_REMEMBERED) -> None:
    """Add an entry; drop the oldest half now and then, so that `maximum` to twice that are kept."""
    latest[key] = value
    if len(latest) > 2 * maximum:
        for old in list(latest)[:maximum]:
            del latest[old]


def _params(message: Message) -> JSONObject:
    if message.parsed is None:
        return _parsed_if_useful(message, "params")
    params = message.parsed.get("params")
    return params if type(params) is dict else {}


def _result(response: Message) -> JSONObject:
    if response.parsed is None:
        return _parsed_if_useful(response, "result")
    result = response.parsed.get("result")
    return result if type(result) is dict else {}


def _parsed_if_useful(message: Message, member: str) -> JSONObject:
    """Return a member of a frame too large to parse on arrival; parsed only if it seems useful."""
    raw = message.raw
    if len(raw) > _MAX_READ_SIZE or not any(_contains(raw, word) for word in _USEFUL_NAMES[member]):
        return {}
    try:
        return _object(message.body().get(member))
    except JSONError:
        return {}


def _contains(raw: bytes, word: bytes) -> bool:
    return raw.find(word, 0, _PEEKED_BYTES) >= 0 or raw.find(word, max(0, len(raw) - _PEEKED_BYTES)) >= 0


def _object(value: JSON) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _fingerprint(state: JSON) -> bytes | None:
    """Return a short hash of a request state.

    An empty string is a state; None for anything that is not a string.
    """
    if not isinstance(state, str):
        return None
    return blake2b(state.encode(errors="surrogatepass"), digest_size=16).digest()


_MAX_LINES = 500
_MAX_SEARCHED = 100_000  # rows; takes 10 ms
_STRAY = (RecordKind.TEXT, RecordKind.INVALID)
_OUTPUT = (RecordKind.STDERR, *_STRAY)


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
    rows = output_rows(log, server, first, last)
    stray = sum(log.kind(row) in _STRAY for row in rows)
    return CallCost(cpu_ns, len(rows) - stray, stray, tuple(rows[:_MAX_LINES]))


def output_rows(log: TrafficLog, server: str, first: int, last: int) -> list[int]:
    """Return a server's stderr and stray-line rows in this range; the cost is bounded."""
    number, last = log.server_number(server), min(last, first + _MAX_SEARCHED, len(log))
    columns = log.columns
    kinds = zip(range(first, last), columns.kind[first:last], columns.server[first:last], strict=False)
    return [row for row, kind, sender in kinds if sender == number and kind in _OUTPUT]


def last_stderr(log: TrafficLog, server: str, first: int, last: int, maximum: int) -> list[bytes]:
    """Return the last non-empty stderr lines in this range; the cost is bounded."""
    first = max(first, last - _MAX_SEARCHED)
    found: list[bytes] = []
    for row in reversed(output_rows(log, server, first, last)):
        if log.kind(row) == RecordKind.STDERR and (line := log.preview(row, 2_000)).strip():
            found.append(line)
        if len(found) == maximum:
            break
    return found[::-1]
