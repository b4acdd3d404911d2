"""Streamable HTTP against a faulty server: each fault fails one request with a clear message."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import FailureKind, HttpRefused, NeedsLogin
from inspector.protocol.jsonrpc import error_of
from inspector.transport.base import (
    EventStreamChanged,
    FramesReceived,
    HttpEnded,
    HttpResponded,
    SseReceived,
)
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import HTML, JSON_TYPE, SSE_TYPE, Call, Fault, FaultServer
from tests.helpers.httpstage import Stage, streamable

MIB = 1024 * 1024


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer() as server:
        yield server


@pytest.fixture
async def stage(server: FaultServer) -> AsyncIterator[Stage]:
    async with streamable(server, message_cap=MIB) as stage:
        yield stage


def nameless_error(code: int = -32600) -> bytes:
    return b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"No."}}' % code


BROKEN = [
    # fault, message of the failed request, error of the exchange
    (
        faults.drops(),
        r"dropped the connection before it responded \(Server disconnected.*\)\. It may have crashed",
        "before it responded",
    ),
    (
        faults.drops(b"HTTP/1.1 200 OK\r\nContent-Ty"),
        r"dropped the connection before it responded",
        "before it responded",
    ),
    (
        faults.drops(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"),
        r"dropped the connection in the middle of its response",
        "in the middle of its response",
    ),
    (
        faults.drops(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        r"sent a non-HTTP response: illegal status line.*Check which service",
        "illegal status line",
    ),
    (
        faults.stream(b'data: {"jsonrpc":"2.', response=False, clean=False),
        r"dropped the connection in the middle of its response",
        "in the middle of its response",
    ),
    (
        faults.stream(b'data: {"text":"gr\xc3', response=False, clean=False),
        r"dropped the connection in the middle of its response",
        "in the middle of its response",
    ),
    (
        faults.stream(b'data: {"text":"gr\xc3', response=False),
        r"ended in the middle of an event \(after 18 bytes\)\. An event ends with an empty line",
        "in the middle of an event",
    ),
    (
        faults.endless_event,
        r"is invalid: an event of more than 1,048,576 bytes\. Make the server send less",
        "an event of more than",
    ),
    (
        faults.packed(16 * MIB),
        r"The server's response is larger than 1\.0 MiB\. Make the server send less, or raise the maximum",
        "larger than 1.0 MiB",
    ),
    (
        faults.packed(encoding="br"),
        r"is invalid: it is compressed with 'br', which was not requested",
        "compressed with 'br'",
    ),
    (
        faults.replies(200, b"not compressed", JSON_TYPE, Content_Encoding="gzip"),
        r"is invalid: it cannot be decompressed",
        "cannot be decompressed",
    ),
]


@pytest.mark.parametrize(("fault", "sentence", "ending"), BROKEN)
async def test_aborted_or_oversized_response_fails_only_its_request(
    server: FaultServer, stage: Stage, fault: Fault, sentence: str, ending: str
) -> None:
    server.order("tools/call", fault)
    assert re.search(sentence, await stage.fail())
    assert ending in (await stage.log.ended(1)).error
    await stage.call()


REFUSED = [
    (faults.replies(500, b"Traceback: boom"), r"with HTTP 500: Traceback: boom\. The server, or a proxy"),
    (faults.replies(503), r"tools/call with HTTP 503\. The server, or a proxy in front of it, failed"),
    (faults.replies(404, b"Not Found"), r"with HTTP 404: Not Found\. Check the path of the server URL"),
    (faults.replies(405), r"with HTTP 405\. The URL does not accept POST"),
    (faults.replies(403, nameless_error(), JSON_TYPE), r"with HTTP 403: .*The server rejects this origin"),
    (
        faults.replies(200, HTML, "text/html"),
        r"HTTP 200 and text/html instead of a message: <html>.*A proxy or a login page may have responded",
    ),
    (faults.replies(200, b"ok"), r"HTTP 200 and data without a content type instead of a message: ok"),
    (faults.replies(200, b'{"id": 1, ', JSON_TYPE), r"HTTP 200 and a message that is not valid JSON"),
    (
        faults.replies_with(lambda call: b'{"jsonrpc": "2.0", "id": 1}'),
        r"HTTP 200 and an object that is no response: it has neither .* This is a server bug",
    ),
    (
        faults.replies(200),
        r"tools/call with HTTP 200 and an empty body\. This is a server bug: the response must be a message",
    ),
    (faults.replies(202), r"accepted the request like a notification \(HTTP 202\)"),
    (faults.replies(204), r"accepted the request like a notification \(HTTP 204\)"),
    (faults.replies(429, Retry_After="30"), r"HTTP 429\. The server asks to retry after 30 s\."),
    (
        faults.replies(503, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
        r"HTTP 503\. The server asks to retry after Wed, 21 Oct 2026 07:28:00 GMT\.",
    ),
    (
        faults.replies_with(lambda call: call.response(id=77)),
        r"HTTP 200 and a response with the ID 77, which no pending request has\. .*, here 1\.",
    ),
    (
        faults.replies_with(lambda call: call.response(id="1")),
        r'HTTP 200 and a response with the ID "1" \(a string\) instead of 1 \(an integer\)\.',
    ),
    (
        faults.replies_with(lambda call: call.response(id=None)),
        r"HTTP 200 and a response with the ID null\. ",
    ),
    (
        faults.replies(200, faults.notice(), JSON_TYPE),
        r"HTTP 200 and a notification \(notifications/message\) instead of the response\.",
    ),
    (faults.replies(200, b"[%s]" % faults.notice(), JSON_TYPE), r"and a batch without the response\."),
    (
        faults.replies_with(lambda call: faults.notice() + call.response()),
        r"HTTP 200 and 2 messages in one line\.",
    ),
    (faults.replies(429), r"HTTP 429\. The server limits how many requests it accepts\. Wait, then"),
    (
        faults.stream(faults.event(faults.notice()), response=False),
        r"ended before the response, and its events had",
    ),
    (
        faults.stream(response=False),
        r"The event stream of tools/call ended before the response.*Before you retry",
    ),
]


@pytest.mark.parametrize(("fault", "sentence"), REFUSED)
async def test_response_without_the_message_fails_only_its_request(
    server: FaultServer, stage: Stage, fault: Fault, sentence: str
) -> None:
    server.order("tools/call", fault)
    assert re.search(sentence, await stage.fail())
    assert (await stage.log.ended(1)).error == ""  # the HTTP exchange itself succeeded
    await stage.call()


async def test_cut_off_compressed_body_is_reported_as_such(server: FaultServer, stage: Stage) -> None:
    async def cut_off(call: Call) -> None:
        body = gzip.compress(call.response("x" * 1000))[:-12]
        await call.reply(200, body, JSON_TYPE, Content_Encoding="gzip")

    server.order("tools/call", cut_off)
    assert await stage.fail() == (
        "The server's response is invalid: its compressed data is cut off. "
        "Turn off compression in the server, or in a proxy in front of it."
    )
    await stage.call()


async def test_cut_off_compressed_event_stream_is_reported_as_such(server: FaultServer, stage: Stage) -> None:
    async def cut_off(call: Call) -> None:
        body = gzip.compress(faults.event(call.response("x" * 1000)))[:-12]
        await call.reply(200, body, SSE_TYPE, Content_Encoding="gzip")

    server.order("tools/call", cut_off)
    assert "its compressed data is cut off" in await stage.fail()


async def test_rejection_has_status_and_body_for_era_detection(server: FaultServer, stage: Stage) -> None:
    server.order("server/discover", faults.replies(404, b"nothing here"))
    error = await stage.log.failure(await stage.request("server/discover"))
    assert isinstance(error, HttpRefused)
    assert (error.status, error.body) == (404, b"nothing here")


async def test_401_without_a_challenge_requires_a_login(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.replies(401, nameless_error(), JSON_TYPE))
    error = await stage.log.failure(await stage.request())
    assert isinstance(error, NeedsLogin)
    assert (
        str(error)
        == "The server requires login (HTTP 401). Add an Authorization header to the server's settings."
    )
    # The body is recorded, but is not the response to the request.
    assert [event.request for event in stage.log.all(FramesReceived)] == [None]


async def test_401_with_your_own_header_says_that_it_was_rejected_and_why(server: FaultServer) -> None:
    challenge = (
        'Bearer error="invalid_token", error_description="expired key", resource_metadata="https://x/"'
    )
    server.order("tools/call", faults.replies(401, nameless_error(), JSON_TYPE, WWW_Authenticate=challenge))
    async with streamable(server, headers=(("authorization", "Bearer k-123456"),)) as stage:
        error = await stage.log.failure(await stage.request())
        frames = stage.log.all(FramesReceived)
    assert isinstance(error, HttpRefused)
    assert error.kind is FailureKind.CREDENTIALS
    assert error.summary == "The server rejected your Authorization header: expired key (invalid_token)."
    assert error.next_step == (
        "Set a new value in Edit server… ▸ Headers, or with --header-env on the command line. "
        "Or remove the header and log in."
    )
    assert [event.request for event in frames] == [None]


async def test_401_for_the_get_stream_with_your_own_header_is_reported(server: FaultServer) -> None:
    server.order("GET", faults.replies(401, b"No GET for you.", "text/plain"))
    async with streamable(server, headers=(("Authorization", "Bearer k-123456"),)) as stage:
        await stage.handshake()
        lost = await stage.log.first(EventStreamChanged)
    assert lost.reason == "The server rejected your Authorization header: No GET for you."


@pytest.mark.parametrize("status", [400, 404, 200])
async def test_error_without_an_id_belongs_to_the_posted_request(
    server: FaultServer, stage: Stage, status: int
) -> None:
    server.order("tools/call", faults.replies(status, nameless_error(), JSON_TYPE))
    response = await stage.call()
    assert error_of(response).message == "No."
    assert stage.log.all(FramesReceived)[0].request == 1


async def test_an_html_page_is_stored_with_its_exchange(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.replies(200, HTML, "text/html"))
    await stage.fail()
    assert (await stage.log.ended(1)).body == HTML
    assert stage.log.frames() == []


async def test_message_with_the_wrong_id_is_still_recorded(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.replies_with(lambda call: call.response(id=77)))
    await stage.fail()
    assert b'"id": 77' in stage.log.frames()[0]


async def test_partial_data_of_a_broken_event_is_stored_with_its_exchange(
    server: FaultServer, stage: Stage
) -> None:
    server.order("tools/call", faults.stream(b'data: {"text":"gr\xc3', response=False, clean=False))
    await stage.fail()
    assert (await stage.log.ended(1)).body == b'data: {"text":"gr\xc3'


async def test_at_most_64_kib_of_a_body_are_stored(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.packed(16 * MIB))
    await stage.fail()
    assert len((await stage.log.ended(1)).body) == 64 * 1024


TOLERATED = [
    (faults.bytewise, "Grüße 👋"),
    (faults.packed(1000), "x" * 1000),
    (faults.replies_with(lambda call: call.response(), content_type=SSE_TYPE), "done"),
    (faults.replies_with(lambda call: faults.event(call.response()), content_type=JSON_TYPE), "done"),
    (faults.replies_with(lambda call: call.response(), content_type="text/plain"), "done"),
    (faults.replies_with(lambda call: call.response(), status=500), "done"),
    (faults.replies_with(lambda call: b"[" + call.response() + b"]"), "done"),
    (faults.stream(b": a comment\n\n", faults.event(faults.notice())), "done"),
]


@pytest.mark.parametrize(("fault", "text"), TOLERATED)
async def test_unusually_shaped_response_is_still_accepted(
    server: FaultServer, stage: Stage, fault: Fault, text: str
) -> None:
    server.order("tools/call", fault)
    response = await stage.call()
    assert response.result["content"] == [{"type": "text", "text": text}]
    await stage.call()


async def test_duplicate_response_is_recorded_and_ignored(server: FaultServer, stage: Stage) -> None:
    async def twice(call: faults.Call) -> None:
        await call.start(200, SSE_TYPE)
        await call.chunk(faults.event(call.response("first")) + faults.event(call.response("second")))
        await call.end()

    server.order("tools/call", twice)
    await stage.call()
    await stage.log.ended(1)
    assert [b"first" in frame for frame in stage.log.frames()] == [True, False]
    await stage.call()


async def test_a_slow_server_does_not_hold_up_other_requests(server: FaultServer, stage: Stage) -> None:
    gate = asyncio.Event()
    server.order("tools/call", faults.after(gate))
    slow = await stage.request()
    await stage.call("tools/list")
    gate.set()
    await stage.log.response(slow)


async def test_many_requests_at_once_are_all_answered(server: FaultServer, stage: Stage) -> None:
    gate = asyncio.Event()
    server.order("tools/call", *[faults.after(gate)] * 150)
    requests = [await stage.request() for _ in range(150)]
    await server.wait_for("tools/call", 150)
    gate.set()
    for request in requests:
        await stage.log.response(request)


async def test_unreachable_server_is_named(server: FaultServer) -> None:
    async with streamable(server) as stage:
        port = server.port
        await server.stop()
        assert await stage.fail() == (
            f"Connection refused: nothing is listening on 127.0.0.1:{port}. "
            "Check the port, and that the server is running."
        )


async def test_an_exchange_is_reported_part_by_part(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", faults.stream(faults.event(faults.notice(), id="7"), b": hm\n"))
    await stage.call()
    await stage.log.ended(1)
    kinds = [type(event) for event in stage.log.events[1:]]
    assert kinds[0] is HttpResponded
    assert kinds[-1] is HttpEnded
    events = [(event.event, event.id, event.comment) for event in stage.log.all(SseReceived)]
    assert events == [("message", "7", ""), ("", None, "hm"), ("message", None, "")]
    assert {event.exchange for event in stage.log.all(FramesReceived)} == {1}
    assert {event.request for event in stage.log.all(FramesReceived)} == {1}


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_to_the_same_origin_that_keeps_the_method_is_followed(
    server: FaultServer, stage: Stage, status: int
) -> None:
    server.order("tools/call", faults.replies(status, Location="/mcp/"))
    await stage.call()
    assert [call.path for call in server.calls] == ["/mcp", "/mcp/"]
    assert server.calls[0].body == server.calls[1].body
    assert [event.status for event in stage.log.all(HttpResponded)] == [status, 200]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (307, "http://localhost:1/mcp"),
        (308, "//elsewhere.example/mcp"),
        (307, "https://127.0.0.1/mcp"),
        (301, "/mcp/"),
        (302, "/login"),
        (307, ""),
    ],
)
async def test_other_redirect_is_not_followed(
    server: FaultServer, stage: Stage, status: int, location: str
) -> None:
    server.order("tools/call", faults.replies(status, Location=location))
    where = re.escape(location) or "no URL"
    assert re.search(
        rf"redirects to {where} \(HTTP {status}\), which MCP Lens does not follow\. .*use that URL",
        await stage.fail(),
    )
    assert len(server.calls) == 1
    await stage.call()


async def test_redirect_is_reported_without_the_secrets_in_its_url(server: FaultServer, stage: Stage) -> None:
    """Servers often copy the query of the request into the Location header."""
    server.order("tools/call", faults.replies(302, Location="https://u:hush@h.example/?api_key=hush&page=2"))
    message = await stage.fail()
    assert "h.example/?api_key=•••&page=2" in message
    assert "hush" not in message


async def test_redirect_loop_ends(server: FaultServer, stage: Stage) -> None:
    server.order("tools/call", *[faults.replies(307, Location="/mcp")] * 6)
    assert "Too many redirects: the server still redirects after 5" in await stage.fail()
    assert len(server.calls) == 6
    await stage.call()
