"""The limit of a call in all: what the server is told, and the time in the Inbox, which is not counted."""

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
from tests.unit.engine.tasks.task_stage import state, task_desk

BOTH = pytest.mark.parametrize("revision", [R4, R5], ids=lambda one: one.date)
CALL = ToolCall("greet", timeout=12.0, total=10.0)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InboxStage]:
    stage = InboxStage(monkeypatch)
    yield stage
    await stage.engine.close()


def start(stage: InboxStage) -> asyncio.Task[CallOutcome]:
    return asyncio.get_running_loop().create_task(stage.engine.by_hand.call("srv", CALL))


async def ask(peer: Peer, revision: Revision, request: JSONObject) -> None:
    if revision is R4:
        peer.ask("elicitation/create", ASK)
        return
    questions: JSONObject = {"k": {"method": "elicitation/create", "params": ASK}}
    peer.wire.say(id=request["id"], result={"resultType": "input_required", "inputRequests": questions})


@BOTH
async def test_call_that_exceeds_the_total_timeout_is_reported_as_timed_out(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    await time.advance(7)
    peer.wire.say(method="notifications/progress", params={"progressToken": request["id"], "progress": 1})
    await time.advance(3.1)
    outcome = await calling
    assert (outcome.kind, outcome.waited_ns) == (OutcomeKind.FAILED, 0)
    assert "not done within 10 s in all" in outcome.summary
    told = await peer.next()
    assert told["method"] == "notifications/cancelled"
    assert (told["params"]["requestId"], told["params"]["reason"]) == (request["id"], "timed out")


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
    assert (await peer.next())["params"]["reason"] == "cancelled by the person"


@BOTH
async def test_total_timeout_pauses_while_a_request_is_pending_in_the_inbox(
    stage: InboxStage, revision: Revision
) -> None:
    peer = await stage.connect(revision)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    await time.advance(4)
    await ask(peer, revision, request)
    card = await stage.card()
    await time.advance(3600)
    assert not calling.done()
    stage.reply(card, ACCEPT, card.questions[0].key)
    answer = await peer.next()
    await time.advance(5.9)  # 9.9 s of the server's
    assert not calling.done()
    id = request["id"] if revision is R4 else answer["id"]
    peer.wire.say(id=id, result=DONE)
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
    card = await stage.card()
    await time.advance(3600)
    stage.reply(card, ACCEPT, card.questions[0].key)
    await peer.next()
    await time.advance(6.1)
    outcome = await calling
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.waited_ns == pytest.approx(3600e9)
    assert "not done within 10 s in all" in outcome.summary
    assert (await peer.next())["params"]["reason"] == "timed out"


async def test_overlapping_requests_count_once(stage: InboxStage) -> None:
    peer = await stage.connect(R4)
    time, calling = LoopTime(), start(stage)
    request = await peer.next()
    peer.ask("elicitation/create", ASK, "a")
    peer.ask("elicitation/create", ASK, "b")
    first, second = await stage.card(0), await stage.card(1)
    await time.advance(20)
    stage.reply(first, ACCEPT)
    await peer.next()
    await time.advance(20)
    assert not calling.done()
    stage.reply(second, ACCEPT)
    await peer.next()
    await time.advance(7)
    peer.wire.say(id=request["id"], result=DONE)
    outcome = await calling
    assert outcome.kind is OutcomeKind.RESULT
    assert outcome.waited_ns == pytest.approx(40e9)


@BOTH
async def test_total_timeout_pauses_while_the_task_of_the_call_has_a_pending_request(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    answered = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        await answered.wait()
        return ACCEPT

    slow: JSONObject = {"pollInterval": 60_000, "pollIntervalMs": 60_000}
    async with task_desk(revision, monkeypatch, {"elicitation/create": think}) as desk:
        work = desk.engine.by_hand.call("srv", ToolCall("x", as_task=True, total=70.0))
        calling = asyncio.get_running_loop().create_task(work)
        created = state("working", **slow)
        await desk.reply(**({"task": created} if revision is R4 else {"resultType": "task", **created}))
        await desk.advance(60.1)
        question: JSONObject = {"method": "elicitation/create", "params": ASK}
        more: JSONObject = {"inputRequests": {"k": question}} if revision is R5 else {}
        await desk.reply(**state("input_required", **slow, **more))
        if revision is R4:
            await desk.next()  # tasks/result
            related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
            desk.wire.say(id="q", method="elicitation/create", params={**ASK, "_meta": related})
        await desk.advance(50)
        assert not calling.done()
        answered.set()
        await desk.settle()
        if revision is R4:
            await desk.next()  # our answer
        else:
            assert (await desk.reply())["method"] == "tasks/update"
        await desk.advance(9.8)
        assert not calling.done()
        await desk.advance(0.2)
        outcome = await calling
        assert outcome.kind is OutcomeKind.FAILED
        assert outcome.waited_ns == pytest.approx(50e9)
        assert "not done within 70 s in all" in outcome.summary
