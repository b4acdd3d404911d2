"""Tasks that the client runs for a server."""

from __future__ import annotations

from itertools import count

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.client_tasks import ClientTask, ClientTasks, is_augmented, require_declared
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.revisions import R3, R4, R5
from tests.helpers.fakes import FakeClock

DECLARED: JSONObject = {"tasks": {"list": {}, "cancel": {}, "requests": {"elicitation": {"create": {}}}}}


class NumberedTasks(ClientTasks):
    def __init__(self) -> None:
        self.clock = FakeClock()
        ids = count(1)
        super().__init__(self.clock.wall_ns, lambda: f"task {next(ids)}")

    def make(self, **preference: JSON) -> ClientTask:
        return self.create("elicitation/create", {"message": "?", "task": preference})


def named(task: ClientTask) -> JSONObject:
    return {"taskId": task.id}


def test_task_request_is_honored_only_where_we_declared_it() -> None:
    preference: JSONObject = {"task": {}}
    assert is_augmented("elicitation/create", preference, DECLARED, R4)
    assert not is_augmented("sampling/createMessage", preference, DECLARED, R4)
    assert not is_augmented("elicitation/create", preference, {}, R4)
    assert not is_augmented("elicitation/create", {}, DECLARED, R4)
    assert not is_augmented("elicitation/create", {"task": True}, DECLARED, R4)
    for other in (R3, R5):
        assert not is_augmented("elicitation/create", preference, DECLARED, other)


def test_undeclared_methods_are_not_found() -> None:
    require_declared("tasks/cancel", DECLARED)
    bare: JSONObject = {"tasks": {}}
    refused: list[tuple[str, JSONObject]] = [("tasks/get", {}), ("tasks/list", bare), ("tasks/cancel", bare)]
    for method, declared in refused:
        with pytest.raises(RpcError) as caught:
            require_declared(method, declared)
        assert caught.value.code == -32601


def test_new_task_has_every_member_the_version_requires() -> None:
    client_tasks = NumberedTasks()
    assert client_tasks.make(ttl=60_000).to_json() == {
        "taskId": "task 1",
        "status": "working",
        "statusMessage": "Waiting for the user's response.",
        "createdAt": "2023-11-14T22:13:20.000Z",
        "lastUpdatedAt": "2023-11-14T22:13:20.000Z",
        "ttl": 60_000,
        "pollInterval": 1_000,
    }


@pytest.mark.parametrize(
    ("preference", "ttl"), [({}, 3_600_000), ({"ttl": 10**12}, 86_400_000), ({"ttl": "x"}, 3_600_000)]
)
def test_requested_ttl_is_clamped(preference: JSONObject, ttl: int) -> None:
    assert NumberedTasks().make(**preference).ttl_ms == ttl


def test_reply_is_stored_with_its_task() -> None:
    client_tasks = NumberedTasks()
    task = client_tasks.make()
    client_tasks.clock.advance(5)
    assert client_tasks.finish(task, {"action": "accept", "_meta": {"mine": 1}})
    assert client_tasks.find(named(task)).to_json()["status"] == "completed"
    assert task.to_json()["lastUpdatedAt"] == "2023-11-14T22:13:25.000Z"
    related = {"io.modelcontextprotocol/related-task": {"taskId": task.id}}
    assert client_tasks.result(task) == {"action": "accept", "_meta": {"mine": 1, **related}}
    assert not client_tasks.finish(task, {"action": "decline"})


def test_rejection_is_a_failed_task() -> None:
    client_tasks = NumberedTasks()
    task = client_tasks.make()
    client_tasks.finish(task, RpcError(-1, "no"))
    assert task.status.value == "failed"
    with pytest.raises(RpcError, match="no"):
        client_tasks.result(task)


def test_a_task_is_cancelled_once_and_an_ended_one_never() -> None:
    client_tasks = NumberedTasks()
    task = client_tasks.make()
    assert client_tasks.cancel(named(task)).to_json()["status"] == "cancelled"
    assert not client_tasks.finish(task, {"action": "accept"})
    with pytest.raises(RpcError, match="it is already cancelled") as caught:
        client_tasks.cancel(named(task))
    assert caught.value.code == -32602


@pytest.mark.parametrize("params", [{}, {"taskId": 1}, {"taskId": "unknown"}])
def test_an_unknown_task_is_an_invalid_param(params: JSONObject) -> None:
    client_tasks = NumberedTasks()
    client_tasks.make()
    with pytest.raises(RpcError) as caught:
        client_tasks.find(params)
    assert caught.value.code == -32602


def test_expired_task_is_forgotten() -> None:
    client_tasks = NumberedTasks()
    task = client_tasks.make(ttl=1_000)
    client_tasks.clock.advance(0.9)
    assert client_tasks.find(named(task)) is task
    client_tasks.clock.advance(0.2)
    with pytest.raises(RpcError, match="TTL has expired"):
        client_tasks.find(named(task))


def test_list_is_paginated_and_validates_its_cursors() -> None:
    client_tasks = NumberedTasks()
    for _ in range(60):
        client_tasks.make()
    first = client_tasks.list({})
    assert first["nextCursor"] == "50"
    second = client_tasks.list({"cursor": "50"})
    tasks = second["tasks"]
    assert isinstance(tasks, list)
    assert len(tasks) == 10
    assert "nextCursor" not in second
    for cursor in ("x", "-1", 5, "9" * 30):
        with pytest.raises(RpcError, match="Unknown cursor"):
            client_tasks.list({"cursor": cursor})


def test_number_of_pending_tasks_is_limited() -> None:
    client_tasks = NumberedTasks()
    tasks = [client_tasks.make() for _ in range(100)]
    with pytest.raises(RpcError, match="100 tasks are already open"):
        client_tasks.make()
    client_tasks.finish(tasks[0], {})
    client_tasks.make()
