"""Task-augmented server requests of 2025-11-25, from the request to the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.revisions import R4
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import EraStage, connected, settle

TASKS: JSONObject = {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}
ASK: JSONObject = {"message": "ok?", "requestedSchema": {"type": "object", "properties": {}}, "task": {}}
RELATED = "io.modelcontextprotocol/related-task"


class FakeUser:
    """Replies with what the test puts into `responses`."""

    def __init__(self) -> None:
        self.requested: list[JSONObject] = []
        self.responses: asyncio.Queue[JSONObject | RpcError] = asyncio.Queue()
        self.was_cancelled = False

    async def elicit(self, params: JSONObject) -> JSONObject:
        self.requested.append(params)
        try:
            response = await self.responses.get()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if isinstance(response, RpcError):
            raise response
        return response


class TaskStage:
    def __init__(self, stage: EraStage, user: FakeUser) -> None:
        self.stage, self.user = stage, user
        self._ids = 0

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Send a server request and return the client's response."""
        id = self.send(method, params)
        response = await self.stage.next()
        assert response["id"] == id, response
        return response

    def send(self, method: str, params: JSONObject) -> str:
        self._ids += 1
        id = f"s{self._ids}"
        self.stage.wire.show_message(id=id, method=method, params=params)
        return id

    async def create(self, **preference: JSON) -> Any:
        response = await self.ask("elicitation/create", {**ASK, "task": preference})
        result = response["result"]
        assert isinstance(result, dict)
        return result["task"]


@pytest.fixture
async def stage() -> AsyncIterator[TaskStage]:
    user = FakeUser()
    declared: JSONObject = {"elicitation": {"form": {}}, "tasks": TASKS}
    handlers = {"elicitation/create": user.elicit}
    async with connected(R4, capabilities=declared, handlers=handlers) as stage:
        yield TaskStage(stage, user)


async def test_task_is_returned_immediately_and_the_reply_when_the_user_gives_it(stage: TaskStage) -> None:
    task = await stage.create(ttl=60_000)
    assert (task["status"], task["ttl"]) == ("working", 60_000)
    await settle()
    assert len(stage.user.requested) == 1
    waiting = stage.send("tasks/result", {"taskId": task["taskId"]})
    state: Any = await stage.ask("tasks/get", {"taskId": task["taskId"]})
    assert state["result"]["status"] == "working"
    stage.user.responses.put_nowait({"action": "accept", "content": {}})
    reported = [await stage.stage.next() for _ in range(2)]
    (notice,) = [message for message in reported if "method" in message]
    (response,) = [message for message in reported if "id" in message]
    assert notice["method"] == "notifications/tasks/status"
    assert isinstance(notice["params"], dict)
    assert notice["params"]["status"] == "completed"
    assert (response["id"], response["result"]) == (
        waiting,
        {"action": "accept", "content": {}, "_meta": {RELATED: {"taskId": task["taskId"]}}},
    )
    again: Any = await stage.ask("tasks/result", {"taskId": task["taskId"]})
    assert again["result"]["action"] == "accept"


async def test_rejection_becomes_the_task_result(stage: TaskStage) -> None:
    task = await stage.create()
    stage.user.responses.put_nowait(RpcError(-1, "The user rejected the request"))
    notice: Any = await stage.stage.next()
    assert notice["params"]["status"] == "failed"
    response: Any = await stage.ask("tasks/result", {"taskId": task["taskId"]})
    assert response["error"] == {"code": -1, "message": "The user rejected the request"}


async def test_cancelled_task_withdraws_the_request(stage: TaskStage) -> None:
    task = await stage.create()
    await settle()
    waiting = stage.send("tasks/result", {"taskId": task["taskId"]})
    await settle()
    stage.send("tasks/cancel", {"taskId": task["taskId"]})
    responses: Any = {response["id"]: response for response in [await stage.stage.next() for _ in range(2)]}
    assert stage.user.was_cancelled
    assert responses[waiting]["error"]["message"] == "The task was cancelled"
    assert responses["s3"]["result"]["status"] == "cancelled"
    twice: Any = await stage.ask("tasks/cancel", {"taskId": task["taskId"]})
    assert twice["error"]["code"] == -32602


async def test_expired_task_withdraws_the_request(stage: TaskStage) -> None:
    time = LoopTime()
    task = await stage.create(ttl=5_000)
    await settle()
    await time.advance(5.1)
    await settle()
    assert stage.user.was_cancelled
    response: Any = await stage.ask("tasks/get", {"taskId": task["taskId"]})
    assert response["error"]["code"] == -32602


async def test_tasks_are_listed(stage: TaskStage) -> None:
    ids = [(await stage.create())["taskId"] for _ in range(2)]
    response: Any = await stage.ask("tasks/list", {})
    assert [task["taskId"] for task in response["result"]["tasks"]] == ids


async def test_unanswerable_request_creates_no_task(stage: TaskStage) -> None:
    response: Any = await stage.ask("elicitation/create", {"task": {}})
    assert response["error"]["code"] == -32602
    listed: Any = await stage.ask("tasks/list", {})
    assert listed["result"] == {"tasks": []}


async def test_undeclared_task_request_is_ignored() -> None:
    user = FakeUser()
    handlers = {"elicitation/create": user.elicit}
    async with connected(R4, capabilities={"elicitation": {"form": {}}}, handlers=handlers) as session:
        stage = TaskStage(session, user)
        user.responses.put_nowait({"action": "decline"})
        response = await stage.ask("elicitation/create", ASK)
        assert response["result"] == {"action": "decline"}
        refused: Any = await stage.ask("tasks/get", {"taskId": "t"})
        assert refused["error"]["code"] == -32601


async def test_lost_connection_ends_the_request(stage: TaskStage) -> None:
    await stage.create()
    await settle()
    stage.stage.wire.end()
    await settle()
    assert stage.user.was_cancelled
