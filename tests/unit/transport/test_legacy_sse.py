"""HTTP+SSE of 2024-11-05: one stream for everything; its first event names the POST endpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectFailed, ConnectionLost, HttpRefused, NeedsLogin, UserError
from inspector.protocol import jsonrpc
from inspector.transport.base import Closed, FramesReceived, SseReceived
from inspector.transport.legacy_sse import LegacySseTransport
from inspector.transport.network import Network
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import SSE_TYPE, Call, Fault, FaultServer
from tests.helpers.httpstage import Stage, on_stage


class OldServer(FaultServer):
    """A correct HTTP+SSE server: responses go to the stream."""

    def __init__(self, endpoint: str = "/messages?session=1") -> None:
        super().__init__()
        self.to_stream: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.order("GET", self._stream(endpoint))
        self.order("tools/call", *[self._take] * 10)

    def _stream(self, endpoint: str) -> Fault:
        async def fault(call: Call) -> None:
            await call.start(200, SSE_TYPE)
            await call.chunk(faults.event(endpoint.encode(), name="endpoint"))
            while (data := await self.to_stream.get()) is not None:
                await call.chunk(faults.event(data))
            await call.end()

        return fault

    async def _take(self, call: Call) -> None:
        self.to_stream.put_nowait(call.response())
        await call.reply(202, b"Accepted", "text/plain")


@asynccontextmanager
async def old(server: FaultServer, limit: float = 10) -> AsyncIterator[Stage]:
    url = server.url(path="/sse")
    transport = LegacySseTransport(url, Network(connect_timeout=limit), SystemClock(), limit)
    async with on_stage(transport) as stage:
        yield stage


async def refusal(server: FaultServer, limit: float = 10) -> UserError:
    with pytest.raises(UserError) as caught:
        async with old(server, limit):
            pytest.fail("it opened")
    return caught.value


@pytest.mark.parametrize(
    "endpoint", ["/messages?session=1", "messages?session=1", "http://127.0.0.1:{port}/messages?session=1"]
)
async def test_messages_are_posted_to_the_endpoint_and_answered_on_the_stream(endpoint: str) -> None:
    async with OldServer() as server:
        server._orders["GET"].clear()
        server.order("GET", server._stream(endpoint.format(port=server.port)))
        async with old(server) as stage:
            await stage.call()
            await stage.call()
    assert [(call.method, call.path) for call in server.calls] == [
        ("GET", "/sse"),
        ("POST", "/messages?session=1"),
        ("POST", "/messages?session=1"),
    ]
    assert [event.exchange for event in stage.log.all(FramesReceived)] == [1, 1]
    assert stage.log.all(SseReceived)[0].event == "endpoint"


async def test_unsolicited_server_messages_arrive_too() -> None:
    async with OldServer() as server, old(server) as stage:
        server.to_stream.put_nowait(faults.notice())
        frames = await stage.log.first(FramesReceived)
        assert frames.frames == [faults.notice()]


@pytest.mark.parametrize(
    "endpoint", ["https://elsewhere.example/messages", "//elsewhere.example/", "", "http://["]
)
async def test_endpoint_at_another_origin_is_rejected(endpoint: str) -> None:
    async with OldServer(endpoint) as server:
        error = await refusal(server)
    where = re.escape(endpoint) or r"\(empty\)"
    assert re.search(rf"not at the same origin: {where}\. .*does not send your headers there", str(error))


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (faults.replies(404), "responded to the GET for its event stream with HTTP 404. Check the URL"),
        (faults.replies(200, b"{}", "application/json"), "with HTTP 200 and application/json"),
        (faults.drops(), "dropped the connection before it responded"),
        (faults.stream(response=False), "The server closed the event stream."),
    ],
)
async def test_connection_fails_without_a_stream(fault: Fault, sentence: str) -> None:
    async with FaultServer() as server:
        server.order("GET", fault)
        assert sentence in str(await refusal(server))


async def test_401_requires_a_login() -> None:
    async with FaultServer() as server:
        server.order("GET", faults.replies(401))
        assert isinstance(await refusal(server), NeedsLogin)


async def test_stream_without_an_endpoint_times_out() -> None:
    enough = asyncio.Event()
    async with FaultServer() as server:
        server.order("GET", faults.held(enough, b": hello\n\n"))
        error = await refusal(server, limit=1.0)
        enough.set()
    assert isinstance(error, ConnectFailed)
    assert "sent no `endpoint` event. It may use Streamable HTTP" in str(error)


async def test_a_refused_request_fails_alone() -> None:
    async with OldServer() as server:
        server._orders["tools/call"].appendleft(faults.replies(400, b"bad session"))
        async with old(server) as stage:
            assert "responded to tools/call with HTTP 400: bad session" in await stage.fail()
            await stage.call()


async def test_a_refused_notification_raises() -> None:
    async with OldServer() as server, old(server) as stage:
        server.order("notifications/x", faults.replies(500))
        with pytest.raises(HttpRefused, match="HTTP 500"):
            await stage.notify("notifications/x")


async def test_response_in_the_post_body_is_accepted_too() -> None:
    async with OldServer() as server, old(server) as stage:
        await stage.call("tools/list")  # the correct server responds at once


async def test_post_held_until_the_response_blocks_nothing() -> None:
    gate = asyncio.Event()
    async with OldServer() as server:
        server._orders["tools/call"].appendleft(faults.after(gate))
        async with old(server) as stage:
            slow = await stage.request()
            await server.wait_for("tools/call")  # the two POSTs have a connection each: either may be first
            await stage.call()
            gate.set()
            await stage.log.response(slow)


@pytest.mark.parametrize("clean", [True, False])
async def test_end_of_the_stream_ends_the_connection(clean: bool) -> None:
    async with OldServer() as server, old(server) as stage:
        if clean:
            server.to_stream.put_nowait(None)
        else:
            await server.stop()
        closed = await stage.log.first(Closed)
        assert re.search("closed the event stream|dropped the connection", closed.summary)
        with pytest.raises(ConnectionLost, match=re.escape(closed.summary)):
            await stage.request()


async def test_closing_ends_everything() -> None:
    async with OldServer() as server:
        async with old(server) as stage:
            await stage.call()
        with pytest.raises(ConnectionLost, match="The connection is closed"):
            await stage.transport.send(jsonrpc.notification("x"))
    assert stage.log.all(Closed) == []
