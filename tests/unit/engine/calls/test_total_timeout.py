"""Total timeout of a call: the cancellation sent, and the Inbox time that does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.json.values import JSONObject
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.revisions import R4, R5, Revision
from tests.helpers.fakes import LoopTime
from tests.unit.engine.inbox.inbox_stage import ACCEPT, ASK, DONE, InboxStage, Peer
from tests.unit.engine.tasks.task_stage import state, task_harness

BOTH = pytest.mark.parametrize("revision", [R4, R5], ids=lambda one: one.date)
CALL = ToolCall("greet", timeout=12.0, total=10.0)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()


def start(stage: InboxStage) -> asyncio.Task[CallOutcome]:
    return asyncio.get_running_loop().create_task(stage.engine.tool_caller.call("srv", CALL))


async def ask(peer: Peer, revision: Revision, request: JSONObject) -> None:
    if revision is R4:
        peer.ask("elicitation/create", ASK)
        return
    input_requests: JSONObject = {"k": {"method": "elicitation/create", "params": ASK}}
    peer.wire.show_message(
        id=request["id"], result={"resultType": "input_required", "inputRequests": input_requests}
    )


@BOTH
async def test_call_that_exceeds_the_total_timeout_is_reported_as_timed_out(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    await time.advance(7)
    peer.wire.show_message(
        method="notifications/progress", params={"progressToken": request["id"], "progress": 1}
    )
    await time.advance(3.1)
    outcome = await calling
    assert (outcome.kind, outcome.waited_ns) == (OutcomeKind.FAILED, 0)
    assert "timed out after 10 s in total" in outcome.summary
    reported = await peer.next()
    assert reported["method"] == "notifications/cancelled"
    assert (reported["params"]["requestId"], reported["params"]["reason"]) == (request["id"], "timed out")


@BOTH
async def test_call_cancelled_by_the_user_is_reported_as_cancelled(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision)
    calling = start(stage)
    await peer.next()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert (await peer.next())["params"]["reason"] == "cancelled by the user"


@BOTH
async def test_total_timeout_pauses_while_a_request_is_pending_in_the_inbox(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    await time.advance(4)
    await ask(peer, revision, request)
    inbox_request = await stage.inbox_request()
    await time.advance(3600)
    assert not calling.done()
    stage.reply(inbox_request, ACCEPT, inbox_request.input_requests[0].key)
    response = await peer.next()
    await time.advance(5.9)  # 9.9 s of server time
    assert not calling.done()
    id = request["id"] if revision is R4 else response["id"]
    peer.wire.show_message(id=id, result=DONE)
    outcome = await calling
    assert outcome.kind is OutcomeKind.RESULT
    assert outcome.waited_ns == pytest.approx(3600e9)


@BOTH
async def test_total_timeout_resumes_where_it_paused(stage: InboxStage, revision: Revision) -> None:
    peer = await stage.connect(revision)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    await time.advance(4)
    await ask(peer, revision, request)
    inbox_request = await stage.inbox_request()
    await time.advance(3600)
    stage.reply(inbox_request, ACCEPT, inbox_request.input_requests[0].key)
    await peer.next()
    await time.advance(6.1)
    outcome = await calling
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.waited_ns == pytest.approx(3600e9)
    assert "timed out after 10 s in total" in outcome.summary
    assert (await peer.next())["params"]["reason"] == "timed out"


async def test_overlapping_requests_count_once(stage: InboxStage) -> None:
    peer = await stage.connect(R4)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    peer.ask("elicitation/create", ASK, "a")
    peer.ask("elicitation/create", ASK, "b")
    first, second = await stage.inbox_request(0), await stage.inbox_request(1)
    await time.advance(20)
    stage.reply(first, ACCEPT)
    await peer.next()
    await time.advance(20)
    assert not calling.done()
    stage.reply(second, ACCEPT)
    await peer.next()
    await time.advance(7)
    peer.wire.show_message(id=request["id"], result=DONE)
    outcome = await calling
    assert outcome.kind is OutcomeKind.RESULT
    assert outcome.waited_ns == pytest.approx(40e9)


@BOTH
async def test_total_timeout_pauses_while_the_task_of_the_call_has_a_pending_request(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    responded = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        await responded.wait()
        return ACCEPT

    slow: JSONObject = {"pollInterval": 60_000, "pollIntervalMs": 60_000}
    async with task_harness(revision, monkeypatch, {"elicitation/create": think}) as harness:
        work = harness.engine.tool_caller.call("srv", ToolCall("x", as_task=True, total=70.0))
        calling = asyncio.get_running_loop().create_task(work)
        created = state("working", **slow)
        await harness.reply(**({"task": created} if revision is R4 else {"resultType": "task", **created}))
        await harness.advance(60.1)
        input_request: JSONObject = {"method": "elicitation/create", "params": ASK}
        more: JSONObject = {"inputRequests": {"k": input_request}} if revision is R5 else {}
        await harness.reply(**state("input_required", **slow, **more))
        if revision is R4:
            await harness.next()  # tasks/result
            related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
            harness.wire.show_message(id="q", method="elicitation/create", params={**ASK, "_meta": related})
        await harness.advance(50)
        assert not calling.done()
        responded.set()
        await harness.settle()
        if revision is R4:
            await harness.next()  # our response
        else:
            assert (await harness.reply())["method"] == "tasks/update"
        await harness.advance(9.8)
        assert not calling.done()
        await harness.advance(0.2)
        outcome = await calling
        assert outcome.kind is OutcomeKind.FAILED
        assert outcome.waited_ns == pytest.approx(50e9)
        assert "timed out after 70 s in total" in outcome.summary
