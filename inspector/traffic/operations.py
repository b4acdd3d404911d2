"""Says which operation a row belongs to: what the person asked for, through all its requests.

An operation begins with a request of ours and is named by that row. Other requests of ours continue it: the
retry with the answers to an `input_required` result, and whatever is asked about a task that it became. The
answers, the progress, the HTTP exchanges and what the server asks on the way belong to it as well.

Only what is certain is linked; a request that could continue two operations is one of its own. Log messages
and stderr name no request, so they are never linked: `follow` shows those that came during an operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem
from inspector.protocol.jsonrpc import Kind, Message, RequestId
from inspector.protocol.rounds import MAY_ASK
from inspector.protocol.tasks import related_task
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction

K = TypeVar("K")
V = TypeVar("V")

ASKS_A_PERSON = ("sampling/createMessage", "elicitation/create")
_ASKS = (*ASKS_A_PERSON, "roots/list")
_ABOUT_A_TASK = ("tasks/get", "tasks/result", "tasks/update", "tasks/cancel")
_TASK_NEWS = ("notifications/tasks", "notifications/tasks/status")
_NEVER_ASK = ("ping", "subscriptions/listen")  # open for long, or at any time, and the cause of nothing
# Notifications that name a request or a task. Others are not parsed: they come in floods.
_TELLING = frozenset(("notifications/progress", "notifications/cancelled", *_TASK_NEWS))

# Looked up once: accessing an enum member takes 0.1 µs, and most of this runs for every frame.
_NOTIFICATION, _REQUEST, _RESULT = Kind.NOTIFICATION, Kind.REQUEST, Kind.RESULT
_IN, _OUT = Direction.IN, Direction.OUT

_REMEMBERED = 4096
_MOST_ASKED = 256
_LONGEST_NAME = 1000  # of a task id: longer ones are not remembered
_PEEK = 64 * 1024
_BIGGEST_READ = 1024 * 1024


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
        self._asked: dict[int, _Asked] = {}
        self._mixed = -1  # the latest batch with responses for several operations

    def new_conversation(self) -> None:
        """Reset ids and tokens. Tasks and request states are kept: servers may keep them."""
        self._open.clear()
        self._ids.clear()
        self._tokens.clear()
        for asked in [asked for asked in self._asked.values() if asked.state is None]:
            del self._asked[asked.operation]

    def frame(
        self,
        row: int,
        message: Message,
        direction: Direction,
        asked: int | None = None,
        exchange: int = -1,
        *,
        is_resent: bool = False,
    ) -> None:
        """Link an appended frame.

        `asked` is the row of the request that it responds to, `exchange` that of the HTTP exchange that
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
        elif asked is not None:
            operation = self._of_answer(asked, message, direction)
        else:
            return
        if operation is None or operation < 0:
            return
        self._log.belongs_to(row, operation)
        if exchange > operation and kind is not _REQUEST:
            self._take_up(exchange, operation)

    def item(self, row: int, item: Message, direction: Direction, asked: int | None) -> None:
        """Link a message in a batch. The batch belongs to an operation if all its messages do."""
        if item.kind is Kind.REQUEST and direction is Direction.OUT:
            self._ours(row, item, may_continue=False)
            self._log.belongs_to(row, row)
        elif asked is not None:
            operation = self._of_answer(asked, item, direction)
            if self._log.columns.operation[row] not in (-1, operation):
                self._mixed = row
            self._log.belongs_to(row, -1 if self._mixed == row else operation)

    def exchanged(self, exchange: int, carried: int) -> None:
        """Link a new HTTP exchange to the operation of the frame that it carries."""
        operation = self._log.columns.operation[carried]
        if operation >= 0:
            self._log.belongs_to(exchange, operation)

    def given_up(self, request: int) -> None:
        """Stop tracking a request that is no longer waited for."""
        self._open.pop(request, None)

    # -------------------------------------------------------------- requests

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
        waiting = [one for one in self._asked.values() if one.state == state and one.about == about]
        if state is None or len(waiting) > 1:
            keys = frozenset(_object(params.get("inputResponses")))
            waiting = [one for one in waiting if one.keys == keys]
        if len(waiting) != 1 or state is None:
            # Keys identify less than a state does: they are good for one retry only. And after an ambiguous
            # retry, it is unknown which operation still waits.
            for one in waiting:
                del self._asked[one.operation]
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
        return open[0] if len(open) == 1 and method(open[0]) in MAY_ASK else None

    # -------------------------------------------------------------- answers

    def _of_answer(self, asked: int, answer: Message, direction: Direction) -> int:
        operation = self._log.columns.operation[asked]
        is_first = direction is _IN and self._open.pop(asked, None) is not None
        if is_first and answer.kind is _RESULT:
            self._learn(operation, asked, _result(answer))
        return operation

    def _learn(self, operation: int, request: int, result: JSONObject) -> None:
        """Learn from a result how the operation continues."""
        kind = result.get("resultType")
        if kind == "input_required":
            self._wait_for_input(operation, request, result)
            return
        if self._asked:
            self._asked.pop(operation, None)
        created = result if kind == "task" else result.get("task")
        if isinstance(created, dict) and (kind == "task" or "content" not in result):
            task = created.get("taskId")
            if isinstance(task, str) and task and len(task) <= _LONGEST_NAME:
                _remember(self._tasks, task, operation)

    def _wait_for_input(self, operation: int, request: int, result: JSONObject) -> None:
        state = _fingerprint(result.get("requestState"))
        keys = frozenset(_object(result.get("inputRequests")))
        self._asked.pop(operation, None)
        if state is not None or keys:
            asked = _Asked(operation, self._about(request), state, keys)
            _remember(self._asked, operation, asked, _MOST_ASKED)

    def _about(self, row: int) -> tuple[int, int]:
        columns = self._log.columns
        return columns.method[row], columns.subject[row]

    # -------------------------------------------------------------- the rest

    def _of_notification(self, message: Message, direction: Direction) -> int | None:
        params = _params(message)
        if message.method in _TASK_NEWS:
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


def _remember(latest: dict[K, V], key: K, value: V, most: int = _REMEMBERED) -> None:
    """Add an entry; drop the oldest half now and then, so that `most` to twice that are kept."""
    latest[key] = value
    if len(latest) > 2 * most:
        for old in list(latest)[:most]:
            del latest[old]


# ------------------------------------------------------------------ reading


def _params(message: Message) -> JSONObject:
    parsed = message.parsed
    return _peeked(message, "params") if parsed is None else _object(parsed.get("params"))


def _result(answer: Message) -> JSONObject:
    parsed = answer.parsed
    return _peeked(answer, "result") if parsed is None else _object(parsed.get("result"))


def _peeked(message: Message, member: str) -> JSONObject:
    """Return a member of a frame too large to parse on arrival; parsed only if it seems useful."""
    raw = message.raw
    if len(raw) > _BIGGEST_READ or not any(_has(raw, word) for word in _WORDS[member]):
        return {}
    try:
        return _object(message.body().get(member))
    except JSONProblem:
        return {}


_WORDS = {
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
