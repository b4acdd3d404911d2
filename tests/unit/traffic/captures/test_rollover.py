"""A recording is bounded: it continues in new files, and old rows leave memory, recorded or not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from inspector.traffic.captures import recording as recording_module
from inspector.traffic.captures.recording import MemoryLimit, Recording, Rollover
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status
from tests.helpers.ownedcapture import open_own_capture

_REQUEST, _RESULT, _NOTIFICATION = RecordKind.REQUEST, RecordKind.RESULT, RecordKind.NOTIFICATION
_IN, _OUT = Direction.IN, Direction.OUT


class Run:
    """A recording of small files, and a log of which few rows stay in memory."""

    def __init__(self, folder: Path, max_rows: int = 2000, rows_in_memory: int = 4000) -> None:
        numbers = count()

        def next_path() -> Path:
            return folder / f"{next(numbers)}.mcpcap"

        self.log = TrafficLog()
        self.server = self.log.add_server("srv")
        rollover = Rollover(next_path, 1 << 40, max_rows, rows_in_memory)
        self.recording = Recording(self.log, next_path(), rollover=rollover)
        self._next = 0

    def add(self, rows: int) -> None:
        """Record notifications, one file's worth at a time."""
        while rows > 0:
            for _ in range(min(rows, 500)):
                row = self.append(_NOTIFICATION, _IN, b"body %d" % self._next, f"method {self._next % 7}")
                self._next = row + 1
            rows -= 500
            self.publish()

    def append(
        self, kind: RecordKind, direction: Direction, raw: bytes, method: str, id: int | str | None = None
    ) -> int:
        return self.log.append(
            self.server, kind, direction, 10 * len(self.log), len(self.log), raw, method, id=id
        )

    def publish(self) -> None:
        self.log.publish()
        assert self.recording.flush()

    def paths(self) -> list[Path]:
        return [*(each.path for each in self.recording.state.earlier), self.recording.path]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    yield run
    if not run.recording.state.is_closed:
        run.recording.close()


def test_a_long_recording_continues_in_new_files_that_hold_every_row(run: Run) -> None:
    run.add(9000)
    assert run.recording.close()
    paths = run.paths()
    assert len(paths) == 5
    bodies: list[bytes] = []
    for path in paths:
        capture = open_own_capture(path)
        assert (capture.problems, capture.is_interrupted, capture.is_recorded_now) == ((), False, False)
        bodies += (capture.log.raw(row) for row in range(len(capture.log)))
        assert all(capture.log.method(row).startswith("method ") for row in range(len(capture.log)))
    assert bodies == [b"body %d" % row for row in range(9000)]


def test_a_file_that_reaches_its_size_is_continued_in_a_new_one(run: Run) -> None:
    assert run.recording._rollover is not None
    run.recording._rollover.max_bytes = 1_000_000
    for _ in range(6):
        run.append(_NOTIFICATION, _IN, b"x" * 600_000, "big")
        run.publish()
    assert len(run.paths()) > 2
    assert all(path.stat().st_size < 2_500_000 for path in run.paths())
    run.recording.close()


def test_old_rows_leave_memory_and_the_others_keep_their_numbers(run: Run) -> None:
    run.add(20_000)
    log = run.log
    assert len(log) == 20_000
    assert 4000 <= len(log) - log.first <= 6000
    for column in log.columns.all():
        assert len(column) - column.first <= 7000
    assert all(log.raw(row) == b"body %d" % row for row in range(log.first, len(log)))
    assert log.method(19_999) == f"method {19_999 % 7}"
    run.recording.close()
    assert all(log.raw(row) == b"body %d" % row for row in range(log.first, len(log)))


def test_bytes_released_from_memory_are_read_from_the_file_that_has_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "_MEMORY_BYTES", 1000)
    run.add(9_000)
    log = run.log
    assert log.in_memory(log.first, log.first + 1) == [None]
    assert all(log.raw(row) == b"body %d" % row for row in range(log.first, len(log)))
    run.recording.close()


def test_dropped_rows_read_as_empty(run: Run) -> None:
    run.add(20_000)
    log = run.log
    assert (log.raw(0), log.method(0), log.partner(0), log.operation(0)) == (b"", "", None, None)
    assert len(log.columns.kind[0 : len(log)]) == 20_000
    assert log.in_memory(0, 2) == [None, None]
    run.recording.close()


def test_pending_request_gets_its_response_after_its_row_was_dropped(run: Run) -> None:
    request = run.append(_REQUEST, _OUT, b"{}", "tools/call", id="abc")
    run.add(20_000)
    log = run.log
    assert request < log.first
    assert (log.status(request), log.method(request), log.id(request)) == (
        Status.PENDING,
        "tools/call",
        "abc",
    )
    response = run.append(_RESULT, _IN, b"{}", "tools/call", id="abc")
    log.link(request, response, Status.OK)
    assert log.status(request) is log.status(response) is Status.OK
    run.publish()
    assert log.status(response) is Status.OK
    assert log.duration_ns(response) == 10 * (response - request)
    run.add(8000)
    assert request not in log.pinned  # nothing is pending any more
    run.recording.close()


def test_exchange_in_progress_is_completed_after_its_row_was_dropped(run: Run) -> None:
    exchange = HttpExchange("GET", "https://host/mcp", (), 0)
    row = run.append(RecordKind.HTTP, _OUT, b"GET", "GET")
    run.log.set_http(row, exchange)
    run.add(20_000)
    assert run.log.http(row) == exchange
    run.log.set_http(row, HttpExchange("GET", "https://host/mcp", (), 0, status=200, is_over=True))
    run.publish()
    stored = open_own_capture(run.paths()[0]).log.http(row)
    assert stored is not None
    assert stored.is_over
    run.add(8000)
    assert run.log.http_in_memory() == {}
    run.recording.close()


def test_response_in_the_next_file_completes_its_request_in_the_earlier_one(run: Run) -> None:
    run.add(1900)
    request = run.append(_REQUEST, _OUT, b"{}", "ping", id=7)
    run.add(200)
    assert len(run.paths()) == 2
    response = run.append(_RESULT, _IN, b"{}", "ping", id=7)
    run.log.link(request, response, Status.OK)
    run.log.set_operation(response, request)
    run.publish()
    run.recording.close()
    earlier, current = (open_own_capture(path).log for path in run.paths())
    assert earlier.status(request) is Status.OK
    assert earlier.duration_ns(request) is not None
    row = response - len(earlier)
    assert (current.status(row), current.method(row), current.partner(row)) == (Status.OK, "ping", None)
    assert (earlier.partner(request), current.operation(row)) == (None, None)


def test_links_within_a_later_file_are_kept(run: Run) -> None:
    run.add(2000)
    request = run.append(_REQUEST, _OUT, b"{}", "ping", id="text")
    response = run.append(_RESULT, _IN, b"{}", "ping", id="text")
    run.log.link(request, response, Status.OK)
    run.log.set_operation(request, request)
    run.log.set_operation(response, request)
    again = run.append(_REQUEST, _OUT, b"{}", "ping", id=8)
    run.log.set_resent_of(again, request)
    run.publish()
    run.recording.close()
    log = open_own_capture(run.recording.path).log
    first = request - 2000
    assert (log.partner(first), log.partner(first + 1), log.id(first)) == (first + 1, first, "text")
    assert (log.operation(first + 1), log.resent_of(first + 2)) == (first, first)
    assert log.raw(first) == b"{}"


def test_notes_are_saved_in_the_file_that_has_the_row(run: Run) -> None:
    run.add(4500)
    run.log.set_note(1500, RowNote(True, "early"))
    run.log.set_note(4200, RowNote(True, "late"))
    run.publish()
    run.recording.close()
    first, _, third = (open_own_capture(path).log for path in run.paths())
    assert (first.noted_rows(), first.note(1500).comment) == ([1500], "early")
    assert (third.noted_rows(), third.note(200).comment) == ([200], "late")


def test_rows_of_deleted_files_leave_memory(run: Run) -> None:
    run.add(5000)
    first, second, current = run.paths()
    second.unlink()
    run.recording.forget_files([second])
    run.publish()
    assert run.log.first == 4000
    assert [each.path for each in run.recording.state.earlier] == [first]
    assert run.recording.path == current
    run.recording.close()


def test_texts_of_dropped_rows_leave_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.traffic.log._MANY_STRINGS", 100)
    for number in range(20):
        for each in range(1000):
            run.append(_NOTIFICATION, _IN, b"{}", f"unique {number} {each}")
        run.publish()
    run.add(1)
    log = run.log
    assert log.strings.number_of("unique 0 0") is None
    assert log.method(len(log) - 2) == "unique 19 999"
    assert log.method(log.first).startswith("unique ")
    run.recording.close()
    *_, last, current = (open_own_capture(path).log for path in run.paths())
    assert (last.method(len(last) - 1), current.method(0)) == ("unique 19 999", "method 0")


def test_recording_continues_in_its_file_if_a_new_one_cannot_be_created(tmp_path: Path, run: Run) -> None:
    assert run.recording._rollover is not None
    run.recording._rollover.next_path = lambda: tmp_path / "0.mcpcap"  # exists
    run.add(3000)
    assert run.paths() == [tmp_path / "0.mcpcap"]
    assert not run.recording.state.is_paused
    run.recording._rollover.next_path = lambda: tmp_path / "next.mcpcap"
    run.add(10)
    assert run.paths() == [tmp_path / "0.mcpcap", tmp_path / "next.mcpcap"]
    run.recording.close()


def test_recording_resumes_after_it_continued_in_a_new_file(run: Run) -> None:
    run.add(3000)
    assert run.recording.close()
    run.log.append(run.server, _NOTIFICATION, _IN, 0, 0, b"in between", "m")
    run.log.publish()
    run.recording.resume()
    assert run.recording.flush()
    assert run.recording.close()
    log = open_own_capture(run.recording.path).log
    assert log.raw(len(log) - 1) == b"in between"
    assert len(log) == 1001


def add_rows(log: TrafficLog, count: int, size: int = 10) -> None:
    server = log.add_server("srv")
    for _ in range(count):
        log.append(server, _NOTIFICATION, _IN, 0, 0, b"x" * size, "method")
        log.publish()
    log.publish()  # drops what was requested with the last row


def test_rows_that_are_not_recorded_leave_memory_when_there_are_too_many() -> None:
    log = TrafficLog()
    MemoryLimit(log, max_rows=2_000).start()
    add_rows(log, 10_000)
    assert 2_000 <= len(log) - log.first <= 2_502
    assert log.raw(len(log) - 1) == b"x" * 10


def test_bytes_that_are_not_recorded_are_bounded() -> None:
    log = TrafficLog()
    MemoryLimit(log, max_bytes=2_000_000).start()
    add_rows(log, 10_000, size=1_000)
    assert 1_000 <= len(log) - log.first <= 2_002
    assert sum(len(raw) for raw in log.in_memory(0, len(log)) if raw) <= 2_002_000


def test_last_rows_stay_in_memory_however_large_they_are() -> None:
    log = TrafficLog()
    MemoryLimit(log, max_bytes=1_000).start()
    add_rows(log, 1_500, size=1_000)
    assert len(log) - log.first in (1_000, 1_001)


def test_exchanges_that_are_not_recorded_are_bounded() -> None:
    log = TrafficLog()
    MemoryLimit(log, max_exchanges=2_000).start()
    for row in range(10_000):
        add_rows(log, 1)
        is_over = row > 0  # the first one stays: it is in progress
        log.set_http(row, HttpExchange("POST", "http://x/", (), 0, is_over=is_over))
    assert 1_000 <= log.http_count <= 2_003
    assert 0 in log.http_in_memory()
    assert log.first > 7_000


def test_log_that_is_recorded_is_not_limited() -> None:
    log = TrafficLog()
    limit = MemoryLimit(log, max_rows=2_000)
    limit.start()
    limit.stop()
    add_rows(log, 5_000)
    assert log.first == 0


def test_recording_that_begins_after_rows_were_dropped_has_the_others(tmp_path: Path) -> None:
    log = TrafficLog()
    limit = MemoryLimit(log, max_rows=2_000)
    limit.start()
    server = log.add_server("srv")
    pending = log.append(server, _REQUEST, _OUT, 0, 0, b"request", "tools/call", id=1)
    add_rows(log, 4_000)
    limit.stop()
    recording = Recording(log, tmp_path / "late.mcpcap", rollover=Rollover(lambda: tmp_path / "n", 1 << 40))
    response = log.append(server, _RESULT, _IN, 5, 5, b"response", "tools/call", id=1)
    log.link(pending, response, Status.OK)
    log.publish()
    assert recording.flush()
    assert recording.state.began == recording.state.first == log.first > 0
    assert recording.close()
    stored = open_own_capture(tmp_path / "late.mcpcap").log
    assert len(stored) == len(log) - log.first
    assert stored.raw(len(stored) - 1) == b"response"
    assert (stored.status(len(stored) - 1), stored.partner(len(stored) - 1)) == (Status.OK, None)
    log.release_bodies(log.first, len(log))
    assert log.raw(response) == b"response"
