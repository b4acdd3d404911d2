"""Task methods in both designs. Following tasks is tested with the engine."""

from __future__ import annotations

import pytest

from inspector.base.errors import CapabilityMissing, RemoteProtocolError, RequestTimedOut
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.revisions import R4, R5
from inspector.protocol.tasks import TaskStatus
from inspector.session.client import ToolCall
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import TASKS, connected, meta_of, params_of, replying_with

CORE: JSONObject = {
    "tools": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}
EXTENSION: JSONObject = {"tools": {}, "extensions": {TASKS: {}}}
ASK: JSONObject = {
    "method": "elicitation/create",
    "params": {"message": "ok?", "requestedSchema": {"type": "object"}},
}
ACCEPT: JSONObject = {"action": "accept", "content": {}}
OUTCOME: JSONObject = {"content": [{"type": "text", "text": "42"}]}


def state(status: str, **more: JSON) -> JSONObject:
    return {"taskId": "t", "status": status, **more}


async def test_augmented_call_becomes_a_task() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
        request = await stage.reply(task=state("working"))
        done = await call
    assert params_of(request) == {"name": "x", "arguments": {}, "task": {}}
    assert done.task is not None
    assert (done.task.id, done.task.status) == ("t", TaskStatus.WORKING)


async def test_server_may_still_answer_immediately() -> None:
    for revision, offered in ((R4, CORE), (R5, EXTENSION)):
        async with connected(revision, offered=offered) as stage:
            call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
            await stage.reply(**OUTCOME)
            done = await call
        assert done.task is None
        assert done.exchange.response.result == OUTCOME


async def test_error_instead_of_a_task_is_returned_unchanged() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
        await stage.refuse(-32602, "no such tool")
        done = await call
    assert done.task is None
    assert b"no such tool" in done.exchange.response.raw


async def test_unreadable_task_is_a_violation() -> None:
    async with connected(R4, offered=CORE) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
        await stage.reply(task={"status": "working"})
        with pytest.raises(RemoteProtocolError, match="became a task that could not be parsed"):
            await call


async def test_every_other_task_request_has_a_timeout() -> None:
    async with connected(R4, offered=CORE) as stage:
        time = LoopTime()
        pending = stage.start(stage.client.tasks.get("t"))
        await stage.next()
        await time.advance(10.1)
        with pytest.raises(RequestTimedOut):
            await pending


async def test_tasks_are_listed_across_all_pages() -> None:
    async with connected(R4, offered=CORE) as stage:
        pending = stage.start(stage.client.tasks.list())
        await stage.reply(tasks=[state("working"), {"taskId": "bad"}], nextCursor="2")
        await stage.reply(tasks=[state("completed")])
        listing = await pending
    assert [task.status for task in listing.items] == [TaskStatus.WORKING, TaskStatus.COMPLETED]
    assert [malformed.value for malformed in listing.malformed] == [{"taskId": "bad"}]


async def test_task_is_cancelled_where_supported() -> None:
    async with connected(R4, offered=CORE) as stage:
        pending = stage.start(stage.client.tasks.cancel("t"))
        request = await stage.reply(**state("cancelled"))
        await pending
    assert (request["method"], params_of(request)) == ("tasks/cancel", {"taskId": "t"})
    async with connected(R4, offered={"tasks": {}}) as stage:
        with pytest.raises(CapabilityMissing, match=r"“tasks\.cancel”"):
            await stage.client.tasks.cancel("t")


async def test_extension_is_declared_only_where_a_task_is_wanted() -> None:
    async with connected(R5, offered=EXTENSION, capabilities={"roots": {}}) as stage:
        plain = stage.start(stage.client.call_tool(ToolCall("x")))
        request = await stage.reply(**OUTCOME)
        await plain
        assert meta_of(request)["clientCapabilities"] == {"roots": {}}
        call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
        request = await stage.reply(resultType="task", **state("working"))
        done = await call
        declared: JSONObject = {"roots": {}, "extensions": {TASKS: {}}}
        assert meta_of(request)["clientCapabilities"] == declared
        assert params_of(request) == {"name": "x", "arguments": {}}  # only the capability requests a task
        assert done.task is not None
        pending = stage.start(stage.client.tasks.get("t"))
        assert meta_of(await stage.reply(**state("working")))["clientCapabilities"] == declared
        await pending


async def test_rounds_may_precede_the_task() -> None:
    handlers = {"elicitation/create": replying_with(ACCEPT)}
    capabilities: JSONObject = {"elicitation": {"form": {}}}
    async with connected(R5, offered=EXTENSION, capabilities=capabilities, handlers=handlers) as stage:
        call = stage.start(stage.client.call_tool(ToolCall("x", as_task=True)))
        await stage.reply(resultType="input_required", inputRequests={"k": ASK})
        await stage.reply(resultType="task", **state("working"))
        done = await call
    assert done.rounds == 2
    assert done.task is not None


async def test_the_extension_has_no_list() -> None:
    async with connected(R5, offered=EXTENSION) as stage:
        with pytest.raises(CapabilityMissing, match="Protocol version 2026-07-28 cannot list tasks"):
            await stage.client.tasks.list()
        assert await stage.sends_nothing_more()


async def test_extension_cancels_with_a_single_request() -> None:
    async with connected(R5, offered=EXTENSION) as stage:
        pending = stage.start(stage.client.tasks.cancel("t"))
        assert (await stage.reply())["method"] == "tasks/cancel"
        await pending
