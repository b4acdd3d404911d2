"""HAR export and import: valid by the schema, and the same messages after a round trip."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from jsonschema import Draft7Validator  # type: ignore[import-untyped]  # The SDK brings it along.

from inspector.protocol import jsonrpc
from inspector.traffic.export.har import write_har
from inspector.traffic.export.har_reader import HarReader
from inspector.traffic.export.writer import Dropped
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker, find_secrets
from inspector.traffic.recorder import record_http
from inspector.traffic.records import Direction, HttpExchange, RecordKind, Status
from inspector.transport.base import SseReceived
from tests.helpers.exports import import_file
from tests.unit.traffic.export.export_logs import TOKEN, Conversation, http_log, logs, written

SCHEMA = json.loads((Path(__file__).parents[3] / "data" / "har-1.2.schema.json").read_text())
VALIDATOR = Draft7Validator(SCHEMA)


def exported(log: TrafficLog, masking: Masker = NO_MASKING) -> tuple[dict[str, Any], Dropped]:
    sink = BytesIO()
    text, dropped = written(write_har(log, range(len(log)), sink, masking), sink)
    har: dict[str, Any] = json.loads(text)
    return har, dropped


def entries(log: TrafficLog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = exported(log)[0]["log"]["entries"]
    return found


def problems(har: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(har)]


def read_back(har: dict[str, Any]) -> tuple[TrafficLog, list[str]]:
    log = TrafficLog()
    reading = HarReader(log, har)
    for _ in reading.steps():
        pass
    return log, reading.problems


def frames(log: TrafficLog) -> list[tuple[int, int, bytes]]:
    rows = (row for row in range(len(log)) if RecordKind(log.kind(row)).is_message)
    return [(log.kind(row), log.direction(row), log.raw(row)) for row in rows]


def test_schema_detects_errors() -> None:
    har, _ = exported(http_log())
    del har["log"]["entries"][0]["request"]["cookies"]
    har["log"]["entries"][1]["timings"]["wait"] = -1
    assert len(problems(har)) == 2


def test_http_session_is_valid_har() -> None:
    har, _ = exported(http_log())
    assert problems(har) == []
    assert len(har["log"]["entries"]) == 3


@given(logs())
@settings(max_examples=50)
def test_any_log_is_valid_har(log: TrafficLog) -> None:
    assert problems(exported(log)[0]) == []


def test_an_entry_has_both_bodies_headers_and_cookies() -> None:
    first, _, third = entries(http_log())
    assert json.loads(first["request"]["postData"]["text"])["method"] == "tools/call"
    assert json.loads(first["response"]["content"]["text"])["id"] == 1
    assert {"name": "Content-Type", "value": "application/json"} in first["request"]["headers"]
    assert first["request"]["cookies"] == [{"name": "a", "value": "b1"}, {"name": "c", "value": "d2"}]
    assert first["request"]["queryString"] == [{"name": "tenant", "value": "a"}]
    assert (first["response"]["status"], first["response"]["statusText"]) == (200, "OK")
    assert first["_mcp"] == {"server": "srv", "row": 2, "requestRows": [1], "responseRows": [3]}
    assert third["response"]["content"]["encoding"] == "base64"


def test_a_stream_is_written_as_events() -> None:
    text = entries(http_log())[1]["response"]["content"]["text"]
    blocks = text.removesuffix("\n\n").split("\n\n")
    assert [block.split("\n")[0] for block in blocks] == ["id: 0", "id: 1"]
    assert '"progress":1.50' in blocks[0]


def test_events_are_parsed_as_recorded() -> None:
    conversation = Conversation()
    number = conversation.post(jsonrpc.request(1, "ping"))
    response = jsonrpc.result(1, {}).raw
    for event in (
        SseReceived(number, "endpoint", None, None, "", 4, 0, b"/mcp"),
        SseReceived(number, "", None, None, "still here", 10, 0),
        SseReceived(number, "message", "7", 500, "", len(response), 0),
    ):
        record_http(conversation.recorder, event)
    conversation.responded(number, response)
    (entry,) = entries(conversation.log)
    assert entry["response"]["content"]["text"] == (
        f"event: endpoint\ndata: /mcp\n\n: still here\nid: 7\nretry: 500\ndata: {response.decode()}\n\n"
    )


def test_timings_add_up_and_unknown_ones_are_marked() -> None:
    first = entries(http_log())[0]
    assert first["timings"] == {"dns": 1, "connect": 5, "ssl": 3, "send": 0, "wait": 4, "receive": 2}
    assert first["time"] == 12
    conversation = Conversation()
    conversation.post(jsonrpc.request(1, "ping"))
    (waiting,) = entries(conversation.log)
    assert (waiting["timings"]["dns"], waiting["time"], waiting["response"]["status"]) == (-1, 0, 0)


def test_non_http_rows_are_counted_and_mentioned_in_the_file() -> None:
    har, dropped = exported(http_log())
    assert dropped.counts == {"connection event": 1, "stderr line": 2}
    assert har["log"]["comment"] == "Omitted (not HTTP): 1 connection event, 2 stderr lines."


def test_masked_file_contains_no_secret() -> None:
    log = http_log()
    har, _ = exported(log, Masker(find_secrets(log, range(len(log)))))
    assert TOKEN not in json.dumps(har)
    assert problems(har) == []
    assert "Masked: 4 secrets (~secret-1-Authorization~" in har["log"]["comment"]


def test_our_own_file_reads_back_as_the_same_session() -> None:
    log = http_log()
    other, found = read_back(exported(log)[0])
    assert found == []
    assert frames(other) == frames(log)
    assert other.servers() == ("srv",)
    call = next(row for row in range(len(other)) if other.method(row) == "tools/call")
    assert other.status(call) is Status.OK
    exchange, original = other.http(call), log.http(1)
    assert exchange is not None
    assert original is not None
    assert exchange.request_headers == original.request_headers
    assert (exchange.dns_ns, exchange.connect_ns, exchange.tls_ns, exchange.total_ns) == (
        original.dns_ns,
        original.connect_ns,
        original.tls_ns,
        original.total_ns,
    )


def browser_entry(
    url: str, sent: str = "", received: str = "", mime: str = "application/json"
) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-01-02T03:04:05.678+01:00",
        "time": 12.5,
        "request": {
            "method": "POST",
            "url": url,
            "headers": [],
            "postData": {"mimeType": mime, "text": sent},
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": mime}],
            "content": {"text": received, "mimeType": mime},
        },
        "timings": {"dns": -1, "connect": -1, "ssl": -1, "send": 1, "wait": 10, "receive": 1},
    }


def test_only_mcp_hosts_are_kept_from_a_browser_file() -> None:
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    response = 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n\n: bye\n'
    har = {
        "log": {
            "entries": [
                browser_entry("https://cdn.example/app.js", received="alert(1)", mime="text/javascript"),
                browser_entry("https://mcp.example/mcp", call, response, "text/event-stream"),
                browser_entry("https://mcp.example/.well-known/x", received='{"issuer":"y"}'),
                browser_entry("nonsense"),
            ]
        }
    }
    log, found = read_back(har)
    assert found[0] == "Entry 4: its URL 'nonsense' has no host."
    assert found[1] == "1 of 3 entries omitted: their hosts do not use MCP."
    assert log.servers() == ("mcp.example",)
    assert [RecordKind(log.kind(row)).name for row in range(len(log))] == [
        *("REQUEST", "HTTP", "HTTP", "SSE", "RESULT", "SSE")
    ]
    assert (log.status(0), log.duration_ns(0)) == (Status.OK, 12_500_000)
    assert log.wall_ns(0) == 1_767_319_445_678_000_000
    metadata = log.http(2)
    assert metadata is not None
    assert metadata.body == b'{"issuer":"y"}'


def test_har_is_recognized_by_its_content(tmp_path: Path) -> None:
    har, _ = exported(http_log())
    for indent in (None, 2):
        path = tmp_path / "capture.txt"
        path.write_text(json.dumps(har, indent=indent))
        log = TrafficLog()
        imported = import_file(path, log)
        assert len(frames(log)) == 6
        assert imported.rows == range(len(log))


def test_broken_entries_are_reported() -> None:
    base64_entry = browser_entry("https://h/")
    base64_entry["response"]["content"] = {"text": "a", "encoding": "base64"}
    log, found = read_back(
        {"log": {"entries": [1, {}, {"request": {"url": "https://h"}, "response": 3}, base64_entry]}}
    )
    assert len(log) == 0
    assert [text.split(":")[0] for text in found] == ["Entry 1", "Entry 2", "Entry 3", "Entry 4"]


def test_entry_with_impossible_times_and_characters_does_not_affect_the_others() -> None:
    call = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    odd = browser_entry("https://h/\ud800", call)
    late = browser_entry("https://h/late", call) | {"startedDateTime": "2262-04-01T00:00:00Z", "time": 9e11}
    early = browser_entry("https://h/early", call) | {"startedDateTime": "1700-01-01T00:00:00Z"}
    log, found = read_back({"log": {"entries": [odd, late, early]}})
    assert found == []
    assert [log.raw(row) for row in range(len(log)) if log.kind(row) == RecordKind.HTTP] == [
        b"POST https://h/early",
        b"POST https://h/?",
        b"POST https://h/late",
    ]


def test_exchange_is_written_once_however_many_of_its_rows_are_selected() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    frame = log.append(server, RecordKind.REQUEST, Direction.OUT, 0, 0, b"{}")
    http = log.append(server, RecordKind.HTTP, Direction.OUT, 0, 0, b"POST")
    log.set_http(http, HttpExchange("POST", "https://h/", (), 2))
    log.set_carrier(frame, http)
    log.publish()
    for rows in ([frame], [http], [http, frame]):
        sink = BytesIO()
        text, dropped = written(write_har(log, rows, sink), sink)
        assert [entry["request"]["postData"]["text"] for entry in json.loads(text)["log"]["entries"]] == [
            "{}"
        ]
        assert not dropped


def test_secret_on_an_unselected_row_is_masked_in_the_selected_exchange() -> None:
    log = TrafficLog()
    server = log.add_server("srv")
    frame = log.append(server, RecordKind.REQUEST, Direction.OUT, 0, 0, b'{"password":"correct-horse"}')
    http = log.append(server, RecordKind.HTTP, Direction.OUT, 0, 0, b"POST")
    response = log.append(server, RecordKind.RESULT, Direction.IN, 0, 0, b"{}")
    log.set_http(http, HttpExchange("POST", "https://h/", (), 2))
    log.set_carrier(frame, http)
    log.set_carrier(response, http)
    log.publish()
    for rows in ([http], [response]):
        sink, found = BytesIO(), find_secrets(log, rows)
        text, _ = written(write_har(log, rows, sink, Masker(found)), sink)
        assert b"correct-horse" not in text
        assert [item.count for item in found.items] == [1]
