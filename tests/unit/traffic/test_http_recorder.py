"""Rows of HTTP exchanges: created at the request, updated later, always consistent for readers."""

from __future__ import annotations

from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import OperationLinker
from inspector.traffic.recorder import HttpRecorder
from inspector.traffic.records import Direction, HttpExchange, RecordKind, Status

POST = HttpExchange("POST", "https://x/mcp", (("A", "1"),), 10)


def recorder() -> tuple[TrafficLog, HttpRecorder]:
    log = TrafficLog()
    return log, HttpRecorder(log, log.add_server("srv"), OperationLinker(log))


def test_row_shows_the_request_line_and_start_time() -> None:
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


def test_carried_message_points_to_its_exchange() -> None:
    log, http = recorder()
    frame = log.append(0, RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    http.requested(1, POST, 0, 0, frame)
    assert log.exchange(frame) == 1
    assert log.http(frame) is POST
    assert log.record(frame).exchange == 1


def test_snapshot_does_not_change_under_the_reader() -> None:
    log, http = recorder()
    http.requested(1, POST, 0, 0, -1)
    before = log.http(0)
    http.update(1, status=200)
    http.update(1, is_over=True, error="broke")
    after = log.http(0)
    assert before == POST
    assert after is not None
    assert (after.status, after.is_over, after.error, after.url) == (200, True, "broke", POST.url)


def test_readers_are_notified_of_each_step() -> None:
    log, http = recorder()
    lengths: list[int] = []
    log.grew.connect(lengths.append)
    http.requested(1, POST, 0, 0, -1)
    http.update(1, status=200)
    http.event(1, "event: message", 0, 0)
    assert lengths == [1, 1, 2]


def test_unknown_exchange_gives_none() -> None:
    log, http = recorder()
    http.update(9, status=200)
    assert (len(log), http.row_of(9), http.row_of(None)) == (0, -1, -1)
    http.event(9, ": ping", 0, 0)
    assert log.exchange(0) is None


def test_message_without_http_has_no_exchange() -> None:
    log, _ = recorder()
    frame = log.append(0, RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    assert log.exchange(frame) is None
    assert log.http(frame) is None


def test_new_connection_restarts_the_exchange_numbers() -> None:
    log, http = recorder()
    http.requested(1, POST, 0, 0, -1)
    http.new_conversation()
    assert http.row_of(1) == -1
    http.requested(1, POST, 0, 0, -1)
    assert http.row_of(1) == 1
    assert log.http(0) is not None  # what was recorded stays


def test_non_unicode_text_is_still_recorded() -> None:
    log, http = recorder()
    http.event(1, ": \ud83d", 0, 0)
    log.publish()
    assert log.record(0).raw == b": ?"
