"""A server of 2025-11-25 asks something of us as a task: the wire, from the question to the outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from inspector.base.errors import RpcError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.revisions import R4
from tests.helpers.fakes import LoopTime
from tests.unit.session.session_stage import EraStage, connected, settle

TASKS: JSONObject = {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}
ASK: JSONObject = {"message": "ok?", "requestedSchema": {"type": "object", "properties": {}}, "task": {}}
RELATED = "io.modelcontextprotocol/related-task"


class Person:
    """Answers when told to."""

    def __init__(self) -> None:
        self.requested: list[JSONObject] = []
        self.responses: asyncio.Queue[JSONObject | RpcError] = asyncio.Queue()
        self.is_left = False

    async def elicit(self, params: JSONObject) -> JSONObject:
        self.requested.append(params)
        try:
            response = await self.responses.get()
        except asyncio.CancelledError:
            self.is_left = True
            raise
        if isinstance(response, RpcError):
            raise response
        return response


class Scene:
    def __init__(self, stage: EraStage, person: Person) -> None:
        self.stage, self.person = stage, person
        self._ids = 0

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """A request of the server's; gives our answer."""
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
async def scene() -> AsyncIterator[Scene]:
    person = Person()
    declared: JSONObject = {"elicitation": {"form": {}}, "tasks": TASKS}
    handlers = {"elicitation/create": person.elicit}
    async with connected(R4, capabilities=declared, handlers=handlers) as stage:
        yield Scene(stage, person)


async def test_task_is_returned_immediately_and_the_reply_when_the_user_gives_it(scene: Scene) -> None:
    task = await scene.create(ttl=60_000)
    assert (task["status"], task["ttl"]) == ("working", 60_000)
    await settle()
    assert len(scene.person.requested) == 1
    waiting = scene.send("tasks/result", {"taskId": task["taskId"]})
    state: Any = await scene.ask("tasks/get", {"taskId": task["taskId"]})
    assert state["result"]["status"] == "working"
    scene.person.responses.put_nowait({"action": "accept", "content": {}})
    reported = [await scene.stage.next() for _ in range(2)]
    (notice,) = [message for message in reported if "method" in message]
    (response,) = [message for message in reported if "id" in message]
    assert notice["method"] == "notifications/tasks/status"
    assert isinstance(notice["params"], dict)
    assert notice["params"]["status"] == "completed"
    assert (response["id"], response["result"]) == (
        waiting,
        {"action": "accept", "content": {}, "_meta": {RELATED: {"taskId": task["taskId"]}}},
    )
    again: Any = await scene.ask("tasks/result", {"taskId": task["taskId"]})
    assert again["result"]["action"] == "accept"


async def test_rejection_becomes_the_task_result(scene: Scene) -> None:
    task = await scene.create()
    scene.person.responses.put_nowait(RpcError(-1, "The user rejected the request"))
    notice: Any = await scene.stage.next()
    assert notice["params"]["status"] == "failed"
    response: Any = await scene.ask("tasks/result", {"taskId": task["taskId"]})
    assert response["error"] == {"code": -1, "message": "The user rejected the request"}


async def test_cancelled_task_withdraws_the_request(scene: Scene) -> None:
    task = await scene.create()
    await settle()
    waiting = scene.send("tasks/result", {"taskId": task["taskId"]})
    await settle()
    scene.send("tasks/cancel", {"taskId": task["taskId"]})
    responses: Any = {response["id"]: response for response in [await scene.stage.next() for _ in range(2)]}
    assert scene.person.is_left
    assert responses[waiting]["error"]["message"] == "The task was cancelled"
    assert responses["s3"]["result"]["status"] == "cancelled"
    twice: Any = await scene.ask("tasks/cancel", {"taskId": task["taskId"]})
    assert twice["error"]["code"] == -32602


async def test_expired_task_withdraws_the_request(scene: Scene) -> None:
    time = LoopTime()
    task = await scene.create(ttl=5_000)
    await settle()
    await time.advance(5.1)
    await settle()
    assert scene.person.is_left
    response: Any = await scene.ask("tasks/get", {"taskId": task["taskId"]})
    assert response["error"]["code"] == -32602


async def test_tasks_are_listed(scene: Scene) -> None:
    ids = [(await scene.create())["taskId"] for _ in range(2)]
    response: Any = await scene.ask("tasks/list", {})
    assert [task["taskId"] for task in response["result"]["tasks"]] == ids


async def test_unanswerable_request_creates_no_task(scene: Scene) -> None:
    response: Any = await scene.ask("elicitation/create", {"task": {}})
    assert response["error"]["code"] == -32602
    listed: Any = await scene.ask("tasks/list", {})
    assert listed["result"] == {"tasks": []}


async def test_undeclared_task_request_is_ignored() -> None:
    person = Person()
    handlers = {"elicitation/create": person.elicit}
    async with connected(R4, capabilities={"elicitation": {"form": {}}}, handlers=handlers) as stage:
        scene = Scene(stage, person)
        person.responses.put_nowait({"action": "decline"})
        response = await scene.ask("elicitation/create", ASK)
        assert response["result"] == {"action": "decline"}
        refused: Any = await scene.ask("tasks/get", {"taskId": "t"})
        assert refused["error"]["code"] == -32601


async def test_lost_connection_ends_the_request(scene: Scene) -> None:
    await scene.create()
    await settle()
    scene.stage.wire.end()
    await settle()
    assert scene.person.is_left
