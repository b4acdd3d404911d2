"""Requests in both directions: timeouts, progress, cancellation, and replies to server requests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from inspector.base.errors import ConnectionLost, RequestTimedOut
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Message, RpcError
from inspector.session.connect import roots_of
from inspector.traffic.records import RecordKind, Status
from inspector.transport.base import RequestFailed
from tests.helpers.fakes import LoopTime
from tests.helpers.stage import Stage


async def test_response_is_returned_with_the_row_of_its_request(connected: Stage) -> None:
    call = connected.start(connected.session.request("tools/list", {"cursor": "x"}))
    request = await connected.wire.next()
    assert request == {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": "x"}}
    connected.wire.show_message(id=2, result={"tools": []})
    exchange = await call
    assert exchange.response.result == {"tools": []}
    assert connected.log.record(exchange.row).status is Status.OK


async def test_unanswered_cancelled_call_is_not_an_error(connected: Stage) -> None:
    call = connected.start(connected.session.request("tools/call", {"name": "slow"}))
    await connected.wire.next()
    call.cancel()
    await asyncio.wait([call])
    (left,) = connected.session.conversation()._cancelled
    connected.wire.happen(RequestFailed(left, ConnectionLost("The stream ended.", "Call again."), 0))
    assert connected.rows(RecordKind.LOCAL) == []


async def test_timeout_fails_the_call_and_notifies_the_server(connected: Stage) -> None:
    time = LoopTime()
    call = connected.start(connected.session.request("tools/call", {"name": "slow"}))
    request = await connected.wire.next()
    await time.advance(9.9)
    assert not call.done()
    await time.advance(0.2)
    with pytest.raises(RequestTimedOut, match=r"The server did not respond to tools/call within 10\.10 s"):
        await call
    assert await connected.wire.next() == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": request["id"], "reason": "timed out"},
    }
    assert connected.rows(RecordKind.REQUEST)[-1].status is Status.TIMED_OUT
    await time.advance(2.1)
    assert [message.id for message in connected.wire.forgotten] == [request["id"]]


async def test_timeout_below_a_second_is_not_shown_as_zero(connected: Stage) -> None:
    time = LoopTime()
    call = connected.start(connected.session.request("ping", timeout=0.2))
    await connected.wire.next()
    await time.advance(0.25)
    with pytest.raises(RequestTimedOut, match="within 250 ms"):
        await call


async def test_late_response_is_recorded_and_otherwise_ignored(connected: Stage) -> None:
    time = LoopTime()
    call = connected.start(connected.session.request("ping", timeout=1))
    await connected.wire.next()
    await time.advance(1.1)
    with pytest.raises(RequestTimedOut):
        await call
    connected.wire.show_message(id=2, result={})
    response = connected.rows()[-1]
    assert (response.status, response.problem) == (Status.LATE, "")


async def test_progress_extends_the_timeout_but_not_endlessly(connected: Stage) -> None:
    time = LoopTime()
    seen: list[ProgressReceived] = []
    call = connected.start(connected.session.request("tools/call", on_progress=seen.append))
    request = await connected.wire.next()
    assert request["params"] == {"_meta": {"progressToken": 2}}
    for step in range(1, 4):  # 9, 18 and 25 s: the idle timeout is 10 s, the total timeout 25 s
        await time.advance(9 if step < 3 else 6.9)
        assert not call.done()
        connected.wire.show_message(
            method="notifications/progress", params={"progressToken": 2, "progress": step}
        )
    await time.advance(0.2)
    with pytest.raises(RequestTimedOut):
        await call
    assert [event.progress for event in seen] == [1, 2, 3]


async def test_unrequested_progress_does_not_extend_the_timeout(connected: Stage) -> None:
    time = LoopTime()
    call = connected.start(connected.session.request("tools/call"))
    await connected.wire.next()
    await time.advance(9)
    connected.wire.show_message(method="notifications/progress", params={"progressToken": 7, "progress": 1})
    await time.advance(2)
    with pytest.raises(RequestTimedOut):
        await call


async def test_server_that_stops_reading_does_not_stop_the_timeout(connected: Stage) -> None:
    time = LoopTime()
    connected.wire.block_sending()
    call = connected.start(connected.session.request("tools/call", {"name": "x" * 100}))
    await time.advance(0)
    await time.advance(10.1)
    with pytest.raises(RequestTimedOut):
        await call
    connected.wire.unblock_sending()


async def test_cancelling_the_caller_sends_the_server_the_reason(connected: Stage) -> None:
    call = connected.start(connected.session.request("tools/call", {"name": "slow"}))
    request = await connected.wire.next()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    notice = await connected.wire.next()
    assert notice["params"] == {"requestId": request["id"], "reason": "cancelled by the user"}
    assert connected.rows(RecordKind.REQUEST)[-1].status is Status.CANCELLED


async def test_closing_right_after_cancelling_still_sends_the_notification(connected: Stage) -> None:
    call = connected.start(connected.session.request("tools/call", {"name": "slow"}))
    await connected.wire.next()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await connected.session.close()
    assert (await connected.wire.next())["method"] == "notifications/cancelled"


async def test_transport_lost_while_sending_fails_the_call_once(connected: Stage) -> None:
    """Both sending and waiting fail: the caller gets one error, and none is left unretrieved."""
    connected.wire.block_sending()
    call = connected.start(connected.session.request("tools/list"))
    await asyncio.sleep(0)
    connected.wire.end("The server exited with code 1.", "")
    with pytest.raises(ConnectionLost):
        await call


async def test_notifications_are_forwarded_in_order(connected: Stage) -> None:
    seen: list[Message] = []
    connected.session.notified.connect(seen.append)
    connected.wire.show_message(method="notifications/tools/list_changed")
    connected.wire.show_message(method="notifications/message", params={"level": "info"})
    assert [message.method for message in seen] == [
        "notifications/tools/list_changed",
        "notifications/message",
    ]


async def test_failing_receiver_does_not_lose_later_messages(
    connected: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(message: Message) -> None:
        raise ZeroDivisionError("an internal error")

    connected.session.notified.connect(fail)
    call = connected.start(connected.session.request("ping"))
    await connected.wire.next()
    connected.wire.send_frames(
        b'{"jsonrpc":"2.0","method":"notifications/message"}', b'{"jsonrpc":"2.0","id":2,"result":{}}'
    )
    assert (await call).response.result == {}
    assert "an internal error" in caplog.text


async def test_every_received_message_is_recorded_whatever_it_is(connected: Stage) -> None:
    before = len(connected.log)
    frames = [
        b"banner",
        b"",
        b"{bad",
        b"\xff",
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b"[]",
        b"[" * 99_999,
    ]
    connected.wire.send_frames(*frames, Overlong(b'{"jsonrpc":', 10**9))
    rows = connected.rows()[before:]
    assert [row.raw for row in rows] == [*frames, b'{"jsonrpc":']
    assert rows[-1].size == 10**9
    assert all(row.problem for row in rows)


async def test_a_ping_is_answered(connected: Stage) -> None:
    connected.wire.show_message(id="p", method="ping")
    assert await connected.wire.next() == {"jsonrpc": "2.0", "id": "p", "result": {}}


async def test_unsupported_request_is_rejected(connected: Stage) -> None:
    connected.wire.show_message(id=1, method="sampling/createMessage", params={})
    response = await connected.wire.next()
    assert response["error"] == {
        "code": -32601,
        "message": "The client does not support sampling/createMessage: the capability was not declared",
    }


async def test_configured_roots_are_declared_and_returned(stage: Stage, tmp_path: Path) -> None:
    stage.answer_with("roots/list", roots_of(lambda: (str(tmp_path), "~")))
    await stage.connect()
    stage.wire.show_message(id=1, method="roots/list")
    assert (await stage.wire.next())["result"] == {
        "roots": [
            {"uri": tmp_path.as_uri(), "name": tmp_path.name},
            {"uri": Path.home().as_uri(), "name": Path.home().name},
        ]
    }


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RpcError(-1, "User rejected", {"x": 1}), {"code": -1, "message": "User rejected", "data": {"x": 1}}),
        (RuntimeError("no home"), {"code": -32603, "message": "Internal error"}),
    ],
)
async def test_failing_request_handler_sends_an_error(stage: Stage, error: Exception, expected: JSON) -> None:
    async def fail(params: JSONObject) -> JSONObject:
        raise error

    stage.answer_with("roots/list", fail)
    await stage.connect()
    stage.wire.show_message(id=1, method="roots/list")
    assert (await stage.wire.next())["error"] == expected


async def test_unreadable_request_is_rejected(connected: Stage) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 9000 + b"]" * 9000 + b"}}"
    connected.wire.send_frames(deep)
    response = await connected.wire.next()
    assert response["id"] == 1
    assert response["error"] == {
        "code": -32602,
        "message": "Could not parse the params: nested too deeply to parse",
    }


async def test_cancelled_server_request_is_not_answered(stage: Stage) -> None:
    started = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        started.set()
        await asyncio.Event().wait()
        return {}

    stage.answer_with("roots/list", think)
    await stage.connect()
    stage.wire.show_message(id=1, method="roots/list")
    await started.wait()
    stage.wire.show_message(method="notifications/cancelled", params={"requestId": 1})
    stage.wire.show_message(id=2, method="ping")
    assert (await stage.wire.next())["id"] == 2
    assert stage.wire.sends_nothing()


async def test_request_cancelled_immediately_is_not_our_error(
    connected: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    connected.wire.show_message(id=1, method="ping")
    connected.wire.show_message(method="notifications/cancelled", params={"requestId": 1})
    connected.wire.show_message(id=2, method="ping")
    assert (await connected.wire.next())["id"] == 2
    assert caplog.text == ""


async def test_two_pending_requests_with_one_id_are_answered_as_one(
    connected: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    connected.wire.show_message(id=1, method="ping")
    connected.wire.show_message(id=1, method="ping")
    assert (await connected.wire.next())["id"] == 1
    connected.wire.show_message(id=1, method="ping")  # after the response the id is free again
    assert (await connected.wire.next())["id"] == 1
    assert caplog.text == ""


@pytest.mark.parametrize("padding", [0, 100_000])
async def test_result_that_clients_would_reject_is_a_finding(connected: Stage, padding: int) -> None:
    call = connected.start(connected.session.request("tools/call", {"name": "x"}))
    request = await connected.wire.next()
    result = '{"content":["hi"],"isError":false,"isError":false}' + " " * padding
    connected.wire.send_frames(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{result}}}'.encode())
    await call
    assert connected.rows(RecordKind.RESULT)[-1].problem == (
        "the key “isError” occurs more than once in an object; "
        "content[0]: a content block must be an object, not “hi”"
    )


async def test_server_request_with_half_a_surrogate_pair_is_a_finding(connected: Stage) -> None:
    connected.wire.send_frames(rb'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}')
    assert (await connected.wire.next())["id"] == 1
    finding = "a string has half of a surrogate pair, which is not a character"
    assert [row.problem for row in connected.rows(RecordKind.REQUEST)][-1] == finding
