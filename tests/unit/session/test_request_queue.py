"""One request at a time, for servers that fail on concurrent requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import ConnectionLost, RequestTimedOut
from inspector.base.json.values import JSONObject
from inspector.protocol.revisions import R4, R5
from inspector.session.pending_requests import CallTimer
from inspector.session.state import Status
from tests.helpers.fakes import LoopTime
from tests.helpers.stage import Stage
from tests.unit.session.session_stage import EraStage, settle


@pytest.fixture
async def sequential(stage: Stage) -> Stage:
    stage.set_route(is_sequential=True)
    await stage.connect()
    return stage


async def stateless() -> EraStage:
    stage = EraStage(R5, is_sequential=True)
    await stage.connect(tools={"listChanged": True})
    return stage


@pytest.fixture
async def era() -> AsyncIterator[EraStage]:
    stage = await stateless()
    yield stage
    await stage.session.close()


async def sent(stage: Stage) -> str:
    return str((await stage.wire.next())["method"])


async def test_request_is_sent_after_the_response_to_the_previous_one(sequential: Stage) -> None:
    calls = [sequential.start(sequential.session.request(f"x/{number}")) for number in range(3)]
    for number in range(3):
        request = await sequential.wire.next()
        assert request["method"] == f"x/{number}"
        await settle()
        assert sequential.wire.sends_nothing()
        sequential.wire.show_message(id=request["id"], result={})
    await asyncio.gather(*calls)


async def test_requests_are_concurrent_by_default(connected: Stage) -> None:
    calls = [connected.start(connected.session.request(f"x/{number}")) for number in range(2)]
    for _ in calls:
        request = await connected.wire.next()
        connected.wire.show_message(id=request["id"], result={})
    await asyncio.gather(*calls)


async def test_time_in_the_queue_does_not_count_toward_the_request_timeout(sequential: Stage) -> None:
    time = LoopTime()
    first, second = (sequential.start(sequential.session.request(method)) for method in ("x/1", "x/2"))
    request = await sequential.wire.next()
    await time.advance(9)
    sequential.wire.show_message(id=request["id"], result={})
    await first
    request = await sequential.wire.next()
    await time.advance(9)
    sequential.wire.show_message(id=request["id"], result={})
    await second


async def test_time_in_the_queue_does_not_count_toward_the_total_timeout(sequential: Stage) -> None:
    time = LoopTime()
    first = sequential.start(sequential.session.request("x/1"))
    request = await sequential.wire.next()
    timer = CallTimer()
    call = sequential.session.request("x/2", human=timer)
    second = sequential.start(timer.limit(call, 5))
    await settle()
    await time.advance(9)
    sequential.wire.show_message(id=request["id"], result={})
    await first
    request = await sequential.wire.next()
    await time.advance(4.9)
    assert not second.done()
    assert (timer.queued_ns, timer.ns) == (9_000_000_000, 0)
    await time.advance(0.2)
    with pytest.raises(RequestTimedOut, match="timed out after 5 s in total"):
        await second


async def test_request_that_timed_out_is_cancelled_and_lets_the_next_one_through(sequential: Stage) -> None:
    time = LoopTime()
    first, second = (sequential.start(sequential.session.request(method)) for method in ("x/1", "x/2"))
    assert await sent(sequential) == "x/1"
    await time.advance(10.1)
    with pytest.raises(RequestTimedOut):
        await first
    messages = [await sequential.wire.next(), await sequential.wire.next()]
    assert {str(message["method"]) for message in messages} == {"notifications/cancelled", "x/2"}
    request = next(message for message in messages if message["method"] == "x/2")
    sequential.wire.show_message(id=request["id"], result={})
    await second


async def test_cancelling_a_queued_request_sends_nothing(sequential: Stage) -> None:
    first, second = (sequential.start(sequential.session.request(method)) for method in ("x/1", "x/2"))
    request = await sequential.wire.next()
    await settle()
    second.cancel()
    await settle()
    assert second.cancelled()
    sequential.wire.show_message(id=request["id"], result={})
    await first
    await settle()
    assert sequential.wire.sends_nothing()


async def test_notifications_and_replies_are_not_queued(stage: Stage) -> None:
    async def roots(params: JSONObject) -> JSONObject:
        return {"roots": []}

    stage.set_route(is_sequential=True)
    stage.answer_with("roots/list", roots)
    await stage.connect()
    call = stage.start(stage.session.request("tools/call"))
    request = await stage.wire.next()
    stage.wire.show_message(id="s1", method="roots/list")
    assert await stage.wire.next() == {"jsonrpc": "2.0", "id": "s1", "result": {"roots": []}}
    stage.wire.show_message(id="s2", method="ping")
    assert await stage.wire.next() == {"jsonrpc": "2.0", "id": "s2", "result": {}}
    await stage.session.notify("notifications/roots/list_changed")
    assert await sent(stage) == "notifications/roots/list_changed"
    stage.wire.show_message(id=request["id"], result={})
    await call


async def test_cancellation_of_a_task_is_not_queued(sequential: Stage) -> None:
    waiting = sequential.start(sequential.session.request("tasks/result", {"taskId": "t"}))
    result = await sequential.wire.next()
    cancelling = sequential.start(sequential.session.request("tasks/cancel", {"taskId": "t"}))
    cancel = await sequential.wire.next()
    assert cancel["method"] == "tasks/cancel"
    for request in (cancel, result):
        sequential.wire.show_message(id=request["id"], result={})
    await asyncio.gather(waiting, cancelling)


async def test_raw_request_waits_for_its_turn(sequential: Stage) -> None:
    call = sequential.start(sequential.session.request("x/1"))
    request = await sequential.wire.next()
    raw = b'{"jsonrpc":"2.0","id":"r","method":"x/raw"}'
    sending = sequential.start(sequential.session.send_raw(raw))
    await settle()
    assert sequential.wire.sends_nothing()
    sequential.wire.show_message(id=request["id"], result={})
    await call
    assert await sent(sequential) == "x/raw"
    after = sequential.start(sequential.session.request("x/2"))
    await settle()
    assert sequential.wire.sends_nothing()
    sequential.wire.show_message(id="r", result={"ok": True})
    assert [response.result for response in (await (await sending).response()).responses] == [{"ok": True}]
    sequential.wire.show_message(id=(await sequential.wire.next())["id"], result={})
    await after


async def test_raw_lines_are_sent_one_by_one(sequential: Stage) -> None:
    raw = b'{"jsonrpc":"2.0","id":"a","method":"x/a"}\n{"jsonrpc":"2.0","id":"b","method":"x/b"}\n'
    sending = sequential.start(sequential.session.send_raw(raw, split=True))
    assert await sent(sequential) == "x/a"
    await settle()
    assert sequential.wire.sends_nothing()
    sequential.wire.show_message(id="a", result={})
    assert await sent(sequential) == "x/b"
    sequential.wire.show_message(id="b", result={})
    assert len((await (await sending).response()).responses) == 2


async def test_raw_request_whose_response_is_not_awaited_blocks_until_its_timeout(sequential: Stage) -> None:
    time = LoopTime()
    await sequential.session.send_raw(b'{"jsonrpc":"2.0","id":"r","method":"x/raw"}')
    assert await sent(sequential) == "x/raw"
    call = sequential.start(sequential.session.request("x/2"))
    await time.advance(24.9)
    assert sequential.wire.sends_nothing()
    await time.advance(0.2)
    sequential.wire.show_message(id=(await sequential.wire.next())["id"], result={})
    await call


async def test_raw_notification_is_not_queued(sequential: Stage) -> None:
    call = sequential.start(sequential.session.request("x/1"))
    request = await sequential.wire.next()
    await sequential.session.send_raw(b'{"jsonrpc":"2.0","method":"notifications/x"}')
    assert await sent(sequential) == "notifications/x"
    sequential.wire.show_message(id=request["id"], result={})
    await call


async def test_lost_connection_fails_queued_requests_with_its_reason(sequential: Stage) -> None:
    calls = [sequential.start(sequential.session.request(f"x/{number}")) for number in range(3)]
    assert await sent(sequential) == "x/0"
    sequential.wire.end("The server exited with code 9.", "Look at its log.")
    for call in calls:
        with pytest.raises(ConnectionLost, match="exited with code 9"):
            await call
    await sequential.ended()
    assert sequential.session.state.status is Status.FAILED


async def test_open_change_stream_does_not_block_requests(era: EraStage) -> None:
    era.client.resume()
    stream = await era.next()
    assert stream["method"] == "subscriptions/listen"
    listing = era.start(era.client.list_tools())
    assert await era.sends_nothing_more()
    era.acknowledge(stream)
    await era.reply(tools=[])
    await listing


async def test_unacknowledged_change_stream_blocks_requests_for_five_seconds(era: EraStage) -> None:
    time = LoopTime()
    era.client.resume()
    assert (await era.next())["method"] == "subscriptions/listen"
    listing = era.start(era.client.list_tools())
    await time.advance(4.9)
    assert era.wire.sends_nothing()
    await time.advance(0.2)
    time.go_on()
    await era.reply(tools=[])
    await listing


async def test_ping_waits_for_its_turn() -> None:
    stage = EraStage(R4, is_sequential=True)
    await stage.connect(tools={})
    call = stage.start(stage.client.list_tools())
    request = await stage.next()
    ping = stage.start(stage.client.ping())
    assert await stage.sends_nothing_more()
    stage.wire.show_message(id=request["id"], result={"tools": []})
    await call
    assert (await stage.reply())["method"] == "ping"
    await ping
    await stage.session.close()
