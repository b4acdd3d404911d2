"""The Python SDK before the stateless shape: stdio, Streamable HTTP and HTTP+SSE."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from inspector.base.json.values import JSONObject, parse
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.protocol.connection import ProgressReceived
from tests.peers.netserver import listening
from tests.peers.visit import Visit, visiting

pytestmark = pytest.mark.timeout(240)  # the first run installs the SDK

SCRIPT = str(Path(__file__).parent / "sdk1server.py")
PATHS = {"streamable-http": "/mcp", "sse": "/sse"}


async def choose_blue(params: JSONObject) -> JSONObject:
    return {"action": "accept", "content": {"color": "blue"}}


@pytest.fixture(scope="module", params=["stdio", *PATHS])
def entry(request: pytest.FixtureRequest, old_sdk_python: Path) -> Iterator[Entry]:
    command = [str(old_sdk_python), SCRIPT, request.param]
    if request.param == "stdio":
        yield StdioEntry(name="old-sdk", command=command[0], args=tuple(command[1:]))
        return
    with listening(command, r"running on (http://[\w.:]+)") as origin:
        yield HttpEntry(name="old-sdk", url=origin + PATHS[request.param])


@pytest.fixture
async def peer(entry: Entry) -> AsyncIterator[Visit]:
    async with visiting(entry, {"elicitation/create": choose_blue}) as visit:
        yield visit


async def test_session_server_is_detected(peer: Visit) -> None:
    assert peer.negotiated.revision.date == "2025-11-25"
    assert (peer.negotiated.server.name, peer.negotiated.instructions) == ("old-sdk", "Says hello.")


async def test_server_features_are_listed_read_and_called(peer: Visit) -> None:
    assert await peer.tools() == ["add", "count", "ask"]
    assert await peer.resources() == ["greeting://world"]
    assert await peer.templates() == ["greeting://{name}"]
    assert await peer.prompts() == ["review"]
    assert parse(await peer.text("add", a=2, b=40)) == {"total": 42}
    assert await peer.read("greeting://world") == b"Hello, world!"
    assert await peer.read("greeting://you") == b"Hello, you!"
    assert await peer.prompt("review", code="x = 1") == ["Review this: x = 1"]
    assert peer.complaints() == []


async def test_progress_logs_and_server_requests_arrive_during_a_call(peer: Visit) -> None:
    steps: list[ProgressReceived] = []
    assert await peer.text("count", steps.append, to=3) == "counted to 3"
    assert [(step.progress, step.total, step.message) for step in steps] == [
        (1, 3, "at 1"),
        (2, 3, "at 2"),
        (3, 3, "at 3"),
    ]
    assert (await peer.received("notifications/message"))["data"] == "counted 1"
    assert await peer.text("ask") == "accept: blue"
