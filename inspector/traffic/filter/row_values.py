"""Values of one row by field, and values at a path in its message.

Values are JSON. A field that does not apply to a row has no value; nor does a path in a body that is too
large (1 MiB) or not JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from inspector.base.json.values import JSON, JSONError, parse
from inspector.protocol.jsonrpc import error_code_text
from inspector.protocol.revisions import Era, find_revision
from inspector.protocol.tasks import RELATED_TASK_KEY
from inspector.traffic.filter.tree import Every, Index, Member, Operator, Step
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import (
    DIRECTION_LABELS,
    STATUS_ALIASES,
    STATUS_LABELS,
    Direction,
    RecordKind,
    Status,
    kind_labels,
)

Steps: TypeAlias = tuple[Step, ...]
Read: TypeAlias = Callable[[TrafficLog, int, Steps], Iterable[JSON]]

MAX_SIZE = 1024 * 1024  # larger bodies are not parsed for a filter
# Where each path field starts in a message.
ROOTS: dict[str, tuple[Step, ...]] = {
    "params": (Member("params"),),
    "args": (Member("params"), Member("arguments")),
    "result": (Member("result"),),
    "error": (Member("error"),),
    "body": (),
}

# A capture may be written by anyone: unknown codes have no label.
_KINDS, _DIRECTIONS, _STATUSES = frozenset(RecordKind), frozenset(Direction), frozenset(Status)

_NAME = re.compile("[A-Za-z_]{3}[A-Za-z0-9_./-]*")


def is_message(log: TrafficLog, row: int) -> bool:
    """True if the row may hold JSON that is worth parsing."""
    return log.kind(row) < RecordKind.TEXT and log.kept(row) <= MAX_SIZE


def message_reader(steps: Sequence[Step], hint: bytes = b"") -> Callable[[bytes], Iterable[JSON]]:
    """Return a function that yields the values at a path of a body, or of each batch message.

    `hint` is a lower-case text that relevant bodies contain, provided they are ASCII and have no escapes.
    So is the last name of the path: most bodies then need no parsing.
    """
    names = [name for name in (_as_written(step.name) for step in steps if isinstance(step, Member)) if name]
    last = names[-1] if names else b""

    def values(raw: bytes) -> Iterable[JSON]:
        if b"\\" not in raw and (last not in raw or (hint and raw.isascii() and hint not in raw.lower())):
            return ()
        body = _read(raw)
        messages = body if isinstance(body, list) else [body]
        return (value for message in messages for value in values_at(message, steps))

    return values


def values_at(value: JSON, steps: Sequence[Step]) -> Iterator[JSON]:
    """Yield the values that the steps lead to: none, one, or several."""
    values = iter((value,))
    for step in steps:
        values = _next(values, step)
    yield from values


def _next(values: Iterator[JSON], step: Step) -> Iterator[JSON]:
    for value in values:
        match step, value:
            case Member(name), dict():
                if name in value:
                    yield value[name]
            case Index(number), list():
                if -len(value) <= number < len(value):
                    yield value[number]
            case Every(), dict():
                yield from value.values()
            case Every(), list():
                yield from value


def _read(raw: bytes) -> JSON:
    try:
        return parse(raw.decode(errors="replace"))
    except JSONError:
        return None


def _as_written(name: str) -> bytes:
    """Return a member's name in quotes; b"" if a writer would have to escape it."""
    is_plain = name.isprintable() and not any(char in name for char in '"\\')
    return f'"{name}"'.encode() if is_plain and name.isascii() else b""


def hint(operator: Operator, value: str) -> bytes:
    """Return the `hint` for `message_reader`: what a matching value must contain.

    Only names are suitable: numbers can be spelled in several ways.
    """
    is_name = _NAME.fullmatch(value) is not None and value.lower() not in "infinity"
    is_useful = is_name and operator in (Operator.CONTAINS, Operator.IS)
    return value.lower().encode() if is_useful else b""


def column_of_text(read: Callable[[TrafficLog, int], str]) -> Read:
    """Return a reader of a text that is absent if empty."""

    def values(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
        text = read(log, row)
        return (text,) if text else ()

    return values


def subject_of(methods: frozenset[str]) -> Read:
    """Return a reader of a message's subject, if its method is one of these."""

    def values(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
        subject = log.subject(row) if log.method(row) in methods else ""
        return (subject,) if subject else ()

    return values


def kind(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return labels_of_kind(log.columns.kind[row])


def direction(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return labels_of_direction(log.columns.direction[row])


def status(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return labels_of_status(log.columns.status[row])


def labels_of_kind(code: int) -> tuple[str, ...]:
    return kind_labels(RecordKind(code)) if code in _KINDS else ()


def labels_of_direction(code: int) -> tuple[str, ...]:
    word = DIRECTION_LABELS[Direction(code)] if code in _DIRECTIONS else ""
    return (word,) if word else ()


def labels_of_status(code: int) -> tuple[str, ...]:
    word = STATUS_LABELS[Status(code)] if code in _STATUSES else ""
    aliases = (alias for alias, statuses in STATUS_ALIASES.items() if code in statuses)
    return (word, *aliases) if word else ()


def revision(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return labels_of_revision(log.revision(row))


def era(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return labels_of_era(log.revision(row))


def labels_of_revision(date: str) -> tuple[str, ...]:
    return (date,) if date else ()


def labels_of_era(date: str) -> tuple[str, ...]:
    known = find_revision(date)
    if known is None:
        return ()
    return (known.era.value, "handshake") if known.era is Era.SESSION else (known.era.value,)


def id(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    value = log.id(row)
    return () if value is None else (value,)


def number(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the row number, 1-based as in the table."""
    return (row + 1,)


def operation(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    first = log.operation(row)
    return () if first is None else (first + 1,)


def duration(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    nanoseconds = log.duration_ns(row)
    return () if nanoseconds is None else (nanoseconds,)


def size(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return (log.size(row),)


def wall_time(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return (log.wall_ns(row),)


def http_status(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the HTTP status of an HTTP row, or of a frame that it carried."""
    carrier = log.exchange(row)
    code = log.columns.http_status[row] or (log.columns.http_status[carrier] if carrier is not None else 0)
    return (code,) if code else ()


def http_headers(log: TrafficLog, row: int, steps: Steps) -> Iterator[JSON]:
    """Yield whole header lines, or the values of the named header."""
    exchange = log.readable_http(row)
    if exchange is None:
        return
    for name, value in (*exchange.request_headers, *exchange.response_headers):
        if not steps:
            yield f"{name}: {value}"
        elif isinstance(steps[0], Member) and steps[0].name.casefold() == name.casefold():
            yield value


def mark(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    return ("yes" if log.note(row).is_marked else "no",)


def comment(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    text = log.note(row).comment
    return (text,) if text else ()


def json_path(root: str) -> Read:
    def values(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
        raw = log.readable_raw(row) if is_message(log, row) else None
        return () if raw is None else message_reader(ROOTS[root] + steps)(raw)

    return values


def code(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the code of an error response."""
    if log.kind(row) not in (RecordKind.ERROR, RecordKind.BATCH):
        return ()
    return _error_code(log, row, (Member("code"),))


_error_code = json_path("error")
_MAX_ERROR_SIZE = 256 * 1024  # bytes; larger errors are not parsed for their code


def error_text(log: TrafficLog, row: int) -> str:
    """Return the code and name of an error response: -32602 (invalid params); "" if it is none."""
    if log.kind(row) != RecordKind.ERROR or log.kept(row) > _MAX_ERROR_SIZE:
        return ""
    found = next(iter(code(log, row, ())), None)
    is_ours = log.direction(row) == Direction.OUT
    return error_code_text(found if type(found) is int else None, from_client=is_ours)


def task(log: TrafficLog, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the id of the task that a message creates, requests, or belongs to."""
    raw = log.readable_raw(row) if is_message(log, row) else None
    if raw is None or (b"task" not in raw and b"\\" not in raw):
        return ()
    found = (value for reader in _TASK_PLACES for value in reader(raw))
    return {value: None for value in found if isinstance(value, str)}


_TASK_PLACES = [
    message_reader((Member(root), *(Member(name) for name in path), Member("taskId")))
    for root in ("params", "result")
    for path in ((), ("task",), ("_meta", RELATED_TASK_KEY))
]
