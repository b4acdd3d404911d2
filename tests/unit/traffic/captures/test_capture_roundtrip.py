"""Captures: what was recorded is read back unchanged."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings

from inspector.base.errors import RequestCancelled
from inspector.traffic.captures import recording as recording_module
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import Recording
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import HttpExchange, RecordKind, RowNote, Status
from tests.helpers.ownedcapture import open_own_capture
from tests.helpers.randomlogs import STEPS, Step, same


def filled(count: int, size: int = 20) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("srv")
    for number in range(count):
        log.append(server, 2, 1, number, number, b"%0*d" % (size, number), "ping")
    log.publish()
    return log


@settings(max_examples=30)
@given(STEPS, STEPS)
def test_reopened_log_equals_the_live_one(before: list[Step], after: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.mcpcap")
        log, plain = TrafficLog(), TrafficLog()
        recording = Recording(log, path)
        for step in (*before, TrafficLog.publish):
            step(log), step(plain)
        assert recording.flush()
        for step in (*after, TrafficLog.publish):
            step(log), step(plain)
        assert recording.close()
        assert list(Path(folder).iterdir()) == [path]
        capture = open_own_capture(path)
        assert (capture.problems, capture.is_interrupted) == ((), False)
        same(capture.log, plain)
        same(log, plain)
        capture.close()


def test_every_row_is_present_across_many_segments_and_chunks(tmp_path: Path) -> None:
    log = filled(5000, 200)
    recording = Recording(log, tmp_path / "a.mcpcap")
    recording.close()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert [capture.log.raw(row) for row in range(5000)] == [b"%0200d" % row for row in range(5000)]
    assert len(set(capture.log.columns.chunk)) > 2


def test_stored_bytes_leave_memory_and_can_still_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "_MEMORY_BYTES", 300_000)
    log = filled(5000, 200)
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        assert recording.flush()
        in_memory = [raw for raw in log.in_memory(0, 5000) if raw is not None]
        assert 0 < sum(map(len, in_memory)) <= 300_000
        assert [log.raw(row) for row in range(5000)] == [b"%0200d" % row for row in range(5000)]


def test_row_changed_after_it_was_stored_is_updated_in_the_file(tmp_path: Path) -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    log.append(server, RecordKind.REQUEST, 2, 0, 0, b"{}", "ping", id=1)
    log.publish()
    recording = Recording(log, tmp_path / "a.mcpcap")
    recording.flush()
    log.append(server, RecordKind.RESULT, 1, 5, 5, b"{}", "ping", id=1)
    log.link(0, 1, Status.OK)
    log.publish()
    recording.close()
    reopened = open_own_capture(tmp_path / "a.mcpcap").log
    assert (reopened.status(0), reopened.partner(0), reopened.duration_ns(0)) == (Status.OK, 1, 5)


def test_finished_exchange_leaves_memory_and_a_running_one_stays(tmp_path: Path) -> None:
    log = TrafficLog()
    over = HttpExchange("POST", "https://x/", (), 1, is_over=True, body=b"\xff\x00")
    for row, exchange in enumerate((over, over._replace(is_over=False))):
        log.append(log.add_server("srv"), RecordKind.HTTP, 2, 0, 0, b"")
        log.set_http(row, exchange)
    log.publish()
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        recording.flush()
        assert list(log.http_in_memory()) == [1]
        assert log.http(0) == over
        log.set_http(0, over._replace(error="late"))
        log.publish()
        recording.flush()
        assert log.http_in_memory().keys() == {1}
        late = log.http(0)
        assert late is not None
        assert late.error == "late"


def test_an_exchange_that_lost_its_body_has_none_in_the_file_either(tmp_path: Path) -> None:
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.HTTP, 2, 0, 0, b"")
    exchange = HttpExchange("POST", "https://x/", (), 1, body=b"some")
    with closing(Recording(log, tmp_path / "a.mcpcap")) as recording:
        for known in (exchange, exchange._replace(body=b"")):
            log.set_http(0, known)
            log.publish()
            recording.flush()
            assert open_own_capture(tmp_path / "a.mcpcap").log.http(0) == known


def test_parts_of_a_big_body_are_read_without_the_rest(tmp_path: Path) -> None:
    log = TrafficLog()
    body = bytes(range(256)) * 40_000
    log.append(log.add_server("srv"), 3, 1, 0, 0, body)
    log.publish()
    Recording(log, tmp_path / "a.mcpcap").close()
    reopened = open_own_capture(tmp_path / "a.mcpcap").log
    assert reopened.preview(0, 1000) == body[:1000]
    assert reopened.part(0, 5_000_001, 300) == body[5_000_001:5_000_301]
    assert reopened.part(0, len(body) - 5, 300) == body[-5:]
    assert reopened.part(0, len(body) + 5, 300) == b""
    assert reopened.raw(0) == body


def test_marks_and_comments_in_an_opened_capture_are_saved(tmp_path: Path) -> None:
    Recording(filled(3), tmp_path / "a.mcpcap").close()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    capture.log.set_note(1, RowNote(True, "look"))
    capture.log.set_note(2, RowNote(True, ""))
    capture.log.set_note(2, RowNote())
    capture.save_notes()
    capture.close()
    reopened = open_own_capture(tmp_path / "a.mcpcap").log
    assert reopened.noted_rows() == [1]
    assert reopened.note(1) == RowNote(True, "look")


def test_copy_of_an_opened_capture_has_its_unsaved_marks_and_comments(tmp_path: Path) -> None:
    Recording(filled(3), tmp_path / "a.mcpcap").close()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    capture.log.set_note(1, RowNote(True, "look"))
    capture.save_as(tmp_path / "b.mcpcap")
    same(open_own_capture(tmp_path / "b.mcpcap").log, capture.log)
    assert open_own_capture(tmp_path / "a.mcpcap").log.noted_rows() == []


def test_opening_reports_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    Recording(filled(3000), tmp_path / "a.mcpcap").close()
    received: list[tuple[int, int]] = []
    open_capture(tmp_path / "a.mcpcap", lambda done, total: received.append((done, total)))
    assert received == [(1024, 3000), (2048, 3000), (3000, 3000)]
    with pytest.raises(RequestCancelled):
        open_capture(tmp_path / "a.mcpcap", is_cancelled=lambda: True)


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_stored(tmp_path: Path, status: Status) -> None:
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.REQUEST, 2, 1, 1, b"{}", "ping")
    log.columns.status[0] = status
    log.publish()
    Recording(log, tmp_path / "a.mcpcap").close()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert (capture.problems, capture.log.status(0)) == ((), status)


def test_capture_of_a_version_without_separate_statuses_opens(tmp_path: Path) -> None:
    """Before cancelled and timed out were separate, both were stored as 5."""
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.REQUEST, 2, 1, 1, b"{}", "ping")
    log.columns.status[0] = 5
    log.publish()
    Recording(log, tmp_path / "a.mcpcap").close()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert capture.log.status(0) is Status.NO_RESPONSE
    matcher = compile(parse('status="given up"'), capture.log, now_ns=0)
    assert list(matcher.rows(range(1))) == [0]
