"""Servers of both shapes over HTTP with the whole engine: routes, sessions, traffic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from inspector.base.errors import ConnectFailed, NeedsLogin
from inspector.config.servers.entries import HttpEntry
from inspector.engine.servers import server as backoff
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.traffic.records import Record, RecordKind, Status
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import JSON_TYPE, SSE_TYPE, Call, FaultServer
from tests.helpers.servers import Lab

SESSION_LOST = "The server no longer recognizes this session (HTTP 404)."
STREAM = "io.modelcontextprotocol/subscriptionId"


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        yield server


class Net:
    """An engine and one server over HTTP."""

    def __init__(self, lab: Lab, server: FaultServer) -> None:
        self.lab, self.server = lab, server

    async def connect(self, *, auto_restart: bool = False, type: Any = "auto") -> str:
        """Connect; return the protocol version and how it was negotiated."""
        entry = HttpEntry(name="srv", url=self.server.url(), auto_restart=auto_restart, type=type)
        self.lab.engine.add(entry)
        await self.lab.engine.connect("srv")
        negotiated = self.lab.view().negotiated
        assert negotiated is not None
        return f"{negotiated.revision}: {negotiated.description}"

    async def fails_to_connect(self) -> ConnectFailed:
        with pytest.raises(ConnectFailed) as caught:
            await self.connect()
        assert self.lab.view().reason == caught.value.summary
        return caught.value

    async def call(self, tool: str = "x", **arguments: str | int) -> CallOutcome:
        return await self.lab.engine.call_tool("srv", tool, {**arguments})

    def sent(self, method: str) -> list[Record]:
        return [row for row in self.lab.rows(RecordKind.REQUEST) if row.method == method]


@pytest.fixture
async def net(lab: Lab, server: FaultServer) -> AsyncIterator[Net]:
    """Closed before its server: a client must not outlive what it waits for."""
    yield Net(lab, server)
    await lab.engine.close()


def responses(**result: Any) -> faults.Fault:
    return faults.replies_with(lambda call: call.response(result=result))


def refuses(code: int, message: str, status: int = 400) -> faults.Fault:
    return faults.replies_with(lambda call: faults.failure(call, code=code, message=message), status)


def be_of_the_handshake_era(server: FaultServer, **capabilities: Any) -> None:
    """Act as a server that does not know the probe and has these capabilities."""
    server.order("server/discover", *[refuses(-32601, "Method not found", 404)] * 3)
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "old", "version": "1"},
    }

    async def initialize(call: Call) -> None:
        await call.reply(200, call.response(result=result), JSON_TYPE, Mcp_Session_Id=call.server.session)

    server.order("initialize", *[initialize] * 3)


def be_stateless(server: FaultServer, **capabilities: Any) -> None:
    server.order("server/discover", responses(supportedVersions=["2026-07-28"], capabilities=capabilities))


async def test_stateless_server_is_detected_by_its_probe_response(net: Net, server: FaultServer) -> None:
    be_stateless(server)
    assert (await net.connect()).startswith("2026-07-28: server/discover · 2026-07-28 accepted")
    assert [call.key for call in server.calls] == ["server/discover"]


async def test_older_server_is_initialized_without_the_probe_headers(net: Net, server: FaultServer) -> None:
    be_of_the_handshake_era(server)
    how = "initialize · 2025-11-25 accepted · fallback: it responded to server/discover with"
    assert (await net.connect()).startswith(f"2025-11-25: {how}")
    probe, initialize = server.calls[0], server.called("initialize")[0]
    assert probe.headers["mcp-protocol-version"] == "2026-07-28"
    assert "mcp-protocol-version" not in initialize.headers
    assert "mcp-method" not in initialize.headers


async def test_required_login_is_reported_without_fallback(net: Net, server: FaultServer) -> None:
    server.order("server/discover", faults.replies(401))
    error = await net.fails_to_connect()
    assert isinstance(error, NeedsLogin)
    assert net.lab.view().status is ServerStatus.NEEDS_LOGIN
    assert [call.key for call in server.calls] == ["server/discover"]


@pytest.mark.parametrize("status", [500, 503])
async def test_outage_is_reported_without_fallback(net: Net, server: FaultServer, status: int) -> None:
    server.order("server/discover", faults.replies(status, b"down for repair", "text/plain"))
    error = await net.fails_to_connect()
    assert f"HTTP {status}" in error.summary
    assert [call.key for call in server.calls] == ["server/discover"]


async def test_server_from_2024_is_reached_over_its_own_transport(net: Net, server: FaultServer) -> None:
    events: asyncio.Queue[bytes] = asyncio.Queue()

    async def stream(call: Call) -> None:
        await call.start(200, SSE_TYPE)
        await call.chunk(faults.event(b"/messages?s=1", name="endpoint"))
        while True:
            await call.chunk(faults.event(await events.get(), name="message"))

    def description(**result: Any) -> Callable[[Call], Awaitable[None]]:
        async def fault(call: Call) -> None:
            events.put_nowait(call.response(result=result))
            await call.reply(202)

        return fault

    server.order("server/discover", faults.replies(405))
    server.order(
        "initialize",
        faults.replies(405),
        description(protocolVersion="2024-11-05", capabilities={"tools": {}}, serverInfo={"name": "o"}),
    )
    server.order("GET", stream)
    server.order("tools/call", description(content=[{"type": "text", "text": "from 2024"}]))
    assert (await net.connect()).startswith("2024-11-05")
    assert await net.lab.text("x") == "from 2024"
    assert server.called("tools/call")[0].path == "/messages?s=1"
    (note,) = (row.raw for row in net.lab.rows(RecordKind.LOCAL) if b"older transport" in row.raw)
    assert b"405" in note


async def test_explicit_transport_disables_the_fallback_to_the_older_one(
    net: Net, server: FaultServer
) -> None:
    server.order("server/discover", faults.replies(405))
    server.order("initialize", faults.replies(405))
    with pytest.raises(ConnectFailed, match="405"):
        await net.connect(type="http")
    assert "GET" not in [call.method for call in server.calls]


async def test_lost_session_fails_the_call_and_a_new_one_starts(net: Net, server: FaultServer) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()
    server.order("tools/call", faults.replies(404))
    server.session = "s-2"
    outcome = await net.call()
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary == SESSION_LOST
    await net.lab.until(ServerStatus.RECONNECTING)
    await net.lab.until(ServerStatus.CONNECTED)
    assert (await net.call()).kind is OutcomeKind.RESULT
    assert server.called("tools/call")[-1].headers["mcp-session-id"] == "s-2"
    assert "mcp-session-id" not in server.called("initialize")[-1].headers


async def test_new_session_starts_automatically_when_configured(
    net: Net, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "_FIRST_DELAY", 0.01)
    be_of_the_handshake_era(server, tools={})
    await net.connect(auto_restart=True)
    server.order("tools/call", faults.replies(404))
    server.session = "s-2"
    await net.call()
    await server.wait_for("initialize", 2)
    await asyncio.wait_for(net.lab.until(ServerStatus.CONNECTED), 30)
    assert len(server.called("tools/call")) == 1  # nothing is sent again by itself
    assert (await net.call()).kind is OutcomeKind.RESULT


async def test_batched_responses_are_accepted(net: Net, server: FaultServer) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()
    notice = faults.notice(level="info", data="x")
    server.order(
        "tools/call", faults.replies_with(lambda call: b"[%s,%s]" % (notice, call.response("in one")))
    )
    assert await net.lab.text("x") == "in one"


async def test_arguments_are_mirrored_and_a_stale_schema_is_refetched_once(
    net: Net, server: FaultServer
) -> None:
    be_stateless(server, tools={})
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    broken = {"type": "object", "properties": {"region": {"type": "number", "x-mcp-header": "Region"}}}
    tools = [{"name": "x", "inputSchema": schema}, {"name": "broken", "inputSchema": broken}]
    server.order("tools/list", responses(tools=tools))
    server.order("tools/call", refuses(-32020, "Mcp-Param-Region is missing"))
    await net.connect()
    outcome = await net.call(region="eu-1")
    assert outcome.kind is OutcomeKind.RESULT
    keys = [call.key for call in server.calls]
    assert keys == ["server/discover", "tools/call", "tools/list", "tools/call"]
    first, second = server.called("tools/call")
    assert "mcp-param-region" not in first.headers
    assert second.headers["mcp-param-region"] == "eu-1"
    assert second.headers["mcp-name"] == "x"
    assert [row.status for row in net.sent("tools/call")] == [Status.ERROR, Status.OK]


async def test_tool_that_cannot_be_mirrored_is_set_apart_with_the_reason(
    net: Net, server: FaultServer
) -> None:
    be_stateless(server, tools={})
    broken = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    server.order("tools/list", responses(tools=[{"name": "good"}, {"name": "bad", "inputSchema": broken}]))
    await net.connect()
    listing = await net.lab.engine.list_tools("srv")
    assert [tool.name for tool in listing.items] == ["good"]
    assert listing.malformed[0].reason.startswith("bad: property “n”: x-mcp-header is only allowed on")


async def test_cancelling_a_call_closes_its_stream_and_sends_no_notification(
    net: Net, server: FaultServer
) -> None:
    be_stateless(server, tools={})
    await net.connect()
    server.hung_up.clear()
    server.order("tools/call", faults.held(asyncio.Event()))
    call = asyncio.get_running_loop().create_task(net.call())
    await server.wait_for("tools/call")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    (row,) = net.sent("tools/call")
    assert row.status is Status.CANCELLED
    await net.lab.engine.disconnect("srv")
    assert [other.key for other in server.calls] == ["server/discover", "tools/call"]


async def test_list_change_on_a_stream_reaches_the_window(net: Net, server: FaultServer) -> None:
    changed = asyncio.Event()
    net.lab.engine.list_changed.connect(lambda server, kind: changed.set() if kind == "tools" else None)

    async def stream(call: Call) -> None:
        meta = {STREAM: call.message["id"]}
        wanted = call.message["params"]["notifications"]
        await call.start(200, SSE_TYPE)
        acknowledged = "notifications/subscriptions/acknowledged"
        await call.chunk(faults.event(faults.notice(acknowledged, _meta=meta, notifications=wanted)))
        await call.chunk(faults.event(faults.notice("notifications/tools/list_changed", _meta=meta)))
        await asyncio.Event().wait()

    be_stateless(server, tools={"listChanged": True})
    server.order("subscriptions/listen", stream)
    await net.connect()
    await asyncio.wait_for(changed.wait(), 30)
    assert server.called("subscriptions/listen")[0].headers["mcp-method"] == "subscriptions/listen"


@pytest.mark.parametrize("in_a_stream", [False, True])
async def test_call_and_response_link_to_the_http_exchange_that_carried_them(
    net: Net, server: FaultServer, in_a_stream: bool
) -> None:
    be_stateless(server, tools={})
    await net.connect()
    if in_a_stream:
        server.order("tools/call", faults.stream(b": are you there\n\n", X_Trace="t-1"))
    outcome = await net.call()
    log = net.lab.engine.log
    assert outcome.row is not None
    response = log.partner(outcome.row)
    assert response is not None
    row = log.exchange(outcome.row)
    assert row is not None
    assert log.exchange(response) == row
    exchange = log.http(response)
    assert exchange is not None
    assert exchange is log.http(row)
    assert (exchange.method, exchange.status, exchange.url) == ("POST", 200, server.url())
    assert dict(exchange.request_headers)["Mcp-Method"] == "tools/call"
    if in_a_stream:
        assert ("x-trace", "t-1") in [(name.lower(), value) for name, value in exchange.response_headers]
        events = [record for record in net.lab.rows(RecordKind.SSE) if record.exchange == row]
        assert events[0].raw == b": are you there"
        assert events[1].raw.startswith(b"event: message")


async def test_error_without_an_id_answers_the_posted_request(net: Net, server: FaultServer) -> None:
    be_stateless(server, tools={})
    await net.connect()
    error = {"jsonrpc": "2.0", "error": {"code": -32602, "message": "bad meta"}}
    server.order("tools/call", faults.replies(400, json.dumps(error).encode(), JSON_TYPE))
    outcome = await net.call()
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "bad meta (-32602)")
    (row,) = net.sent("tools/call")
    assert row.status is Status.ERROR
    assert row.partner is not None
