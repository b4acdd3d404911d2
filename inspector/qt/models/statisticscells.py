"""The columns of the statistics: what each is called, what its cells say, and what it sorts by."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, plural, size
from inspector.traffic.statistics import MethodStats

LONGEST = 120
_NONE = "–"


class Column(IntEnum):
    METHOD = 0
    SERVER = 1
    COUNT = 2
    ERRORS = 3
    GIVEN_UP = 4
    BYTES_OUT = 5
    BYTES_IN = 6
    P50 = 7
    P95 = 8
    P99 = 9
    MAX = 10
    PLOT = 11


HEADS = {
    Column.METHOD: ("Method", "Methods, and below them their tools, prompts and resources"),
    Column.SERVER: ("Server", "Server"),
    Column.COUNT: ("Count", "Requests and notifications"),
    Column.ERRORS: ("Errors", "Answers that are errors, and results that say isError"),
    Column.GIVEN_UP: ("Given up", "Cancelled, timed out, not sent, or cut off by the end of the connection"),
    Column.BYTES_OUT: ("Sent", "Bytes of messages to the server"),
    Column.BYTES_IN: ("Received", "Bytes of messages from the server"),
    Column.P50: ("p50", "Half of the answers took no longer (within 1.6 %)"),
    Column.P95: ("p95", "95 of 100 answers took no longer (within 1.6 %)"),
    Column.P99: ("p99", "99 of 100 answers took no longer (within 1.6 %)"),
    Column.MAX: ("Max", "The slowest answer"),
    Column.PLOT: (
        "Latency",
        "How many answers took how long; lines at p50 and p95. Time of people is left out",
    ),
}
VALUES: dict[Column, Callable[[MethodStats], int | None]] = {
    Column.COUNT: lambda stats: stats.count,
    Column.ERRORS: lambda stats: stats.errors + stats.tool_errors,
    Column.GIVEN_UP: lambda stats: stats.given_up,
    Column.BYTES_OUT: lambda stats: stats.bytes_out,
    Column.BYTES_IN: lambda stats: stats.bytes_in,
    Column.P50: lambda stats: stats.p50_ns,
    Column.P95: lambda stats: stats.p95_ns,
    Column.P99: lambda stats: stats.p99_ns,
    Column.MAX: lambda stats: stats.max_ns,
    Column.PLOT: lambda stats: stats.p50_ns,
}
_SIZES = (Column.BYTES_OUT, Column.BYTES_IN)
_COUNTS = (Column.COUNT, Column.ERRORS, Column.GIVEN_UP)


def sort_key(column: Column) -> Callable[[MethodStats], tuple[int, str]]:
    if column is Column.METHOD:
        return lambda stats: (0, (stats.subject or stats.method).casefold())
    if column is Column.SERVER:
        return lambda stats: (0, stats.server.casefold())
    value = VALUES[column]

    def key(stats: MethodStats) -> tuple[int, str]:
        found = value(stats)
        return (-1 if found is None else found), ""

    return key


def number(stats: MethodStats, column: Column) -> str:
    """Format a cell, with its unit."""
    value = VALUES[column](stats)
    if value is None:
        return _NONE
    if column in _COUNTS:
        return f"{value:,}" if value or column is Column.COUNT else _NONE
    return size(value) if column in _SIZES else duration(value)


def tip(stats: MethodStats, column: Column) -> str:
    match column:
        case Column.METHOD:
            return f"{stats.method} {stats.subject}".strip()
        case Column.SERVER:
            return stats.server
        case Column.COUNT:
            return f"{stats.count:,}, of which {stats.waiting:,} still wait for an answer"
        case Column.ERRORS:
            share = (stats.errors + stats.tool_errors) / max(1, stats.count)
            return f"{plural(stats.errors, 'error')}, {plural(stats.tool_errors, 'tool error')}: {share:.1%}"
        case Column.BYTES_OUT | Column.BYTES_IN:
            return f"{VALUES[column](stats):,} bytes"
    return _latency_words(stats)


def _latency_words(stats: MethodStats) -> str:
    if stats.p50_ns is None or stats.mean_ns is None:
        return "No answer was timed"
    words = f"p50 {number(stats, Column.P50)}, p95 {number(stats, Column.P95)}, "
    words += f"p99 {number(stats, Column.P99)}, longest {number(stats, Column.MAX)}, "
    words += f"mean {duration(stats.mean_ns)}"
    return f"{words}; besides, {duration(stats.human_ns)} of people" if stats.human_ns else words


def spoken(stats: MethodStats, column: Column) -> str:
    """Return accessible text for cells that are graphics."""
    if column is Column.PLOT:
        return _latency_words(stats)
    sender = "" if stats.method == "All" else ", sent by us" if stats.is_ours else ", sent by the server"
    return one_line(shorten(stats.subject or stats.method, LONGEST)) + sender
