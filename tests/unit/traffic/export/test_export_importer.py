"""Import of other tools' files: any supported line becomes a message; others are reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.traffic.export.imported_rows import read_time
from inspector.traffic.export.importer import Imported
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, Status
from tests.helpers.exports import import_file

CALL: JSON = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}
ANSWER: JSON = {"jsonrpc": "2.0", "id": 1, "result": {}}
LOGGED: JSON = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
ASKED: JSON = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
SECOND = 1_000_000_000


def imported(tmp_path: Path, content: bytes, name: str = "talk.log") -> tuple[TrafficLog, Imported]:
    path = tmp_path / name
    path.write_bytes(content)
    log = TrafficLog()
    return log, import_file(path, log)


def lines(*values: JSON) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def directions(log: TrafficLog) -> str:
    return "".join(">" if log.direction(row) == Direction.OUT else "<" for row in range(len(log)))


def test_bare_messages_are_paired_and_keep_their_bytes(tmp_path: Path) -> None:
    content = lines(CALL, LOGGED, ANSWER)
    log, result = imported(tmp_path, content)
    assert result == Imported(range(3), ())
    assert b"".join(log.raw(row) + b"\n" for row in range(3)) == content
    assert directions(log) == "><<"
    assert (log.partner(0), log.status(0), log.subject(2)) == (2, Status.OK, "add")
    assert log.servers() == ("talk",)


def test_response_to_a_server_request_goes_to_the_server(tmp_path: Path) -> None:
    log, _ = imported(tmp_path, lines(ASKED, ANSWER))
    assert directions(log) == "<>"


@pytest.mark.parametrize(
    ("out", "back"),
    [
        ("client", "server"),
        ("to server", "to_client"),
        ("client->server", "server->client"),
        ("client_to_server", "server_to_client"),
        ("fromClient", "fromAgent"),
        ("out", "in"),
        ("Outbound", "Inbound"),
        ("sent", "received"),
        ("send", "recv"),
        ("→", "←"),
        (">", "<"),
        ("stdin", "stdout"),
    ],
)
@pytest.mark.parametrize("member", ["direction", "dir", "from"])
def test_directions_are_recognized_in_many_spellings(
    out: str, back: str, member: str, tmp_path: Path
) -> None:
    unknown: JSON = {"jsonrpc": "2.0", "id": "x", "method": "x/unknown"}
    content = lines(*({member: word, "message": unknown} for word in (back, out)))
    log, _ = imported(tmp_path, content)
    assert directions(log) == "<>"


def test_server_side_file_is_reversed(tmp_path: Path) -> None:
    content = lines({"dir": "in", "msg": CALL}, {"dir": "out", "msg": ANSWER})
    log, _ = imported(tmp_path, content)
    assert directions(log) == "><"
    assert log.status(0) is Status.OK


@pytest.mark.parametrize(
    "member", ["message", "msg", "frame", "payload", "json", "data", "raw", "body", "rpc"]
)
@pytest.mark.parametrize("is_text", [False, True])
def test_a_message_is_found_in_its_wrapper(member: str, is_text: bool, tmp_path: Path) -> None:
    inner: JSON = json.dumps(CALL) if is_text else CALL
    log, result = imported(tmp_path, lines({"ts": 5, member: inner, "server": "other"}))
    assert json.loads(log.raw(0)) == CALL
    assert (log.servers(), result.problems) == (("other",), ())


@pytest.mark.parametrize(
    ("value", "nanoseconds"),
    [
        (1_700_000_000, 1_700_000_000 * SECOND),
        (1_700_000_000.5, 1_700_000_000 * SECOND + SECOND // 2),
        (1_700_000_000_123, 1_700_000_000 * SECOND + 123_000_000),
        (1_700_000_000_123_456, 1_700_000_000 * SECOND + 123_456_000),
        (1_700_000_000_123_456_789, 1_700_000_000 * SECOND + 123_456_789),
        ("2023-11-14T22:13:20Z", 1_700_000_000 * SECOND),
        ("2023-11-14T22:13:20.123456789Z", 1_700_000_000 * SECOND + 123_456_789),
        ("2023-11-14T23:13:20,5+01:00", 1_700_000_000 * SECOND + SECOND // 2),
        ("2023-11-14 22:13:20", 1_700_000_000 * SECOND),
        ("yesterday", None),
        (True, None),
        (-5, None),
        (1e300, None),
        (None, None),
    ],
)
def test_times_are_recognized_in_many_formats(value: JSON, nanoseconds: int | None) -> None:
    assert read_time(value) == nanoseconds


def test_time_between_a_request_and_its_response_is_taken_from_the_file(tmp_path: Path) -> None:
    content = lines({"ts": 1_700_000_000, "message": CALL}, {"ts": 1_700_000_002, "message": ANSWER})
    log, _ = imported(tmp_path, content)
    assert log.duration_ns(0) == 2 * SECOND
    assert log.wall_ns(0) == 1_700_000_000 * SECOND


def test_negotiated_version_is_known(tmp_path: Path) -> None:
    begin: JSON = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    agreed: JSON = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}}
    log, _ = imported(tmp_path, lines(begin, agreed, CALL))
    assert log.revision(2) == "2025-11-25"


def test_invalid_lines_are_reported_with_the_reason(tmp_path: Path) -> None:
    content = lines(CALL) + b'{"jsonrpc":\n\n42\n{"x":1}\n\xff\n' + lines(ANSWER)
    log, result = imported(tmp_path, content)
    assert len(log) == 2
    assert [problem.partition(":")[0] for problem in result.problems] == [
        "Line 2",
        "Line 4",
        "Line 5",
        "Line 6",
    ]
    assert result.problems[1] == "Line 4: it is not an object."
    assert result.problems[2] == "Line 5: it contains no message: it has x."


def test_json_array_is_read_item_by_item(tmp_path: Path) -> None:
    content = json.dumps([{"message": CALL}, 5, {"message": ANSWER}], indent=1).encode()
    log, result = imported(tmp_path, content)
    assert (len(log), result.problems) == (2, ("Item 2: it is not an object.",))


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    log, result = imported(tmp_path, b"\xef\xbb\xbf" + lines(CALL))
    assert (len(log), result.problems) == (1, ())


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", b"\x89PNG\r\n", b"5\n"])
def test_file_of_another_type_is_rejected(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"talk\.log contains no traffic that can be imported"):
        imported(tmp_path, content)


def test_capture_must_be_opened_instead(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a capture"):
        imported(tmp_path, b"SQLite format 3\0....")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Could not read .*: No such file"):
        import_file(tmp_path / "gone", TrafficLog())


def test_extreme_times_are_read(tmp_path: Path) -> None:
    times = ("1700-01-01T00:00:00Z", "2260-01-01T00:00:00Z", 2**63 - 1)
    log, result = imported(tmp_path, lines(*({"ts": time, "message": CALL} for time in times)))
    assert (len(log), result.problems) == (3, ())
    assert list(log.columns.wall) == sorted(log.columns.wall)


def test_file_with_one_server_per_line_is_read_up_to_a_limit(tmp_path: Path) -> None:
    content = lines(*({"server": f"s{number}", "message": CALL} for number in range(1003)))
    log, result = imported(tmp_path, content)
    assert (len(log), len(result.problems)) == (1000, 3)


pieces = st.sampled_from(
    [
        *(
            b'{"log":{"entries":[',
            b"{",
            b"}",
            b"[",
            b"]",
            b"\n",
            b'"',
            b",",
            b":",
            b'"jsonrpc":"2.0"',
            b'"id":1',
        ),
        *(
            b'{"format":"mcp-lens-traffic","version":1}\n',
            b'"message":{',
            b"\xff",
            b'"request":{"url":"http://h"',
        ),
        json.dumps(CALL).encode(),
    ]
)


@given(content=st.lists(pieces | st.binary(max_size=5), max_size=12).map(b"".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_raises_only_user_errors(content: bytes, tmp_path: Path) -> None:
    try:
        log, result = imported(tmp_path, content)
    except UserError:
        return
    assert len(log) == len(result.rows)
