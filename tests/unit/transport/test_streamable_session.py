"""Streamable HTTP in the handshake era: sessions, the GET stream, and resumed streams."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import ConnectionLost, HttpRefused
from inspector.protocol import jsonrpc
from inspector.protocol.revisions import R5
from inspector.transport.base import (
    Closed,
    Envelope,
    EventStreamChanged,
    FramesReceived,
    HttpEnded,
    HttpRequested,
    RequestFailed,
)
from inspector.transport.streamable_http import StreamableHttpTransport
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import SSE_TYPE, Fault, FaultServer
from tests.helpers.httpstage import Stage, streamable

RETRY_MS = 40


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        yield server


@pytest.fixture
async def stage(server: FaultServer) -> AsyncIterator[Stage]:
    async with streamable(server, headers=(("X-Team", "blue"),)) as stage:
        yield stage


def primed(*parts: bytes, clean: bool = True, retry: int = RETRY_MS) -> Fault:
    """Return a stream that starts with an id and a retry delay, and ends before the response."""
    return faults.stream(faults.event(b"", id="e-0", retry=retry), *parts, response=False, clean=clean)


def brings(text: bytes, *, id: str = "", clean: bool = True) -> Fault:
    return faults.stream(faults.event(text, id=id), response=False, clean=clean)


ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"content":[]}}'


async def test_session_and_version_headers_are_sent_from_the_handshake_on(
    server: FaultServer, stage: Stage
) -> None:
    await stage.handshake()
    await stage.call()
    first, *later = [call for call in server.calls if call.method == "POST"]
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert first.headers["accept"] == "application/json, text/event-stream"
    assert first.headers["content-type"] == "application/json"
    for call in later:
        assert call.headers["mcp-session-id"] == "s-1"
        assert call.headers["mcp-protocol-version"] == "2025-11-25"


async def test_configured_headers_are_sent_with_every_request(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    assert [call.headers["x-team"] for call in server.calls] == ["blue"] * 3


async def test_configured_header_replaces_the_standard_one(server: FaultServer) -> None:
    async with streamable(server, headers=(("accept", "application/json"), ("X-A", "grün"))) as stage:
        await stage.call()
    assert server.calls[0].headers["accept"] == "application/json"
    assert server.calls[0].headers["x-a"].encode("latin-1").decode() == "grün"


@pytest.mark.parametrize("header", [("X Y", "1"), ("X-Y", "one\r\ntwo"), ("Grün", "1")])
async def test_header_invalid_in_http_fails_the_request(server: FaultServer, header: tuple[str, str]) -> None:
    async with streamable(server, headers=(header,)) as stage:
        failure = await stage.fail()
    assert re.search(r"The request is invalid and was not sent: Illegal header .*Check its headers", failure)


async def test_session_id_is_taken_from_a_streamed_initialize_response(
    server: FaultServer, stage: Stage
) -> None:
    server.order("initialize", faults.stream(Mcp_Session_Id="s-2"))
    await stage.handshake()
    assert server.calls[1].headers["mcp-session-id"] == "s-2"


async def test_other_session_id_on_a_later_response_is_reported_and_not_used(
    server: FaultServer, stage: Stage
) -> None:
    await stage.handshake()
    server.order("tools/call", faults.stream(Mcp_Session_Id="intruder"))
    await stage.call()
    await stage.call()
    assert server.called("tools/call")[1].headers["mcp-session-id"] == "s-1"
    assert [event.finding for event in stage.log.all(HttpEnded) if event.finding] == [
        "Mcp-Session-Id is not the one of the response to initialize, which stays in use"
    ]


async def test_session_id_that_arrives_after_initialize_is_reported_and_used(
    server: FaultServer, stage: Stage
) -> None:
    server.session = ""
    server.order("GET", faults.replies(405))
    await stage.handshake()
    await stage.log.ended(3)
    server.order("tools/call", faults.stream(Mcp_Session_Id="s-9"))
    await stage.call()
    await stage.call()
    assert server.called("tools/call")[1].headers["mcp-session-id"] == "s-9"
    assert (await server.wait_for("GET", 2)).headers["mcp-session-id"] == "s-9"
    assert [event.finding for event in stage.log.all(HttpEnded) if event.finding] == [
        "Mcp-Session-Id arrived with the response to tools/call, not to initialize; it is used from now on"
    ]


async def test_probe_header_does_not_leak_into_initialize(server: FaultServer, stage: Stage) -> None:
    probe = await stage.request("server/discover", Envelope(revision=R5))
    await stage.log.response(probe)
    await stage.call("initialize")
    assert server.calls[0].headers["mcp-protocol-version"] == "2026-07-28"
    assert "mcp-protocol-version" not in server.calls[1].headers


async def test_closing_deletes_the_session(server: FaultServer) -> None:
    async with streamable(server) as stage:
        await stage.handshake()
    (call,) = server.called("DELETE")
    assert call.headers["mcp-session-id"] == "s-1"
    assert stage.log.all(HttpRequested)[-1].method == "DELETE"


@pytest.mark.parametrize("fault", [faults.replies(405), faults.drops()])
async def test_rejected_session_delete_does_not_prevent_closing(server: FaultServer, fault: Fault) -> None:
    server.order("DELETE", fault)
    async with streamable(server) as stage:
        await stage.handshake()
    assert len(server.called("DELETE")) == 1


async def test_without_a_session_nothing_is_deleted() -> None:
    async with FaultServer() as server:
        async with streamable(server) as stage:
            await stage.handshake()
            await stage.call()
        assert server.called("DELETE") == []
        assert all("mcp-session-id" not in call.headers for call in server.calls)


@pytest.mark.parametrize(
    "body",
    [b"", b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}'],
)
async def test_lost_session_ends_the_connection_once(server: FaultServer, stage: Stage, body: bytes) -> None:
    await stage.handshake()
    gone = faults.replies(404, body, faults.JSON_TYPE)
    server.order("tools/call", gone, gone)
    requests = [await stage.request(), await stage.request()]
    for request in requests:
        assert "no longer recognizes this session (HTTP 404)" in str(await stage.log.failure(request))
    (closed,) = stage.log.all(Closed)
    assert closed.summary == "The server no longer recognizes this session (HTTP 404)."
    assert closed.is_session_lost
    with pytest.raises(ConnectionLost, match="no longer recognizes this session"):
        await stage.request()
    await stage.transport.close()
    assert server.called("DELETE") == []  # there is nothing left to delete


async def test_a_notification_has_been_accepted_when_send_returns(server: FaultServer, stage: Stage) -> None:
    await stage.notify("notifications/roots/list_changed")
    assert [call.key for call in server.calls] == ["notifications/roots/list_changed"]


async def test_a_refused_notification_raises(server: FaultServer, stage: Stage) -> None:
    server.order("notifications/x", faults.replies(400, b"what?"))
    with pytest.raises(HttpRefused, match=r"responded to notifications/x with HTTP 400: what\?"):
        await stage.notify("notifications/x")
    await stage.call()


async def test_client_response_is_posted(server: FaultServer, stage: Stage) -> None:
    await stage.transport.send(jsonrpc.result(5, {"roots": []}))
    assert server.calls[0].message == {"jsonrpc": "2.0", "id": 5, "result": {"roots": []}}


async def test_stream_answering_a_notification_is_read_in_the_background(
    server: FaultServer, stage: Stage
) -> None:
    enough = asyncio.Event()
    server.order("notifications/x", faults.held(enough, faults.event(faults.notice())))
    await stage.notify("notifications/x")
    await stage.log.first(FramesReceived)
    enough.set()


async def test_a_lost_session_is_noticed_by_a_notification_too(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    server.order("notifications/x", faults.replies(404))
    with pytest.raises(HttpRefused, match="no longer recognizes"):
        await stage.notify("notifications/x")
    await stage.log.first(Closed)


async def test_stream_is_opened_after_the_handshake_and_delivers_messages(
    server: FaultServer, stage: Stage
) -> None:
    enough = asyncio.Event()
    server.order("GET", faults.held(enough, faults.event(faults.notice())))
    await stage.handshake()
    frames = await stage.log.first(FramesReceived, lambda event: event.exchange == 3)
    get = server.called("GET")[0]
    assert server.calls.index(get) == 2
    assert get.headers["accept"] == SSE_TYPE
    assert get.headers["mcp-session-id"] == "s-1"
    assert frames.request is None
    enough.set()


async def test_stream_is_resumed_after_its_last_event(server: FaultServer, stage: Stage) -> None:
    server.order("GET", primed(clean=False), primed())
    await stage.handshake()
    again = await server.wait_for("GET", 2)
    assert again.headers["last-event-id"] == "e-0"
    assert again.at - server.called("GET")[0].at >= RETRY_MS / 1000
    await server.wait_for("GET", 3)
    await stage.call()


async def test_server_without_a_get_stream_is_asked_once(server: FaultServer, stage: Stage) -> None:
    server.order("GET", faults.replies(405))
    await stage.handshake()
    await stage.log.first(HttpEnded, lambda event: event.exchange == 3)
    await stage.call()
    assert len(server.called("GET")) == 1


async def test_404_for_a_stream_that_was_never_open_is_not_a_lost_session(
    server: FaultServer, stage: Stage
) -> None:
    server.order("GET", faults.replies(404))
    await stage.handshake()
    await stage.log.first(HttpEnded, lambda event: event.exchange == 3)
    await stage.call()
    assert stage.log.all(Closed) == []


async def test_a_404_for_a_stream_that_was_open_is_a_lost_session(server: FaultServer, stage: Stage) -> None:
    server.order("GET", primed(), faults.replies(404))
    await stage.handshake()
    closed = await stage.log.first(Closed)
    assert "no longer recognizes this session" in closed.summary


def stream_changes(stage: Stage) -> list[str]:
    return [event.reason for event in stage.log.all(EventStreamChanged)]


@pytest.mark.parametrize("fault", [faults.drops(), faults.replies(503), faults.replies(409)])
async def test_lost_stream_is_reported_and_reopened_while_requests_continue(
    server: FaultServer, stage: Stage, fault: Fault
) -> None:
    enough = asyncio.Event()
    server.order("GET", primed(retry=1), *[fault] * 6, faults.held(enough))
    await stage.handshake()
    lost = await stage.log.first(EventStreamChanged)
    assert re.search("dropped the connection|HTTP 503|HTTP 409", lost.reason)
    await stage.call()
    await stage.log.first(EventStreamChanged, lambda event: not event.reason)
    assert stage.log.all(Closed) == []
    enough.set()


async def test_rejected_stream_that_was_open_is_reported_and_not_retried(
    server: FaultServer, stage: Stage
) -> None:
    server.order("GET", primed(retry=1), faults.replies(405))
    await stage.handshake()
    await stage.log.first(EventStreamChanged)
    await stage.call()
    assert len(server.called("GET")) == 2


@pytest.mark.parametrize(
    ("status", "is_reported"),
    [(400, False), (404, False), (405, False), (501, False), (500, True), (401, True)],
)
async def test_rejection_of_the_first_get_is_reported_unless_it_means_no_stream(
    server: FaultServer, stage: Stage, status: int, is_reported: bool
) -> None:
    server.order("GET", faults.replies(status))
    await stage.handshake()
    await stage.log.ended(3)
    await stage.call()
    assert [str(status) in reason for reason in stream_changes(stage)] == [True] * is_reported


async def test_stream_that_breaks_as_soon_as_it_is_open_stays_lost_until_a_message_arrives(
    server: FaultServer, stage: Stage
) -> None:
    enough = asyncio.Event()
    first_lines = faults.stream(b": hello\n\n", response=False, clean=False)
    server.order("GET", primed(retry=1), *[first_lines] * 8)
    server.order("GET", faults.held(enough, faults.event(faults.notice())))
    await stage.handshake()
    await stage.log.first(EventStreamChanged, lambda event: not event.reason)
    reasons = stream_changes(stage)
    assert all(reasons[:-1])
    assert stage.log.frames()[-1] == faults.notice()
    enough.set()


async def test_stream_is_reopened_on_request(server: FaultServer, stage: Stage) -> None:
    assert isinstance(stage.transport, StreamableHttpTransport)
    enough = asyncio.Event()
    server.order("GET", faults.replies(500), faults.replies(500), faults.held(enough))
    await stage.handshake()
    await stage.log.first(EventStreamChanged)
    with pytest.raises(HttpRefused, match="HTTP 500"):
        await stage.transport.reopen_stream()
    await stage.transport.reopen_stream()
    assert [bool(reason) for reason in stream_changes(stage)] == [True, True, False]
    enough.set()


async def test_server_that_stays_unreachable_ends_the_connection(server: FaultServer, stage: Stage) -> None:
    server.order("GET", primed(retry=1))
    await stage.handshake()
    await stage.log.first(HttpEnded, lambda event: event.exchange == 3)
    await server.stop()
    closed = await stage.log.first(Closed)
    assert re.search(
        r"Could not reopen the server's event stream: .*(Connection refused|dropped)", closed.summary
    )


@pytest.mark.parametrize("clean", [True, False])
async def test_stream_with_ids_is_resumed_after_the_requested_delay(
    server: FaultServer, stage: Stage, clean: bool
) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    server.order("tools/call", primed(clean=clean))
    server.order("GET", brings(ANSWER))
    response = await stage.call()
    assert response.result == {"content": []}
    get = server.called("GET")[-1]
    assert get.headers["last-event-id"] == "e-0"
    assert get.headers["mcp-session-id"] == "s-1"
    assert get.at - server.called("tools/call")[0].at >= RETRY_MS / 1000
    assert stage.log.all(FramesReceived)[-1].request == 2


async def test_polling_continues_while_the_server_ends_cleanly(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    server.order("tools/call", primed(retry=1))
    nothing = faults.stream(response=False)
    server.order("GET", *[nothing] * 5, brings(faults.notice(), id="e-1"), nothing, brings(ANSWER))
    await stage.call()
    ids = [call.headers.get("last-event-id") for call in server.called("GET")[1:]]
    assert ids == ["e-0"] * 6 + ["e-1"] * 2


async def test_truncated_event_is_requested_again(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    server.order("tools/call", primed(b"id: e-1\ndata: {", clean=False))
    server.order("GET", brings(ANSWER))
    await stage.call()
    assert server.called("GET")[-1].headers["last-event-id"] == "e-0"


async def test_server_that_cannot_resume_fails_the_request(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    server.order("tools/call", primed(retry=1))
    server.order("GET", faults.replies(405))
    assert "responded to the GET for its event stream with HTTP 405" in await stage.fail()
    await stage.call()


async def test_resuming_stops_after_three_failed_attempts(server: FaultServer, stage: Stage) -> None:
    await stage.handshake()
    await server.wait_for("GET")
    server.order("tools/call", primed(retry=1))
    server.order("GET", *[faults.drops()] * 3)
    assert "dropped the connection before it responded" in await stage.fail()
    assert len(server.called("GET")) == 4
    await stage.call()


async def test_an_answered_request_is_done_although_its_stream_breaks_later(
    server: FaultServer, stage: Stage
) -> None:
    server.order("tools/call", faults.stream(faults.event(b"", id="e-0"), clean=False))
    await stage.call()
    await stage.log.ended(1)
    await stage.call()
    assert server.called("GET") == []
    assert stage.log.all(RequestFailed) == []


async def test_forgetting_a_request_ends_its_polling(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", primed(retry=60_000))
    request = await stage.request()
    await stage.log.ended(1)
    stage.transport.forget(request)
    await stage.call()
    assert stage.log.all(RequestFailed) == []


async def test_nothing_is_read_while_it_is_paused(server: FaultServer, stage: Stage) -> None:
    enough = asyncio.Event()
    more = asyncio.Event()

    async def two_parts(call: faults.Call) -> None:
        await call.start(200, SSE_TYPE)
        await call.chunk(faults.event(faults.notice()))
        await more.wait()
        await call.chunk(faults.event(call.response()))
        await call.end()
        enough.set()

    server.order("tools/call", two_parts)
    request = await stage.request()
    await stage.log.first(FramesReceived)
    stage.transport.pause()
    more.set()
    await enough.wait()
    await stage.notify("notifications/x")  # one exchange later the rest has arrived and is not read
    assert len(stage.log.frames()) == 1
    stage.transport.resume()
    await stage.log.response(request)


async def test_nothing_is_sent_after_closing(server: FaultServer, stage: Stage) -> None:
    await stage.transport.close()
    await stage.transport.close()
    with pytest.raises(ConnectionLost, match=r"The connection is closed\. Reconnect\."):
        await stage.request()


async def test_closing_ends_a_pending_request(server: FaultServer) -> None:
    gate = asyncio.Event()
    server.order("tools/call", faults.after(gate))
    async with streamable(server) as stage:
        await stage.request()
        await server.wait_for("tools/call")
    assert (await stage.log.ended(1)).error == "Closed by MCP Lens: no longer needed."


async def test_flood_of_events_is_handled_in_bounded_turns(server: FaultServer, stage: Stage) -> None:
    """Other servers share the event loop: a chunk of many events must not block it."""

    async def flood(call: faults.Call) -> None:
        await call.start(200, SSE_TYPE)
        await call.chunk(faults.event(faults.notice()) * 4000)
        await call.chunk(faults.event(call.response()))
        await call.end()

    server.order("tools/call", flood)
    request = await stage.request()
    responded = asyncio.ensure_future(stage.log.response(request))
    turns: list[int] = []
    while not responded.done():
        before = len(stage.log.frames())
        await asyncio.sleep(0)
        turns.append(len(stage.log.frames()) - before)
    assert sum(turns) == 4001
    assert max(turns) <= 2 * 8 * 1024 // len(faults.event(faults.notice()))
