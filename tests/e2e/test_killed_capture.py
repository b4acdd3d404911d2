"""A killed process leaves its capture readable: all rows that were flushed, in order."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inspector.traffic.captures.capture import Capture
from inspector.traffic.captures.folder import CaptureFolder
from tests.helpers.ownedcapture import open_own_capture
from tests.helpers.recordingchild import ROWS, body


class Child:
    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.recordingchild", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def show_message(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def on_event(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().split()

    def flush(self) -> tuple[str, int]:
        self.show_message("flush")
        self.on_event()
        outcome, count = self.on_event()
        return outcome, int(count)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    child = Child(tmp_path / "a.mcpcap")
    yield child
    child.kill()


def assert_whole(capture: Capture) -> None:
    """Assert that no row is truncated, missing or out of order."""
    log = capture.log
    assert capture.problems == ()
    assert list(log.columns.wall) == list(range(len(log)))
    for row in range(len(log)):
        assert log.raw(row) == body(row)
        assert log.method(row) == f"method {row % 5}"


@pytest.mark.parametrize("seed", range(5))
def test_everything_that_was_acknowledged_survives_a_kill(child: Child, tmp_path: Path, seed: int) -> None:
    rng, stored = random.Random(seed), 0
    for _ in range(rng.randrange(1, 30)):
        if rng.random() < 0.5:
            _, stored = child.flush()
        else:
            child.show_message("publish")
            child.on_event()
    for _ in range(rng.randrange(20)):
        child.show_message(rng.choice(["publish", "flush"]))  # and killed in the middle of it
    child.kill()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert capture.is_interrupted
    assert len(capture.log) >= stored
    assert_whole(capture)


def test_published_rows_are_flushed_to_the_file_automatically(child: Child, tmp_path: Path) -> None:
    path, seen = tmp_path / "a.mcpcap", tmp_path / "seen.mcpcap"
    child.flush()
    published = 0
    for _ in range(40):
        child.show_message("publish")
        published = int(child.on_event()[1])
    stored = 0
    while stored < published:  # it is killed, so to speak, at any moment
        _copy(path, seen)
        capture = open_own_capture(seen)
        assert stored <= len(capture.log) <= published
        stored = len(capture.log)
        assert_whole(capture)
        seen.unlink()
    child.kill()
    assert len(open_own_capture(path).log) == published


def _copy(path: Path, to: Path) -> None:
    """Return the content of the file at this moment, while another process writes it."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def test_interrupted_capture_is_offered_once_and_recovered_as_one_complete_file(
    child: Child, tmp_path: Path
) -> None:
    folder, path = CaptureFolder(tmp_path), tmp_path / "a.mcpcap"
    _, stored = child.flush()
    assert folder.interrupted() == ()
    assert [capture.is_recording for capture in folder.captures()] == [True]
    child.kill()
    assert [(capture.path, capture.rows) for capture in folder.interrupted()] == [(path, stored)]
    folder.close_interrupted(path)
    assert folder.interrupted() == ()
    assert list(tmp_path.iterdir()) == [path]
    assert_whole(open_own_capture(path))


def test_capture_of_another_process_opens_read_only(child: Child, tmp_path: Path) -> None:
    child.flush()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert (capture.is_recorded_now, capture.is_writable) == (True, False)
    assert_whole(capture)
    assert child.flush() == ("flushed", 2 * ROWS)  # it goes on
    assert len(open_own_capture(tmp_path / "a.mcpcap").log) == 2 * ROWS


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of this kind there")
def test_full_disk_loses_nothing_once_space_is_available_again(child: Child, tmp_path: Path) -> None:
    assert child.flush()[0] == "flushed"
    child.show_message("limit 400000")
    assert any(child.flush()[0] == "refused" for _ in range(20))
    child.show_message("limit 0")
    outcome, count = child.flush()
    assert outcome == "flushed"
    child.kill()
    capture = open_own_capture(tmp_path / "a.mcpcap")
    assert len(capture.log) == count
    assert_whole(capture)
