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
        self.asked: list[JSONObject] = []
        self.answers: asyncio.Queue[JSONObject | RpcError] = asyncio.Queue()
        self.is_left = False

    async def elicit(self, params: JSONObject) -> JSONObject:
        self.asked.append(params)
        try:
            answer = await self.answers.get()
        except asyncio.CancelledError:
            self.is_left = True
            raise
        if isinstance(answer, RpcError):
            raise answer
        return answer


class Scene:
    def __init__(self, stage: EraStage, person: Person) -> None:
        self.stage, self.person = stage, person
        self._ids = 0

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """A request of the server's; gives our answer."""
        id = self.send(method, params)
        answer = await self.stage.next()
        assert answer["id"] == id, answer
        return answer

    def send(self, method: str, params: JSONObject) -> str:
        self._ids += 1
        id = f"s{self._ids}"
        self.stage.wire.say(id=id, method=method, params=params)
        return id

    async def create(self, **wish: JSON) -> Any:
        answer = await self.ask("elicitation/create", {**ASK, "task": wish})
        result = answer["result"]
        assert isinstance(result, dict)
        return result["task"]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    person = Person()
    declared: JSONObject = {"elicitation": {"form": {}}, "tasks": TASKS}
    answerers = {"elicitation/create": person.elicit}
    async with connected(R4, capabilities=declared, answerers=answerers) as stage:
        yield Scene(stage, person)


async def test_task_is_returned_immediately_and_the_reply_when_the_user_gives_it(scene: Scene) -> None:
    task = await scene.create(ttl=60_000)
    assert (task["status"], task["ttl"]) == ("working", 60_000)
    await settle()
    assert len(scene.person.asked) == 1
    waiting = scene.send("tasks/result", {"taskId": task["taskId"]})
    state: Any = await scene.ask("tasks/get", {"taskId": task["taskId"]})
    assert state["result"]["status"] == "working"
    scene.person.answers.put_nowait({"action": "accept", "content": {}})
    told = [await scene.stage.next() for _ in range(2)]
    (notice,) = [message for message in told if "method" in message]
    (answer,) = [message for message in told if "id" in message]
    assert notice["method"] == "notifications/tasks/status"
    assert isinstance(notice["params"], dict)
    assert notice["params"]["status"] == "completed"
    assert (answer["id"], answer["result"]) == (
        waiting,
        {"action": "accept", "content": {}, "_meta": {RELATED: {"taskId": task["taskId"]}}},
    )
    again: Any = await scene.ask("tasks/result", {"taskId": task["taskId"]})
    assert again["result"]["action"] == "accept"


async def test_rejection_becomes_the_task_result(scene: Scene) -> None:
    task = await scene.create()
    scene.person.answers.put_nowait(RpcError(-1, "The user rejected the request"))
    notice: Any = await scene.stage.next()
    assert notice["params"]["status"] == "failed"
    answer: Any = await scene.ask("tasks/result", {"taskId": task["taskId"]})
    assert answer["error"] == {"code": -1, "message": "The user rejected the request"}


async def test_cancelled_task_withdraws_the_request(scene: Scene) -> None:
    task = await scene.create()
    await settle()
    waiting = scene.send("tasks/result", {"taskId": task["taskId"]})
    await settle()
    scene.send("tasks/cancel", {"taskId": task["taskId"]})
    answers: Any = {answer["id"]: answer for answer in [await scene.stage.next() for _ in range(2)]}
    assert scene.person.is_left
    assert answers[waiting]["error"]["message"] == "The task was cancelled"
    assert answers["s3"]["result"]["status"] == "cancelled"
    twice: Any = await scene.ask("tasks/cancel", {"taskId": task["taskId"]})
    assert twice["error"]["code"] == -32602


async def test_expired_task_withdraws_the_request(scene: Scene) -> None:
    time = LoopTime()
    task = await scene.create(ttl=5_000)
    await settle()
    await time.advance(5.1)
    await settle()
    assert scene.person.is_left
    answer: Any = await scene.ask("tasks/get", {"taskId": task["taskId"]})
    assert answer["error"]["code"] == -32602


async def test_tasks_are_listed(scene: Scene) -> None:
    ids = [(await scene.create())["taskId"] for _ in range(2)]
    answer: Any = await scene.ask("tasks/list", {})
    assert [task["taskId"] for task in answer["result"]["tasks"]] == ids


async def test_unanswerable_request_creates_no_task(scene: Scene) -> None:
    answer: Any = await scene.ask("elicitation/create", {"task": {}})
    assert answer["error"]["code"] == -32602
    listed: Any = await scene.ask("tasks/list", {})
    assert listed["result"] == {"tasks": []}


async def test_undeclared_task_request_is_ignored() -> None:
    person = Person()
    answerers = {"elicitation/create": person.elicit}
    async with connected(R4, capabilities={"elicitation": {"form": {}}}, answerers=answerers) as stage:
        scene = Scene(stage, person)
        person.answers.put_nowait({"action": "decline"})
        answer = await scene.ask("elicitation/create", ASK)
        assert answer["result"] == {"action": "decline"}
        refused: Any = await scene.ask("tasks/get", {"taskId": "t"})
        assert refused["error"]["code"] == -32601


async def test_lost_connection_ends_the_request(scene: Scene) -> None:
    await scene.create()
    await settle()
    scene.stage.wire.end()
    await settle()
    assert scene.person.is_left
