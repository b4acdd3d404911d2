"""Servers of both shapes over HTTP with the whole engine: routes, sessions, traffic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from inspector.base.errors import ConnectFailed, NeedsLogin
from inspector.config.servers.entries import HttpEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.servers import server as backoff
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.protocol import discovery
from inspector.session import session as session_module
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
        self.lab.engine.servers.add(entry)
        await self.lab.engine.servers.connector.connect("srv")
        negotiated = self.lab.view().negotiated
        assert negotiated is not None
        return f"{negotiated.revision}: {negotiated.description}"

    async def fails_to_connect(self) -> ConnectFailed:
        with pytest.raises(ConnectFailed) as caught:
            await self.connect()
        assert self.lab.view().reason == caught.value.summary
        return caught.value

    async def call(self, tool: str = "x", **arguments: str | int) -> CallOutcome:
        return await self.lab.engine.tool_caller.call("srv", ToolCall(tool, {**arguments}))

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


async def hangs(call: Call) -> None:
    await asyncio.Event().wait()


_ODD_PROBE_RESPONSES = {
    "202": faults.replies(202),
    "200 with HTML": faults.replies(200, faults.HTML, "text/html"),
    "hang": hangs,
    "silent stream": faults.held(asyncio.Event()),
    "reset": faults.drops(),
    "ended stream": faults.stream(response=False),
    "500": faults.replies(500, b"Internal Server Error", "text/plain"),
    "503": faults.replies(503),
    "401": faults.replies(401),
    "401 with a challenge": faults.replies(401, WWW_Authenticate="Bearer"),
    "403": faults.replies(403),
    "-32022 without data": refuses(-32022, "Unsupported protocol version"),
    "-32022 without data in 200": refuses(-32022, "Unsupported protocol version", 200),
}


@pytest.mark.parametrize("fault", _ODD_PROBE_RESPONSES.values(), ids=_ODD_PROBE_RESPONSES.keys())
async def test_server_with_an_odd_response_to_the_probe_only_is_initialized(
    net: Net, server: FaultServer, fault: faults.Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PROBE_TIMEOUT", 0.5)
    server.order("server/discover", fault)
    be_of_the_handshake_era(server, tools={})
    assert (await net.connect()).startswith("2025-11-25: initialize · 2025-11-25 accepted · fallback: it ")
    assert (await net.call()).kind is OutcomeKind.RESULT


async def test_server_that_does_not_respond_to_the_initialized_notification_is_used_and_reported(
    net: Net, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_INITIALIZED_TIMEOUT", 0.2)
    be_of_the_handshake_era(server, tools={})
    server.order("notifications/initialized", hangs)
    await net.connect()
    assert (await net.call()).kind is OutcomeKind.RESULT
    negotiated = net.lab.view().negotiated
    assert negotiated is not None
    assert negotiated.problems == (
        "The server did not accept notifications/initialized within 0.2 s. MCP Lens continues; other clients "
        "may not connect to this server.",
    )


async def test_server_without_sessions_may_respond_404_to_the_initialized_notification(
    net: Net, server: FaultServer
) -> None:
    server.session = ""
    be_of_the_handshake_era(server, tools={})
    server.order("notifications/initialized", faults.replies(404))
    await net.connect()
    assert (await net.call()).kind is OutcomeKind.RESULT


@pytest.mark.parametrize("status", [400, 405, 500])
async def test_server_that_rejects_the_initialized_notification_is_used_and_reported(
    net: Net, server: FaultServer, status: int
) -> None:
    be_of_the_handshake_era(server, tools={})
    server.order("notifications/initialized", faults.replies(status, b"Bad Request"))
    await net.connect()
    assert (await net.call()).kind is OutcomeKind.RESULT
    negotiated = net.lab.view().negotiated
    assert negotiated is not None
    (problem,) = negotiated.problems
    assert f"notifications/initialized with HTTP {status}" in problem
    await server.wait_for("GET")  # the event stream is requested nevertheless


async def test_session_that_is_lost_at_the_initialized_notification_fails(
    net: Net, server: FaultServer
) -> None:
    be_of_the_handshake_era(server)
    server.order("notifications/initialized", faults.replies(404))
    assert (await net.fails_to_connect()).summary == SESSION_LOST


async def test_required_login_is_reported(net: Net, server: FaultServer) -> None:
    for method in ("server/discover", "initialize"):
        server.order(method, faults.replies(401))
    error = await net.fails_to_connect()
    assert isinstance(error, NeedsLogin)
    assert net.lab.view().status is ServerStatus.NEEDS_LOGIN
    assert [call.key for call in server.calls] == ["server/discover", "initialize"]


@pytest.mark.parametrize("status", [500, 503])
async def test_outage_is_reported(net: Net, server: FaultServer, status: int) -> None:
    for method in ("server/discover", "initialize"):
        server.order(method, faults.replies(status, b"down for repair", "text/plain"))
    error = await net.fails_to_connect()
    assert f"HTTP {status}" in error.summary
    assert [call.key for call in server.calls] == ["server/discover", "initialize"]


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


def findings(net: Net) -> list[tuple[RecordKind, str]]:
    return [(row.kind, row.problem) for row in net.lab.rows() if row.problem]


_ODD_CALL_RESPONSES: list[tuple[faults.Fault, list[tuple[RecordKind, str]]]] = [
    (faults.good, []),
    (faults.stream(), []),
    (
        faults.replies_with(lambda call: call.response(), content_type=SSE_TYPE),
        [(RecordKind.HTTP, "the content type is text/event-stream, but the body is JSON")],
    ),
    (
        faults.replies_with(lambda call: faults.event(call.response())),
        [(RecordKind.HTTP, "the content type is application/json, but the body is an event stream")],
    ),
    (
        faults.replies_with(lambda call: call.response(), content_type="text/plain"),
        [(RecordKind.HTTP, "the content type of a message must be application/json; it is “text/plain”")],
    ),
    (
        faults.replies_with(lambda call: call.response(), content_type=""),
        [(RecordKind.HTTP, "the content type of a message must be application/json; it is missing")],
    ),
    (
        faults.stream(faults.event(b"{}", name="tick")),
        [
            (RecordKind.SSE, "the event type “tick” is unknown: clients only read “message” events"),
            (RecordKind.INVALID, '"jsonrpc" must be "2.0"'),
        ],
    ),
    (
        faults.replies_with(lambda call: b"[" + call.response() + b"]"),
        [(RecordKind.BATCH, "a batch of 1 item, which 2025-11-25 does not allow: response with ID 3")],
    ),
    (
        faults.replies_with(lambda call: b"[%s,%s]" % (call.response(id=77), call.response())),
        [
            (
                RecordKind.BATCH,
                "a batch of 2 items, which 2025-11-25 does not allow: response with ID 77, response with "
                "ID 3; item 1: response without a matching request (ID 77)",
            )
        ],
    ),
    (
        faults.replies_with(lambda call: call.response(), 202),
        [(RecordKind.HTTP, "a response must have the HTTP status 200, not 202")],
    ),
]


@pytest.mark.parametrize(("fault", "found"), _ODD_CALL_RESPONSES)
async def test_response_that_clients_would_reject_is_used_and_reported(
    net: Net, server: FaultServer, fault: faults.Fault, found: list[tuple[RecordKind, str]]
) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()
    server.order("tools/call", fault)
    assert (await net.call()).kind is OutcomeKind.RESULT
    assert findings(net) == found


@pytest.mark.parametrize("session", ["ses sion", "s\xe9ance", "tab\tbed"])
async def test_session_id_with_other_characters_is_reported(
    net: Net, server: FaultServer, session: str
) -> None:
    server.session = session
    server.order("server/discover", refuses(-32601, "Method not found", 404))
    await net.connect()
    assert findings(net) == [(RecordKind.HTTP, "Mcp-Session-Id must have visible ASCII characters only")]


async def test_rejection_with_a_message_says_when_to_retry(net: Net, server: FaultServer) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()

    async def rejects(call: Call) -> None:
        body = faults.failure(call, code=-32000, message="slow down")
        await call.reply(429, body, JSON_TYPE, Retry_After="30")

    server.order("tools/call", rejects)
    outcome = await net.call()
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "-32000 (server error): slow down")
    assert outcome.next_step == "The server asks to retry after 30 s."


async def test_event_stream_without_a_response_says_what_it_had_instead(
    net: Net, server: FaultServer
) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()
    server.order("tools/call", faults.stream(faults.event(b"hello"), response=False))
    outcome = await net.call()
    assert outcome.summary == (
        "The event stream of tools/call ended before the response, and its events had no IDs to resume from. "
        "Instead the server sent text that is not JSON-RPC: “hello”."
    )
    assert outcome.next_step.startswith("The server must send JSON-RPC messages only. Check what is behind")


async def test_two_messages_in_one_event_are_explained_without_advice_about_lines(
    net: Net, server: FaultServer
) -> None:
    be_of_the_handshake_era(server, tools={})
    await net.connect()

    async def both(call: Call) -> None:
        await call.reply(200, faults.event(faults.notice() + call.response()), SSE_TYPE)

    server.order("tools/call", both)
    outcome = await net.call()
    assert outcome.summary.endswith("the server sent 2 messages in one line.")
    assert outcome.next_step.startswith("Send each message separately, and nothing else with it. See message")


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
    await net.lab.engine.servers.connector.disconnect("srv")
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
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "-32602 (invalid params): bad meta")
    (row,) = net.sent("tools/call")
    assert row.status is Status.ERROR
    assert row.partner is not None
