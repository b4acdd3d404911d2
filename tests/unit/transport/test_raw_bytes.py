"""Raw bytes that are not a message: each transport sends them unchanged and reports the response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from websockets.asyncio.server import ServerConnection, serve

from inspector.base.clock import SystemClock
from inspector.base.errors import HttpRefused
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R5
from inspector.transport.base import Envelope, FramesReceived, HttpEnded, HttpRequested, RequestFailed
from inspector.transport.legacy_sse import LegacySseTransport
from inspector.transport.network import Network
from inspector.transport.websocket import WebSocketTransport
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import JSON_TYPE, SSE_TYPE, Call, FaultServer
from tests.helpers.httpstage import Stage, on_stage, streamable

BROKEN = b'{"jsonrpc": "2.0",\n "id": 1'
NULL_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        yield server


@pytest.fixture
async def stage(server: FaultServer) -> AsyncIterator[Stage]:
    """Yield a stage after the handshake."""
    async with streamable(server) as stage:
        await stage.handshake()
        yield stage


def requests_with(stage: Stage, name: str) -> Sequence[str | None]:
    """Return the value of this header in each HTTP request so far."""
    posts = stage.log.all(HttpRequested)
    return [{key.lower(): value for key, value in post.headers}.get(name) for post in posts]


@pytest.mark.parametrize("raw", [BROKEN, b"hello", b"\xff\xfe", b'[{"jsonrpc":"2.0","method":"x"}]', b" 7 "])
async def test_body_is_posted_verbatim_with_the_usual_headers(
    server: FaultServer, stage: Stage, raw: bytes
) -> None:
    await stage.transport.send(read(raw))
    post = server.calls[-1]
    assert (post.method, post.body) == ("POST", raw)
    assert post.headers["mcp-session-id"] == "s-1"
    assert post.headers["mcp-protocol-version"] == "2025-11-25"
    assert post.headers["content-type"] == JSON_TYPE


async def test_stateless_non_message_bytes_mirror_no_headers(server: FaultServer) -> None:
    async with streamable(server) as stage:
        stage.transport.set_revision(R5)
        await stage.transport.send(read(BROKEN))
        headers = server.calls[-1].headers
        assert headers["mcp-protocol-version"] == "2026-07-28"
        assert "mcp-method" not in headers


async def test_rejection_quotes_the_server_and_its_body_is_recorded_as_a_message(
    server: FaultServer, stage: Stage
) -> None:
    server.order("POST", faults.replies(400, NULL_ERROR, JSON_TYPE))
    with pytest.raises(HttpRefused, match=r"HTTP 400: .*Parse error") as caught:
        await stage.transport.send(read(BROKEN))
    assert (caught.value.status, caught.value.body) == (400, NULL_ERROR)
    assert stage.log.frames()[-1] == NULL_ERROR


@pytest.mark.parametrize("status", [200, 400])
async def test_send_of_a_request_without_an_id_returns_after_its_response(
    server: FaultServer, stage: Stage, status: int
) -> None:
    server.order("x", faults.replies(status, NULL_ERROR, JSON_TYPE))
    await stage.transport.send(read(b'{"jsonrpc":"2.0","id":null,"method":"x"}'))
    assert stage.log.frames()[-1] == NULL_ERROR


async def test_stream_answering_a_batch_is_read_in_the_background(server: FaultServer, stage: Stage) -> None:
    gate = asyncio.Event()

    async def slowly(call: Call) -> None:
        await call.start(200, SSE_TYPE)
        await gate.wait()
        await call.chunk(faults.event(b'{"jsonrpc":"2.0","id":70,"result":{}}'))
        await call.end()

    server.order("POST", slowly)
    before = len(stage.log.frames())
    await stage.transport.send(read(b'[{"jsonrpc":"2.0","id":70,"method":"x"}]'))
    gate.set()
    await stage.log.until(lambda: len(stage.log.frames()) > before)
    assert stage.log.frames()[-1] == b'{"jsonrpc":"2.0","id":70,"result":{}}'


async def test_user_headers_replace_the_standard_ones(server: FaultServer, stage: Stage) -> None:
    own = (("mcp-session-id", "another"), ("X-Mine", "1"))
    await stage.transport.send(read(BROKEN), Envelope(headers=own))
    assert requests_with(stage, "mcp-session-id")[-1] == "another"
    assert server.calls[-1].headers["x-mine"] == "1"


async def test_rejected_initialize_does_not_lose_the_session(server: FaultServer, stage: Stage) -> None:
    server.order("initialize", faults.replies(400, b"Already initialized", "text/plain"))
    await stage.fail("initialize")
    await stage.call()
    assert requests_with(stage, "mcp-session-id")[-1] == "s-1"


async def test_second_initialized_notification_opens_no_second_stream(
    server: FaultServer, stage: Stage
) -> None:
    await server.wait_for("GET")
    await stage.notify("notifications/initialized")
    await stage.call()
    assert len(server.called("GET")) == 1


async def test_two_requests_with_one_id_each_have_their_exchange(server: FaultServer, stage: Stage) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    server.order("x", faults.after(first), faults.after(second))
    older, newer = (
        read(b'{"jsonrpc":"2.0","id":70,"method":"x"}'),
        read(b'{"jsonrpc":"2.0","id":70,"method":"x"}'),
    )
    await stage.transport.send(older)
    await server.wait_for("x")
    await stage.transport.send(newer)
    await server.wait_for("x", 2)
    first.set()
    await stage.log.first(FramesReceived, lambda event: event.request == 70)
    stage.transport.forget(newer)  # still open, although the older request with its id is done
    ended = await stage.log.first(HttpEnded, lambda event: event.error != "")
    assert ended.error == "Closed by MCP Lens: no longer needed."
    assert stage.log.all(RequestFailed) == []


async def test_old_transport_posts_any_bytes_and_user_headers() -> None:
    async with FaultServer() as server:
        server.order("GET", faults.held(asyncio.Event(), faults.event(b"/messages", name="endpoint")))
        transport = LegacySseTransport(server.url(path="/sse"), Network(), SystemClock())
        async with on_stage(transport) as stage:
            await stage.transport.send(read(BROKEN), Envelope(headers=(("X-Mine", "1"),)))
            assert (server.calls[-1].path, server.calls[-1].body) == ("/messages", BROKEN)
            assert server.calls[-1].headers["x-mine"] == "1"
            server.order("POST", faults.replies(400, b"Could not parse message", "text/plain"))
            with pytest.raises(HttpRefused, match="HTTP 400: Could not parse message"):
                await stage.transport.send(read(BROKEN))


async def test_over_a_websocket_text_is_a_text_frame_and_other_bytes_a_binary_one() -> None:
    got: asyncio.Queue[str | bytes] = asyncio.Queue()

    async def conversation(connection: ServerConnection) -> None:
        async for frame in connection:
            got.put_nowait(frame)

    async with serve(conversation, "127.0.0.1", 0) as peer:
        url = f"ws://127.0.0.1:{next(iter(peer.sockets)).getsockname()[1]}/"
        async with on_stage(WebSocketTransport(url, Network(), SystemClock())) as stage:
            for raw in (BROKEN, "Grüße".encode(), b"\xff\xfe", b""):
                await stage.transport.send(read(raw))
            frames = [await got.get() for _ in range(4)]
            assert frames == [BROKEN.decode(), "Grüße", b"\xff\xfe", ""]
