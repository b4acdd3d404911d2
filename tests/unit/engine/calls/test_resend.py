"""Sending raw bytes through the whole engine, over real pipes and sockets, and their outcomes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, ConnectionLost, UserError
from inspector.base.json.values import JSON
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.demo.servers import command
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.views import RawOutcome
from inspector.protocol.jsonrpc import error_of, read
from inspector.protocol.raw_message import with_new_id
from inspector.traffic.records import RecordKind, Status
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import JSON_TYPE, FaultServer
from tests.helpers.servers import Lab

PARROT = str(Path(faults.__file__).parent / "parrot.py")
# With what MCP Lens never writes: spaces, a duplicate key, odd number spellings, an unknown member.
ODD = (
    b'{ "jsonrpc" : "2.0","id":"a-1" ,"method":"tools/call",'
    b'"extra":{"x":1.10,"x":1e400},"params":{"name":"\\u0061"}}'
)


@pytest.fixture
async def echo_lab(lab: Lab) -> Lab:
    """Connected to a server that echoes each received line in its response."""
    lab.engine.servers.add(
        StdioEntry(name="srv", command=sys.executable, args=("-I", "-S", PARROT), era="2025-11-25")
    )
    await lab.engine.servers.connector.connect("srv")
    return lab


@pytest.fixture
async def http() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        yield server


@pytest.fixture
async def web(lab: Lab, http: FaultServer) -> Lab:
    """Connected over HTTP to a scripted server."""
    lab.engine.servers.add(HttpEntry(name="srv", url=http.url(), type="http", era="2025-11-25"))
    await lab.engine.servers.connector.connect("srv")
    return lab


def response(lab: Lab, outcome: RawOutcome) -> dict[str, JSON]:
    assert outcome.response_row is not None, outcome
    return read(lab.engine.log.raw(outcome.response_row)).body()


def got(lab: Lab, outcome: RawOutcome) -> bytes:
    """Return the bytes that the echo server received."""
    text = read(lab.engine.log.raw(outcome.response_row or 0)).result["got"]
    assert isinstance(text, str)
    return text.encode("latin-1")


async def until(lab: Lab, is_so: Callable[[], bool]) -> None:
    """Wait until the log satisfies this; it signals when it grows."""
    grown = asyncio.Event()
    lab.engine.log.grew.connect(lambda length: grown.set())
    async with asyncio.timeout(30):
        while not is_so():
            grown.clear()
            await grown.wait()


async def test_server_receives_the_exact_bytes(echo_lab: Lab) -> None:
    outcome = await echo_lab.engine.send_raw("srv", ODD)
    assert got(echo_lab, outcome) == ODD
    assert (outcome.summary, outcome.http_status) == ("", None)
    assert outcome.elapsed_ns > 0
    assert echo_lab.engine.log.partner(outcome.row) == outcome.response_row


async def test_request_is_resent_verbatim_except_for_its_id_and_linked(echo_lab: Lab) -> None:
    first = await echo_lab.engine.send_raw("srv", ODD)
    raw = with_new_id(
        echo_lab.engine.log.raw(first.row), echo_lab.engine.servers.get("srv").session.next_id()
    )
    again = await echo_lab.engine.send_raw("srv", raw, resent_of=first.row)
    assert got(echo_lab, again) == raw
    assert raw.replace(b'"id":2 ', b'"id":"a-1" ') == ODD
    assert echo_lab.engine.log.resent_of(again.row) == first.row
    assert echo_lab.engine.log.record(again.row).status is Status.OK


async def test_own_call_can_be_resent_with_its_original_id(echo_lab: Lab) -> None:
    outcome = await echo_lab.engine.tool_caller.call("srv", ToolCall("any"))
    assert outcome.row is not None
    raw = echo_lab.engine.log.raw(outcome.row)
    again = await echo_lab.engine.send_raw("srv", raw, resent_of=outcome.row)
    assert got(echo_lab, again) == raw
    assert echo_lab.engine.log.problem(again.response_row or 0) == '"content" is missing'  # not about the id


async def test_own_notification_can_be_resent(echo_lab: Lab) -> None:
    notice = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
    first = await echo_lab.engine.send_raw("srv", notice)
    again = await echo_lab.engine.send_raw("srv", notice, resent_of=first.row)
    assert echo_lab.engine.log.resent_of(again.row) == first.row


async def test_only_messages_we_sent_can_be_resent(echo_lab: Lab) -> None:
    outcome = await echo_lab.engine.send_raw("srv", ODD)
    rows = len(echo_lab.engine.log)
    for row in (outcome.response_row, 0, rows, -1):
        with pytest.raises(UserError, match="not a request or notification sent by MCP Lens"):
            await echo_lab.engine.send_raw("srv", ODD, resent_of=row)
    assert len(echo_lab.engine.log) == rows


async def test_broken_bytes_are_answered_and_the_connection_survives(echo_lab: Lab) -> None:
    outcome = await echo_lab.engine.send_raw("srv", b'{"jsonrpc":"2.0","id":1')
    assert (outcome.response_row, outcome.summary) == (None, "")  # an error without an id cannot be matched
    await until(echo_lab, lambda: bool(echo_lab.rows(RecordKind.ERROR)))
    (error,) = echo_lab.rows(RecordKind.ERROR)
    assert error_of(read(error.raw)).data == '{"jsonrpc":"2.0","id":1'
    assert got(echo_lab, await echo_lab.engine.send_raw("srv", ODD)) == ODD


async def test_a_batch_is_answered_as_one(echo_lab: Lab) -> None:
    raw = b'[{"jsonrpc":"2.0","id":70,"method":"x"} , {"jsonrpc":"2.0","id":71,"method":"y"}]'
    outcome = await echo_lab.engine.send_raw("srv", raw)
    assert outcome.response_row is not None
    assert echo_lab.engine.log.kind(outcome.response_row) == RecordKind.BATCH


async def test_lines_are_sent_one_by_one_on_request(echo_lab: Lab) -> None:
    pretty = ODD.replace(b" ", b"\n")
    with pytest.raises(UserError, match="Send it compacted"):
        await echo_lab.engine.send_raw("srv", pretty)
    outcome = await echo_lab.engine.send_raw(
        "srv", b"\n".join([ODD, ODD.replace(b"a-1", b"a-2")]), split=True
    )
    assert got(echo_lab, outcome) == ODD


async def test_without_waiting_the_row_is_returned_immediately(echo_lab: Lab) -> None:
    outcome = await echo_lab.engine.send_raw("srv", ODD, wait=False)
    assert outcome.response_row is None
    await until(echo_lab, lambda: echo_lab.engine.log.partner(outcome.row) is not None)


async def test_server_crash_is_an_outcome(lab: Lab) -> None:
    await lab.connect("dies")
    raw = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"dies"}}'
    outcome = await lab.engine.send_raw("srv", raw)
    assert outcome.response_row is None
    assert outcome.summary == "The server exited with code 9."
    assert lab.engine.log.status(outcome.row) is Status.NO_RESPONSE


async def test_timeout_is_an_outcome(lab: Lab) -> None:
    await lab.connect()
    raw = b'{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"never"}}'
    outcome = await lab.engine.send_raw("srv", raw, timeout=0.05)
    assert outcome.summary.startswith("The server did not respond to tools/call within")


async def test_nothing_is_sent_without_a_connection(lab: Lab) -> None:
    with pytest.raises(ConfigError, match="No server named"):
        await lab.engine.send_raw("srv", ODD)
    lab.engine.servers.add(StdioEntry(name="srv", command="x"))
    with pytest.raises(ConnectionLost, match=r"The server is not connected\. Connect first\."):
        await lab.engine.send_raw("srv", ODD)
    with pytest.raises(ConnectionLost, match="Connect first"):
        lab.engine.servers.get("srv").session.next_id()


async def test_posted_body_is_the_exact_bytes(web: Lab, http: FaultServer) -> None:
    raw = ODD.replace(b" ", b"\r\n\t")
    outcome = await web.engine.send_raw("srv", raw, headers=(("X-Mine", "1"),))
    assert response(web, outcome)["id"] == "a-1"
    assert outcome.http_status == 200
    assert (http.calls[-1].body, http.calls[-1].headers["x-mine"]) == (raw, "1")


@pytest.mark.parametrize("raw", [b"{", b"hello \xff", b'{"jsonrpc":"2.0","id":null,"method":"x"}'])
async def test_http_error_with_a_message_returns_that_message(
    web: Lab, http: FaultServer, raw: bytes
) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    for key in ("POST", "x"):
        http.order(key, faults.replies(400, body, JSON_TYPE))
    outcome = await web.engine.send_raw("srv", raw)
    assert response(web, outcome)["error"] == {"code": -32700, "message": "Parse error"}
    assert outcome.http_status == 400


@pytest.mark.parametrize("raw", [b"{", ODD])
async def test_http_error_without_a_message_reports_the_status_and_the_start_of_the_body(
    web: Lab, http: FaultServer, raw: bytes
) -> None:
    for key in ("POST", "tools/call"):
        http.order(key, faults.replies(415, b"We take no such thing.", "text/plain"))
    outcome = await web.engine.send_raw("srv", raw)
    assert (outcome.response_row, outcome.http_status) == (None, 415)
    assert outcome.summary.endswith("with HTTP 415: We take no such thing.")
    exchange = web.engine.log.http(outcome.row)
    assert exchange is not None
    assert exchange.body == b"We take no such thing."
    assert web.view().status.value == "connected"


async def test_demo_server_answers_over_stdio_and_tolerates_broken_bytes(lab: Lab) -> None:
    program, *args = command("everything")
    lab.engine.servers.add(StdioEntry(name="srv", command=program, args=tuple(args)))
    await lab.engine.servers.connector.connect("srv")
    await talk_to_everything(lab)


async def test_the_demo_server_answers_over_http_and_says_why_it_refuses(lab: Lab) -> None:
    process = await asyncio.create_subprocess_exec(
        *command("everything", http=True),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    url = (await process.stderr.readline()).decode().split()[-1]
    try:
        lab.engine.servers.add(HttpEntry(name="srv", url=url, type="http"))
        await lab.engine.servers.connector.connect("srv")
        await talk_to_everything(lab)
        outcome = await lab.engine.send_raw("srv", b'{"jsonrpc":')
        assert outcome.http_status == 400
        assert "HTTP 400" in outcome.summary
        await lab.engine.servers.connector.disconnect("srv")
    finally:
        process.stdin.close()  # ends the server
        await process.communicate()


async def talk_to_everything(lab: Lab) -> None:
    """Call, resend with an unknown member, send broken bytes, and call again."""
    call = await lab.call("echo", message="hello")
    assert call.row is not None
    raw = with_new_id(lab.engine.log.raw(call.row), "by-hand").replace(
        b'"method"', b' "x-strange" : 1.0,"method"'
    )
    again = await lab.engine.send_raw("srv", raw, resent_of=call.row)
    assert response(lab, again)["id"] == "by-hand"
    assert lab.engine.log.status(again.row) is Status.OK
    assert lab.engine.log.resent_of(again.row) == call.row
    await lab.engine.send_raw("srv", b"this is no JSON")
    assert await lab.text("echo", message="still here") == "still here"
