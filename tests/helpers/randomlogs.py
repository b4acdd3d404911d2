"""Hypothesis strategies for traffic logs, and comparison of two logs."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from inspector.traffic.columns import TYPES
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status

Step = Callable[[TrafficLog], object]

# Lone surrogates too: JSON can hold them, and so they turn up in methods, ids and comments.
_TEXTS = st.text(st.characters(exclude_categories=[]), max_size=8).filter(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") == text
)
_TIMES = st.integers(0, 2**62)
_ROWS = st.integers(0, 2**31)
_IDS = st.none() | st.integers(-(2**80), 2**80) | _TEXTS
_HEADERS = st.lists(st.tuples(_TEXTS, _TEXTS), max_size=2).map(tuple)
_MAYBE = st.none() | _TIMES
BODIES = st.binary(max_size=40) | st.integers(60_000, 70_000).map(lambda size: b"%d" % size * (size // 5))

_EXCHANGES = st.builds(
    HttpExchange,
    method=_TEXTS,
    url=_TEXTS,
    request_headers=_HEADERS,
    request_size=_TIMES,
    status=st.none() | st.integers(0, 999),
    http_version=_TEXTS,
    response_headers=_HEADERS,
    response_size=_TIMES,
    dns_ns=_MAYBE,
    connect_ns=_MAYBE,
    tls_ns=_MAYBE,
    first_byte_ns=_MAYBE,
    total_ns=_MAYBE,
    error=_TEXTS,
    body=st.binary(max_size=20),
    is_over=st.booleans(),
)
_REMARKS = st.builds(RowNote, st.booleans(), _TEXTS)


@st.composite
def _append(draw: st.DrawFn) -> Step:
    name, revision = draw(_TEXTS), draw(_TEXTS)
    kind, direction = draw(st.sampled_from(RecordKind)), draw(st.sampled_from(Direction))
    times, raw, id = (draw(_TIMES), draw(_TIMES)), draw(BODIES), draw(_IDS)
    texts, problem = (draw(_TEXTS), draw(_TEXTS)), draw(_TEXTS)
    size = draw(st.just(-1) | st.integers(0, 2**62))

    def append(log: TrafficLog) -> None:
        server = log.add_server(name)
        log.append(
            server, kind, direction, *times, raw, *texts, id, problem, size, log.add_revision(revision)
        )

    return append


def _on_rows(call: Callable[[TrafficLog, int, int], object]) -> st.SearchStrategy[Step]:
    """Return a strategy for an operation on one or two existing rows."""

    def step(one: int, other: int) -> Step:
        def do(log: TrafficLog) -> None:
            if count := len(log.columns.kind):
                call(log, one % count, other % count)

        return do

    return st.builds(step, _ROWS, _ROWS)


def _with(values: st.SearchStrategy[object], call: Callable[..., object]) -> st.SearchStrategy[Step]:
    return values.flatmap(lambda value: _on_rows(lambda log, one, other: call(log, one, value)))


STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        _append(),
        st.just(TrafficLog.publish),
        _on_rows(lambda log, one, other: log.link(one, other, Status.OK)),
        _on_rows(lambda log, one, _: log.end_request(one, Status.CANCELLED)),
        _on_rows(lambda log, one, other: log.set_carrier(one, other)),
        _on_rows(lambda log, one, other: log.set_operation(one, other)),
        _on_rows(lambda log, one, other: log.set_resent_of(one, other)),
        _with(_EXCHANGES, TrafficLog.set_http),
        _with(_REMARKS, TrafficLog.set_note),
    ),
    max_size=25,
)


def same(one: TrafficLog, other: TrafficLog) -> None:
    """Assert that two logs are equal, column by column and row by row."""
    assert (len(one), one.servers(), one.revisions) == (len(other), other.servers(), other.revisions)
    assert (one.noted_rows(), one.resent()) == (other.noted_rows(), other.resent())
    for name in TYPES.keys() - {"chunk", "offset"}:
        column, like = getattr(one.columns, name), getattr(other.columns, name)
        assert column[: len(one)] == like[: len(one)], name
    for row in range(len(one)):
        assert one.record(row) == other.record(row)
        assert one.http(row) == other.http(row)
        assert one.note(row) == other.note(row)
