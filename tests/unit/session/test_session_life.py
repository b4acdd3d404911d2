"""Life cycle of a session: connecting, failing, closing and connecting again."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import ConnectFailed, ConnectionLost, NeedsLogin
from inspector.base.json.values import JSONObject
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import R1, R4
from inspector.session.state import Status
from inspector.traffic.records import RecordKind
from inspector.traffic.records import Status as TrafficStatus
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import LoopTime, MemoryWire
from tests.helpers.stage import Stage


async def test_connecting_says_what_it_waits_for_and_ends_with_a_negotiated_version(stage: Stage) -> None:
    await stage.connect()
    assert [(state.status, state.waits_for) for state in stage.states] == [
        (Status.CONNECTING, "the server to start"),
        (Status.CONNECTING, "the response to initialize"),
        (Status.CONNECTED, ""),
    ]
    negotiated = stage.session.state.negotiated
    assert negotiated is not None
    assert negotiated.revision is R4
    assert stage.wire.revision is R4


async def test_older_version_is_passed_to_the_transport(stage: Stage) -> None:
    await stage.connect(protocolVersion="2024-11-05")
    assert stage.wire.revision is R1


async def test_negotiation_findings_are_recorded(stage: Stage) -> None:
    await stage.connect(capabilities=None)
    assert stage.session.state.status is Status.CONNECTED
    assert stage.notes(RecordKind.LOCAL) == ['The result of initialize has no "capabilities" object.']


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ConnectFailed("No such command.", "Install it."), Status.FAILED),
        (NeedsLogin("It requires login.", "Log in."), Status.NEEDS_LOGIN),
    ],
)
async def test_transport_that_cannot_be_opened_fails_with_its_reason(
    stage: Stage, error: ConnectFailed, status: Status
) -> None:
    stage.next_wire = MemoryWire(refuses=error)
    with pytest.raises(ConnectFailed) as caught:
        await stage.session.connect()
    state = stage.session.state
    assert caught.value is error
    assert (state.status, state.reason, state.next_step) == (status, error.summary, error.next_step)
    assert stage.wire.is_closed


async def test_rejected_handshake_fails_and_closes_the_transport(stage: Stage) -> None:
    connecting = stage.start(stage.session.connect())
    request = await stage.wire_next()
    stage.wire.show_message(id=request["id"], error={"code": -32603, "message": "not today"})
    with pytest.raises(ConnectFailed, match="not today"):
        await connecting
    assert stage.session.state.status is Status.FAILED
    assert stage.wire.is_closed


@pytest.mark.parametrize(
    ("happens", "seconds", "next_step"),
    [
        ("nothing", 15, "Check that the server is running and the URL is correct."),
        (
            "process",
            25,
            "Its process is running but sent no message. Is this an MCP server that uses stdio? If it is "
            "slow to start, wait longer.",
        ),
        (
            "banner",
            15,
            "It sent text that is not JSON-RPC: “Welcome to ␛[1mbash”. stdout is for messages only: write "
            "logs to stderr. Check that the command starts an MCP server. See message 6 in Traffic.",
        ),
    ],
)
async def test_connection_timeout_says_what_it_waited_for_and_what_arrived_instead(
    stage: Stage, happens: str, seconds: int, next_step: str
) -> None:
    time = LoopTime()
    connecting = stage.start(stage.session.connect())
    await stage.wire_next()
    if happens != "nothing":
        stage.wire.start_process()
    if happens == "banner":
        stage.wire.send_frames(b"", b"Welcome to \x1b[1mbash", b"$ ")
    await time.advance(seconds + 0.1)
    with pytest.raises(ConnectFailed) as caught:
        await connecting
    assert caught.value.summary == f"Timed out after {seconds} s waiting for the response to initialize."
    assert caught.value.next_step == next_step
    assert stage.session.state.reason == caught.value.summary
    assert stage.wire.is_closed


async def test_transport_that_ends_while_connecting_fails_with_its_reason(stage: Stage) -> None:
    connecting = stage.start(stage.session.connect())
    await stage.wire_next()
    stage.wire.end("The server exited with code 3.", "Its last lines on stderr:\nno token")
    with pytest.raises(ConnectFailed, match="exited with code 3") as caught:
        await connecting
    assert caught.value.next_step == "Its last lines on stderr:\nno token"
    assert stage.session.state.status is Status.FAILED


async def test_transport_is_closed_whatever_goes_wrong_while_connecting(stage: Stage) -> None:
    class Broken:
        def first(self) -> None:
            raise ZeroDivisionError("an internal error")

        def receive(self, response: Message) -> None: ...

    stage.negotiation = Broken  # type: ignore[assignment]
    with pytest.raises(ConnectFailed, match="an internal error"):
        await stage.session.connect()
    assert stage.session.state.status is Status.FAILED
    assert stage.wire.is_closed


async def test_connecting_can_be_cancelled(stage: Stage) -> None:
    connecting = stage.start(stage.session.connect())
    await stage.wire_next()
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert (stage.session.state.status, stage.session.state.reason) == (
        Status.IDLE,
        "The connection attempt was cancelled.",
    )
    assert stage.wire.is_closed


async def test_closing_closes_the_transport_and_fails_pending_requests(connected: Stage) -> None:
    call = connected.start(connected.session.request("tools/list"))
    await connected.wire.next()
    await connected.session.close()
    with pytest.raises(ConnectionLost, match="The connection was closed"):
        await call
    assert connected.wire.is_closed
    assert connected.session.state.status is Status.IDLE
    with pytest.raises(ConnectionLost, match=r"is not connected\. Connect first\."):
        await connected.session.request("ping")


async def test_closing_that_is_cancelled_early_still_closes_the_transport(stage: Stage) -> None:
    is_cleaning_up, may_end = asyncio.Event(), asyncio.Event()

    async def answer(params: JSONObject) -> JSONObject:
        try:
            await asyncio.Event().wait()
            return {}
        finally:
            is_cleaning_up.set()
            await may_end.wait()

    stage.answer_with("roots/list", answer)
    await stage.connect()
    stage.wire.show_message(id=1, method="roots/list")
    await asyncio.sleep(0)
    closing = stage.start(stage.session.close())
    await is_cleaning_up.wait()
    closing.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert stage.wire.is_closed
    assert stage.session.state.status is Status.IDLE


async def test_a_lost_connection_fails_every_call_with_the_reason(connected: Stage) -> None:
    calls = [connected.start(connected.session.request("tools/list")) for _ in range(2)]
    await connected.wire.next()
    await connected.wire.next()
    connected.wire.end("The server exited with code 9.", "Its last lines on stderr:\nboom")
    for call in calls:
        with pytest.raises(ConnectionLost) as caught:
            await call
        assert (caught.value.summary, caught.value.next_step) == (
            "The server exited with code 9.",
            "Its last lines on stderr:\nboom",
        )
    await connected.ended()
    state = connected.session.state
    assert (state.status, state.reason) == (Status.FAILED, "The server exited with code 9.")
    requests = connected.rows(RecordKind.REQUEST)
    assert [row.status for row in requests] == [
        TrafficStatus.OK,
        TrafficStatus.NO_RESPONSE,
        TrafficStatus.NO_RESPONSE,
    ]


async def test_the_failure_is_shown_before_the_process_has_ended(connected: Stage) -> None:
    connected.wire.closes_when.clear()
    connected.wire.end("The server closed stdout, but its process is still running.", "")
    await asyncio.sleep(0)
    assert connected.session.state.status is Status.FAILED
    assert not connected.wire.is_closed
    connected.wire.closes_when.set()
    await connected.ended()


async def test_reconnecting_keeps_the_history_and_restarts_the_ids(connected: Stage) -> None:
    connected.wire.end()
    await connected.ended()
    before = len(connected.log)
    first_wire = connected.wire

    await connected.connect()

    assert connected.wire is not first_wire
    assert connected.session.state.status is Status.CONNECTED
    assert len(connected.log) > before
    handshakes = [row for row in connected.rows(RecordKind.REQUEST) if row.method == "initialize"]
    assert [(row.id, row.status) for row in handshakes] == [(1, TrafficStatus.OK), (1, TrafficStatus.OK)]


async def test_connecting_while_connected_ends_the_old_connection_first(connected: Stage) -> None:
    old = connected.wire
    await connected.connect()
    assert old.is_closed
    assert connected.session.state.status is Status.CONNECTED


async def test_messages_that_arrive_while_the_transport_closes_are_recorded(connected: Stage) -> None:
    connected.wire.closes_when.clear()
    closing = connected.start(connected.session.close())
    await asyncio.sleep(0)
    connected.wire.show_message(
        method="notifications/message", params={"level": "info", "data": "last words"}
    )
    connected.wire.show_message(id=77, method="ping")
    connected.wire.end()
    connected.wire.closes_when.set()
    await closing
    methods = [row.method for row in connected.rows(RecordKind.NOTIFICATION, RecordKind.REQUEST)]
    assert methods[-2:] == ["notifications/message", "ping"]
    assert connected.session.state.status is Status.IDLE


async def test_process_events_are_recorded(connected: Stage) -> None:
    connected.wire.start_process(pid=99)
    connected.wire.write_stderr([b"hello", b"world"])
    assert connected.notes(RecordKind.PROCESS) == ["Process 99 started: server (environment variables: none)"]
    assert connected.notes(RecordKind.STDERR) == ["hello", "world"]
    assert connected.session.state.pid == 99


async def test_request_that_fails_on_the_transport_fails_alone(connected: Stage) -> None:
    failing = connected.start(connected.session.request("tools/call", {"name": "a"}))
    other = connected.start(connected.session.request("tools/list"))
    request = await connected.wire.next()
    fine = await connected.wire.next()
    error = ConnectionLost("The server answered HTTP 500.", "Try again.")
    message = connected.sent("tools/call")
    connected.wire.happen(RequestFailed(message, error, 0))
    connected.wire.show_message(id=fine["id"], result={})
    with pytest.raises(ConnectionLost, match="HTTP 500"):
        await failing
    assert (await other).response.result == {}
    assert request["method"] == "tools/call"
    assert connected.session.state.status is Status.CONNECTED
    assert connected.notes(RecordKind.LOCAL) == ["tools/call: The server answered HTTP 500. Try again."]
    await asyncio.sleep(0)
    assert connected.wire.sends_nothing()  # it has ended: there is nothing to cancel
