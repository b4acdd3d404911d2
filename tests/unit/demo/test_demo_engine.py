"""Tools with server requests and task tools, driven by the engine without a user."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.demo.servers import command
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.revisions import Era
from inspector.protocol.tasks import Task, TaskStatus

FIELDS: JSONObject = {
    "name": "Ada",
    "city": "Oslo",
    "day": "2026-11-16",
    "seats": 2,
    "text": "hi",
    "choice": "red",
}
CAPABILITIES: JSONObject = {
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "tasks": {"requests": {"elicitation": {"create": {}}}},
}
FAST: JSONObject = {"poll_interval": 100}


async def elicit(params: JSONObject) -> JSONObject:
    if params.get("mode") == "url":
        return {"action": "accept"}
    schema = params["requestedSchema"]
    assert isinstance(schema, dict)
    wanted = schema["properties"]
    assert isinstance(wanted, dict)
    return {"action": "accept", "content": {name: FIELDS[name] for name in wanted if name in FIELDS}}


async def sample(params: JSONObject) -> JSONObject:
    """Call a tool, if there is one that was not called yet."""
    messages = params["messages"]
    assert isinstance(messages, list)
    if "tools" in params and len(messages) == 1:
        use: JSONObject = {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Lima"}}
        return {"role": "assistant", "model": "toy", "content": [use], "stopReason": "toolUse"}
    return {"role": "assistant", "model": "toy", "content": {"type": "text", "text": "blue"}}


class Guest:
    """An engine connected to `everything`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.statuses: list[TaskStatus] = []
        self.progress: list[ProgressReceived] = []

    @property
    def is_stateless(self) -> bool:
        negotiated = self.engine.servers.get("demo").view.negotiated
        assert negotiated is not None
        return negotiated.era is Era.STATELESS

    async def call(self, tool: str, **arguments: JSON) -> CallOutcome:
        return await self.engine.tool_caller.call("demo", ToolCall(tool, arguments))

    async def run(self, tool: str, **arguments: JSON) -> CallOutcome:
        """Call the tool as a task."""

        def on_task(task: Task) -> None:
            self.statuses.append(task.status)

        call = ToolCall(tool, {**FAST, **arguments}, as_task=True)
        return await self.engine.tool_caller.call(
            "demo", call, on_progress=self.progress.append, on_task=on_task
        )


@pytest.fixture(params=["auto", "legacy-first"])
async def guest(request: pytest.FixtureRequest) -> AsyncIterator[Guest]:
    program, *args = command("everything")
    engine = Engine(handlers={"elicitation/create": elicit, "sampling/createMessage": sample})
    engine.servers.add(
        StdioEntry(
            name="demo",
            command=program,
            args=tuple(args),
            era=request.param,
            capabilities=CAPABILITIES,
        )
    )
    await engine.servers.connector.connect("demo")
    yield Guest(engine)
    await engine.close()


def text_of(outcome: CallOutcome) -> str:
    assert outcome.kind is OutcomeKind.RESULT, (outcome.kind, outcome.summary, outcome.response[:500])
    return "\n".join(block["text"] for block in json.loads(outcome.response)["result"]["content"])


async def test_server_requests_of_all_kinds_are_answered(guest: Guest) -> None:
    both = text_of(await guest.call("ask_twice"))
    assert "Ada" in both
    assert "blue" in both
    assert '"day": "2026-11-16"' in text_of(await guest.call("book_trip"))
    assert '"choice": "red"' in text_of(await guest.call("elicit_all_fields"))
    assert "password" in text_of(await guest.call("elicit_password"))
    assert text_of(await guest.call("elicit_url", seconds=0)) == "The URL elicitation returned accept."
    assert text_of(await guest.call("ask_and_withdraw", seconds=60)) == "The response came in time: accept."


async def test_sampling_uses_a_tool_supplied_with_the_request(guest: Guest) -> None:
    assert text_of(await guest.call("sampling_tools")) == "toy said: blue"


async def test_server_request_becomes_a_client_task(guest: Guest) -> None:
    outcome = await guest.call("ask_as_task")
    if guest.is_stateless:
        assert outcome.kind is OutcomeKind.TOOL_ERROR
    else:
        assert text_of(outcome).startswith("working → completed: ")


async def test_urls_a_call_needs_are_opened_first(guest: Guest) -> None:
    """No browser here: another call completes the pages if the server needs it."""
    if guest.is_stateless:
        assert text_of(await guest.call("url_required", seconds=0.05)) == "Welcome: 1 of 1 pages completed."
        return
    refused = await guest.call("url_required", seconds=0)
    assert (refused.kind, json.loads(refused.response)["error"]["code"]) == (OutcomeKind.RPC_ERROR, -32042)
    assert text_of(await guest.call("finish_pages")) == "Completed 1 pages."
    assert text_of(await guest.call("url_required", seconds=0)) == "Welcome: 1 of 1 pages completed."


async def test_malformed_request_is_rejected(guest: Guest) -> None:
    outcome = await guest.call("ask_malformed")
    kind = OutcomeKind.FAILED if guest.is_stateless else OutcomeKind.TOOL_ERROR
    assert outcome.kind is kind
    assert "requestedSchema" in outcome.summary + outcome.response.decode()


async def test_endless_requests_are_stopped_by_the_round_limit(guest: Guest) -> None:
    if not guest.is_stateless:
        pytest.skip("server requests are not counted")
    outcome = await guest.call("ask_forever")
    assert outcome.kind is OutcomeKind.FAILED
    assert "10 times in a row" in outcome.summary


async def test_task_runs_and_returns_its_result(guest: Guest) -> None:
    assert text_of(await guest.run("task_steps", seconds=0.3, steps=3)) == "Done: 3 steps in 0.3 s."
    assert (guest.statuses[0], guest.statuses[-1]) == (TaskStatus.WORKING, TaskStatus.COMPLETED)
    steps = [step.progress for step in guest.progress]
    assert steps == ([] if guest.is_stateless else [1, 2, 3])


async def test_task_requests_input_while_running(guest: Guest) -> None:
    assert text_of(await guest.run("task_question", questions=2)) == "Received 2 responses."
    assert TaskStatus.INPUT_REQUIRED in guest.statuses


async def test_task_can_fail_in_both_ways(guest: Guest) -> None:
    outcome = await guest.run("task_failure", seconds=0)
    assert outcome.kind is OutcomeKind.TOOL_ERROR
    # 2025-11-25 calls a tool error a failure, the extension a result.
    assert guest.statuses[-1] is (TaskStatus.COMPLETED if guest.is_stateless else TaskStatus.FAILED)
    outcome = await guest.run("task_failure", seconds=0, how="protocol error")
    assert (outcome.kind, guest.statuses[-1]) == (OutcomeKind.RPC_ERROR, TaskStatus.FAILED)
    assert "The task failed while running" in outcome.summary


async def test_task_can_be_cancelled(guest: Guest) -> None:
    created = asyncio.Event()

    def on_task(task: Task) -> None:
        created.set()

    call = ToolCall("task_endless", FAST, as_task=True)
    running = asyncio.create_task(guest.engine.tool_caller.call("demo", call, on_task=on_task))
    await created.wait()
    (view,) = guest.engine.tasks.views("demo")
    await guest.engine.tasks.cancel("demo", view.task.id)
    outcome = await running
    assert outcome.kind is OutcomeKind.CANCELLED
    assert "Cancelled by the client" in outcome.summary


async def test_task_expires_with_its_ttl(guest: Guest) -> None:
    outcome = await guest.run("task_endless", ttl=300)
    assert outcome.kind in (OutcomeKind.CANCELLED, OutcomeKind.FAILED)
    assert "TTL expired" in outcome.summary or "Unknown task" in outcome.summary


async def test_task_only_tool_is_rejected_as_a_plain_call(guest: Guest) -> None:
    outcome = await guest.call("task_endless")
    code = json.loads(outcome.response)["error"]["code"]
    assert code == (-32021 if guest.is_stateless else -32601)


async def test_valid_server_has_no_finding(guest: Guest) -> None:
    engine = guest.engine
    assert (await engine.list_tools("demo")).items
    for resource in (await engine.list_resources("demo")).items:
        await engine.read_resource("demo", resource.uri)
    await engine.list_resource_templates("demo")
    for prompt in (await engine.list_prompts("demo")).items:
        arguments = {argument.name: "x" for argument in prompt.arguments}
        await engine.servers.get("demo").client.request_prompt(prompt.name, arguments)
    for tool_name in ("ask_twice", "book_trip", "sampling_tools"):
        await guest.call(tool_name)
    rows = range(len(engine.log))
    assert [engine.log.problem(row) for row in rows if engine.log.problem(row)] == []
