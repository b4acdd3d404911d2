"""Each fault of the `faulty` server does what its description says, byte by byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.demo.faulty_server import FAULTS
from tests.unit.demo.demo_client import DemoProcess


@pytest.fixture
def faulty() -> Iterator[DemoProcess]:
    with DemoProcess("faulty") as server:
        server.initialize()
        yield server


def call(server: DemoProcess, tool: str, **arguments: Any) -> int:
    return server.start("tools/call", {"name": tool, "arguments": arguments})


def test_server_behaves_until_a_fault_is_called(faulty: DemoProcess) -> None:
    tools = [tool["name"] for tool in faulty.request("tools/list")["tools"]]
    assert tools == ["echo", *(name for name, fault in FAULTS.items() if fault.is_tool)]
    assert faulty.call_text("echo", message="hi") == "hi"
    assert faulty.request("ping") == {}
    assert faulty.error("prompts/list")["code"] == -32601
    assert faulty.error("tools/call", {"name": "nope"})["code"] == -32602
    assert faulty.received == []


def test_invalid_json_gets_a_parse_error(faulty: DemoProcess) -> None:
    faulty.send_line(b"hello?")
    assert faulty.read()["error"]["code"] == -32700


def test_stray_text_surrounds_the_response(faulty: DemoProcess) -> None:
    request = call(faulty, "stray_stdout")
    assert [faulty.read_line() for _ in range(2)] == [b"DEBUG: leftover print()", b""]
    assert faulty.read()["id"] == request
    assert faulty.read_line() == b"{'almost': 'JSON'}"


def test_responses_have_wrong_ids(faulty: DemoProcess) -> None:
    request = call(faulty, "wrong_id")
    assert faulty.read()["id"] == f"not-{request}"
    request = call(faulty, "wrong_id_type")
    assert faulty.read()["id"] == str(request)


def test_request_gets_two_responses(faulty: DemoProcess) -> None:
    request = call(faulty, "duplicate_response")
    first, second = faulty.read(), faulty.read()
    assert first["id"] == second["id"] == request
    assert first["result"] != second["result"]


def test_unsolicited_response_is_sent(faulty: DemoProcess) -> None:
    request = call(faulty, "unmatched_response")
    assert [faulty.read()["id"], faulty.read()["id"]] == [987654, request]


def test_content_is_not_a_list(faulty: DemoProcess) -> None:
    assert faulty.call("invalid_result") == {"content": "not a list", "isError": "perhaps"}


def test_line_is_sent_in_pieces(faulty: DemoProcess) -> None:
    call(faulty, "half_line", pieces=4, delay=0.1)
    chunks = [faulty.read_chunk()]
    while b"pieces." not in chunks[-1]:
        chunks.append(faulty.read_chunk())
    assert any(not chunk.endswith(b"\n") for chunk in chunks)
    notification, response = b"".join(chunks).splitlines()
    assert json.loads(notification)["params"]["data"] == "in pieces"
    assert "result" in json.loads(response)


def test_invalid_utf8_is_followed_by_a_valid_response(faulty: DemoProcess) -> None:
    request = call(faulty, "invalid_utf8")
    assert faulty.read()["params"]["data"] == "still fine"
    with pytest.raises(UnicodeDecodeError):
        faulty.read_line().decode()
    assert faulty.read()["id"] == request


def test_deep_json_is_followed_by_a_valid_response(faulty: DemoProcess) -> None:
    request = call(faulty, "deep_json")
    line = faulty.read_line()
    assert line.count(b"{") == line.count(b"}") == 10_002
    assert faulty.read()["id"] == request


def test_huge_line_is_followed_by_a_valid_response(faulty: DemoProcess) -> None:
    request = call(faulty, "huge_line", megabytes=3)
    assert len(faulty.read_line()) > 3 * 1024 * 1024
    assert faulty.read()["id"] == request


def test_unanswered_call_leaves_the_server_running(faulty: DemoProcess) -> None:
    call(faulty, "no_answer")
    assert faulty.request("ping") == {}
    assert faulty.received == []


def test_closed_stdout_leaves_the_process_alive_until_stdin_ends(faulty: DemoProcess) -> None:
    call(faulty, "closes_stdout")
    assert faulty.read_chunk() == b""
    faulty.start("ping")  # Would fail with a broken pipe if it were dead.
    faulty.hang_up()
    assert faulty.wait() == 0
    assert faulty.stderr() == "Closing stdout; the process keeps running.\n"


def test_server_dies_during_a_call(faulty: DemoProcess) -> None:
    params = {"name": "exits_mid_call", "arguments": {"code": 12}, "_meta": {"progressToken": "t"}}
    faulty.start("tools/call", params)
    assert faulty.read()["params"]["progressToken"] == "t"
    assert faulty.read_chunk() == b""
    assert faulty.wait() == 12
    assert faulty.stderr() == "Fatal: lost the database connection.\nExiting in the middle of a call.\n"


def test_banner_comes_before_the_first_message() -> None:
    with DemoProcess("faulty", fault="banner") as server:
        assert server.read_line() == b"*** Faulty server ***"
        assert server.read_line().decode() == "Listening on stdin…"
        assert server.read_line() == b""
        assert server.initialize()["serverInfo"]["name"] == "faulty"
        assert server.call_text("echo", message="hi") == "hi"


def test_exit_at_start_leaves_its_reason_on_stderr() -> None:
    with DemoProcess("faulty", fault="exit_at_start") as server:
        assert server.wait() == 3
        assert server.stderr() == "Error: DEMO_TOKEN is not set.\nSet it and start again.\n"


def test_silent_initialize_answers_everything_else() -> None:
    with DemoProcess("faulty", fault="silent_initialize") as server:
        server.start("initialize", {"protocolVersion": "2025-11-25"})
        assert server.request("ping") == {}
        assert server.received == []


def test_call_fault_on_the_command_line_applies_to_every_tool() -> None:
    with DemoProcess("faulty", fault="invalid_result") as server:
        server.initialize()
        assert server.call("echo", message="hi")["content"] == "not a list"


def test_end_of_stdin_and_sigterm_stop_it_quietly() -> None:
    with DemoProcess("faulty") as server:
        server.initialize()
        server.hang_up()
        assert server.wait() == 0
        assert server.stderr() == ""
    with DemoProcess("faulty") as server:
        server.initialize()
        server.terminate()
        assert server.wait() != 0
        assert server.stderr() == ""
