"""Timeouts of pending requests: one shared timer, each request timed out at its own time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from inspector.base.errors import RequestTimedOut, UnusableResponse
from inspector.protocol import jsonrpc
from inspector.protocol.connection import Certainty, ProgressReceived, UnusableReceived
from inspector.protocol.unusable import Unusable
from inspector.session.pending_requests import NO_LIMIT, Limits, PendingRequests, SharedTimer
from tests.helpers.fakes import LoopTime

RESPONSE = jsonrpc.result(1, {})


@pytest.fixture
async def requests() -> PendingRequests:
    return PendingRequests()


async def sent() -> None:
    pass


async def never() -> None:
    """Never finish, like a server that has stopped reading."""
    await asyncio.Event().wait()


def wait(
    requests: PendingRequests, id: int, limits: Limits = NO_LIMIT, sending: Awaitable[None] | None = None
) -> asyncio.Task[object]:
    pending = requests.add(jsonrpc.request(id, "x"), limits, None)
    return asyncio.get_running_loop().create_task(pending.wait(sending or sent()))


def seconds(idle: float, total: float = 60.0) -> Limits:
    return Limits(idle, total)


async def test_each_request_times_out_on_its_own_regardless_of_order(requests: PendingRequests) -> None:
    patient, unlimited = wait(requests, 1, seconds(60)), wait(requests, 2)
    for id in (3, 4):  # the second one is added after the timer has fired
        with pytest.raises(RequestTimedOut):
            await wait(requests, id, seconds(0.01))
    for id, task in ((1, patient), (2, unlimited)):
        assert not task.done()
        requests.responded(jsonrpc.request(id, "x"), RESPONSE)
        await task


async def test_timeout_includes_sending(requests: PendingRequests) -> None:
    with pytest.raises(RequestTimedOut, match="did not respond to x"):
        await wait(requests, 1, seconds(0.01), never())


async def test_request_with_a_reused_id_is_still_ended_when_it_cannot_be_sent(
    requests: PendingRequests,
) -> None:
    older = wait(requests, 1, seconds(0.01), never())
    await asyncio.sleep(0)
    newer = wait(requests, 1)
    with pytest.raises(RequestTimedOut):
        await older
    assert not newer.done()
    requests.responded(jsonrpc.request(1, "x"), RESPONSE)
    await newer


async def test_progress_extends_the_timeout_but_not_the_total_timeout(requests: PendingRequests) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    task = wait(requests, 1, seconds(0.03, total=0.1))

    def report() -> None:
        requests.progressed(ProgressReceived(1, 1.0, None, ""))
        if not task.done():
            loop.call_later(0.01, report)

    report()
    with pytest.raises(RequestTimedOut):
        await task
    assert loop.time() - began >= 0.1


async def test_external_cancellation_at_the_timeout_is_not_swallowed(requests: PendingRequests) -> None:
    pending = requests.add(jsonrpc.request(1, "x"), seconds(60), None)
    task = asyncio.get_running_loop().create_task(pending.wait(sent()))
    await asyncio.sleep(0)
    pending.time_out()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelling() == 1, "only the cancellation by the timeout is undone"


async def test_timeout_leaves_no_pending_cancellation_behind(requests: PendingRequests) -> None:
    async def call() -> int:
        pending = requests.add(jsonrpc.request(1, "x"), seconds(0.01), None)
        with pytest.raises(RequestTimedOut):
            await pending.wait(sent())
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    assert await asyncio.get_running_loop().create_task(call()) == 0


async def test_timer_fires_once_at_the_earliest_requested_time() -> None:
    loop = asyncio.get_running_loop()
    fired: list[float] = []
    first = asyncio.Event()

    def on_due() -> None:
        fired.append(loop.time())
        first.set()

    timer, now = SharedTimer(on_due), loop.time()
    for delay in (60.0, 0.01, 30.0):
        timer.set(now + delay)
    await first.wait()
    assert len(fired) == 1
    assert fired[0] - now < 30
    timer.stop()


async def test_stopped_timer_does_not_fire() -> None:
    loop, fired = asyncio.get_running_loop(), list[str]()
    timer = SharedTimer(lambda: fired.append("fired"))
    timer.set(loop.time())
    timer.stop()
    after: asyncio.Future[None] = loop.create_future()
    loop.call_later(0.001, after.set_result, None)
    await after
    assert not fired


WRONG_ID = Unusable("wrong-id", "a response with the ID 9", "Repeat the ID.")
TEXT = Unusable("text", "text that is not JSON-RPC: “hi”", "Write logs to stderr.", is_response=False)


def unusable(request: int, certainty: Certainty, pending: PendingRequests) -> None:
    message = pending.request(request)
    assert message is not None
    pending.received_unusable(UnusableReceived(WRONG_ID, message, certainty))


async def test_unusable_response_to_this_request_fails_it_at_once(requests: PendingRequests) -> None:
    waiting = wait(requests, 1)
    await asyncio.sleep(0)
    unusable(1, Certainty.CERTAIN, requests)
    with pytest.raises(UnusableResponse) as caught:
        await waiting
    assert caught.value.summary == (
        "The response to x cannot be used: the server sent a response with the ID 9."
    )
    assert caught.value.next_step == "Repeat the ID."


@pytest.mark.parametrize(("certainty", "grace"), [(Certainty.LIKELY, 0.5), (Certainty.POSSIBLE, 10.0)])
async def test_probably_unusable_response_fails_the_request_unless_a_proper_one_follows(
    requests: PendingRequests, certainty: Certainty, grace: float
) -> None:
    time = LoopTime()
    for id in (1, 2):
        waiting = wait(requests, id, seconds(60))
        await asyncio.sleep(0)
        unusable(id, certainty, requests)
        await time.advance(grace - 0.1)
        assert not waiting.done()
        if id == 1:
            message = requests.request(1)
            assert message is not None
            requests.responded(message, RESPONSE)
            await waiting
        else:
            await time.advance(0.2)
            with pytest.raises(UnusableResponse):
                await waiting


async def test_progress_shows_that_an_unusable_response_was_about_something_else(
    requests: PendingRequests,
) -> None:
    time = LoopTime()
    waiting = wait(requests, 1, seconds(60))
    await asyncio.sleep(0)
    unusable(1, Certainty.LIKELY, requests)
    requests.progressed(ProgressReceived(1, 0.5, None, ""))
    await time.advance(30)
    assert not waiting.done()
    await time.advance(31)
    with pytest.raises(RequestTimedOut):
        await waiting


async def test_timeout_says_what_arrived_instead(requests: PendingRequests) -> None:
    time = LoopTime()
    requests.received_unusable(UnusableReceived(Unusable("text", "an older line", "-", is_response=False)))
    await time.advance(1)
    waiting = wait(requests, 1, seconds(10))
    await asyncio.sleep(0)
    for row, each in enumerate((TEXT, WRONG_ID), 30):
        requests.received_unusable(UnusableReceived(each), row)
    await time.advance(11)
    with pytest.raises(RequestTimedOut) as caught:
        await waiting
    assert caught.value.summary.endswith(
        " Instead it sent a response with the ID 9 (and 1 other unusable message)."
    )
    assert caught.value.next_step == "Repeat the ID. See message 32 in Traffic."


async def test_timeout_says_that_many_unusable_messages_arrived(requests: PendingRequests) -> None:
    time = LoopTime()
    waiting = wait(requests, 1, seconds(10))
    await asyncio.sleep(0)
    for _ in range(100):
        requests.received_unusable(UnusableReceived(TEXT))
    await time.advance(11)
    with pytest.raises(RequestTimedOut, match=r"“hi” \(and 7 or more other unusable messages\)\. Write logs"):
        await waiting


@pytest.mark.parametrize(("has_console", "place"), [(True, "its Console"), (False, "its log")])
async def test_timeout_refers_to_the_console_of_a_process_only(has_console: bool, place: str) -> None:
    with pytest.raises(RequestTimedOut) as caught:
        await wait(PendingRequests(has_console=has_console), 1, seconds(0.01))
    assert caught.value.next_step == f"It may still be working: check {place}, or raise the timeout."
