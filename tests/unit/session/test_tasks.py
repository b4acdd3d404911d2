"""Tasks of both designs: run, asked after, answered, cancelled, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from inspector.base.errors import NotOffered, RemoteProtocolError, RequestCancelled, RequestTimedOut, RpcError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.tasks import Task, TaskStatus
from inspector.session.route import Answerer
from tests.helpers.fakes import LoopTime
from tests.unit.session.erastage import TASKS, EraStage, answering, connected, meta_of, params_of, settle

CORE: JSONObject = {
    "tools": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}
EXTENSION: JSONObject = {"tools": {}, "extensions": {TASKS: {}}}
ASK: JSONObject = {"method": "elicitation/create", "params": {"message": "ok?"}}
ACCEPT: JSONObject = {"action": "accept", "content": {}}
OUTCOME: JSONObject = {"content": [{"type": "text", "text": "42"}]}


@asynccontextmanager
async def running(
    revision: Revision, answerers: Mapping[str, Answerer] | None = None, **task: JSON
) -> AsyncIterator[tuple[EraStage, Task, LoopTime]]:
    """Connected, with a task that is at work. Time stands still."""
    capabilities: JSONObject = {"elicitation": {"form": {}}} if answerers else {}
    offered = CORE if revision is R4 else EXTENSION
    async with connected(revision, offered=offered, capabilities=capabilities, answerers=answerers) as stage:
        time = LoopTime()
        yield stage, Task.read(state("working", **task)), time


def state(status: str, **more: JSON) -> JSONObject:
    return {"taskId": "t", "status": status, **more}


# ------------------------------------------------------------------ both


@pytest.mark.parametrize(
    ("revision", "interval"), [(R4, {"pollInterval": 5000}), (R5, {"pollIntervalMs": 5000})], ids=str
)
async def test_a_task_is_asked_after_as_often_as_the_server_wishes(
    revision: Revision, interval: JSONObject
) -> None:
    async with running(revision, None, **interval) as (stage, task, time):
        news: list[Task] = []
        finishing = stage.start(stage.client.tasks.finish(task, news.append))
        await settle()
        for _ in range(2):
            await time.advance(4.9)
            assert await stage.sends_nothing_more()
            await time.advance(0.2)
            request = await stage.reply(**state("working", statusMessage="still at it", **interval))
            assert request["method"] == "tasks/get"
            assert params_of(request) == {"taskId": "t"}
            await settle()
        finishing.cancel()
        await settle()
    assert [one.message for one in news] == ["still at it", "still at it"]


@pytest.mark.parametrize("revision", [R4, R5], ids=str)
async def test_without_a_wish_a_task_is_asked_after_each_second(revision: Revision) -> None:
    async with running(revision) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        assert (await stage.next())["method"] == "tasks/get"
        finishing.cancel()
        await settle()


@pytest.mark.parametrize("revision", [R4, R5], ids=str)
async def test_a_cancelled_task_has_no_outcome(revision: Revision) -> None:
    async with running(revision) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("cancelled", statusMessage="By another client."))
        with pytest.raises(RequestCancelled, match=r"The task was cancelled\. By another client\."):
            await finishing
        assert await stage.sends_nothing_more()


async def test_the_state_of_another_task_is_named_once_and_not_believed() -> None:
    async with running(R5) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        for _ in range(3):
            await settle()
            await time.advance(1.1)
            await stage.reply(taskId="u", status="completed", result={})
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("completed", result=OUTCOME))
        assert await finishing == OUTCOME
        assert stage.notes() == ["The state is that of another task, “u”."]


# ------------------------------------------------------------------ 2025-11-25


async def test_a_call_is_augmented_and_becomes_a_task() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool("x", {}, as_task=True))
        request = await stage.reply(task=state("working"))
        done = await call
    assert params_of(request) == {"name": "x", "arguments": {}, "task": {}}
    assert done.task is not None
    assert (done.task.id, done.task.status) == ("t", TaskStatus.WORKING)


async def test_a_server_may_answer_at_once_all_the_same() -> None:
    for revision, offered in ((R4, CORE), (R5, EXTENSION)):
        async with connected(revision, offered=offered) as stage:
            call = stage.start(stage.client.call_tool("x", {}, as_task=True))
            await stage.reply(**OUTCOME)
            done = await call
        assert done.task is None
        assert done.exchange.answer.result == OUTCOME


async def test_an_error_in_place_of_a_task_is_given_as_it_came() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool("x", {}, as_task=True))
        await stage.refuse(-32602, "no such tool")
        done = await call
    assert done.task is None
    assert b"no such tool" in done.exchange.answer.raw


async def test_a_task_that_cannot_be_read_is_a_fault() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool("x", {}, as_task=True))
        await stage.reply(task={"status": "working"})
        with pytest.raises(RemoteProtocolError, match="became a task that cannot be read"):
            await call


async def test_the_outcome_of_a_completed_task_is_fetched() -> None:
    async with running(R4) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("completed"))
        request = await stage.reply(**OUTCOME)
        assert await finishing == OUTCOME
    assert (request["method"], params_of(request)) == ("tasks/result", {"taskId": "t"})


async def test_a_failed_task_gives_what_the_call_would_have_given() -> None:
    async with running(R4) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("failed"))
        await stage.refuse(-32000, "the disk is full")
        with pytest.raises(RpcError, match="the disk is full"):
            await finishing


async def test_a_task_that_wants_input_is_waited_for_however_long_the_person_takes() -> None:
    """The server asks with requests of its own while tasks/result waits."""
    async with running(R4, {"elicitation/create": answering(ACCEPT)}) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("input_required"))
        waiting = await stage.next()
        assert waiting["method"] == "tasks/result"
        stage.wire.say(id="q", method="elicitation/create", params={"message": "ok?"})
        assert (await stage.next())["result"] == ACCEPT
        await time.advance(3600)
        assert not finishing.done()
        stage.wire.say(id=waiting["id"], result=OUTCOME)
        assert await finishing == OUTCOME


async def test_every_other_request_about_a_task_has_its_limit() -> None:
    async with running(R4) as (stage, _, time):
        asking = stage.start(stage.client.tasks.get("t"))
        await stage.next()
        await time.advance(10.1)
        with pytest.raises(RequestTimedOut):
            await asking


async def test_tasks_are_listed_with_all_their_pages() -> None:
    async with connected(R4, offered=CORE) as stage:
        asking = stage.start(stage.client.tasks.list())
        await stage.reply(tasks=[state("working"), {"taskId": "bad"}], nextCursor="2")
        await stage.reply(tasks=[state("completed")])
        listing = await asking
    assert [task.status for task in listing.items] == [TaskStatus.WORKING, TaskStatus.COMPLETED]
    assert [malformed.value for malformed in listing.malformed] == [{"taskId": "bad"}]


async def test_a_task_is_cancelled_where_that_is_offered() -> None:
    async with connected(R4, offered=CORE) as stage:
        asking = stage.start(stage.client.tasks.cancel("t"))
        request = await stage.reply(**state("cancelled"))
        await asking
    assert (request["method"], params_of(request)) == ("tasks/cancel", {"taskId": "t"})
    async with connected(R4, offered={"tasks": {}}) as stage:
        with pytest.raises(NotOffered, match=r"“tasks\.cancel”"):
            await stage.client.tasks.cancel("t")


# ------------------------------------------------------------------ the extension for 2026-07-28


async def test_the_extension_is_declared_where_a_task_is_wanted_and_only_there() -> None:
    async with connected(R5, offered=EXTENSION, capabilities={"roots": {}}) as stage:
        plain = stage.start(stage.client.call_tool("x", {}))
        request = await stage.reply(**OUTCOME)
        await plain
        assert meta_of(request)["clientCapabilities"] == {"roots": {}}
        call = stage.start(stage.client.call_tool("x", {}, as_task=True))
        request = await stage.reply(resultType="task", **state("working"))
        done = await call
        declared: JSONObject = {"roots": {}, "extensions": {TASKS: {}}}
        assert meta_of(request)["clientCapabilities"] == declared
        assert params_of(request) == {"name": "x", "arguments": {}}  # the wish is in the capability alone
        assert done.task is not None
        asking = stage.start(stage.client.tasks.get("t"))
        assert meta_of(await stage.reply(**state("working")))["clientCapabilities"] == declared
        await asking


async def test_rounds_may_come_before_the_task() -> None:
    answerers = {"elicitation/create": answering(ACCEPT)}
    capabilities: JSONObject = {"elicitation": {"form": {}}}
    async with connected(R5, offered=EXTENSION, capabilities=capabilities, answerers=answerers) as stage:
        call = stage.start(stage.client.call_tool("x", {}, as_task=True))
        await stage.reply(resultType="input_required", inputRequests={"k": ASK})
        await stage.reply(resultType="task", **state("working"))
        done = await call
    assert done.rounds == 2
    assert done.task is not None


async def test_each_question_of_a_task_is_answered_once_however_often_it_is_polled() -> None:
    async with running(R5, {"elicitation/create": answering(ACCEPT)}) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        questions: list[JSONObject] = [{"k1": ASK}, {"k1": ASK}, {"k1": ASK, "k2": ASK}]
        updates = []
        for requests in questions:
            await settle()
            await time.advance(1.1)
            await stage.reply(**state("input_required", inputRequests=requests))
            await settle()
            if not stage.wire.sends_nothing():
                updates.append(await stage.reply())
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("completed", result=OUTCOME))
        assert await finishing == OUTCOME
        assert await stage.sends_nothing_more()  # the outcome is inside: nothing is fetched
    assert [update["method"] for update in updates] == ["tasks/update"] * 2
    assert [params_of(update) for update in updates] == [
        {"taskId": "t", "inputResponses": {"k1": ACCEPT}},
        {"taskId": "t", "inputResponses": {"k2": ACCEPT}},
    ]


async def test_a_question_that_we_did_not_declare_ends_the_waiting() -> None:
    async with running(R5) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("input_required", inputRequests={"k": ASK}))
        with pytest.raises(RemoteProtocolError, match="did not declare elicitation"):
            await finishing
        assert await stage.sends_nothing_more()


async def test_a_question_that_cannot_be_read_is_named() -> None:
    async with running(R5) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("input_required", inputRequests=[1]))
        await settle()
        assert stage.notes() == ['The task asks for what cannot be read: "inputRequests" must be an object.']
        finishing.cancel()
        await settle()


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": -32000, "message": "the disk is full"}, -32000, "the disk is full"),
        ({"code": "x"}, -32603, "as the status says"),
        (None, -32603, "as the status says"),
    ],
)
async def test_a_failed_task_raises_the_error_inside_it(error: JSON, code: int, message: str) -> None:
    async with running(R5) as (stage, task, time):
        finishing = stage.start(stage.client.tasks.finish(task))
        await settle()
        await time.advance(1.1)
        await stage.reply(**state("failed", error=error, statusMessage="as the status says"))
        with pytest.raises(RpcError) as caught:
            await finishing
    assert (caught.value.code, caught.value.message) == (code, message)


async def test_the_extension_has_no_list() -> None:
    async with connected(R5, offered=EXTENSION) as stage:
        with pytest.raises(NotOffered, match="Revision 2026-07-28 has no list of tasks"):
            await stage.client.tasks.list()
        assert await stage.sends_nothing_more()


async def test_the_extension_cancels_without_asking_for_more() -> None:
    async with connected(R5, offered=EXTENSION) as stage:
        asking = stage.start(stage.client.tasks.cancel("t"))
        assert (await stage.reply())["method"] == "tasks/cancel"
        await asking
