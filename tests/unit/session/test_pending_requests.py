"""Limits of requests that wait: one timer for all of them, each ended at its own moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from inspector.base.errors import RequestTimedOut
from inspector.protocol import jsonrpc
from inspector.protocol.connection import ProgressReceived
from inspector.session.pending_requests import NO_LIMIT, Limits, PendingRequests, SharedTimer

ANSWER = jsonrpc.result(1, {})


@pytest.fixture
async def room() -> PendingRequests:
    return PendingRequests()


async def sent() -> int:
    return 7


async def never() -> int:
    """The server has stopped reading."""
    await asyncio.Event().wait()
    return 0


def wait(
    room: PendingRequests, id: int, limits: Limits = NO_LIMIT, sending: Awaitable[int] | None = None
) -> asyncio.Task[object]:
    waiter = room.enter(jsonrpc.request(id, "x"), limits, None)
    return asyncio.get_running_loop().create_task(waiter.wait(sending or sent()))


def seconds(idle: float, total: float = 60.0) -> Limits:
    return Limits(idle, total)


async def test_each_request_times_out_on_its_own_regardless_of_order(room: PendingRequests) -> None:
    patient, unlimited = wait(room, 1, seconds(60)), wait(room, 2)
    for id in (3, 4):  # the second one comes when the timer has rung before
        with pytest.raises(RequestTimedOut):
            await wait(room, id, seconds(0.01))
    for id, task in ((1, patient), (2, unlimited)):
        assert not task.done()
        room.responded(jsonrpc.request(id, "x"), ANSWER)
        await task


async def test_timeout_includes_sending(room: PendingRequests) -> None:
    with pytest.raises(RequestTimedOut, match="did not answer x"):
        await wait(room, 1, seconds(0.01), never())


async def test_request_with_a_reused_id_is_still_ended_when_it_cannot_be_sent(room: PendingRequests) -> None:
    older = wait(room, 1, seconds(0.01), never())
    await asyncio.sleep(0)
    newer = wait(room, 1)
    with pytest.raises(RequestTimedOut):
        await older
    assert not newer.done()
    room.responded(jsonrpc.request(1, "x"), ANSWER)
    await newer


async def test_progress_extends_the_timeout_but_not_the_total_timeout(room: PendingRequests) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    task = wait(room, 1, seconds(0.03, total=0.1))

    def report() -> None:
        room.progressed(ProgressReceived(1, 1.0, None, ""))
        if not task.done():
            loop.call_later(0.01, report)

    report()
    with pytest.raises(RequestTimedOut):
        await task
    assert loop.time() - began >= 0.1


async def test_external_cancellation_at_the_timeout_is_not_swallowed(room: PendingRequests) -> None:
    waiter = room.enter(jsonrpc.request(1, "x"), seconds(60), None)
    task = asyncio.get_running_loop().create_task(waiter.wait(sent()))
    await asyncio.sleep(0)
    waiter.end_late()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1, "of the two, that for the limit is taken back"


async def test_timeout_leaves_no_pending_cancellation_behind(room: PendingRequests) -> None:
    async def call() -> int:
        waiter = room.enter(jsonrpc.request(1, "x"), seconds(0.01), None)
        with pytest.raises(RequestTimedOut):
            await waiter.wait(sent())
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert await asyncio.get_running_loop().create_task(call()) == 0


async def test_alarm_fires_once_at_the_earliest_requested_time() -> None:
    loop = asyncio.get_running_loop()
    level: list[float] = []
    first = asyncio.Event()

    def ring() -> None:
        level.append(loop.time())
        first.set()

    alarm, now = SharedTimer(ring), loop.time()
    for delay in (60.0, 0.01, 30.0):
        alarm.set(now + delay)
    await first.wait()
    assert len(level) == 1
    assert level[0] - now < 30
    alarm.stop()


async def test_stopped_alarm_does_not_fire() -> None:
    loop, level = asyncio.get_running_loop(), list[str]()
    alarm = SharedTimer(lambda: level.append("rung"))
    alarm.set(loop.time())
    alarm.stop()
    after: asyncio.Future[None] = loop.create_future()
    loop.call_later(0.001, after.set_result, None)
    await after
    assert not level
