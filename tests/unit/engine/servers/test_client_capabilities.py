"""Declared client capabilities and what servers may request, changed while connected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.server_view import ClientSide
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.client_capabilities import ALL, NOTHING, ClientCapabilities, exact_capabilities
from inspector.protocol.handshake import CLIENT_CAPABILITIES_KEY
from inspector.protocol.revisions import R1, R3, R4, R5, Revision
from inspector.protocol.server_requests.request import RequestEnd
from tests.helpers.fakes import INITIALIZED
from tests.unit.engine.inbox.inbox_stage import ACCEPT, ASK, DONE, SAMPLE, InboxStage, Peer, settle

LIST_CHANGED = "notifications/roots/list_changed"
QUIET = ALL.with_member(("sampling",), None)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()


def ours(stage: InboxStage) -> ClientSide:
    side = stage.engine.servers.get("srv").view.client_side
    assert side is not None
    return side


def declared_by(request: dict[str, Any]) -> JSONObject:
    """Return the capabilities that a stateless request declares."""
    return request["params"]["_meta"][CLIENT_CAPABILITIES_KEY]  # type: ignore[no-any-return]


async def reconnect(stage: InboxStage, peer: Peer) -> JSONObject:
    """Reconnect with a handshake and return the declared capabilities."""
    connecting = stage.start(stage.engine.servers.connector.connect("srv"))
    await settle()
    offered: JSONObject = {"tools": {}}
    reported = {**INITIALIZED, "protocolVersion": peer.revision.date, "capabilities": offered}
    request = await peer.reply(**reported)
    await connecting
    assert (await peer.next())["method"] == "notifications/initialized"
    return request["params"]["capabilities"]  # type: ignore[no-any-return]


def call_with(stage: InboxStage, call: ToolCall) -> asyncio.Task[CallOutcome]:
    return stage.start(stage.engine.tool_caller.call("srv", call))


@pytest.mark.parametrize("revision", [R1, R3, R4])
async def test_session_declares_once_and_a_change_needs_a_reconnect(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision, era=revision.date)
    assert (ours(stage).sent, ours(stage).is_default) == (ALL.capabilities(revision), True)
    assert not ours(stage).differs
    stage.engine.servers.set_declared("srv", QUIET)
    assert ours(stage).sent == ALL.capabilities(revision)
    assert ours(stage).differs
    peer.ask("sampling/createMessage", SAMPLE)  # declared on this connection
    assert (await stage.inbox_request()).input_requests[0].method == "sampling/createMessage"
    assert await reconnect(stage, peer) == QUIET.capabilities(revision)
    assert (ours(stage).sent, ours(stage).differs) == (QUIET.capabilities(revision), False)
    peer.ask("sampling/createMessage", SAMPLE)
    assert (await peer.next())["error"]["code"] == -32601
    assert stage.seen[-1].end is RequestEnd.REFUSED


async def test_stateless_change_is_declared_with_the_next_request(stage: InboxStage) -> None:
    peer = await stage.connect(R5, era=R5.date)
    call = stage.call()
    assert declared_by(await peer.reply(**DONE)) == ALL.capabilities(R5)
    await call
    stage.engine.servers.set_declared("srv", QUIET)
    assert (ours(stage).sent, ours(stage).differs) == (QUIET.capabilities(R5), False)
    call = stage.call()
    sampling: JSONObject = {"method": "sampling/createMessage", "params": SAMPLE}
    assert declared_by(await peer.ask_in_result(None, q=sampling)) == QUIET.capabilities(R5)
    outcome = await call
    assert outcome.kind is OutcomeKind.FAILED
    assert "did not declare sampling" in outcome.summary
    listing = stage.start(stage.engine.list_tools("srv"))  # every request, not only calls
    assert declared_by(await peer.reply(tools=[])) == QUIET.capabilities(R5)
    await listing


async def test_a_change_while_connecting_is_not_lost(stage: InboxStage) -> None:
    peer = stage._peers["srv"] = Peer("srv", R5)
    stage.engine.servers.add(StdioEntry(name="srv", command="x", era=R5.date))
    connecting = stage.start(stage.engine.servers.connector.connect("srv"))
    await settle()
    stage.engine.servers.set_declared("srv", NOTHING)
    offered: JSONObject = {"tools": {}}
    discover = await peer.reply(supportedVersions=[R5.date], capabilities=offered)
    await connecting
    assert declared_by(discover) == ALL.capabilities(R5)
    assert (ours(stage).sent, ours(stage).differs) == ({}, False)
    call = stage.call()
    assert declared_by(await peer.reply(**DONE)) == {}
    await call


async def test_user_written_capabilities_are_sent_verbatim(stage: InboxStage) -> None:
    odd: JSONObject = {"sampling": True, "tasks": {"list": {}}, "x": [1.5, None]}
    peer = await stage.connect(R1, era=R1.date)
    stage.engine.servers.set_declared("srv", exact_capabilities(odd))
    assert await reconnect(stage, peer) == odd
    stage.engine.servers.set_declared("srv", None)
    assert ours(stage).is_default
    assert await reconnect(stage, peer) == ALL.capabilities(R1)


@pytest.mark.parametrize(
    ("path", "method", "params", "code"),
    [
        (("sampling", "tools"), "sampling/createMessage", {**SAMPLE, "tools": []}, -32602),
        (("elicitation", "url"), "elicitation/create", {"mode": "url", "message": "m", "url": "u"}, -32602),
        (("elicitation", "form"), "elicitation/create", ASK, -32602),
        (("roots",), "roots/list", {}, -32601),
    ],
)
async def test_undeclared_request_is_rejected_with_the_protocol_error(
    stage: InboxStage, path: tuple[str, ...], method: str, params: JSONObject, code: int
) -> None:
    declared = ALL.with_member(path, None)
    peer = await stage.connect(R4, capabilities=declared.members)
    peer.ask(method, params)
    assert (await peer.next())["error"]["code"] == code
    assert stage.seen[-1].end is RequestEnd.REFUSED


async def test_per_call_capabilities_may_differ(stage: InboxStage) -> None:
    peer = await stage.connect(R5)
    own: JSONObject = {"elicitation": {"form": {}}}
    call = call_with(stage, ToolCall("greet", capabilities=own))
    form: JSONObject = {"method": "elicitation/create", "params": ASK}
    assert declared_by(await peer.ask_in_result("s", q=form)) == own
    stage.reply(await stage.inbox_request(), ACCEPT, "q")
    assert declared_by(await peer.reply(**DONE)) == own  # in later rounds too
    assert (await call).kind is OutcomeKind.RESULT
    call = call_with(stage, ToolCall("greet", capabilities={}))
    await peer.ask_in_result("s", q=form)
    assert "did not declare elicitation" in (await call).summary
    call = stage.call()
    assert declared_by(await peer.reply(**DONE)) == ALL.capabilities(R5)  # only for that call
    await call


@pytest.mark.parametrize("reported", [{}, {"roots": {}}])
async def test_capabilities_in_user_written_meta_decide_what_may_be_asked(
    stage: InboxStage, reported: JSONObject
) -> None:
    peer = await stage.connect(R5)
    call = call_with(stage, ToolCall("greet", meta={CLIENT_CAPABILITIES_KEY: reported}))
    form: JSONObject = {"method": "elicitation/create", "params": ASK}
    assert declared_by(await peer.ask_in_result("s", q=form)) == reported
    assert "did not declare elicitation" in (await call).summary


async def test_session_capabilities_cannot_change_for_one_call_and_nothing_is_sent(stage: InboxStage) -> None:
    peer = await stage.connect(R4)
    outcome = await call_with(stage, ToolCall("greet", capabilities={}))
    assert outcome.kind is OutcomeKind.FAILED
    assert "2025-11-25" in outcome.summary
    assert "Client tab" in outcome.next_step
    assert peer.wire.sends_nothing()


async def test_roots_change_while_connected_and_the_server_is_notified(
    stage: InboxStage, tmp_path: Path
) -> None:
    peer = await stage.connect(R4)
    peer.ask("roots/list", {})
    assert (await peer.next())["result"] == {"roots": []}
    await stage.engine.servers.set_roots("srv", (str(tmp_path), "file:///x"))
    assert (await peer.next())["method"] == LIST_CHANGED
    peer.ask("roots/list", {})
    assert (await peer.next())["result"] == {
        "roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}, {"uri": "file:///x", "name": "x"}]
    }
    assert ours(stage).roots == (str(tmp_path), "file:///x")
    assert not ours(stage).differs


@pytest.mark.parametrize(
    ("revision", "declared"),
    [(R4, ALL.with_member(("roots", "listChanged"), None)), (R4, NOTHING), (R5, ALL)],
)
async def test_roots_change_is_not_notified_unless_declared(
    stage: InboxStage, revision: Revision, declared: ClientCapabilities
) -> None:
    peer = await stage.connect(revision, capabilities=declared.members)
    await stage.engine.servers.set_roots("srv", ("/x",))
    await settle()
    assert peer.wire.sends_nothing()


async def test_roots_in_a_result_are_the_current_ones(stage: InboxStage) -> None:
    peer = await stage.connect(R5, roots=("/before",))
    await stage.engine.servers.set_roots("srv", ("/after",))
    call = stage.call()
    await peer.ask_in_result("s", dirs={"method": "roots/list"})
    responses = (await peer.reply(**DONE))["params"]["inputResponses"]
    assert responses == {"dirs": {"roots": [{"uri": "file:///after", "name": "after"}]}}
    await call


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[tuple[Engine, Path]]:
    path = tmp_path / "servers.json"
    engine = Engine(ServerListFile(path), inbox=Inbox())
    engine.servers.save(StdioEntry(name="srv", command="x"))
    yield engine, path
    await engine.close()


async def test_choice_is_saved_in_the_server_list(kept: tuple[Engine, Path]) -> None:
    engine, path = kept

    def written() -> JSONObject:
        server: JSONObject = json.loads(path.read_text())["mcpServers"]["srv"]
        return server

    plain = written()
    engine.servers.set_declared("srv", QUIET)
    await engine.servers.set_roots("srv", ("/a", "~/b"))
    assert written() == {**plain, "capabilities": QUIET.members, "roots": ["/a", "~/b"]}
    odd: JSONObject = {"x": {"ten": 1, "none": None}, "sampling": True}
    engine.servers.set_declared("srv", exact_capabilities(odd))
    assert written()["capabilities"] == odd
    (entry,) = ServerListFile(path).load().entries
    assert (entry.capabilities, entry.exact_capabilities, entry.roots) == (odd, True, ("/a", "~/b"))
    engine.servers.set_declared("srv", None)
    (entry,) = ServerListFile(path).load().entries
    assert (entry.capabilities, entry.exact_capabilities) == (None, False)


async def test_change_that_cannot_be_saved_does_not_take_effect(kept: tuple[Engine, Path]) -> None:
    engine, path = kept
    path.write_text("no JSON")
    with pytest.raises(ConfigError):
        engine.servers.set_declared("srv", NOTHING)
    with pytest.raises(ConfigError):
        await engine.servers.set_roots("srv", ("/a",))
    side = engine.servers.get("srv").view.client_side
    assert side is not None
    assert (side.declared, side.roots) == (ALL, ())


@pytest.mark.parametrize("capabilities", [[], "all", 7])
def test_non_object_capabilities_are_reported(tmp_path: Path, capabilities: object) -> None:
    path = tmp_path / "servers.json"
    server = {"command": "x", "capabilities": capabilities}
    path.write_text(json.dumps({"mcpServers": {"a": server, "b": {"command": "y", "capabilities": {}}}}))
    loaded = ServerListFile(path).load()
    assert [entry.name for entry in loaded.entries] == ["b"]
    assert "'a'" in loaded.problems[0]
    assert "capabilities" in loaded.problems[0]
