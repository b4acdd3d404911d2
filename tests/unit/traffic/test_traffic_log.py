"""The traffic log: one thread writes, others read."""

from __future__ import annotations

import threading

from inspector.protocol import jsonrpc
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import Direction, RecordKind, Status
from tests.helpers.fakes import FakeClock
from tests.helpers.playbook import message


def test_rows_are_visible_once_published() -> None:
    log = TrafficLog()
    lengths: list[int] = []
    log.grew.connect(lengths.append)
    server = log.add_server("srv")
    for _ in range(2):
        log.append(server, RecordKind.STDERR, Direction.IN, 0, 0, b"line")
    assert len(log) == 0
    log.publish()
    assert len(log) == 2
    assert lengths == [2]


def test_returning_server_keeps_its_number() -> None:
    log = TrafficLog()
    assert [log.add_server(name) for name in ("a", "b", "a")] == [0, 1, 0]
    assert log.servers() == ("a", "b")
    assert (log.server_number("b"), log.server_number("c")) == (1, None)


def test_rows_are_found_by_server_and_kind_in_order() -> None:
    log = TrafficLog()
    clock = FakeClock()
    first, second = Recorder(log, "first", clock), Recorder(log, "second", clock)
    first.stderr([b"1"], 0)
    second.stderr([b"2"], 0)
    first.note(RecordKind.STATE, "connected")
    first.stderr([b"3"], 0)
    assert [row.raw for row in log.find("first", RecordKind.STDERR)] == [b"1", b"3"]
    assert [row.raw for row in log.find("first", RecordKind.STDERR, RecordKind.STATE)] == [
        b"1",
        b"connected",
        b"3",
    ]
    assert log.find("third", RecordKind.STDERR) == []


def test_every_column_of_a_record_matches_the_log() -> None:
    log = TrafficLog()
    recorder = Recorder(log, "srv", FakeClock())
    recorder.sent(jsonrpc.request("a", "tools/call", {"name": "add"}))
    recorder.received([message(id="a", result=[])], 2_000_000_000)
    for row in range(2):
        record = log.record(row)
        assert record.server == log.server_name(row) == log.servers()[log.server(row)]
        assert (record.kind, record.direction) == (log.kind(row), log.direction(row))
        assert (record.method, record.subject, record.id) == (log.method(row), log.subject(row), log.id(row))
        assert (record.status, record.partner) == (log.status(row), log.partner(row))
        assert (record.duration_ns, record.size) == (log.duration_ns(row), log.size(row))
        assert (record.problem, record.raw) == (log.problem(row), log.raw(row))
        assert (record.monotonic_ns, record.wall_ns) == (log.monotonic_ns(row), log.wall_ns(row))
    assert log.problem(1) == '"result" must be an object'


def test_another_thread_reads_complete_rows_while_they_are_written() -> None:
    log = TrafficLog()
    recorder = Recorder(log, "srv", FakeClock())
    wrong: list[str] = []
    done = threading.Event()

    def read_along() -> None:
        seen = 0
        while not (done.is_set() and seen == len(log)):
            count = len(log)
            for row in range(seen, count):
                record = log.record(row)
                if record.method != f"m/{record.id}" or record.raw != b"%d" % row:
                    wrong.append(f"{row}: {record}")
            seen = count

    reader = threading.Thread(target=read_along)
    reader.start()
    try:
        for row in range(0, 20_000, 2):
            request = jsonrpc.Message(jsonrpc.Kind.REQUEST, b"%d" % row, f"m/{row}", row)
            recorder.sent(request)
            recorder.received(
                [jsonrpc.Message(jsonrpc.Kind.RESULT, b"%d" % (row + 1), id=row, parsed={})], row
            )
    finally:
        done.set()
        reader.join()
    assert wrong == []
    assert all(log.status(row) is Status.OK for row in range(len(log)))
