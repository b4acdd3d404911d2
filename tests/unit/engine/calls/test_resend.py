"""Raw bytes under the whole engine, over real pipes and sockets: as they are there, and what came of them."""

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
from inspector.engine.views import RawOutcome
from inspector.protocol.jsonrpc import error_of, read
from inspector.protocol.raw_message import with_new_id
from inspector.traffic.records import RecordKind, Status
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import JSON_TYPE, FaultServer
from tests.helpers.servers import Lab

PARROT = str(Path(faults.__file__).parent / "parrot.py")
# With what we would never write ourselves: spaces, a key twice, long-winded numbers, a strange member.
ODD = (
    b'{ "jsonrpc" : "2.0","id":"a-1" ,"method":"tools/call",'
    b'"extra":{"x":1.10,"x":1e400},"params":{"name":"\\u0061"}}'
)


@pytest.fixture
async def parrot(lab: Lab) -> Lab:
    """Connected to a server that answers each request with the line that it got."""
    lab.engine.add(
        StdioEntry(name="srv", command=sys.executable, args=("-I", "-S", PARROT), era="2025-11-25")
    )
    await lab.engine.connect("srv")
    return lab


@pytest.fixture
async def http() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        yield server


@pytest.fixture
async def web(lab: Lab, http: FaultServer) -> Lab:
    """Connected over HTTP to a server that does as it is told."""
    lab.engine.add(HttpEntry(name="srv", url=http.url(), type="http", era="2025-11-25"))
    await lab.engine.connect("srv")
    return lab


def response(lab: Lab, outcome: RawOutcome) -> dict[str, JSON]:
    assert outcome.response_row is not None, outcome
    return read(lab.engine.log.raw(outcome.response_row)).body()


def got(lab: Lab, outcome: RawOutcome) -> bytes:
    """The bytes that the parrot says it got."""
    text = read(lab.engine.log.raw(outcome.response_row or 0)).result["got"]
    assert isinstance(text, str)
    return text.encode("latin-1")


async def until(lab: Lab, is_so: Callable[[], bool]) -> None:
    """Until the log is so. It tells when it grows."""
    grown = asyncio.Event()
    lab.engine.log.grew.connect(lambda length: grown.set())
    async with asyncio.timeout(30):
        while not is_so():
            grown.clear()
            await grown.wait()


async def test_server_receives_the_exact_bytes(parrot: Lab) -> None:
    outcome = await parrot.engine.send_raw("srv", ODD)
    assert got(parrot, outcome) == ODD
    assert (outcome.summary, outcome.http_status) == ("", None)
    assert outcome.elapsed_ns > 0
    assert parrot.engine.log.partner(outcome.row) == outcome.response_row


async def test_request_is_resent_verbatim_except_for_its_id_and_linked(parrot: Lab) -> None:
    first = await parrot.engine.send_raw("srv", ODD)
    raw = with_new_id(parrot.engine.log.raw(first.row), parrot.engine.next_id("srv"))
    again = await parrot.engine.send_raw("srv", raw, resent_of=first.row)
    assert got(parrot, again) == raw
    assert raw.replace(b'"id":2 ', b'"id":"a-1" ') == ODD
    assert parrot.engine.log.resent_of(again.row) == first.row
    assert parrot.engine.log.record(again.row).status is Status.OK


async def test_own_call_can_be_resent_with_its_original_id(parrot: Lab) -> None:
    outcome = await parrot.engine.call_tool("srv", "any", {})
    assert outcome.row is not None
    raw = parrot.engine.log.raw(outcome.row)
    again = await parrot.engine.send_raw("srv", raw, resent_of=outcome.row)
    assert got(parrot, again) == raw
    assert parrot.engine.log.problem(again.response_row or 0) == ""


async def test_own_notification_can_be_resent(parrot: Lab) -> None:
    notice = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'
    first = await parrot.engine.send_raw("srv", notice)
    again = await parrot.engine.send_raw("srv", notice, resent_of=first.row)
    assert parrot.engine.log.resent_of(again.row) == first.row


async def test_only_messages_we_sent_can_be_resent(parrot: Lab) -> None:
    outcome = await parrot.engine.send_raw("srv", ODD)
    rows = len(parrot.engine.log)
    for row in (outcome.response_row, 0, rows, -1):
        with pytest.raises(UserError, match="not a request or notification sent by MCP Lens"):
            await parrot.engine.send_raw("srv", ODD, resent_of=row)
    assert len(parrot.engine.log) == rows


async def test_broken_bytes_are_answered_and_the_connection_survives(parrot: Lab) -> None:
    outcome = await parrot.engine.send_raw("srv", b'{"jsonrpc":"2.0","id":1')
    assert (outcome.response_row, outcome.summary) == (None, "")  # nobody can tell whose the error is
    await until(parrot, lambda: bool(parrot.rows(RecordKind.ERROR)))
    (error,) = parrot.rows(RecordKind.ERROR)
    assert error_of(read(error.raw)).data == '{"jsonrpc":"2.0","id":1'
    assert got(parrot, await parrot.engine.send_raw("srv", ODD)) == ODD


async def test_a_batch_is_answered_as_one(parrot: Lab) -> None:
    raw = b'[{"jsonrpc":"2.0","id":70,"method":"x"} , {"jsonrpc":"2.0","id":71,"method":"y"}]'
    outcome = await parrot.engine.send_raw("srv", raw)
    assert outcome.response_row is not None
    assert parrot.engine.log.kind(outcome.response_row) == RecordKind.BATCH


async def test_lines_are_sent_one_by_one_on_request(parrot: Lab) -> None:
    pretty = ODD.replace(b" ", b"\n")
    with pytest.raises(UserError, match="Send it compacted"):
        await parrot.engine.send_raw("srv", pretty)
    outcome = await parrot.engine.send_raw("srv", b"\n".join([ODD, ODD.replace(b"a-1", b"a-2")]), split=True)
    assert got(parrot, outcome) == ODD


async def test_without_waiting_the_row_is_returned_immediately(parrot: Lab) -> None:
    outcome = await parrot.engine.send_raw("srv", ODD, wait=False)
    assert outcome.response_row is None
    await until(parrot, lambda: parrot.engine.log.partner(outcome.row) is not None)


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
    lab.engine.add(StdioEntry(name="srv", command="x"))
    with pytest.raises(ConnectionLost, match=r"The server is not connected \(idle\)\. Connect first\."):
        await lab.engine.send_raw("srv", ODD)
    with pytest.raises(ConnectionLost, match="Connect first"):
        lab.engine.next_id("srv")


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
    lab.engine.add(StdioEntry(name="srv", command=program, args=tuple(args)))
    await lab.engine.connect("srv")
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
        lab.engine.add(HttpEntry(name="srv", url=url, type="http"))
        await lab.engine.connect("srv")
        await talk_to_everything(lab)
        outcome = await lab.engine.send_raw("srv", b'{"jsonrpc":')
        assert outcome.http_status == 400
        assert "HTTP 400" in outcome.summary
        await lab.engine.disconnect("srv")
    finally:
        process.stdin.close()  # that ends it
        await process.communicate()


async def talk_to_everything(lab: Lab) -> None:
    """Call, call again by hand with a strange member, send broken bytes, and call once more."""
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
