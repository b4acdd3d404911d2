"""Damaged and foreign files: an error message instead of a crash, and all readable rows."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import sqlite3
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspector.base.errors import UserError
from inspector.engine.exports import ExportFormat, export
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.reader import LOST
from inspector.traffic.captures.recording import Recording
from inspector.traffic.columns import ROW_BYTES, TYPES
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.filter.tree import Text
from inspector.traffic.log import BodyUnavailable, TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker
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
        for read in (log.record, log.http, log.note, lambda row: log.part(row, 3, 10)):
            with contextlib.suppress(BodyUnavailable):
                read(row)
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


def test_rows_of_a_lost_chunk_cannot_be_read_and_the_others_can(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    changed(path, "DELETE FROM chunk WHERE number = 0")
    log = open_capture(path).log
    with pytest.raises(BodyUnavailable, match="the file is damaged there") as caught:
        log.raw(0)
    assert "another copy" in caught.value.next_step
    assert log.preview(0, 10) == b"(could not be read)"
    assert log.raw(2999) == b"%0200d" % 2999
    read_all(log)


@pytest.mark.parametrize("size", [200, 500_000])
def test_a_truncated_chunk_is_reported_and_not_taken_for_a_short_message(tmp_path: Path, size: int) -> None:
    log = TrafficLog()
    log.append(log.add_server("srv"), RecordKind.REQUEST, 1, 0, 0, b"x" * size, "ping")
    log.publish()
    Recording(log, tmp_path / "a.mcpcap").close()
    changed(tmp_path / "a.mcpcap", "UPDATE chunk SET bytes = substr(bytes, 1, 100)")
    log = open_capture(tmp_path / "a.mcpcap").log
    assert log.part(0, 0, 100) == b"x" * 100
    with pytest.raises(BodyUnavailable):
        log.raw(0)
    with pytest.raises(BodyUnavailable):
        log.part(0, 99, 2)


def test_unreadable_rows_match_no_text_and_do_not_end_the_search(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    changed(path, "DELETE FROM chunk WHERE number = 0")
    log = open_capture(path).log
    readable = [row for row in range(len(log)) if log.readable_raw(row) is not None]
    assert 0 < len(readable) < len(log)
    for text in ('text:"00"', "text ~ 0", "not body.a = 1"):
        matcher = compile(parse(text), log, now_ns=0)
        found = list(matcher.rows(range(len(log))))
        assert found == [row for row in range(len(log)) if matcher.matches(row)]
        assert found == (readable if text.startswith("text") else list(range(len(log))))


def test_export_leaves_out_unreadable_rows_and_counts_them(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    changed(path, "DELETE FROM chunk WHERE number = 0")
    log = open_capture(path).log
    readable = sum(log.readable_raw(row) is not None for row in range(len(log)))
    for format in ExportFormat:
        target = tmp_path / f"out{format.suffix}"
        done = export(log, range(len(log)), format, Masker(FoundSecrets()), target, None, lambda: False)
        assert (done.rows, done.unreadable) == (readable, len(log) - readable)
        assert target.exists()


@pytest.mark.parametrize("format", [ExportFormat.JSON_LINES, ExportFormat.MARKDOWN])
def test_export_of_a_capture_that_is_gone_fails_with_the_cause(tmp_path: Path, format: ExportFormat) -> None:
    path = recorded(tmp_path / "a.mcpcap", 10)
    capture = open_capture(path)
    capture.close()
    path.unlink()
    with pytest.raises(UserError, match=r"a.mcpcap was moved or deleted.* Put the file back"):
        export(capture.log, range(10), format, Masker(FoundSecrets()), tmp_path / "out", None, lambda: False)
    assert list(tmp_path.iterdir()) == []


def test_moved_capture_is_read_again_when_it_is_back(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap", 10)
    log = open_capture(path).log
    path.rename(tmp_path / "b.mcpcap")
    with pytest.raises(BodyUnavailable, match="was moved or deleted"):
        log.raw(1)
    with pytest.raises(BodyUnavailable, match="was moved or deleted"):
        log.http(0)
    assert log.readable_http(0) is None
    (tmp_path / "b.mcpcap").rename(path)
    assert log.raw(1) == b"%0200d" % 1
    assert log.http(0) is not None


def test_capture_on_a_disk_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Path.exists raises for a disk that was unplugged, up to Python 3.13."""
    path = tmp_path / "a.mcpcap"
    recorded(path, 3)
    log = open_capture(path).log
    path.unlink()
    stat: Callable[..., os.stat_result] = os.stat

    def fail(name: Any, *args: Any, **options: Any) -> os.stat_result:
        if str(name) == str(path):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return stat(name, *args, **options)

    monkeypatch.setattr(os, "stat", fail)
    with pytest.raises(BodyUnavailable, match="or its disk is gone"):
        log.raw(0)


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
