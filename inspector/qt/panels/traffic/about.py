"""The facts about one row, for its head and its list."""

from __future__ import annotations

from inspector.base.jsonvalue import JSON, compact, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, full_time, size, time_of_day
from inspector.qt.widgets.keyvalue import Fact
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

_TOWARDS = {Direction.IN: "from", Direction.OUT: "to", Direction.NONE: "about"}
_ANSWERS = (RecordKind.RESULT, RecordKind.ERROR)


def title(log: TrafficLog, row: int) -> str:
    words = " ".join(part for part in (log.method(row), log.subject(row)) if part)
    return one_line(words) or _kind(log, row)


def caption(log: TrafficLog, row: int) -> str:
    """Return e.g. `request to github · #12 · 14:03:07.482 · 312 B`."""
    towards = f"{_kind(log, row)} {_TOWARDS[Direction(log.direction(row))]} {one_line(log.server_name(row))}"
    return f"{towards} · #{row + 1:,} · {time_of_day(log.wall_ns(row))} · {size(log.size(row))}"


def facts(log: TrafficLog, row: int) -> list[Fact]:
    result = [
        Fact("Row", f"{row + 1:,}", mono=True),
        Fact("Time", full_time(log.wall_ns(row)), mono=True),
        Fact("Server", one_line(log.server_name(row)), term=("server", log.server_name(row))),
        Fact("Size", _size(log, row), mono=True),
    ]
    id, taken, revision = log.id(row), log.duration_ns(row), log.revision(row)
    if id is not None:
        result.append(Fact("Id", shorten(one_line(compact(id)), 200), mono=True, term=("id", id)))
    if taken is not None:
        result.append(Fact("Duration", duration(taken), mono=True))
    if revision:
        result.append(Fact("Revision", one_line(revision), mono=True, term=("rev", revision)))
    result += _cost_facts(log, row)
    for word, number in _links(log, row):
        term: tuple[str, JSON] | None = ("op", number + 1) if word == "Operation" else None
        result.append(Fact(word, f"row {number + 1:,}", mono=True, term=term))
    comment = log.remark(row).comment
    return [*result, Fact("Comment", comment, term=("comment", comment))] if comment else result


def _cost_facts(log: TrafficLog, row: int) -> list[Fact]:
    """Return what a row's call cost the server's processes, if measured."""
    operation = log.operation(row)
    cost = log.cost(row if operation is None else operation)
    if cost is None:
        return []
    facts = [Fact("CPU time", duration(cost.cpu_ns), mono=True)] if cost.cpu_ns is not None else []
    facts.append(Fact("stderr lines", f"{cost.stderr:,}", mono=True))
    return [*facts, Fact("Stray lines", f"{cost.stray:,}", mono=True)]


def _links(log: TrafficLog, row: int) -> list[tuple[str, int]]:
    answer = "Request" if log.kind(row) in _ANSWERS else "Answer"
    links = {
        answer: log.partner(row),
        "Operation": log.operation(row),
        "HTTP exchange": log.exchange(row),
        "Sent again from": log.resent_of(row),
    }
    return [(word, number) for word, number in links.items() if number is not None and number != row]


def _size(log: TrafficLog, row: int) -> str:
    whole, kept = log.size(row), log.kept(row)
    text = f"{size(whole)} ({whole:,} bytes)"
    is_cut = kept < whole and log.kind(row) <= RecordKind.TEXT
    return f"{text}, of which {size(kept)} were kept" if is_cut else text


def _kind(log: TrafficLog, row: int) -> str:
    return RecordKind(log.kind(row)).name.lower()


# ------------------------------------------------------------------ how a row stands


def rides_on_http(log: TrafficLog, row: int) -> bool:
    return log.kind(row) == RecordKind.HTTP or log.exchange(row) is not None


def stand_of(log: TrafficLog, row: int) -> tuple[object, ...]:
    """Return everything about a row that can change later. Cheap: called on each tick."""
    columns = log.columns
    late = (columns.status, columns.partner, columns.duration, columns.exchange, columns.operation)
    exchange = log.http(row) if _has_open_http(log, row) else None
    operation = log.operation(row)
    cost = log.cost(row if operation is None else operation)
    return (*(column[row] for column in late), log.remark(row), exchange, cost)


def is_open(log: TrafficLog, row: int) -> bool:
    """Return whether the row or its operation is still pending."""
    root = log.operation(row)
    return any(log.status(each) is Status.PENDING for each in {row, row if root is None else root})


def _has_open_http(log: TrafficLog, row: int) -> bool:
    """Return whether its exchange is still open. A finished one is not read from disk again."""
    if not rides_on_http(log, row):
        return False
    carrier = log.exchange(row)
    return log.columns.duration[row if carrier is None else carrier] < 0
