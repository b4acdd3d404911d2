"""The values of one row, by word: plain reads of the log, one row at a time.

Values come in the shapes of JSON. A word that says nothing about a row gives no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.jsonvalue import JSON
from inspector.protocol.revisions import find_revision
from inspector.protocol.tasks import RELATED_TASK_KEY
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.choices import DIRECTION_WORDS, STATUS_WORDS, kind_words
from inspector.traffic.query.jsonpaths import ROOTS, is_message, message_reader
from inspector.traffic.query.tree import Member, Step
from inspector.traffic.records import Direction, RecordKind, Status

Finding: TypeAlias = Callable[[int], Iterable[str]]
Steps: TypeAlias = tuple[Step, ...]
Read: TypeAlias = Callable[["Source", int, Steps], Iterable[JSON]]


def no_findings(row: int) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Source:
    """The log, and what is known of its rows elsewhere."""

    log: TrafficLog
    finding: Finding = no_findings  # the names and texts of the findings about a row


def column_of_words(read: Callable[[TrafficLog, int], str]) -> Read:
    """Return a reader of a text that is absent if empty."""

    def values(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
        text = read(source.log, row)
        return (text,) if text else ()

    return values


def subject_of(methods: frozenset[str]) -> Read:
    """Return a reader of a message's subject, if its method is one of these."""

    def values(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
        subject = source.log.subject(row) if source.log.method(row) in methods else ""
        return (subject,) if subject else ()

    return values


def kind(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return words_of_kind(source.log.columns.kind[row])


def direction(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return words_of_direction(source.log.columns.direction[row])


def status(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return words_of_status(source.log.columns.status[row])


def words_of_kind(code: int) -> tuple[str, ...]:
    return kind_words(RecordKind(code)) if code in _KINDS else ()


def words_of_direction(code: int) -> tuple[str, ...]:
    word = DIRECTION_WORDS[Direction(code)] if code in _DIRECTIONS else ""
    return (word,) if word else ()


def words_of_status(code: int) -> tuple[str, ...]:
    word = STATUS_WORDS[Status(code)] if code in _STATUSES else ""
    return (word,) if word else ()


# A capture may be written by anyone: unknown codes have no word.
_KINDS, _DIRECTIONS, _STATUSES = frozenset(RecordKind), frozenset(Direction), frozenset(Status)


def revision(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return words_of_revision(source.log.revision(row))


def era(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return words_of_era(source.log.revision(row))


def words_of_revision(date: str) -> tuple[str, ...]:
    return (date,) if date else ()


def words_of_era(date: str) -> tuple[str, ...]:
    known = find_revision(date)
    return (known.era.value,) if known is not None else ()


def id(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    value = source.log.id(row)
    return () if value is None else (value,)


def number(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the row number, 1-based as in the table."""
    return (row + 1,)


def operation(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    first = source.log.operation(row)
    return () if first is None else (first + 1,)


def duration(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    nanoseconds = source.log.duration_ns(row)
    return () if nanoseconds is None else (nanoseconds,)


def size(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return (source.log.size(row),)


def wall_time(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return (source.log.wall_ns(row),)


def http_status(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the HTTP status of an HTTP row, or of a frame that it carried."""
    log, carrier = source.log, source.log.exchange(row)
    code = log.columns.http_status[row] or (log.columns.http_status[carrier] if carrier is not None else 0)
    return (code,) if code else ()


def http_headers(source: Source, row: int, steps: Steps) -> Iterator[JSON]:
    """Yield whole header lines, or the values of the named header."""
    exchange = source.log.http(row)
    if exchange is None:
        return
    for name, value in (*exchange.request_headers, *exchange.response_headers):
        if not steps:
            yield f"{name}: {value}"
        elif isinstance(steps[0], Member) and steps[0].name.casefold() == name.casefold():
            yield value


def mark(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return ("yes" if source.log.remark(row).is_marked else "no",)


def comment(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    text = source.log.remark(row).comment
    return (text,) if text else ()


def finding(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    return tuple(source.finding(row))


def json_path(root: str) -> Read:
    def values(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
        if not is_message(source.log, row):
            return ()
        return message_reader(ROOTS[root] + steps)(source.log.raw(row))

    return values


def code(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the code of an error response."""
    if source.log.kind(row) not in (RecordKind.ERROR, RecordKind.BATCH):
        return ()
    return _error_code(source, row, (Member("code"),))


_error_code = json_path("error")


def task(source: Source, row: int, steps: Steps) -> Iterable[JSON]:
    """Return the id of the task that a message creates, requests, or belongs to."""
    if not is_message(source.log, row):
        return ()
    raw = source.log.raw(row)
    if b"task" not in raw and b"\\" not in raw:
        return ()
    found = (value for reader in _TASK_PLACES for value in reader(raw))
    return {value: None for value in found if isinstance(value, str)}


_TASK_PLACES = [
    message_reader((Member(root), *(Member(name) for name in way), Member("taskId")))
    for root in ("params", "result")
    for way in ((), ("task",), ("_meta", RELATED_TASK_KEY))
]
