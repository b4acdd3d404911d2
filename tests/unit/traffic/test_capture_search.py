"""Searching many bodies at once finds the same rows as searching each one."""

from __future__ import annotations

import re
import tempfile
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.capture import open_capture
from inspector.traffic.log import TrafficLog
from inspector.traffic.recording import Recording
from inspector.traffic.search import find_in_bodies

SOURCES = (
    *(b"ab", b"a.*b", b"a+", b"A", re.escape(b"\n"), b"[ab]{2}", rb"\."),
    *(b"^a", b"b$", rb"\bab\b", b"(?=b)a?b", b"a*", b"(?:ab)+", b"a++b"),
)
FLAGS = (re.NOFLAG, re.IGNORECASE, re.DOTALL, re.IGNORECASE | re.MULTILINE)
PATTERNS = [re.compile(source, flags) for source in SOURCES for flags in FLAGS]
BODIES = st.lists(st.binary(max_size=6) | st.text("abA.\n ", max_size=6).map(str.encode), max_size=60)


def stored(bodies: list[bytes], path: Path) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("srv")
    for body in bodies:
        log.append(server, 2, 1, 0, 0, body)
    log.publish()
    Recording(log, path).close()
    return open_capture(path).log


def naive(log: TrafficLog, pattern: re.Pattern[bytes], numbers: list[int]) -> list[int]:
    return [number for number in numbers if pattern.search(log.raw(number))]


@settings(max_examples=25)
@given(BODIES, st.integers(0, 2**60 - 1))
def test_bulk_search_agrees_with_searching_each_row(bodies: list[bytes], chosen: int) -> None:
    some = [row for row in range(len(bodies)) if chosen >> row & 1]
    with tempfile.TemporaryDirectory() as folder:
        log = stored(bodies, Path(folder, "a.mcpcap"))
        for pattern in PATTERNS:
            for numbers in (list(range(len(bodies))), some):
                assert list(find_in_bodies(log, pattern, numbers)) == naive(log, pattern, numbers), pattern


@pytest.mark.parametrize("pattern", [b"needle 17", b"needle", b"e.{0,3}17", b"(?i)NEEDLE 1.9"])
def test_rows_in_memory_and_in_many_chunks_are_found_alike(tmp_path: Path, pattern: bytes) -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    recording = Recording(log, tmp_path / "a.mcpcap")
    big = b"x" * 100_000 + b"needle 17"
    for row in range(4000):
        log.append(server, 2, 1, 0, 0, big if row == 2222 else b"%0150d needle %d" % (row, row))
    log.publish()
    recording.flush()
    log.let_go(0, 3000)
    compiled, rows = re.compile(pattern), list(range(4000))
    expected = naive(log, compiled, rows)
    assert list(find_in_bodies(log, compiled, range(4000))) == expected
    in_slices = [
        row
        for start in range(0, 4000, 700)
        for row in find_in_bodies(log, compiled, rows[start : start + 700])
    ]
    assert in_slices == expected
    sparse = array("q", range(0, 4000, 37))
    assert list(find_in_bodies(log, compiled, sparse)) == naive(log, compiled, list(sparse))
    recording.close()


def test_no_rows_are_none(tmp_path: Path) -> None:
    assert list(find_in_bodies(stored([], tmp_path / "a.mcpcap"), re.compile(b"a"), [])) == []
