"""Damaged and foreign files: an error message instead of a crash, and all readable rows."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
from array import array
from pathlib import Path

import pytest

from inspector.base.errors import UserError
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.reader import LOST
from inspector.traffic.captures.recording import Recording
from inspector.traffic.columns import ROW_BYTES, TYPES
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.tree import Text
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import HttpExchange, RecordKind, RowNote


def recorded(path: Path, rows: int = 3000) -> Path:
    log = TrafficLog()
    server = log.add_server("srv")
    for row in range(rows):
        kind = RecordKind.HTTP if row % 100 == 0 else RecordKind.REQUEST
        log.append(server, kind, 1, row, row, b"%0200d" % row, f"method {row % 7}", id=f"id {row}")
        if kind is RecordKind.HTTP:
            log.set_http(row, HttpExchange("GET", "/", (), 0, is_over=True))
    log.set_note(5, RowNote(True, "here"))
    log.publish()
    Recording(log, path).close()
    return path


def read_all(log: TrafficLog) -> None:
    """Read everything of every row."""
    for row in range(len(log)):
        log.record(row)
        log.http(row)
        log.note(row)
        log.part(row, 3, 10)
    compile(Text("17"), log, now_ns=0).rows(range(len(log)))


def refusal(path: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        open_capture(path)
    assert caught.value.next_step
    return caught.value


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    assert "File not found" in refusal(tmp_path / "a.mcpcap").summary


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is not a file" in refusal(tmp_path).summary


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.mcpcap").touch()
    assert "is empty" in refusal(tmp_path / "a.mcpcap").summary


def test_file_of_another_type_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.mcpcap").write_text('{"log": {}}')
    assert "is not a capture" in refusal(tmp_path / "a.mcpcap").summary


def test_a_database_of_another_application_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.mcpcap")
    connection.execute("CREATE TABLE about (key, value)")
    connection.close()
    assert "another application" in refusal(tmp_path / "a.mcpcap").summary


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 1)
    changed(path, "PRAGMA user_version=2")
    assert "newer" in refusal(path).summary


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_read_permission_is_rejected(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 1)
    path.chmod(0)
    assert "permissions" in refusal(path).next_step


def test_a_view_in_the_place_of_a_table_is_refused(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 1)
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i FROM n"
    changed(path, "DROP TABLE segment", f"CREATE VIEW segment(number, count, columns) AS {forever}")
    assert "does not have the structure of a capture" in refusal(path).summary


def test_a_lost_segment_leaves_the_others_in_their_places(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    changed(path, "DELETE FROM segment WHERE number = 1")
    capture = open_capture(path)
    assert len(capture.log) == 3000
    assert capture.problems == ("1,024 rows could not be read: the file is damaged there.",)
    assert capture.log.raw(2500) == b"%0200d" % 2500
    assert (capture.log.kind(1500), capture.log.problem(1500)) == (RecordKind.LOCAL, LOST)
    read_all(capture.log)


def test_a_lost_chunk_gives_empty_bodies(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    changed(path, "DELETE FROM chunk WHERE number = 0")
    log = open_capture(path).log
    assert (log.raw(0), log.raw(2999)) == (b"", b"%0200d" % 2999)
    read_all(log)


def test_dangling_references_are_corrected(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 50)
    wild = b"".join(
        array(kind, [2 ** (8 * array(kind).itemsize - 1) - 1] * 50).tobytes() for kind in TYPES.values()
    )
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE segment SET columns = ?", (wild,))
    connection.close()
    capture = open_capture(path)
    assert any("invalid and ignored" in problem for problem in capture.problems)
    read_all(capture.log)


def test_a_row_that_claims_more_bytes_than_the_file_has_keeps_none(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 2)
    kept = 2 * (ROW_BYTES - 3 * 4)  # the last columns but two, of four bytes each
    start, end = f"substr(columns, 1, {kept})", f"substr(columns, {kept + 5})"
    changed(path, f"UPDATE segment SET columns = CAST({start} || x'ffffffff' || {end} AS BLOB)")
    log = open_capture(path).log
    assert (log.kept(0), log.kept(1)) == (0, 200)


def test_negative_numbers_are_corrected(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 50)
    changed(path, f"UPDATE segment SET columns = x'{'fe' * os.path.getsize(path)}'")
    changed(path, "UPDATE segment SET columns = substr(columns, 1, 50 * 98)")
    read_all(open_capture(path).log)


def test_a_file_that_claims_more_rows_than_it_can_hold_is_not_believed(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 50)
    changed(path, "INSERT INTO segment VALUES (1000000000000, 1024, x'00')", "UPDATE segment SET count = 1e9")
    capture = open_capture(path)
    assert len(capture.log) <= 1024
    read_all(capture.log)


def test_values_of_the_wrong_type_are_skipped(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 201)
    changed(
        path,
        "UPDATE remark SET value = '[1, {}]'",
        'UPDATE http SET value = \'{"status": [], "url": 3, "request_headers": [[1, 2], 5]}\'',
        "UPDATE other_id SET ids = '[[-1, 99999999, 3, null], [1, 2, [], 4]]'",
        "UPDATE server SET texts = '[[], 3]'",
        "UPDATE word SET texts = '[null'",
        "INSERT INTO resent VALUES (1, '[99999]'), (-1, '[0]')",
    )
    log = open_capture(path).log
    assert (log.noted_rows(), log.resent()) == ([], {})
    read_all(log)


@pytest.mark.parametrize("seed", range(25))
def test_truncated_file_is_rejected_or_read_as_far_as_possible(tmp_path: Path, seed: int) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    size = random.Random(seed).randrange(path.stat().st_size)
    os.truncate(path, size)
    with contextlib.suppress(UserError):
        read_all(open_capture(path).log)


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_are_rejected_or_skipped(tmp_path: Path, seed: int) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    rng, data = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 10, 200])):
        at = rng.randrange(len(data) if seed % 2 else 8192 * 8)  # the first pages have most of it
        data[at] = rng.randrange(256)
    path.write_bytes(data)
    with contextlib.suppress(UserError):
        read_all(open_capture(path).log)


def changed(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
