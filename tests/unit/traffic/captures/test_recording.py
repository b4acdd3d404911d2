"""Recording: follows the log, pauses on write errors, and resumes automatically."""

from __future__ import annotations

import os
import queue
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic.captures import recording, writer
from inspector.traffic.captures.recording import Recording, RecordingState
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RowNote
from tests.helpers.ownedcapture import open_own_capture
from tests.helpers.randomlogs import same

TIMEOUT = 30


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "RETRY_S", 0.02)
    monkeypatch.setattr(recording, "GATHER_S", 0.01)


@contextmanager
def recorded(path: Path) -> Iterator[tuple[TrafficLog, Recording, queue.Queue[RecordingState]]]:
    log, states = TrafficLog(), queue.Queue[RecordingState]()
    log.add_server("srv")
    recorder = Recording(log, path)
    recorder.changed.connect(states.put)
    try:
        yield log, recorder, states
    finally:
        recorder.close()


def add(log: TrafficLog, *bodies: bytes) -> None:
    for body in bodies:
        log.append(0, 2, 1, 0, 0, body)
    log.publish()


def until(states: queue.Queue[RecordingState], *, paused: bool) -> RecordingState:
    while True:
        state = states.get(timeout=TIMEOUT)
        if state.is_paused is paused:
            return state


def test_rows_are_written_to_the_file_automatically(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, _, states):
        add(log, b"one", b"two")
        state = states.get(timeout=TIMEOUT)
        assert (state.rows, state.is_paused, state.path) == (2, False, tmp_path / "a.mcpcap")
        assert state.bytes_written > 6
        same(open_own_capture(tmp_path / "a.mcpcap").log, log)


def test_comment_is_written_to_the_file_automatically(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        recorder.flush()
        log.set_note(0, RowNote(True, "here"))
        assert recorder.flush()
        assert open_own_capture(tmp_path / "a.mcpcap").log.note(0) == RowNote(True, "here")


def test_earlier_rows_are_recorded_too(tmp_path: Path) -> None:
    log = TrafficLog()
    log.add_server("srv")
    add(log, b"one")
    Recording(log, tmp_path / "a.mcpcap").close()
    assert open_own_capture(tmp_path / "a.mcpcap").log.raw(0) == b"one"


def test_file_is_owner_only(tmp_path: Path) -> None:
    with recorded(tmp_path / "new" / "a.mcpcap") as (_, recorder, _):
        if os.name == "posix":
            assert recorder.path.stat().st_mode & 0o077 == 0
            assert recorder.path.parent.stat().st_mode & 0o077 == 0


def test_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.mcpcap").write_text("mine")
    with pytest.raises(UserError, match="already"):
        Recording(TrafficLog(), tmp_path / "a.mcpcap")
    assert (tmp_path / "a.mcpcap").read_text() == "mine"


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="Could not write"):
        Recording(TrafficLog(), tmp_path / "file" / "a.mcpcap")


def test_full_disk_pauses_recording_until_there_is_space(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        add(log, b"before")
        assert recorder.flush()
        connection = recorder._connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
        add(log, *[b"%d" % number * 1000 for number in range(200)])
        state = until(states, paused=True)
        assert state.reason.startswith("The disk is full")
        assert str(tmp_path) in state.next_step
        assert not recorder.flush()
        assert None not in log.in_memory(0, len(log))
        add(log, b"during")
        connection.execute("PRAGMA max_page_count=1000000")
        state = until(states, paused=False)
        assert (state.reason, state.next_step) == ("", "")
        assert recorder.flush()
        same(open_own_capture(recorder.path).log, log)


def test_paused_recording_can_be_saved_elsewhere_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        add(log, b"before")
        assert recorder.flush()
        recorder._connection.execute("PRAGMA query_only=ON")
        add(log, b"only in memory")
        log.set_note(1, RowNote(True, "kept"))
        until(states, paused=True)
        recorder.save_as(tmp_path / "copy.mcpcap")
        same(open_own_capture(tmp_path / "copy.mcpcap").log, log)
        recorder._connection.execute("PRAGMA query_only=OFF")
        until(states, paused=False)
        assert recorder.flush()
        same(open_own_capture(recorder.path).log, log)


def test_deleted_capture_is_noticed(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        add(log, b"one")
        recorder.flush()
        aside = recorder.path.rename(tmp_path / "aside")
        add(log, b"two")
        assert "no longer exists" in until(states, paused=True).reason
        recorder.save_as(tmp_path / "copy.mcpcap")
        same(open_own_capture(tmp_path / "copy.mcpcap").log, log)
        aside.rename(recorder.path)
        until(states, paused=False)
        assert recorder.flush()
        same(open_own_capture(recorder.path).log, log)


@pytest.mark.parametrize("has_written", [True, False])
def test_deleted_capture_can_be_saved_elsewhere_in_full(tmp_path: Path, has_written: bool) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        if has_written:
            add(log, b"one")
            recorder.flush()
        for file in tmp_path.glob("a.mcpcap*"):
            file.unlink()
        add(log, b"two")
        until(states, paused=True)
        recorder.save_as(tmp_path / "copy.mcpcap")
        same(open_own_capture(tmp_path / "copy.mcpcap").log, log)


def test_unexpected_error_pauses_recording_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        with monkeypatch.context() as patch:

            def fail(*_: object) -> None:
                raise RuntimeError("out of ideas")

            patch.setattr(writer.LogWriter, "_segments", fail)
            add(log, b"one")
            assert "out of ideas" in until(states, paused=True).reason
        until(states, paused=False)
        assert recorder.flush()
        same(open_own_capture(recorder.path).log, log)


def test_paused_recording_is_not_retried_for_every_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "RETRY_S", TIMEOUT)
    monkeypatch.setattr(recording, "_HURRY_ROWS", 1)
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        attempts = 0

        def fail(noted_rows: object) -> None:
            nonlocal attempts
            attempts += 1
            raise sqlite3.OperationalError("no")

        with monkeypatch.context() as patch:
            patch.setattr(recorder._writer, "write", fail)
            add(log, b"one")
            until(states, paused=True)
            before = attempts
            for _ in range(100):
                add(log, b"more")
            assert not recorder._hurry.is_set()
            assert attempts == before


def test_failing_listener_does_not_end_the_recording(tmp_path: Path) -> None:
    def fail(state: RecordingState) -> None:
        raise ValueError("a bug")

    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        recorder.changed.connect(fail)
        for body in (b"one", b"two"):
            add(log, body)
            assert recorder.flush()
        assert not recorder.state.is_paused


def test_closed_recording_resumes_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_MEMORY_BYTES", 0)
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one", b"two")
        recorder.close()
        add(log, b"meanwhile")
        recorder.resume()
        add(log, b"again")
        assert recorder.flush()
        running = open_own_capture(recorder.path)
        assert running.is_recorded_now
        same(running.log, log)
    assert not open_own_capture(recorder.path).is_interrupted


def test_recording_without_its_file_does_not_resume(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        recorder.close()
        recorder.path.unlink()
        with pytest.raises(UserError, match="no longer exists"):
            recorder.resume()
        assert not recorder.path.exists()


def test_closing_a_paused_recording_says_that_rows_are_missing(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, states):
        recorder._connection.execute("PRAGMA query_only=ON")
        add(log, b"one")
        until(states, paused=True)
        assert not recorder.close()
        assert log.raw(0) == b"one"
        assert not recorder.flush()
        assert open_own_capture(recorder.path).is_recorded_now  # not marked as closed


def test_large_backlog_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_FAR_BEHIND", 10)
    monkeypatch.setattr(writer, "_MAX_ROWS", 1)
    with recorded(tmp_path / "a.mcpcap") as (log, _, states):
        add(log, b"x" * 20, b"y" * 20)
        assert "slower than the traffic: 20 B" in states.get(timeout=TIMEOUT).reason
        assert states.get(timeout=TIMEOUT).reason == ""


def test_copy_is_made_while_rows_keep_arriving(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, *[b"%01000d" % number for number in range(10_000)])
        received: list[tuple[int, int]] = []

        def on_progress(done: int, total: int) -> None:
            received.append((done, total))
            add(log, b"later")
            recorder.flush()

        recorder.save_as(tmp_path / "copy.mcpcap", on_progress)
        assert len(received) > 1
        assert received[-1][0] == received[-1][1]
        copy = open_own_capture(tmp_path / "copy.mcpcap")
        assert (copy.is_interrupted, copy.is_recorded_now, copy.problems) == (False, False, ())
        assert [copy.log.raw(row) for row in range(10_000)] == [b"%01000d" % row for row in range(10_000)]
        assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith((".", "copy"))) == [
            "copy.mcpcap"
        ]


def test_copy_has_no_gaps_when_rows_arrive_faster_than_they_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "GATHER_S", TIMEOUT)  # only `flush` writes
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, *[b"%d" % row for row in range(1500)])

        def on_progress(done: int, total: int) -> None:
            add(log, *[b"%d" % row for row in range(len(log), len(log) + 1500)])
            recorder.flush()
            add(log, b"%d" % len(log))

        recorder.save_as(tmp_path / "copy.mcpcap", on_progress)
        copy = open_own_capture(tmp_path / "copy.mcpcap")
        assert copy.problems == ()
        assert [copy.log.raw(row) for row in range(len(copy.log))] == [b"%d" % row for row in range(1500)]


def test_a_deleted_recording_can_be_saved_over_another_file(tmp_path: Path) -> None:
    target = tmp_path / "copy.mcpcap"
    target.write_text("old")
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        recorder.flush()
        recorder.path.unlink()
        recorder.save_as(target)
        same(open_own_capture(target).log, log)


def test_copy_replaces_an_interrupted_capture_and_its_journal(tmp_path: Path) -> None:
    target = tmp_path / "copy.mcpcap"
    with recorded(tmp_path / "old.mcpcap") as (log, recorder, _):
        add(log, b"old", b"older")
        recorder.flush()
        for end in ("", "-wal"):
            shutil.copy(f"{recorder.path}{end}", f"{target}{end}")
    with recorded(tmp_path / "new.mcpcap") as (log, recorder, _):
        add(log, b"new")
        recorder.save_as(target)
        same(open_own_capture(target).log, log)


def test_cancelled_copy_leaves_the_target_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "copy.mcpcap"
    target.write_text("mine")
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        with pytest.raises(RequestCancelled):
            recorder.save_as(target, is_cancelled=lambda: True)
        with pytest.raises(UserError, match="being recorded"):
            recorder.save_as(recorder.path)
        with pytest.raises(UserError, match="Could not save"):
            recorder.save_as(tmp_path / "nowhere" / "copy.mcpcap")
        assert target.read_text() == "mine"
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_capture_being_recorded_opens_as_it_is_and_is_not_written_to(tmp_path: Path) -> None:
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        recorder.flush()
        capture = open_own_capture(recorder.path)
        assert (capture.is_recorded_now, capture.is_interrupted, capture.is_writable) == (True, False, False)
        capture.log.set_note(0, RowNote(True, ""))
        with pytest.raises(UserError, match="cannot be saved"):
            capture.save_notes()


def test_readers_on_many_threads_see_complete_rows_while_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_MEMORY_BYTES", 0)
    wrong: list[object] = []
    is_over = threading.Event()

    def read(log: TrafficLog) -> None:
        try:
            while not is_over.is_set():
                wrong.extend(row for row in range(0, len(log), 97) if log.raw(row) != b"%0100d" % row)
        except Exception as exc:
            wrong.append(exc)

    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        readers = [threading.Thread(target=read, args=(log,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        for first in range(0, 20_000, 100):
            add(log, *[b"%0100d" % row for row in range(first, first + 100)])
        recorder.flush()
        is_over.set()
        for reader in readers:
            reader.join()
        assert wrong == []
        assert set(log.in_memory(0, len(log))) == {None}


def test_log_is_still_readable_from_the_file_after_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_MEMORY_BYTES", 0)
    with recorded(tmp_path / "a.mcpcap") as (log, recorder, _):
        add(log, b"one")
        recorder.flush()
        assert log.raw(0) == b"one"
        assert recorder.close()
        assert recorder.state.is_closed
        assert [path.name for path in tmp_path.iterdir()] == ["a.mcpcap"]
        assert log.raw(0) == b"one"
        connection = sqlite3.connect(recorder.path)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        connection.close()
