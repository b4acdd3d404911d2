"""Free text is found in rows in memory and in rows of a capture file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import Recording
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.tree import Text
from inspector.traffic.log import TrafficLog

BODIES = st.lists(st.binary(max_size=6) | st.text("abA.\n é", max_size=6).map(str.encode), max_size=60)


def found(log: TrafficLog, text: str, first: int, last: int) -> list[int]:
    return list(compile(Text(text), log, now_ns=0).rows(range(first, last)))


def naive(log: TrafficLog, text: str) -> list[int]:
    return [row for row in range(len(log)) if text.lower() in log.raw(row).decode(errors="replace").lower()]


@settings(max_examples=25)
@given(BODIES)
def test_bodies_in_one_chunk_are_distinguished(bodies: list[bytes]) -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    for body in bodies:
        log.append(server, 2, 1, 0, 0, body)
    log.publish()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.mcpcap")
        Recording(log, path).close()
        reopened = open_capture(path).log
        for text in ("a", "ab", "A.", " ", "é"):
            assert found(reopened, text, 0, len(bodies)) == naive(log, text)


@pytest.mark.parametrize("text", ["needle 17", "NEEDLE", "000123", "no such text"])
def test_rows_in_memory_and_in_many_chunks_are_found_alike(tmp_path: Path, text: str) -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    recording = Recording(log, tmp_path / "a.mcpcap")
    big = b"x" * 100_000 + b"needle 17"
    for row in range(4000):
        log.append(server, 2, 1, 0, 0, big if row == 2222 else b"%0150d needle %d" % (row, row))
    log.publish()
    recording.flush()
    expected = naive(log, text)
    log.release_bodies(0, 3000)
    assert found(log, text, 0, 4000) == expected
    assert [row for first in range(0, 4000, 800) for row in found(log, text, first, first + 800)] == expected
    recording.close()
