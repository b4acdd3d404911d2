"""The Node reference server `server-everything`: stdio, Streamable HTTP, HTTP+SSE of 2024."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.views import OutcomeKind
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.revisions import Era
from tests.peers.netserver import free_port, listening
from tests.peers.visit import Visit, visiting

pytestmark = pytest.mark.timeout(240)  # the first run installs the peers

TEXT = "demo://resource/dynamic/text/{resourceId}"
TOOLS_FOR_ALL = {
    "echo",
    "get-sum",
    "get-structured-content",
    "get-tiny-image",
    "trigger-long-running-operation",
}


async def elicit(params: JSONObject) -> JSONObject:
    schema = params["requestedSchema"]
    assert isinstance(schema, dict)
    requested = schema["properties"]
    assert isinstance(requested, dict)
    if "interpretation" in requested:
        return {"action": "accept", "content": {"interpretation": "snake"}}
    return {"action": "decline"}


async def sample(params: JSONObject) -> JSONObject:
    return {"role": "assistant", "content": {"type": "text", "text": "by a person"}, "model": "by hand"}


async def list_roots(params: JSONObject) -> JSONObject:
    return {"roots": [{"uri": "file:///somewhere", "name": "somewhere"}]}


ANSWERERS = {"elicitation/create": elicit, "sampling/createMessage": sample, "roots/list": list_roots}


@pytest.fixture(scope="module", params=["stdio", "streamableHttp", "sse"])
def entry(request: pytest.FixtureRequest, node_modules: Path) -> Iterator[Entry]:
    """The transport is not given: a URL may be of either kind."""
    script = str(node_modules / "server-everything/dist/index.js")
    if request.param == "stdio":
        yield StdioEntry(name="everything", command="node", args=(script, "stdio"))
        return
    path = "sse" if request.param == "sse" else "mcp"
    with ExitStack() as stack:
        port = free_port()
        stack.enter_context(listening(["node", script, request.param], r"on port (\d+)", {"PORT": str(port)}))
        yield HttpEntry(name="everything", url=f"http://127.0.0.1:{port}/{path}")


@pytest.fixture
async def everything(entry: Entry, short_stdin_grace: None) -> AsyncIterator[Visit]:
    async with visiting(entry, ANSWERERS) as visit:
        yield visit


async def test_handshake_is_used_after_the_stateless_probe_fails(everything: Visit) -> None:
    negotiated = everything.negotiated
    assert (negotiated.era, negotiated.revision.date) == (Era.SESSION, "2025-11-25")
    assert negotiated.server.name == "mcp-servers/everything"
    assert {"tools", "resources", "prompts", "completions", "logging", "tasks"} <= set(
        negotiated.capabilities
    )


async def test_everything_the_server_offers_is_listed(everything: Visit) -> None:
    assert set(await everything.tools()) >= TOOLS_FOR_ALL
    assert "demo://resource/static/document/architecture.md" in await everything.resources()
    assert await everything.templates() == [TEXT, "demo://resource/dynamic/blob/{resourceId}"]
    assert await everything.prompts() == [
        "simple-prompt",
        "args-prompt",
        "completable-prompt",
        "resource-prompt",
    ]


async def test_tools_give_their_results(everything: Visit) -> None:
    assert await everything.text("echo", message="grüß dich") == "Echo: grüß dich"
    assert await everything.text("get-sum", a=2, b=40) == "The sum of 2 and 40 is 42."
    refused = await everything.call("get-sum", a="two", b=40)
    assert refused.kind is OutcomeKind.TOOL_ERROR


async def test_resources_are_read_as_text_and_as_bytes(everything: Visit) -> None:
    assert (await everything.read("demo://resource/static/document/architecture.md")).startswith(b"#")
    assert b"Resource 7" in await everything.read("demo://resource/dynamic/text/7")
    assert b"Resource 7" in await everything.read("demo://resource/dynamic/blob/7")


async def test_prompts_are_filled_in_and_their_arguments_completed(everything: Visit) -> None:
    assert await everything.prompt("args-prompt", city="Ulm") == ["What's weather in Ulm?"]
    prompt: JSONObject = {"type": "ref/prompt", "name": "completable-prompt"}
    assert await everything.complete(prompt, "department", "S") == ("Sales", "Support")
    assert await everything.complete(prompt, "name", "", department="Sales") == ("David", "Eve", "Frank")


async def test_progress_arrives_step_by_step(everything: Visit) -> None:
    steps: list[ProgressReceived] = []
    text = await everything.text("trigger-long-running-operation", steps.append, duration=0.4, steps=4)
    assert [(step.progress, step.total) for step in steps] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert text == "Long running operation completed. Duration: 0.4 seconds, Steps: 4."


async def test_cancelled_call_is_reported_and_others_continue(everything: Visit) -> None:
    await everything.cancel_midway("trigger-long-running-operation", duration=3, steps=30)
    await everything.recorded(lambda: everything.reported("notifications/cancelled"))
    assert await everything.text("echo", message="still here") == "Echo: still here"


async def test_update_of_a_subscribed_resource_is_received(everything: Visit) -> None:
    await everything.client.subscribe("demo://resource/dynamic/text/1")
    await everything.text("toggle-subscriber-updates")
    update = await everything.received("notifications/resources/updated")
    assert update == {"uri": "demo://resource/dynamic/text/1"}
    await everything.client.unsubscribe("demo://resource/dynamic/text/1")


async def test_log_messages_are_received_from_the_chosen_level_up(everything: Visit) -> None:
    await everything.client.set_level("debug")
    await everything.text("toggle-simulated-logging")
    assert (await everything.received("notifications/message")).keys() >= {"level", "data"}


async def test_server_requests_are_answered(everything: Visit) -> None:
    assert "by a person" in await everything.text("trigger-sampling-request", prompt="who?", maxTokens=10)
    assert "declined" in await everything.text("trigger-elicitation-request")
    assert "file:///somewhere" in await everything.text("get-roots-list")


async def test_task_requests_input_midway_and_returns_its_result(everything: Visit) -> None:
    arguments: JSONObject = {"topic": "python", "ambiguous": True}
    call = ToolCall("simulate-research-query", arguments, as_task=True)
    outcome = await everything.engine.tool_caller.call(everything.name, call)
    assert (outcome.kind, bool(outcome.task_id)) == (OutcomeKind.RESULT, True)
    assert b"Research Report: python (snake)" in outcome.response


async def test_traffic_has_no_findings(everything: Visit) -> None:
    await everything.tools()
    await everything.text("echo", message="x")
    assert everything.complaints() == []


async def test_disconnecting_ends_the_session(entry: Entry) -> None:
    async with visiting(entry) as visit:
        await visit.tools()
    assert ("DELETE" in visit.http_methods()) == (isinstance(entry, HttpEntry) and entry.url.endswith("/mcp"))
