"""Bodies of many megabytes are written to a capture in slices."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.traffic.captures import file_format
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import Recording
from inspector.traffic.captures.writer import LogWriter
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind

_BODY = bytes(range(256)) * 21_000 + b"the end"  # 5 MiB, and no whole number of slices


def _log(*bodies: bytes) -> TrafficLog:
    log = TrafficLog()
    server = log.add_server("files")
    for body in bodies:
        log.append(server, RecordKind.RESULT, Direction.IN, 1, 1, body)
    log.publish()
    return log


def test_big_body_between_small_ones_round_trips(tmp_path: Path) -> None:
    path, bodies = tmp_path / "big.mcpcap", [b"before", _BODY, b"after", _BODY[::-1]]
    assert Recording(_log(*bodies), path).close()
    log = open_capture(path).log
    assert [log.raw(row) for row in range(4)] == bodies


def test_big_body_that_does_not_fit_leaves_the_file_unchanged(tmp_path: Path) -> None:
    log = _log(b"before")
    with closing(file_format.create(tmp_path / "full.mcpcap", {})) as connection:
        writer = LogWriter(log, connection)
        writer.write()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count={pages + 100}")
        log.append(0, RecordKind.RESULT, Direction.IN, 2, 2, _BODY)
        log.publish()
        with pytest.raises(sqlite3.OperationalError, match="full"):
            writer.write()
        assert connection.execute("SELECT count(*) FROM chunk").fetchone() == (1,)
        connection.execute("PRAGMA max_page_count=1000000")
        writer.write()
    log = open_capture(tmp_path / "full.mcpcap").log
    assert [log.raw(row) for row in range(2)] == [b"before", _BODY]
