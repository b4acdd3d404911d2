"""Client capabilities as real servers see them: the current SDK, both shapes and transports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.demo.servers import command
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.client_capabilities import ALL, NOTHING
from inspector.protocol.revisions import Era
from tests.peers.netserver import listening
from tests.peers.visit import Visit, visiting

ERAS = ("auto", "legacy-first")
# Tools that ask, and what they say when they may not.
ASKING = {
    "sampling": ("sampling", {"prompt": "A color?"}),
    "elicit_form": ("elicitation (form)", {}),
    "list_roots": ("roots", {}),
}


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
async def visit(entry: Entry) -> AsyncIterator[Visit]:
    async with visiting(entry, inbox=Inbox()) as visit:
        yield visit


def reported(outcome: CallOutcome) -> str:
    result = json.loads(outcome.response)["result"]
    return "\n".join(block["text"] for block in result["content"])


async def require_refusals(visit: Visit) -> None:
    """Assert that each tool reports the undeclared capability instead of waiting for a reply."""
    for tool, (capability, arguments) in ASKING.items():
        outcome = await visit.engine.tool_caller.call("sdk", ToolCall(tool, {**arguments}))
        assert outcome.kind is OutcomeKind.TOOL_ERROR, (tool, outcome)
        assert capability in reported(outcome)


async def test_server_sees_which_capabilities_are_switched_off(visit: Visit) -> None:
    visit.engine.servers.set_declared("sdk", NOTHING)
    ours = visit.view.client_side
    assert ours is not None
    is_stateless = visit.negotiated.era is Era.STATELESS
    assert ours.differs is not is_stateless
    if not is_stateless:
        assert await visit.text("list_roots") == "The client has no roots."  # as was declared
        await visit.engine.servers.connector.connect("sdk")
    await require_refusals(visit)
    visit.engine.servers.set_declared("sdk", None)
    if not is_stateless:
        await visit.engine.servers.connector.connect("sdk")
    assert await visit.text("list_roots") == "The client has no roots."


async def test_server_gets_the_current_roots(visit: Visit, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        path = tmp_path / folder
        await visit.engine.servers.set_roots("sdk", (str(path),))
        assert await visit.text("list_roots") == f"{path.as_uri()}  {folder}"
    assert visit.reported("notifications/roots/list_changed") is (visit.negotiated.era is Era.SESSION)


async def test_per_call_capabilities_apply_to_that_call_only(visit: Visit) -> None:
    own: JSONObject = ALL.with_member(("roots",), None).members
    outcome = await visit.engine.tool_caller.call("sdk", ToolCall("list_roots", capabilities=own))
    if visit.negotiated.era is Era.STATELESS:
        assert outcome.kind is OutcomeKind.TOOL_ERROR
        assert "roots" in reported(outcome)
    else:
        assert outcome.kind is OutcomeKind.FAILED
        assert "declared once" in outcome.summary
    assert await visit.text("list_roots") == "The client has no roots."
    assert not visit.complaints()
