"""The `everything` server at run time: progress, cancellation, logs, load, changes, exit."""

from __future__ import annotations

import pytest

from tests.unit.demo.demo_client import DemoProcess


def test_fail_is_a_tool_error(everything: DemoProcess) -> None:
    assert everything.call("fail", message="No luck.") == {
        "content": [{"type": "text", "text": "No luck."}],
        "isError": True,
    }


def test_protocol_error_carries_code_message_and_data(everything: DemoProcess) -> None:
    params = {"name": "protocol_error", "arguments": {"code": 17, "message": "So there"}}
    assert everything.error("tools/call", params) == {
        "code": 17,
        "message": "So there",
        "data": {"demo": True},
    }


def start_slow(server: DemoProcess, token: str, seconds: float, steps: int) -> int:
    arguments = {"seconds": seconds, "steps": steps}
    return server.start(
        "tools/call", {"name": "slow", "arguments": arguments, "_meta": {"progressToken": token}}
    )


def test_slow_reports_progress_up_to_the_total(everything: DemoProcess) -> None:
    response = everything.finish(start_slow(everything, "p", 0.05, 3))
    progress = everything.take_received("notifications/progress")
    assert [(p["progress"], p["total"], p["progressToken"]) for p in progress] == [
        (1, 3, "p"),
        (2, 3, "p"),
        (3, 3, "p"),
    ]
    assert response["result"]["content"][0]["text"] == "Done: 3 steps in 0.05 s."


def test_slow_without_a_progress_token_sends_no_progress(everything: DemoProcess) -> None:
    everything.call("slow", seconds=0, steps=3)
    assert everything.take_received("notifications/progress") == []


def test_slow_obeys_cancellation(everything: DemoProcess) -> None:
    doomed = start_slow(everything, "doomed", 60, 6000)
    assert everything.read()["method"] == "notifications/progress"
    everything.send({"method": "notifications/cancelled", "params": {"requestId": doomed}})
    everything.request("ping")
    everything.received.clear()
    # Were it still running, its progress would come in between: one every ten milliseconds.
    everything.call("slow", seconds=0.2, steps=1)
    assert everything.received == []


def levels(server: DemoProcess) -> list[str]:
    return [params["level"] for params in server.take_received("notifications/message")]


def test_log_sends_every_level_and_respects_the_configured_one(everything: DemoProcess) -> None:
    every = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    assert everything.call_text("log", count=8) == "Sent 8 of 8 log messages."
    assert levels(everything) == every
    everything.request("logging/setLevel", {"level": "error"})
    assert everything.call_text("log", count=8) == "Sent 4 of 8 log messages."
    assert levels(everything) == every[4:]
    assert everything.call_text("flood", count=10) == "0"
    everything.request("logging/setLevel", {"level": "debug"})


def test_flood_sends_every_notification_before_its_response(everything: DemoProcess) -> None:
    assert everything.call_text("flood", count=20_000, size=50) == "20000"
    data = [params["data"] for params in everything.take_received("notifications/message")]
    assert [int(words.rstrip(".")) for words in data] == list(range(20_000))
    assert {len(words) for words in data} == {50}


def test_large_text_has_exactly_the_requested_size(everything: DemoProcess) -> None:
    assert len(everything.call_text("large_text")) == 5 * 1024 * 1024
    assert len(everything.call_text("large_text", megabytes=0.5)) == 512 * 1024


def test_lines_are_written_to_stderr(everything: DemoProcess) -> None:
    everything.call("write_stderr", lines=2, text="Look here")
    assert "Look here (1 of 2)\nLook here (2 of 2)\n" in everything.stderr()


def counter(server: DemoProcess) -> int:
    return int(server.request("resources/read", {"uri": "demo://counter"})["contents"][0]["text"])


def test_bumping_the_counter_notifies_subscribers_only(everything: DemoProcess) -> None:
    before = counter(everything)
    everything.call("bump_counter")
    assert everything.take_received("notifications/resources/updated") == []
    everything.request("resources/subscribe", {"uri": "demo://counter"})
    everything.call("bump_counter", by=5)
    assert everything.take_received("notifications/resources/updated") == [{"uri": "demo://counter"}]
    assert counter(everything) == before + 6
    everything.request("resources/unsubscribe", {"uri": "demo://counter"})
    everything.call("bump_counter")
    assert everything.take_received("notifications/resources/updated") == []


def test_toggling_a_tool_changes_the_list_and_sends_a_notification(everything: DemoProcess) -> None:
    def names() -> list[str]:
        return [tool["name"] for tool in everything.request("tools/list")["tools"]]

    everything.call("toggle_bonus_tool")
    assert [m["method"] for m in everything.received] == ["notifications/tools/list_changed"]
    assert "bonus" in names()
    assert everything.call_text("bonus")
    everything.call("toggle_bonus_tool")
    assert "bonus" not in names()


@pytest.mark.parametrize(
    ("tool", "capability"),
    [
        ("sampling", "sampling"),
        ("elicit_form", "elicitation (form)"),
        ("elicit_url", "elicitation (url)"),
        ("list_roots", "roots"),
    ],
)
def test_missing_client_capability_is_explained(everything: DemoProcess, tool: str, capability: str) -> None:
    result = everything.call(tool)
    assert result["isError"] is True
    assert f"did not declare the {capability} capability" in result["content"][0]["text"]
    assert everything.received == []


def test_crash_exits_with_the_code_after_a_last_line() -> None:
    with DemoProcess("everything") as server:
        server.initialize()
        server.start("tools/call", {"name": "crash", "arguments": {"code": 41, "message": "Bye."}})
        with pytest.raises(EOFError):
            server.read()
        assert server.wait() == 41
        assert server.stderr() == "Bye.\n"


@pytest.mark.parametrize("name", ["everything", "library"])
def test_end_of_stdin_ends_the_server_quietly(name: str) -> None:
    with DemoProcess(name) as server:
        server.initialize()
        server.hang_up()
        assert server.wait() == 0
        assert server.stderr() == ""


def test_sigterm_stops_the_server_quietly_during_a_call() -> None:
    with DemoProcess("everything") as server:
        server.initialize()
        start_slow(server, "p", 60, 6000)
        server.read()
        server.terminate()
        assert server.wait() != 0
        assert server.stderr() == ""


def test_client_that_stops_reading_during_a_flood_stops_the_server_quietly() -> None:
    with DemoProcess("everything") as server:
        server.initialize()
        server.start("tools/call", {"name": "flood", "arguments": {"count": 1_000_000}})
        server.read()
        server.close_stdout()
        assert server.wait() == 0
        assert server.stderr() == ""
