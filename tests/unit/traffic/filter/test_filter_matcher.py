"""Filter matching: evaluation on columns must agree with evaluation row by row."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.filter.fields import FIELDS
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.filter.tree import Node
from inspector.traffic.log import BodyUnavailable, TrafficLog
from inspector.traffic.records import Direction, RecordKind, RowNote, Status
from tests.unit.traffic.filter.filter_logs import (
    NOON,
    RowSpec,
    add_row,
    every_comparison,
    filters,
    logs,
    make_log,
    random_log,
    rows_read,
)

K = RecordKind


def _found(text: str, log: TrafficLog) -> list[int]:
    return list(compile(parse(text), log, now_ns=NOON).rows(range(len(log))))


@settings(max_examples=120, deadline=None)
@given(logs, filters, st.integers(0, 30), st.integers(0, 30))
def test_column_matching_agrees_with_row_matching(log: TrafficLog, node: Node, first: int, last: int) -> None:
    matcher = compile(node, log, now_ns=NOON)
    window = range(min(first, len(log)), min(last, len(log)))
    assert list(matcher.rows(window)) == [row for row in window if matcher.matches(row)]


@pytest.mark.parametrize("word", FIELDS)
def test_every_comparison_agrees_with_row_matching(word: str) -> None:
    some_logs = [random_log(seed) for seed in range(6)]
    found = requested = 0
    for node in every_comparison(word):
        for log in some_logs:
            matcher = compile(node, log, now_ns=NOON)
            window = range(len(log))
            rows = list(matcher.rows(window))
            assert rows == [row for row in window if matcher.matches(row)], node
            found, requested = found + len(rows), requested + len(log)
    assert 0 < found < requested  # there was something to agree on


LOG = make_log(
    RowSpec(
        raw=b'{"id":7,"method":"tools/call","params":{"name":"add_issue","arguments":{"path":"/etc/passwd","n":15}}}',
        subject="add_issue",
        id=7,
        status=Status.TOOL_ERROR,
        duration=600_000_000,
        operation=0,
        revision="2025-06-18",
    ),
    RowSpec(
        raw=b'{"id":"7","error":{"code":-32602,"message":"no \\u00c4rger"}}',
        kind=K.ERROR,
        direction=Direction.IN,
        subject="add_issue",
        id="7",
        status=Status.ERROR,
        duration=400_000_000,
        operation=0,
        size=10_500,
        server="files",
        problem="unknown id",
        wall_ns=NOON + 60_000_000_000,
    ),
    RowSpec(raw=b"POST http://x", kind=K.HTTP, method="POST", http_status=401, duration=1),
    RowSpec(
        raw=b'{"params":{"x y":[1,{"z":null}],"taskId":"t-1"}}',
        kind=K.NOTIFICATION,
        method="notifications/tasks/status",
        carrier=2,
        note=RowNote(True, "Look"),
        revision="2026-07-28",
    ),
    RowSpec(raw=b"boom error", kind=K.STDERR, direction=Direction.IN, method=""),
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("server=github", [0, 2, 3, 4]),
        ("server:FILE", [1]),
        ("method:tools", [0, 1]),
        ("method:tools/*", [0, 1]),
        ("method:ools/*", []),
        ("method=TOOLS/CALL", []),
        ("not method:*", [4]),
        ("tool:issue", [0, 1]),
        ("resource:issue", []),
        ("id=7", [0, 1]),
        ("id>=7", [0]),
        ("id!=7", [2, 3, 4]),
        ("dir:in", [1, 4]),
        ("kind:message", [0, 1, 3]),
        ("kind:frame", [0, 1, 3]),
        ("kind in (event, answer)", [1, 2, 4]),
        ("status:error", [0, 1]),
        ("status=ERROR", [1]),
        ('status = "tool error"', [0]),
        ("code=-32602", [1]),
        ("code<0", [1]),
        ("code!=-32602", [0, 2, 3, 4]),
        ("dur>500ms", [0]),
        ("dur<=400ms", [1, 2]),
        ("dur!=1ns", [0, 1, 3, 4]),
        ("size>10k", [1]),
        ("size:10.5k", [1]),
        ("number>=4", [3, 4]),
        ("number in (1, 3)", [0, 2]),
        ("op=1", [0, 1]),
        ("task:t-1", [3]),
        ("finding:ID", [1]),
        ("finding:*", [1]),
        ("mark:yes", [3]),
        ("mark=no", [0, 1, 2, 4]),
        ("comment:look", [3]),
        ("version>=2025-06-18", [0, 3]),
        ("version<2026-07-28", [0]),
        ("mode:session", [0]),
        ("mode:handshake", [0]),
        ("http.status:4*", [2, 3]),
        ("http.status>=400", [2, 3]),
        ("http.header:bearer", [2, 3]),
        ("http.header.content-type=application/json", [2, 3]),
        ("http.header.x:*", []),
        ('args.path ~ "^/etc"', [0]),
        ("args.n>14", [0]),
        ("args.n:15", [0]),
        ("args.n:5", []),
        ("args:passwd", [0]),
        ("error.message:ärger", [1]),
        ('params."x y"[0]=1', [3]),
        ('params."x y"[-1].z=null', [3]),
        ('params."x y"[*].z:*', [3]),
        ("body.id=7", [0, 1]),
        ("text:error", [1, 4]),
        ("text:ärger", [1]),
        ('text ~ "^boom"', [4]),
        ('text = "boom error"', [4]),
        ("error", [1, 4]),
        ("ADD_issue", [0, 1]),
        ('"unknown id"', [1]),
        ("/etc/", [0]),
        ("time>=2023-11-14T22:14:20Z", [1]),
        ("time<-30s", []),
        ("not time>-30s", []),
        ("", [0, 1, 2, 3, 4]),
    ],
)
def test_each_field_finds_its_rows(text: str, rows: list[int]) -> None:
    assert _found(text, LOG) == rows


def test_later_rows_and_strings_are_seen() -> None:
    log = make_log(RowSpec(method="a", server="one"))
    matcher = compile(parse("method:new or server:two or version=2025-06-18"), log, now_ns=NOON)
    assert list(matcher.rows(range(1))) == []
    add_row(log, RowSpec(method="new", server="one"))
    add_row(log, RowSpec(method="a", server="two"))
    add_row(log, RowSpec(method="a", server="one", revision="2025-06-18"))
    log.publish()
    assert list(matcher.rows(range(4))) == [1, 2, 3]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("problem:ID", "finding:ID"),
        ("not Problem:*", "not finding:*"),
        ("rev>=2025-06-18", "version>=2025-06-18"),
        ("era:handshake", "mode:handshake"),
    ],
)
def test_field_names_of_older_versions_still_work(old: str, new: str) -> None:
    assert parse(old) == parse(new)
    assert _found(old, LOG) == _found(new, LOG) != []


def test_only_filters_without_bodies_are_cheap() -> None:
    cheap = {
        text: compile(parse(text), LOG, now_ns=NOON).is_cheap
        for text in ("dur>1s mark:yes", "dur>1s x", "args:x", "")
    }
    assert cheap == {"dur>1s mark:yes": True, "dur>1s x": False, "args:x": False, "": True}


def test_bodies_are_read_only_for_undecided_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(*(RowSpec(b'{"params":{"a":"x"}}', method=f"m/{n}") for n in range(100)))
    read = rows_read(log, monkeypatch)
    matcher = compile(parse("params.a=x and method=m/42"), log, now_ns=NOON)
    assert list(matcher.rows(range(100))) == [42]
    assert read == [42]


def test_a_body_above_a_mebibyte_is_searched_but_not_parsed() -> None:
    filler = b"." * (1024 * 1024 - 4)
    big = RowSpec(b'{"params":{"a":"x","b":"%sneedle%s"}}' % (filler, filler))
    log = make_log(big, RowSpec(b'{"params":{"a":"x","b":"needle"}}'))
    assert _found("params.a=x", log) == [1]
    assert _found("needle", log) == [0, 1]  # also where two parts of a big body meet


def test_text_never_spans_two_bodies() -> None:
    log = make_log(RowSpec(b"ends with foo"), RowSpec(b"bar begins"), RowSpec(b"foo bar"))
    assert _found('"foo bar"', log) == [2]
    assert _found("foobar", log) == []


class _FileStore:
    """Body store of released rows, two in a chunk."""

    failure: BodyUnavailable | None = None

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._chunks = [log.raw(row) + log.raw(row + 1) for row in range(0, len(log), 2)]
        for row in range(len(log)):
            log.columns.chunk.append(row // 2)
            log.columns.offset.append(log.kept(row - 1) if row % 2 else 0)

    def part(self, number: int, start: int, length: int) -> bytes:
        first = self._log.columns.offset[number] + start
        return self.chunk(number // 2)[first : first + length]

    def chunk(self, number: int) -> bytes:
        return self._chunks[number]

    def http(self, number: int) -> None:
        return None


def test_evicted_rows_are_searched_in_the_capture_file() -> None:
    log = make_log(*(RowSpec(raw=b'{"params":{"a":"x%d"}}' % number) for number in range(6)))
    log.set_body_store(_FileStore(log))
    log.release_bodies(0, 4)
    assert _found("x1 or x2 or x5", log) == [1, 2, 5]
    assert _found('"}}{"', log) == []  # only where two bodies meet
    assert _found("params.a in (x0, x2, x4)", log) == [0, 2, 4]
    assert _found('text ~ "x[35]"', log) == [3, 5]


def test_time_of_day_matches_every_day() -> None:
    day = 86_400_000_000_000
    log = make_log(*(RowSpec(wall_ns=NOON + n * day // 2) for n in range(4)))
    clock = compile(parse(f"time:{_clock(NOON)}"), log, now_ns=NOON)
    assert list(clock.rows(range(4))) == [0, 2]
    assert [clock.matches(row) for row in range(4)] == [True, False, True, False]


def _clock(wall_ns: int) -> str:
    return time.strftime("%H:%M", time.localtime(wall_ns // 1_000_000_000))


ENDED = make_log(
    *(
        RowSpec(status=status)
        for status in (Status.OK, Status.CANCELLED, Status.TIMED_OUT, Status.NO_RESPONSE, Status.LATE)
    )
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("status:cancelled", [1]),
        ("status=cancelled", [1]),
        ('status:"timed out"', [2]),
        ('status in (cancelled, "timed out")', [1, 2]),
        ('status="no response"', [3]),
        ("status:late", [4]),
        # The word for all of them in filters that older versions saved.
        ('status:"given up"', [1, 2, 3]),
        ('status="given up"', [1, 2, 3]),
        ('status!="given up"', [0, 4]),
        ('status in (ok, "given up")', [0, 1, 2, 3]),
    ],
)
def test_cancelled_and_timed_out_requests_have_separate_statuses(text: str, rows: list[int]) -> None:
    matcher = compile(parse(text), ENDED, now_ns=NOON)
    assert list(matcher.rows(range(len(ENDED)))) == rows
    assert [row for row in range(len(ENDED)) if matcher.matches(row)] == rows
