"""Session and stateless servers in one engine: notifications, timeouts, unusable entries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, ConnectFailed, ConnectionLost
from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import HttpEntry, NetworkSettings, StdioEntry, Timeouts
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.servers import server as server_module
from inspector.engine.settings import SettingsStore
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.client_capabilities import NOTHING
from inspector.protocol.discovery import StatelessOnly
from inspector.protocol.handshake import ClientProfile, InitializeHandshake
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R5
from inspector.session.state import Route
from inspector.traffic.records import RecordKind
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import INITIALIZED, LoopTime, MemoryWire
from tests.helpers.servers import server_views, timeouts

PROFILE = ClientProfile("lens", "Lens", "0", NOTHING)
ENTRY = StdioEntry(name="srv", command="x")
STREAM = "io.modelcontextprotocol/subscriptionId"


class Post:
    """An engine with one in-memory server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, settings: SettingsStore | None = None) -> None:
        self.wire = MemoryWire()
        self.is_stateless = True
        self.engine = Engine(settings=settings or timeouts(15, 10, 25))
        self.changes: list[tuple[str, str]] = []
        self.engine.list_changed.connect(lambda server, kind: self.changes.append((server, kind)))
        monkeypatch.setattr(server_module, "make_routes", lambda *_: (self._route(),))

    def _route(self) -> Route:
        def negotiate() -> StatelessOnly | InitializeHandshake:
            return StatelessOnly(PROFILE, True, R5) if self.is_stateless else InitializeHandshake(PROFILE)

        return Route(self._make_wire, negotiate, PROFILE, closes_to_cancel=True)

    def _make_wire(self) -> MemoryWire:
        self.wire = MemoryWire()
        return self.wire

    async def connect(self, entry: StdioEntry = ENTRY, **offered: JSON) -> None:
        self.engine.servers.add(entry)
        connecting = asyncio.get_running_loop().create_task(self.engine.servers.connector.connect(entry.name))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # the session creates its transport
        request = await self.wire.next()
        discovered: JSONObject = {"supportedVersions": ["2026-07-28"], "capabilities": offered}
        result = discovered if self.is_stateless else {**INITIALIZED, "capabilities": offered}
        self.wire.show_message(id=request["id"], result=result)
        await connecting

    def notify(self, method: str, stream: JSONObject, **params: JSON) -> None:
        meta: JSONObject = {STREAM: stream["id"]}
        self.wire.show_message(method=f"notifications/{method}", params={**params, "_meta": meta})


@pytest.fixture
async def post(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Post]:
    post = Post(monkeypatch)
    yield post
    await post.engine.close()


async def test_list_change_on_a_stream_reaches_the_view(post: Post) -> None:
    await post.connect(tools={"listChanged": True}, prompts={"listChanged": True})
    stream = await post.wire.next()
    assert stream["method"] == "subscriptions/listen"
    received: JSONObject = {"toolsListChanged": True, "promptsListChanged": True}
    post.notify("subscriptions/acknowledged", stream, notifications=received)
    post.notify("tools/list_changed", stream)
    post.notify("prompts/list_changed", stream)
    assert post.changes == [("srv", "tools"), ("srv", "prompts")]


async def test_after_a_gap_every_subscribed_list_counts_as_changed(post: Post) -> None:
    await post.connect(tools={"listChanged": True}, resources={"listChanged": True})
    await post.wire.next()
    time = LoopTime()
    request = read(post.engine.log.find("srv", RecordKind.REQUEST)[-1].raw)
    post.wire.happen(RequestFailed(request, ConnectionLost("It is incomplete.", ""), 0))
    await time.advance(0)
    await time.advance(1.1)
    stream = await post.wire.next()
    assert post.changes == []
    post.notify("subscriptions/acknowledged", stream, notifications={})
    assert post.changes == [("srv", "tools"), ("srv", "resources")]


async def test_session_server_sends_change_notifications_unasked(post: Post) -> None:
    post.is_stateless = False
    await post.connect(tools={"listChanged": True})
    assert (await post.wire.next())["method"] == "notifications/initialized"
    post.wire.show_message(method="notifications/tools/list_changed")
    assert post.changes == [("srv", "tools")]
    assert post.wire.sends_nothing()


@pytest.mark.parametrize(
    ("timeouts", "limit"),
    [
        (Timeouts(), 10),
        (Timeouts(request=3), 3),
        (Timeouts(request=60), 25),  # the total timeout of the settings
        (Timeouts(request=60, total=100), 60),
        (Timeouts(total=2), 2),
    ],
)
async def test_server_may_have_its_own_timeouts(post: Post, timeouts: Timeouts, limit: float) -> None:
    await post.connect(replace(ENTRY, timeouts=timeouts), tools={})
    time = LoopTime()
    call = asyncio.get_running_loop().create_task(post.engine.tool_caller.call("srv", ToolCall("x")))
    await post.wire.next()
    await time.advance(limit - 0.1)
    assert not call.done()
    await time.advance(0.2)
    outcome = await call
    assert outcome.kind is OutcomeKind.FAILED
    assert "did not respond to tools/call within" in outcome.summary


async def test_server_may_have_its_own_connection_timeout(post: Post) -> None:
    post.engine.servers.add(replace(ENTRY, timeouts=Timeouts(connect=2)))
    time = LoopTime()
    connecting = asyncio.get_running_loop().create_task(post.engine.servers.connector.connect("srv"))
    await time.advance(0)
    await time.advance(2.1)
    with pytest.raises(ConnectFailed, match="Timed out after 2 s"):
        await connecting


@pytest.mark.parametrize(("own", "needs_input"), [(None, True), (0, False), (60, False)])
async def test_keep_alive_can_be_disabled_for_one_server(
    monkeypatch: pytest.MonkeyPatch, own: float | None, needs_input: bool
) -> None:
    post = Post(monkeypatch, SettingsStore(defaults={"connections.keepAlive": 30}))
    await post.connect(replace(ENTRY, timeouts=Timeouts(keep_alive=own)))
    time = LoopTime()
    await time.advance(0)
    await time.advance(31)
    assert post.wire.sends_nothing() is not needs_input
    await post.engine.close()


async def test_one_unusable_entry_is_reported_and_blocks_no_other(tmp_path: Path) -> None:
    server_list = ServerListFile(tmp_path / "servers.json")
    server_list.path.write_text(
        '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "era": "soon"},'
        ' "c": {"url": "https://x", "type": "sse", "era": "2026-07-28"}, "d": {"url": "ws://x"}}}'
    )
    engine = Engine(server_list)
    problems: list[str] = []
    engine.servers.problem_found.connect(problems.append)
    engine.servers.load()
    assert [(view.name, view.status) for view in server_views(engine)] == [
        ("a", ServerStatus.IDLE),
        ("d", ServerStatus.IDLE),
    ]
    bad_era, no_such_way = problems
    assert bad_era.startswith("servers.json, server 'b': era: unknown value 'soon'. Use “auto”")
    assert no_such_way.startswith("Server 'c' is set to 2026-07-28 over HTTP+SSE")
    await engine.close()


async def test_server_that_cannot_be_added_is_not_saved_either(tmp_path: Path) -> None:
    server_list = ServerListFile(tmp_path / "servers.json")
    engine = Engine(server_list)
    with pytest.raises(ConfigError, match="has an unknown protocol version: 'soon'"):
        engine.servers.save(StdioEntry(name="a", command="x", era="soon"))
    assert engine.servers.all() == ()
    assert not server_list.path.exists()
    await engine.close()


async def test_view_says_when_certificates_are_not_verified() -> None:
    engine = Engine()
    unchecked = NetworkSettings(verify=False)
    engine.servers.add(HttpEntry(name="a", url="https://x"))
    engine.servers.add(HttpEntry(name="b", url="https://x", network=unchecked))
    engine.servers.add(StdioEntry(name="c", command="x"))
    assert [(view.name, view.is_verified) for view in server_views(engine)] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    await engine.close()
