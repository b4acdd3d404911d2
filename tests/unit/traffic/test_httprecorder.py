"""Rows of HTTP exchanges: written when they begin, completed later, seen whole by readers."""

from __future__ import annotations

from inspector.traffic.httprecorder import HttpRecorder
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import OperationLinker
from inspector.traffic.records import Direction, HttpExchange, RecordKind, Status

POST = HttpExchange("POST", "https://x/mcp", (("A", "1"),), 10)


def recorder() -> tuple[TrafficLog, HttpRecorder]:
    log = TrafficLog()
    return log, HttpRecorder(log, log.add_server("srv"), OperationLinker(log))


def test_a_row_says_the_request_line_and_when_it_began() -> None:
    log, http = recorder()
    http.requested(1, POST, 5, 6, -1)
    record = log.record(0)
    assert (record.kind, record.direction, record.raw) == (
        RecordKind.HTTP,
        Direction.OUT,
        b"POST https://x/mcp",
    )
    assert (record.method, record.monotonic_ns, record.wall_ns) == ("POST", 5, 6)
    assert record.status is Status.NONE
    assert log.http(0) is POST


def test_the_frame_that_it_carries_points_to_it() -> None:
    log, http = recorder()
    frame = log.append(0, RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    http.requested(1, POST, 0, 0, frame)
    assert log.exchange(frame) == 1
    assert log.http(frame) is POST
    assert log.record(frame).exchange == 1


def test_what_was_read_before_an_update_does_not_change_under_the_reader() -> None:
    log, http = recorder()
    http.requested(1, POST, 0, 0, -1)
    before = log.http(0)
    http.update(1, status=200)
    http.update(1, is_over=True, error="broke")
    after = log.http(0)
    assert before == POST
    assert after is not None
    assert (after.status, after.is_over, after.error, after.url) == (200, True, "broke", POST.url)


def test_readers_are_told_of_each_step() -> None:
    log, http = recorder()
    lengths: list[int] = []
    log.grew.connect(lengths.append)
    http.requested(1, POST, 0, 0, -1)
    http.update(1, status=200)
    http.event(1, "event: message", 0, 0)
    assert lengths == [1, 1, 2]


def test_an_exchange_that_nobody_began_is_none() -> None:
    log, http = recorder()
    http.update(9, status=200)
    assert (len(log), http.row_of(9), http.row_of(None)) == (0, -1, -1)
    http.event(9, ": ping", 0, 0)
    assert log.exchange(0) is None


def test_a_frame_without_http_has_none() -> None:
    log, _ = recorder()
    frame = log.append(0, RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    assert log.exchange(frame) is None
    assert log.http(frame) is None


def test_a_new_conversation_counts_its_exchanges_anew() -> None:
    log, http = recorder()
    http.requested(1, POST, 0, 0, -1)
    http.new_conversation()
    assert http.row_of(1) == -1
    http.requested(1, POST, 0, 0, -1)
    assert http.row_of(1) == 1
    assert log.http(0) is not None  # what was recorded stays


def test_text_that_is_not_unicode_is_recorded_all_the_same() -> None:
    log, http = recorder()
    http.event(1, ": \ud83d", 0, 0)
    log.publish()
    assert log.record(0).raw == b": ?"
