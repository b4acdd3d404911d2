"""WebSocket transport: one message per text frame. The peer is the library's server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from inspector.base.clock import SystemClock
from inspector.base.errors import ConfigError, ConnectFailed, ConnectionLost, NeedsLogin, UserError
from inspector.protocol import jsonrpc
from inspector.transport.base import Closed, FramesReceived, HttpEnded, HttpRequested, HttpResponded
from inspector.transport.network import Network
from inspector.transport.websocket import WebSocketTransport
from tests.helpers.certificates import Authority
from tests.helpers.httpstage import Stage, on_stage

Conversation = Callable[[ServerConnection], Awaitable[None]]


async def good(connection: ServerConnection) -> None:
    async for frame in connection:
        assert isinstance(frame, str), "a message must be sent as text"
        request = jsonrpc.read(frame.encode())
        if request.id is not None:
            await connection.send(jsonrpc.result(request.id, {}).raw.decode())


@asynccontextmanager
async def peer(conversation: Conversation = good, scheme: str = "ws", **options: Any) -> AsyncIterator[str]:
    options.setdefault("subprotocols", [Subprotocol("mcp")])
    async with serve(conversation, "127.0.0.1", 0, **options) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"{scheme}://127.0.0.1:{port}/ws"


@asynccontextmanager
async def connected(url: str, **network: Any) -> AsyncIterator[Stage]:
    async with on_stage(WebSocketTransport(url, Network(**network), SystemClock())) as stage:
        yield stage


async def refusal(url: str, **network: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        async with connected(url, **network):
            pytest.fail("it opened")
    return caught.value


def responding_with(status: HTTPStatus, **headers: str) -> Callable[[ServerConnection, Request], Response]:
    def process(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(status, "no")
        for name, value in headers.items():
            response.headers[name] = value
        return response

    return process


async def test_messages_are_sent_and_received_as_text_frames() -> None:
    async with peer() as url, connected(url) as stage:
        await stage.call()
        await stage.call(text="Grüße 👋")


async def test_handshake_is_reported_as_the_exchange_that_carries_the_messages() -> None:
    async with peer() as url, connected(url, headers=(("X-Team", "blue"),)) as stage:
        await stage.call()
    requested, responded = stage.log.events[:2]
    assert isinstance(requested, HttpRequested)
    assert isinstance(responded, HttpResponded)
    assert (requested.method, requested.url) == ("GET", url)
    assert ("X-Team", "blue") in requested.headers
    assert ("Sec-WebSocket-Protocol", "mcp") in requested.headers
    assert responded.status == 101
    assert ("Sec-WebSocket-Protocol", "mcp") in responded.headers
    assert stage.log.all(FramesReceived)[0].exchange == requested.exchange
    assert stage.log.all(HttpEnded)[0].error == ""


async def test_server_that_does_not_name_the_subprotocol_is_accepted() -> None:
    async with peer(subprotocols=None) as url, connected(url) as stage:
        await stage.call()


async def test_binary_frame_is_accepted_too() -> None:
    async def conversation(connection: ServerConnection) -> None:
        await connection.send(b'{"jsonrpc":"2.0","method":"x"}')
        await connection.wait_closed()

    async with peer(conversation) as url, connected(url) as stage:
        frames = await stage.log.first(FramesReceived)
        assert frames.frames == [b'{"jsonrpc":"2.0","method":"x"}']


async def test_nothing_is_reported_while_it_is_paused() -> None:
    async with peer() as url, connected(url) as stage:
        await stage.call()
        stage.transport.pause()
        first, second = await stage.request(), await stage.request()
        await stage.log.response(first)  # the transport was already waiting for this one
        assert isinstance(stage.transport, WebSocketTransport)
        assert stage.transport._connection is not None
        await (await stage.transport._connection.ping())  # everything sent before the pong has arrived
        assert len(stage.log.frames()) == 2
        stage.transport.resume()
        await stage.log.response(second)


@pytest.mark.parametrize(
    ("code", "reason", "sentence"),
    [
        (1000, "", r"The server closed the connection \(code 1000\)\. Reconnect\."),
        (1001, "", r"\(code 1001\): it is going away\."),
        (1011, "out of memory", r"\(code 1011\): out of memory\."),
    ],
)
async def test_close_frame_ends_the_connection_with_its_reason(code: int, reason: str, sentence: str) -> None:
    async def conversation(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.close(code, reason)

    async with peer(conversation) as url, connected(url) as stage:
        await stage.request()
        closed = await stage.log.first(Closed)
        assert re.search(sentence, f"{closed.summary} {closed.next_step}")
        with pytest.raises(ConnectionLost, match=f"code {code}"):
            await stage.request()


async def test_broken_connection_ends_the_session() -> None:
    async def conversation(connection: ServerConnection) -> None:
        await connection.recv()
        connection.transport.abort()

    async with peer(conversation) as url, connected(url) as stage:
        await stage.request()
        closed = await stage.log.first(Closed)
        assert closed.summary == "The connection to the server was lost."
        assert stage.log.all(HttpEnded)[0].error == closed.summary


async def test_oversized_message_ends_the_connection_and_is_reported() -> None:
    async def conversation(connection: ServerConnection) -> None:
        await connection.send("x" * 2000)
        await connection.wait_closed()

    async with peer(conversation) as url, connected(url, message_cap=1000) as stage:
        closed = await stage.log.first(Closed)
        assert "larger than the limit" in closed.summary


async def test_nothing_is_sent_after_closing() -> None:
    async with peer() as url, connected(url) as stage:
        await stage.transport.close()
        await stage.transport.close()
        with pytest.raises(ConnectionLost, match="closed"):
            await stage.request()


async def test_rejected_handshake_shows_the_status_and_is_recorded() -> None:
    async with peer(process_request=responding_with(HTTPStatus.NOT_FOUND)) as url:
        transport = WebSocketTransport(url, Network(), SystemClock())
        events: list[object] = []
        with pytest.raises(ConnectFailed, match="WebSocket handshake with HTTP 404 instead of 101"):
            await transport.open(events.append)
    assert [type(event) for event in events] == [HttpRequested, HttpResponded, HttpEnded]


async def test_401_requires_a_login() -> None:
    async with peer(process_request=responding_with(HTTPStatus.UNAUTHORIZED)) as url:
        assert isinstance(await refusal(url), NeedsLogin)


async def test_401_with_your_own_header_says_that_it_was_rejected() -> None:
    async with peer(process_request=responding_with(HTTPStatus.UNAUTHORIZED)) as url:
        error = await refusal(url, headers=(("Authorization", "Bearer k-123456"),))
    assert isinstance(error, ConnectFailed)
    assert not isinstance(error, NeedsLogin)
    assert "The server rejected your Authorization header" in str(error)


async def test_a_redirect_is_not_followed() -> None:
    async with peer() as good_url:
        moved = responding_with(HTTPStatus.FOUND, Location=good_url)
        async with peer(process_request=moved) as url:
            assert "HTTP 302 instead of 101" in str(await refusal(url))


async def test_unreachable_server_is_named() -> None:
    async with peer() as url:
        pass
    assert re.search(r"nothing is listening on 127\.0\.0\.1:\d+\. Check the port", str(await refusal(url)))


async def test_a_failed_handshake_is_recorded_with_its_reason() -> None:
    async with peer() as url:
        pass
    events: list[object] = []
    with pytest.raises(ConnectFailed):
        await WebSocketTransport(url, Network(), SystemClock()).open(events.append)
    requested, ended = events
    assert isinstance(requested, HttpRequested)
    assert isinstance(ended, HttpEnded)
    assert ended.error.startswith("Connection refused: nothing is listening on")


async def test_invalid_proxy_is_rejected() -> None:
    error = await refusal("ws://127.0.0.1/", proxy="ftp://proxy.example")
    assert isinstance(error, ConfigError)


async def test_url_with_another_scheme_is_rejected() -> None:
    assert isinstance(await refusal("http://127.0.0.1/"), ConfigError)


async def test_unresponsive_server_times_out() -> None:
    enough = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await enough.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    assert "did not accept a connection in time" in str(await refusal(url, connect_timeout=0.05))
    enough.set()
    server.close()


async def test_tls_is_verified_as_over_http(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with peer(scheme="wss", ssl=authority.server("127.0.0.1")) as url:
        assert "not signed by a trusted authority" in str(await refusal(url))
        async with connected(url, ca_file=authority.ca_file) as stage:
            await stage.call()


async def test_flood_is_handled_in_bounded_turns() -> None:
    """Other servers share the event loop: many frames that arrived together must not block it."""

    async def conversation(connection: ServerConnection) -> None:
        await connection.recv()
        for _ in range(2000):
            await connection.send('{"jsonrpc":"2.0","method":"x"}')
        await connection.send('{"jsonrpc":"2.0","id":1,"result":{}}')
        await connection.wait_closed()

    async with peer(conversation) as url, connected(url) as stage:
        request = await stage.request()
        responded = asyncio.ensure_future(stage.log.response(request))
        turns: list[int] = []
        while not responded.done():
            before = len(stage.log.frames())
            await asyncio.sleep(0)
            turns.append(len(stage.log.frames()) - before)
        assert sum(turns) == 2001
        assert max(turns) <= 64
