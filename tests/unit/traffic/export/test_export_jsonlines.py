"""JSON Lines export and import: lossless, and standard JSON on every line."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.errors import UserError
from inspector.traffic.export.imported_rows import BadRow
from inspector.traffic.export.importer import TrafficImporter
from inspector.traffic.export.jsonlines import time_text, write_json_lines
from inspector.traffic.export.jsonlines_reader import JsonLinesReader
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import Masker, find_secrets
from inspector.traffic.records import Direction, RecordKind, Status
from tests.helpers.exports import import_file
from tests.unit.traffic.export.export_logs import TOKEN, http_log, logs, written


def exported(log: TrafficLog, masking: Masker | None = None) -> bytes:
    sink = BytesIO()
    arguments = () if masking is None else (masking,)
    return written(write_json_lines(log, range(len(log)), sink, *arguments), sink)[0]


def read_back(text: bytes) -> TrafficLog:
    log = TrafficLog()
    lines = JsonLinesReader(log)
    for line in text.split(b"\n")[1:-1]:
        lines.line(line)
    assert lines.finish() == 0
    return log


def assert_alike(one: TrafficLog, other: TrafficLog) -> None:
    assert len(one) == len(other)
    for row in range(len(one)):
        assert one.record(row) == other.record(row)
        assert type(one.id(row)) is type(other.id(row))
        assert one.http(row) == other.http(row)
        assert one.note(row) == other.note(row)
        assert one.resent_of(row) == other.resent_of(row)


@given(logs())
@settings(max_examples=40)
def test_written_file_reads_back_unchanged(log: TrafficLog) -> None:
    assert_alike(log, read_back(exported(log)))


@given(logs())
@settings(max_examples=40)
def test_every_line_is_standard_json(log: TrafficLog) -> None:
    for line in exported(log).split(b"\n")[:-1]:
        value = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        assert isinstance(value, dict)


@given(logs(), st.data())
@settings(max_examples=40)
def test_links_point_to_the_same_rows_when_only_some_are_written(
    log: TrafficLog, data: st.DataObject
) -> None:
    rows = (
        sorted(data.draw(st.sets(st.integers(0, max(len(log) - 1, 0)), max_size=len(log))))
        if len(log)
        else []
    )
    sink = BytesIO()
    text, dropped = written(write_json_lines(log, rows, sink), sink)
    other = read_back(text)
    lost = 0
    for number, row in enumerate(rows):
        for link in ("partner", "exchange", "operation", "resent_of"):
            target, found = getattr(log, link)(row), getattr(other, link)(number)
            assert found == (rows.index(target) if target in rows else None)
            lost += target is not None and found is None
    assert dropped.counts["link to a row outside the export"] == lost


def test_message_is_written_as_json_where_lossless_and_otherwise_as_text() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    for raw in (b'{"a":1}', b'{"a": 1}', b"\xff"):
        log.append(server, RecordKind.NOTIFICATION, Direction.IN, 0, 0, raw)
    log.publish()
    lines = [json.loads(line) for line in exported(log).splitlines()[1:]]
    assert [line.get("message") for line in lines] == [{"a": 1}, None, None]
    assert [line.get("raw") for line in lines] == [None, '{"a": 1}', None]
    assert lines[2]["raw_base64"] == "/w=="


def test_long_body_is_written_in_steps_and_read_back_in_full(tmp_path: Path) -> None:
    log = TrafficLog()
    raw = b'{"text":"' + "grüße \\n".encode() * 300_000 + b'"}'
    log.append(log.add_server("srv"), RecordKind.RESULT, Direction.IN, 0, 0, raw)
    log.publish()
    sink = BytesIO()
    assert len(list(write_json_lines(log, [0], sink))) > 3
    path = tmp_path / "a.jsonl"
    path.write_bytes(sink.getvalue())
    other = TrafficLog()
    import_file(path, other)
    assert other.raw(0) == raw


def test_the_first_line_says_what_was_masked_and_no_secret_is_left() -> None:
    log = http_log()
    masking = Masker(find_secrets(log, range(len(log))))
    text = exported(log, masking)
    assert TOKEN.encode() not in text
    header = json.loads(text.splitlines()[0])
    assert header["rows"] == len(log)
    assert {"placeholder": "~secret-1-Authorization~", "where": "header Authorization", "count": 3} in header[
        "masked"
    ]


def test_imported_file_is_appended_after_the_existing_rows(tmp_path: Path) -> None:
    log, path = http_log(), tmp_path / "traffic"
    path.write_bytes(exported(log))
    both = http_log()
    imported = import_file(path, both)
    assert (imported.rows, imported.problems) == (range(len(log), 2 * len(log)), ())
    for row in range(len(log)):
        partner = log.partner(row)
        assert both.partner(len(log) + row) == (None if partner is None else partner + len(log))


def test_invalid_lines_are_reported_and_the_others_are_read(tmp_path: Path) -> None:
    lines = exported(http_log()).splitlines()
    lines[2] = b"{not json"
    lines[3] = b'{"kind":"nonsense","raw":""}'
    lines[4] = b'{"kind":"result"}'
    lines[5] = b'{"kind":"result","raw":"","wall_ns":1e3}'
    path = tmp_path / "edited.jsonl"
    path.write_bytes(b"\n".join(lines))
    log = TrafficLog()
    imported = import_file(path, log)
    assert len(log) == len(imported.rows) == len(lines) - 5
    assert imported.problems[0].startswith("Line 3: it is not JSON: ")
    assert imported.problems[1] == "Line 4: \"kind\" has the unknown value 'nonsense'."
    assert imported.problems[2] == 'Line 5: it has none of "message", "raw" and "raw_base64".'
    assert imported.problems[3] == 'Line 6: "wall_ns" is not an integer.'
    assert imported.problems[4].endswith("links refer to messages that are not in the file.")


@given(
    st.lists(st.binary(max_size=60) | st.sampled_from([b'{"kind":"http","raw":"","http":{"status":"x"}}']))
)
def test_any_content_of_our_own_file_keeps_the_log_consistent(lines: list[bytes]) -> None:
    log = TrafficLog()
    reader = JsonLinesReader(log)
    for line in lines:
        try:
            reader.line(line)
        except ValueError:
            continue
    reader.finish()
    assert len(log) == len(log.columns.kind) == len(log.columns.kept)


@pytest.mark.parametrize(
    "wrong", [b'"status":"x"', b'"duration_ns":"x"', b'"http":{"url":1}', b'"number":"x"', b'"partner":"x"']
)
def test_line_with_any_error_adds_no_row(wrong: bytes) -> None:
    log = TrafficLog()
    with pytest.raises(BadRow):
        JsonLinesReader(log).line(b'{"kind":"http","raw":"",%b}' % wrong)
    log.publish()
    assert len(log) == 0


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "later"
    path.write_bytes(b'{"format":"mcp-lens-traffic","version":9}\n')
    with pytest.raises(UserError, match="version 9") as caught:
        import_file(path, TrafficLog())
    assert caught.value.next_step == "Update MCP Lens."


def test_import_reports_its_progress(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(exported(http_log()))
    importing = TrafficImporter(path, TrafficLog())
    assert list(importing.steps())[-1] == importing.size == path.stat().st_size


def test_time_is_human_readable_to_the_nanosecond() -> None:
    assert time_text(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123456789Z"
    assert time_text(2**62).startswith("2116-")


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("cancelled", Status.CANCELLED),
        ("timed_out", Status.TIMED_OUT),
        ("no_response", Status.NO_RESPONSE),
        ("given_up", Status.NO_RESPONSE),  # written by older versions for any of these
    ],
)
def test_statuses_of_requests_without_a_response_are_read(word: str, status: Status) -> None:
    line = json.dumps({"kind": "request", "status": word, "raw": "{}"}).encode()
    log = read_back(b"{}\n" + line + b"\n")
    assert log.status(0) is status
    assert read_back(exported(log)).status(0) is status
