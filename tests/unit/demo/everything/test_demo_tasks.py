"""Task tools: the design of 2025-11-25, and the extension for 2026-07-28."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.demo.demo_client import DemoProcess, Message

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
FORMS: Message = {"elicitation": {"form": {}}}
FAST = {"poll_interval": 20, "ttl": 60_000}


@pytest.fixture(scope="module")
def shared_core() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.initialize({**FORMS, "tasks": {"requests": {"elicitation": {"create": {}}}, "cancel": {}}})
        yield server


@pytest.fixture
def core(shared_core: DemoProcess) -> DemoProcess:
    shared_core.responses.clear()
    shared_core.received.clear()
    return shared_core


@pytest.fixture
def extended() -> Iterator[DemoProcess]:
    """A connection whose requests declare the extension."""
    with DemoProcess("everything") as server:
        server.speak_stateless({**FORMS, "extensions": {EXTENSION: {}}})
        yield server


def text_of(result: Message) -> str:
    return str(result["content"][0]["text"])


def begin(server: DemoProcess, tool: str, task: Message | None = None, **arguments: Any) -> Message:
    """Call a tool as a task and return the task."""
    params = {"name": tool, "arguments": {**FAST, **arguments}, "task": task or {}}
    created: Message = server.request("tools/call", {**params, "_meta": {"progressToken": "p"}})
    assert set(created) == {"task"}
    assert created["task"]["status"] == "working"
    return dict(created["task"])


def about(server: DemoProcess, method: str, task: Message) -> Message:
    return server.request(method, {"taskId": task["taskId"]})


def outcome(server: DemoProcess, task: Message) -> Message:
    result = about(server, "tasks/result", task)
    assert result["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    return result


def test_core_tasks_are_declared_only_in_the_version_that_has_them() -> None:
    for revision in ("2025-06-18", "2025-11-25"):
        with DemoProcess("everything") as server:
            offered = server.initialize(FORMS, revision=revision)["capabilities"]
            assert "extensions" not in offered
            assert ("tasks" in offered) is (revision == "2025-11-25")
            assert server.call("task_endless" if "tasks" not in offered else "fail")["isError"] is True
            if "tasks" not in offered:
                assert server.error("tasks/list")["code"] == -32601


def test_core_tools_say_whether_they_run_as_tasks(core: DemoProcess) -> None:
    tools = {tool["name"]: tool for tool in core.request("tools/list")["tools"]}
    support = {name: tool["execution"]["taskSupport"] for name, tool in tools.items() if "execution" in tool}
    assert support == {
        "task_steps": "optional",
        "task_question": "required",
        "task_failure": "optional",
        "task_endless": "required",
    }
    assert core.error("tools/call", {"name": "task_endless"})["code"] == -32601
    assert core.error("tools/call", {"name": "echo", "task": {}})["code"] == -32601
    assert core.call_text("task_steps", seconds=0.02, steps=2) == "Done: 2 steps in 0.02 s."


def test_core_task_reports_progress_and_status_and_returns_its_result(core: DemoProcess) -> None:
    task = begin(core, "task_steps", {"ttl": 30_000}, seconds=0.06, steps=3)
    assert (task["ttl"], task["pollInterval"]) == (30_000, 20)
    assert text_of(outcome(core, task)) == "Done: 3 steps in 0.06 s."
    progress = [one["params"] for one in core.received if one["method"] == "notifications/progress"]
    assert [(one["progressToken"], one["progress"], one["total"]) for one in progress] == [
        ("p", step, 3) for step in (1, 2, 3)
    ]
    assert {one["_meta"][RELATED]["taskId"] for one in progress} == {task["taskId"]}
    done = about(core, "tasks/get", task)
    assert (done["status"], done["statusMessage"]) == ("completed", "Done")
    while not (reported := core.take_received("notifications/tasks/status"))[-1:] or reported[-1] != done:
        core.received.append(core.read())
    assert done in core.request("tasks/list")["tasks"]


def test_core_task_requests_input_while_its_result_is_awaited(core: DemoProcess) -> None:
    core.responses["elicitation/create"] = lambda params: {"action": "accept", "content": {"go": True}}
    task = begin(core, "task_question", questions=2)
    while about(core, "tasks/get", task)["status"] != "input_required":
        pass
    assert text_of(outcome(core, task)) == "Received 2 responses."
    requested = core.take_received("elicitation/create")
    assert [one["_meta"] for one in requested] == [{RELATED: {"taskId": task["taskId"]}}] * 2
    assert [one["message"] for one in requested] == ["Question 1: continue?", "Question 2: continue?"]


def test_core_request_is_repeated_when_the_reply_was_not_awaited(core: DemoProcess) -> None:
    task = begin(core, "task_question")
    waiting = core.start("tasks/result", {"taskId": task["taskId"]})
    while (first := core.read()).get("method") != "elicitation/create":
        pass
    core.send({"method": "notifications/cancelled", "params": {"requestId": waiting}})
    while core.read().get("method") != "notifications/cancelled":
        pass
    core.responses["elicitation/create"] = lambda params: {"action": "decline"}
    assert text_of(outcome(core, task)) == "Stopped at question 1: declined."
    assert core.take_received("elicitation/create")[0]["message"] == first["params"]["message"]


def test_core_task_fails_with_the_error_of_a_rejected_request(core: DemoProcess) -> None:
    task = begin(core, "task_question")
    waiting = core.start("tasks/result", {"taskId": task["taskId"]})
    while (requested := core.read()).get("method") != "elicitation/create":
        pass
    core.send({"id": requested["id"], "error": {"code": -1, "message": "No user present"}})
    assert core.finish(waiting)["error"] == {"code": -1, "message": "No user present"}


def test_core_tool_error_and_protocol_error_are_failures(core: DemoProcess) -> None:
    task = begin(core, "task_failure", seconds=0)
    assert outcome(core, task)["isError"] is True
    assert about(core, "tasks/get", task)["status"] == "failed"
    task = begin(core, "task_failure", seconds=0, how="protocol error")
    assert core.error("tasks/result", {"taskId": task["taskId"]})["code"] == -32603
    assert about(core, "tasks/get", task)["status"] == "failed"


def test_core_task_is_cancelled_once(core: DemoProcess) -> None:
    task = begin(core, "task_endless")
    waiting = core.start("tasks/result", {"taskId": task["taskId"]})
    assert about(core, "tasks/cancel", task)["status"] == "cancelled"
    responses = [one for one in core.received if one.get("id") == waiting]
    assert (responses[0] if responses else core.finish(waiting))["error"][
        "message"
    ] == "The task was cancelled"
    assert core.error("tasks/cancel", {"taskId": task["taskId"]})["code"] == -32602


def test_core_task_expires_with_its_ttl(core: DemoProcess) -> None:
    task = begin(core, "task_endless", {"ttl": 50})
    while core.read().get("params", {}).get("status") != "cancelled":
        pass
    error = core.error("tasks/get", {"taskId": task["taskId"]})
    assert (error["code"], error["message"]) == (-32602, "Unknown task")
    assert core.error("tasks/update", {"taskId": "x", "inputResponses": {}})["code"] == -32601


def start(server: DemoProcess, tool: str, **arguments: Any) -> Message:
    created = server.call(tool, **{**FAST, **arguments})
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert (created["ttlMs"], created["pollIntervalMs"]) == (60_000, 20)
    return created


def until(server: DemoProcess, task: Message, *statuses: str) -> Message:
    """Poll until the task has this status."""
    while (now := about(server, "tasks/get", task))["status"] not in statuses:
        pass
    assert now["resultType"] == "complete"
    return now


def test_extension_is_declared_and_needed_in_each_request() -> None:
    with DemoProcess("everything") as server:
        server.speak_stateless(FORMS)
        offered = server.request("server/discover")["capabilities"]
        assert offered["extensions"] == {EXTENSION: {}}
        assert "tasks" not in offered
        assert server.call_text("task_steps", seconds=0.02, steps=2) == "Done: 2 steps in 0.02 s."
        error = server.error("tools/call", {"name": "task_endless"})
        assert error["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        for method in ("tasks/get", "tasks/cancel"):
            assert server.error(method, {"taskId": "x"})["code"] == error["code"] == -32021


def test_extension_has_neither_a_list_nor_a_result_method(extended: DemoProcess) -> None:
    assert extended.error("tasks/list")["code"] == -32601
    assert extended.error("tasks/result", {"taskId": "x"})["code"] == -32601
    assert extended.error("tasks/get", {"taskId": "x"})["code"] == -32602
    assert not any("execution" in tool for tool in extended.request("tools/list")["tools"])


def test_extension_task_contains_its_result_or_error(extended: DemoProcess) -> None:
    done = until(extended, start(extended, "task_steps", seconds=0.04, steps=2), "completed")
    assert text_of(done["result"]) == "Done: 2 steps in 0.04 s."
    done = until(extended, start(extended, "task_failure", seconds=0), "completed")
    assert done["result"]["isError"] is True
    done = until(extended, start(extended, "task_failure", seconds=0, how="protocol error"), "failed")
    assert done["error"]["code"] == -32603
    assert extended.received == []


def test_extension_task_contains_input_requests_answered_by_update(extended: DemoProcess) -> None:
    task = start(extended, "task_question", questions=2)
    keys: list[str] = []
    while (now := until(extended, task, "input_required", "completed"))["status"] != "completed":
        (key,) = now["inputRequests"]
        keys.append(key)
        response = {key: {"action": "accept", "content": {"go": True}}, "unknown key": {}}
        update = {"taskId": task["taskId"], "inputResponses": response}
        assert set(extended.request("tasks/update", update)) == {"resultType", "_meta"}
    assert list(dict.fromkeys(keys)) == ["question-1", "question-2"]
    assert text_of(now["result"]) == "Received 2 responses."


def test_extension_task_is_cancelled_and_listeners_are_notified(extended: DemoProcess) -> None:
    task = start(extended, "task_endless")
    wanted = {"taskIds": [task["taskId"], "unknown"], "resourceSubscriptions": ["demo://counter"]}
    listening = extended.start("subscriptions/listen", {"notifications": wanted})
    acknowledged, now = extended.read(), extended.read()
    assert acknowledged["params"]["notifications"] == {**wanted, "taskIds": [task["taskId"]]}
    assert (now["method"], now["params"]["status"]) == ("notifications/tasks", "working")
    extended.call("bump_counter")
    extended.request("tasks/cancel", {"taskId": task["taskId"]})
    while len(extended.received) < 2:
        extended.received.append(extended.read())
    bumped, reported = extended.received
    assert bumped["params"]["uri"] == "demo://counter"
    assert (reported["params"]["status"], reported["params"]["taskId"]) == ("cancelled", task["taskId"])
    assert reported["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": listening}
    assert set(extended.request("tasks/cancel", {"taskId": task["taskId"]})) == {"resultType", "_meta"}


def client_task(status: str) -> Message:
    return {
        "taskId": "c-1",
        "status": status,
        "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "ttl": 1000,
        "pollInterval": 10,
    }


def test_server_request_may_become_a_client_task(core: DemoProcess) -> None:
    statuses = iter(["working", "input_required", "completed"])
    core.responses["elicitation/create"] = lambda params: {"task": client_task("working")}
    core.responses["tasks/get"] = lambda params: client_task(next(statuses))
    core.responses["tasks/result"] = lambda params: {"action": "accept", "content": {"answer": "42"}}
    words = core.call_text("ask_as_task", ttl=1000)
    assert words.startswith("working → input_required → completed: ")
    assert '"answer": "42"' in words
    assert core.take_received("elicitation/create")[0]["task"] == {"ttl": 1000}


def test_client_task_is_cancelled(core: DemoProcess) -> None:
    core.responses["elicitation/create"] = lambda params: {"task": client_task("working")}
    core.responses["tasks/get"] = lambda params: client_task("working")
    core.responses["tasks/cancel"] = lambda params: client_task("cancelled")
    words = core.call_text("ask_as_task", cancel_after=0.05)
    assert words == "The server cancelled the client's task. Its status is cancelled."


def test_client_that_does_not_create_a_task_gets_an_error(core: DemoProcess, extended: DemoProcess) -> None:
    core.responses["elicitation/create"] = lambda params: {"action": "decline"}
    result = core.call("ask_as_task")
    assert text_of(result) == 'The client did not create a task: {"action": "decline"}'
    assert text_of(extended.call("ask_as_task")) == "Client tasks exist only in protocol version 2025-11-25."
