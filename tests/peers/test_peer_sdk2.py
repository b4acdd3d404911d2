"""The current Python SDK, used by the demo servers: both shapes, stdio and Streamable HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.demo.servers import command
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.revisions import Era
from tests.peers.netserver import listening
from tests.peers.visit import Visit, visiting

ERAS = {"auto": "2026-07-28", "legacy-first": "2025-11-25", "2025-06-18": "2025-06-18"}
COUNTER = "demo://counter"
BOOKS: JSONObject = {"type": "ref/resource", "uri": "demo://books/{author}/{title}"}


async def sample(params: JSONObject) -> JSONObject:
    return {"role": "assistant", "content": {"type": "text", "text": "blue"}, "model": "by hand"}


async def elicit(params: JSONObject) -> JSONObject:
    return {"action": "accept", "content": {"name": "Ada"}}


ANSWERERS = {"sampling/createMessage": sample, "elicitation/create": elicit}


@pytest.fixture(scope="module")
def http_url() -> Iterator[str]:
    with listening(command("everything", http=True), r"listening on (\S+)") as url:
        yield url


@pytest.fixture(params=[(transport, era) for transport in ("stdio", "http") for era in ERAS], ids="-".join)
def entry(request: pytest.FixtureRequest, http_url: str) -> Entry:
    transport, era = request.param
    if transport == "http":
        return HttpEntry(name="sdk", url=http_url, era=era)
    program, *args = command("everything")
    return StdioEntry(name="sdk", command=program, args=tuple(args), era=era)


@pytest.fixture
async def peer(entry: Entry) -> AsyncIterator[Visit]:
    async with visiting(entry, ANSWERERS) as visit:
        yield visit


async def test_server_features_are_listed_read_and_called(entry: Entry, peer: Visit) -> None:
    assert peer.negotiated.revision.date == ERAS[entry.era]
    assert {"echo", "slow", "bump_counter"} <= set(await peer.tools())
    assert COUNTER in await peer.resources()
    assert "demo://cities/{city}" in await peer.templates()
    assert await peer.prompts() == ["greet", "code_review", "illustrated"]
    assert await peer.text("echo", message="grüß dich") == "grüß dich"
    assert (await peer.read("demo://readme")).startswith(b"# Everything")
    assert await peer.prompt("greet", name="Ada") == ["Greet Ada in a friendly way."]
    assert await peer.complete(BOOKS, "author", "a") == ("Austen",)
    assert await peer.complete(BOOKS, "title", "E", author="Austen") == ("Emma",)
    assert peer.complaints() == []


async def test_calls_report_progress_send_server_requests_and_can_be_cancelled(peer: Visit) -> None:
    steps: list[ProgressReceived] = []
    assert await peer.text("slow", steps.append, seconds=0.1, steps=2) == "Done: 2 steps in 0.1 s."
    assert [(step.progress, step.total) for step in steps] == [(1, 2), (2, 2)]
    assert await peer.text("sampling", prompt="A color?") == "by hand said: blue"
    assert '"name": "Ada"' in await peer.text("elicit_form")
    await peer.cancel_midway("slow", seconds=30, steps=300)
    assert await peer.text("echo", message="still here") == "still here"
    # In the stateless era a call over HTTP is cancelled by closing its exchange, without a word.
    is_silent = peer.negotiated.era is Era.STATELESS and peer.view.transport == "http"
    assert peer.reported("notifications/cancelled") is not is_silent


async def test_tool_list_and_resource_changes_are_received(peer: Visit) -> None:
    await peer.client.subscribe(COUNTER)
    if peer.negotiated.era is Era.STATELESS:
        # One stream was opened on connecting, and another one now: only that tells of the counter.
        await peer.received("notifications/subscriptions/acknowledged", mentioning=COUNTER)
    await peer.text("bump_counter")
    assert (await peer.received("notifications/resources/updated"))["uri"] == COUNTER
    await peer.text("toggle_bonus_tool")
    await peer.received("notifications/tools/list_changed")
