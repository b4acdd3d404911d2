"""`--http`: the same servers over Streamable HTTP on the loopback interface."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from inspector.demo.servers import command

HEADERS = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@dataclass
class HttpServer:
    process: subprocess.Popen[str]
    url: str


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    with subprocess.Popen(
        command("everything", http=True), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        announcement = process.stderr.readline()
        assert announcement.startswith("listening on http://127.0.0.1:"), announcement
        yield HttpServer(process, announcement.split()[-1])
        process.stdin.close()
        # The end of its stdin ends the server, so this also waits for that.
        process.stderr.read()
        assert process.wait(timeout=20) == 0


Post = Callable[[dict[str, Any]], httpx2.Response]


@pytest.fixture
def post(server: HttpServer) -> Iterator[Post]:
    """Post a message in an initialized session."""
    with httpx2.Client(headers=HEADERS) as client:
        response = client.post(server.url, json=INITIALIZE)
        client.headers["Mcp-Session-Id"] = response.headers["mcp-session-id"]
        client.headers["MCP-Protocol-Version"] = "2025-11-25"
        accepted = client.post(server.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert accepted.status_code == 202
        yield lambda message: client.post(server.url, json=message)


def messages(response: httpx2.Response) -> list[dict[str, Any]]:
    """Return the messages in the response to a POST: the JSON body, or the data of each event."""
    assert response.status_code == 200, response.text
    if response.headers["content-type"].startswith("application/json"):
        return [response.json()]
    data = [
        line.removeprefix("data:").strip() for line in response.text.splitlines() if line.startswith("data:")
    ]
    return [json.loads(text) for text in data if text]


def call(post: Post, tool: str, **arguments: object) -> list[dict[str, Any]]:
    params = {"name": tool, "arguments": arguments}
    return messages(post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))


def test_initialize_over_http_declares_the_same_server(server: HttpServer) -> None:
    response = httpx2.post(server.url, json=INITIALIZE, headers=HEADERS)
    (message,) = messages(response)
    assert response.headers["mcp-session-id"]
    assert message["result"]["serverInfo"]["name"] == "everything"
    assert message["result"]["capabilities"]["tools"] == {"listChanged": True}


def test_tool_is_called_over_http(post: Post) -> None:
    (message,) = call(post, "add_numbers", a=1, b=2)
    assert message["result"]["structuredContent"] == {"sum": 3}


def test_log_messages_arrive_on_the_stream_of_the_call(post: Post) -> None:
    *logged, response = call(post, "log", count=3)
    assert [message["params"]["level"] for message in logged] == ["debug", "info", "notice"]
    assert response["id"] == 1


def test_flood_over_http_sends_all_notifications(post: Post) -> None:
    *flooded, response = call(post, "flood", count=200)
    assert len(flooded) == 200
    assert response["result"]["content"][0]["text"] == "200"


def test_foreign_host_and_origin_are_refused(server: HttpServer) -> None:
    """T8: a web page reaches a local server through DNS rebinding."""
    rebound = httpx2.post(server.url, json=INITIALIZE, headers={**HEADERS, "Host": "evil.example:80"})
    foreign = httpx2.post(server.url, json=INITIALIZE, headers={**HEADERS, "Origin": "http://evil.example"})
    assert (rebound.status_code, foreign.status_code) == (421, 403)


def test_port_in_use_is_reported_in_one_sentence(server: HttpServer) -> None:
    port = httpx2.URL(server.url).port
    assert port is not None
    done = subprocess.run(
        command("library", http=True, port=port),
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"Could not listen on 127.0.0.1:{port}: ")
    assert len(done.stderr.splitlines()) == 1


def test_sigterm_stops_the_http_server_quietly() -> None:
    words = [word for word in command("library", http=True) if word != "--until-eof"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        assert httpx2.post(url, json=INITIALIZE, headers=HEADERS).status_code == 200
        process.terminate()
        assert process.stderr.read() == ""
        assert process.wait(timeout=20) != 0
