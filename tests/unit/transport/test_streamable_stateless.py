"""Streamable HTTP in the stateless era: only POSTs, headers that mirror the body, closing cancels."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.protocol.jsonrpc import error_of
from inspector.protocol.revisions import R5
from inspector.transport.base import Envelope, HttpRequested, RequestFailed
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import JSON_TYPE, FaultServer
from tests.helpers.httpstage import Stage, streamable


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="unwanted") as server:
        yield server


@pytest.fixture
async def stage(server: FaultServer) -> AsyncIterator[Stage]:
    async with streamable(server) as stage:
        stage.transport.set_revision(R5)
        yield stage


async def test_headers_mirror_the_message(server: FaultServer, stage: Stage) -> None:
    await stage.call("tools/call", name="grüßen")
    headers = server.calls[0].headers
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"] == "=?base64?Z3LDvMOfZW4=?="


async def test_mirrored_arguments_of_the_envelope_are_sent(server: FaultServer, stage: Stage) -> None:
    envelope = Envelope(headers=(("Mcp-Param-Region", "eu-1"),), tag=42)
    await stage.log.response(await stage.request("tools/call", envelope, name="x"))
    assert server.calls[0].headers["mcp-param-region"] == "eu-1"
    assert stage.log.all(HttpRequested)[0].tag == 42


async def test_session_id_from_the_server_is_ignored(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.stream(Mcp_Session_Id="unwanted"))
    await stage.call()
    await stage.call()
    await stage.transport.close()
    assert all("mcp-session-id" not in call.headers for call in server.calls)
    assert {call.method for call in server.calls} == {"POST"}


async def test_forgetting_a_request_closes_it_and_so_cancels_it(server: FaultServer, stage: Stage) -> None:
    enough = asyncio.Event()
    server.order("tools/call", faults.held(enough))
    request = await stage.request()
    await server.wait_for("tools/call")
    stage.transport.forget(request)
    ended = await stage.log.ended(1)
    assert ended.error == "Closed by MCP Lens: no longer needed."
    assert stage.log.all(RequestFailed) == []
    await stage.call()
    assert [call.key for call in server.calls] == ["tools/call"] * 2  # no cancellation was posted
    enough.set()


async def test_an_unknown_method_is_answered_by_the_body_of_a_404(server: FaultServer, stage: Stage) -> None:
    missing = {"code": -32601, "message": "Method not found"}
    fault = faults.replies_with(lambda call: faults.failure(call, **missing), 404)
    server.order("tools/call", fault)
    assert error_of(await stage.call()).code == -32601
    await stage.call()


async def test_bare_404_is_a_rejection_and_not_a_lost_session(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.replies(404, b"{}", JSON_TYPE))
    assert "HTTP 404" in await stage.fail()
    await stage.call()


@pytest.mark.parametrize("clean", [True, False])
async def test_stream_that_ends_before_the_response_is_lost_even_with_ids(
    server: FaultServer, stage: Stage, clean: bool
) -> None:
    server.order("tools/call", faults.stream(faults.event(b"", id="e-0"), response=False, clean=clean))
    sentence = (
        "ended before the response. Before you retry" if clean else "dropped the connection in the middle"
    )
    assert sentence in await stage.fail()
    assert server.called("GET") == []
    await stage.call()
