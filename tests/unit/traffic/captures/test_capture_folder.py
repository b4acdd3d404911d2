"""The folder of automatic captures: names, listing, retention."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from inspector.base.errors import UserError
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.folder import CaptureFolder, Pruned, RetentionLimits
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog

DAY = 24 * 3600 * 1_000_000_000
NOW = time.time_ns()
ALL = RetentionLimits(days=10, bytes=1 << 40)


@pytest.fixture
def folder(tmp_path: Path) -> CaptureFolder:
    return CaptureFolder(tmp_path / "captures")


def record(folder: CaptureFolder, name: str, *, days_ago: int = 0, rows: int = 1) -> Recording:
    log = TrafficLog()
    server = log.add_server("srv")
    for _ in range(rows):
        log.append(server, 2, 1, 0, 0, b"x" * 1000)
    log.publish()
    recording = Recording(log, folder.path / name)
    recording.flush()
    set_about(folder.path / name, "began_at", str(NOW - days_ago * DAY))
    return recording


def set_about(path: Path, key: str, value: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))
    connection.close()


def interrupt(folder: CaptureFolder, name: str, days_ago: int = 0) -> Path:
    """Make the capture look as if its recording process had ended."""
    recording = record(folder, name, days_ago=days_ago)
    path = folder.path / name
    recording.close()
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM about WHERE key = 'closed_at'")
    connection.close()
    set_about(path, "recorder", "1 5.0")  # that number is taken by another process since
    return path


def names(folder: CaptureFolder) -> list[str]:
    return [capture.path.name for capture in folder.captures()]


def test_missing_folder_is_empty(folder: CaptureFolder) -> None:
    assert (folder.captures(), folder.interrupted(), folder.prune(ALL, NOW)) == ((), (), Pruned())


def test_new_capture_has_a_unique_name(folder: CaptureFolder) -> None:
    first = folder.new_path(NOW)
    record(folder, first.name).close()
    second = folder.new_path(NOW)
    assert first != second
    assert first.suffix == second.suffix == ".mcpcap"
    assert time.strftime("%Y-%m-%d") in first.name


def test_captures_are_listed_oldest_first_with_their_details(folder: CaptureFolder) -> None:
    record(folder, "b.mcpcap", days_ago=1, rows=3).close()
    record(folder, "a.mcpcap", days_ago=2).close()
    (folder.path / "notes.txt").touch()
    running = record(folder, "c.mcpcap")
    old, young, live = folder.captures()
    assert (old.path.name, young.path.name, young.rows, young.began_ns) == (
        "a.mcpcap",
        "b.mcpcap",
        3,
        NOW - DAY,
    )
    assert (young.is_recording, young.is_interrupted, live.is_recording) == (False, False, True)
    assert young.size == young.path.stat().st_size
    running.close()


def test_capture_without_its_recorder_is_interrupted_until_resolved(folder: CaptureFolder) -> None:
    path = interrupt(folder, "a.mcpcap")
    assert [capture.path for capture in folder.interrupted()] == [path]
    assert open_capture(path).is_interrupted
    folder.close_interrupted(path)
    assert folder.interrupted() == ()
    assert not open_capture(path).is_interrupted


def test_unreadable_file_is_listed_and_can_be_deleted(folder: CaptureFolder) -> None:
    folder.path.mkdir()
    path = folder.path / "a.mcpcap"
    path.write_text("not a capture")
    assert [capture.rows for capture in folder.captures()] == [None]
    with pytest.raises(UserError):
        folder.close_interrupted(path)
    folder.delete(path)
    assert folder.captures() == ()


def test_old_captures_are_removed(folder: CaptureFolder) -> None:
    for days in (11, 9, 0):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    assert folder.prune(ALL, NOW) == Pruned((folder.path / "11.mcpcap",))
    assert names(folder) == ["9.mcpcap", "0.mcpcap"]


@pytest.mark.parametrize("years", [1, 10])
def test_clock_that_is_far_ahead_deletes_nothing_that_was_within_the_limit(
    folder: CaptureFolder, years: int
) -> None:
    for days in (11, 9, 0):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    ahead = years * 365
    assert folder.prune(ALL, NOW + ahead * DAY) == Pruned((folder.path / "11.mcpcap",), postponed=2)
    record(folder, "ahead.mcpcap", days_ago=-ahead).close()  # does not confirm the clock by itself
    assert folder.prune(ALL, NOW + ahead * DAY + DAY // 2) == Pruned(postponed=2)
    assert names(folder) == ["9.mcpcap", "0.mcpcap", "ahead.mcpcap"]


def test_old_captures_are_removed_a_day_after_a_long_break(folder: CaptureFolder) -> None:
    for days in (60, 50, 1):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    assert [path.name for path in folder.prune(ALL, NOW).deleted] == ["60.mcpcap", "50.mcpcap"]
    assert names(folder) == ["1.mcpcap"]


def test_each_long_break_leaves_only_the_captures_before_it(folder: CaptureFolder) -> None:
    for days in (90, 60, 30):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    assert len(folder.prune(ALL, NOW).deleted) == 2
    assert names(folder) == ["30.mcpcap"]


def test_disk_limit_applies_whatever_the_clock_says(folder: CaptureFolder) -> None:
    for days in (3, 2, 1):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    size = folder.captures()[0].size
    pruned = folder.prune(RetentionLimits(10, 2 * size), NOW + 1000 * DAY)
    assert ([path.name for path in pruned.deleted], pruned.postponed) == (["3.mcpcap"], 2)


def test_oldest_captures_are_removed_until_the_rest_fits(folder: CaptureFolder) -> None:
    for days in (3, 2, 1):
        record(folder, f"{days}.mcpcap", days_ago=days).close()
    size = folder.captures()[0].size
    folder.prune(RetentionLimits(10, 2 * size), NOW)
    assert names(folder) == ["2.mcpcap", "1.mcpcap"]


def test_empty_captures_are_removed(folder: CaptureFolder) -> None:
    record(folder, "a.mcpcap", rows=0).close()
    folder.prune(ALL, NOW)
    assert names(folder) == []


def test_recording_interrupted_and_open_captures_stay(folder: CaptureFolder) -> None:
    running = record(folder, "running.mcpcap", days_ago=100)
    interrupt(folder, "interrupted.mcpcap", days_ago=100)
    record(folder, "shown.mcpcap", days_ago=100).close()
    assert folder.prune(RetentionLimits(0, 0), NOW, keep=[folder.path / "shown.mcpcap"]) == Pruned()
    with pytest.raises(UserError, match="being recorded"):
        folder.delete(folder.path / "running.mcpcap")
    assert len(names(folder)) == 3
    running.close()


def test_deleting_removes_the_companion_files_too(folder: CaptureFolder) -> None:
    path = interrupt(folder, "a.mcpcap")
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).touch()
    folder.delete(path)
    assert list(folder.path.iterdir()) == []
