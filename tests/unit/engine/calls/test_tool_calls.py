"""Manual calls through a real engine: wire messages, history and saved files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.calls.variables import UnknownVariables, Variables
from inspector.engine.calls.library import CallLibrary
from inspector.engine.calls.output_check import OutputState
from inspector.engine.calls.repetition import Observation, PollPlan, RepeatPlan, RepeatReport
from inspector.engine.calls.tool_calls import (
    TaskChoice,
    ToolCall,
    is_reserved_key,
    meta_warnings,
    task_choice,
)
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.engine.workers import Worker
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import read
from inspector.protocol.tasks import Task
from inspector.protocol.types import Tool
from tests.helpers.fakes import LoopTime
from tests.unit.engine.servers.test_eras import Post

TASKS = "io.modelcontextprotocol/tasks"
CORE: JSONObject = {"requests": {"tools": {"call": {}}}, "cancel": {}}


class Harness(Post):
    """An engine with an in-memory server and temporary folders for saved calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        super().__init__(monkeypatch)
        self.engine.calls = CallLibrary(folder / "history", folder / "calls", self.engine.settings)
        self.hand = self.engine.tool_caller

    def start(self, call: ToolCall, **options: Any) -> asyncio.Task[CallOutcome]:
        return asyncio.get_running_loop().create_task(self.hand.call("srv", call, **options))

    async def request(self) -> tuple[JSON, JSONObject]:
        """Return the id and params of our next request, ignoring subscription streams."""
        while (message := await self.wire.next())["method"] == "subscriptions/listen":
            pass
        params = message.get("params")
        assert isinstance(params, dict)
        return message["id"], params

    async def response(self, **result: JSON) -> JSONObject:
        id, params = await self.request()
        self.wire.show_message(id=id, result=result)
        return params


@pytest.fixture
async def harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(monkeypatch, tmp_path)
    yield harness
    await harness.engine.close()


async def test_variables_are_expanded_on_the_wire_and_not_in_the_history(harness: Harness) -> None:
    await harness.connect(tools={})
    call = ToolCall("x", {"n": "${n}", "t": "a ${n}"}, variables=Variables({"n": 7}))
    calling = harness.start(call, keep=True)
    params = await harness.response(content=[])
    assert params["arguments"] == {"n": 7, "t": "a 7"}
    assert (await calling).kind is OutcomeKind.RESULT
    kept = await harness.engine.calls.history_of("srv", "x")
    assert kept.last_arguments() == {"n": "${n}", "t": "a ${n}"}
    assert [one.outcome for one in kept.calls] == ["result"]


async def test_unknown_variable_is_an_error_and_nothing_is_sent(harness: Harness) -> None:
    await harness.connect(tools={})
    call = ToolCall("x", {"n": "${no}"}, variables=Variables())
    with pytest.raises(UnknownVariables, match=r"\$\{no\} has no value"):
        await harness.hand.call("srv", call, keep=True)
    assert harness.wire.sends_nothing()
    assert (await harness.engine.calls.history_of("srv", "x")).calls == ()


async def test_without_variables_a_dollar_is_a_dollar(harness: Harness) -> None:
    await harness.connect(tools={})
    calling = harness.start(ToolCall("x", {"n": "${n}"}))
    assert (await harness.response(content=[]))["arguments"] == {"n": "${n}"}
    await calling
    assert (await harness.engine.calls.history_of("srv", "x")).calls == ()


async def test_meta_is_sent_and_the_progress_token_stays_ours(harness: Harness) -> None:
    await harness.connect(tools={})
    meta: JSONObject = {"com.example/trace": 1, "progressToken": "theirs"}
    calling = harness.start(ToolCall("x", meta=meta), on_progress=lambda event: None)
    id, params = await harness.request()
    harness.wire.show_message(id=id, result={"content": []})
    await calling
    sent = params["_meta"]
    assert isinstance(sent, dict)
    assert (sent["com.example/trace"], sent["progressToken"]) == (1, id)
    assert sent["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


async def test_call_has_its_own_timeout(harness: Harness) -> None:
    await harness.connect(tools={})
    time = LoopTime()
    calling = harness.start(ToolCall("x", timeout=2.0), keep=True)
    await harness.request()
    await time.advance(2.1)
    outcome = await calling
    assert (outcome.kind, "within" in outcome.summary) == (OutcomeKind.FAILED, True)
    kept = await harness.engine.calls.history_of("srv", "x")
    assert [one.outcome for one in kept.calls] == ["failed"]


async def test_call_has_a_total_timeout_that_progress_does_not_extend(harness: Harness) -> None:
    await harness.connect(tools={})
    time = LoopTime()
    progress: asyncio.Queue[ProgressReceived] = asyncio.Queue()
    calling = harness.start(ToolCall("x", timeout=2.0, total=5.0), keep=True, on_progress=progress.put_nowait)
    id, _ = await harness.request()
    for step in range(3):
        await time.advance(1.5)
        harness.wire.show_message(
            method="notifications/progress", params={"progressToken": id, "progress": step}
        )
        await progress.get()
    assert not calling.done()
    await time.advance(0.6)
    outcome = await calling
    assert outcome.kind is OutcomeKind.FAILED
    assert "timed out after 5 s in total" in outcome.summary
    kept = await harness.engine.calls.history_of("srv", "x")
    assert [one.outcome for one in kept.calls] == ["failed"]


async def test_a_cancelled_call_is_in_the_history(harness: Harness) -> None:
    await harness.connect(tools={})
    calling = harness.start(ToolCall("x"), keep=True)
    await harness.request()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    kept = await harness.engine.calls.history_of("srv", "x")
    assert [one.outcome for one in kept.calls] == ["cancelled"]


def test_problematic_meta_keys_are_warned_about() -> None:
    fine: JSONObject = {"trace": 1, "com.example/x": 2, "com.example/": 3, "a.b-c/d_e.f": 4}
    assert meta_warnings(fine) == ()
    odd: JSONObject = {"io.modelcontextprotocol/x": 1, "progressToken": 2, "white space": 3, "-/x": 4, "": 5}
    invalid = "is not a valid _meta key"
    expected = ("is reserved", "is replaced by MCP Lens", invalid, invalid, invalid)
    assert all(text in warning for text, warning in zip(expected, meta_warnings(odd), strict=True))
    assert all(map(is_reserved_key, ["mcp/x", "tools.mcp.com/x", "io.modelcontextprotocol/x"]))
    assert not is_reserved_key("mcp")


async def test_call_as_a_task_ends_with_the_result_of_the_task(harness: Harness) -> None:
    await harness.connect(tools={}, extensions={TASKS: {}})
    time, changes = LoopTime(), list[Task]()
    calling = harness.start(ToolCall("x", as_task=True), on_task=changes.append)
    await harness.response(resultType="task", taskId="t", status="working")
    await time.advance(0)
    await time.advance(1.1)
    result: JSONObject = {"content": [{"type": "text", "text": "42"}], "isError": True}
    await harness.response(taskId="t", status="completed", result=result)
    outcome = await calling
    assert (outcome.kind, outcome.task_id, outcome.is_composed) == (OutcomeKind.TOOL_ERROR, "t", True)
    assert read(outcome.response).result == result
    assert [one.status.value for one in changes] == ["working", "completed"]


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ({"status": "failed", "error": {"code": -5, "message": "no"}}, OutcomeKind.RPC_ERROR),
        ({"status": "cancelled"}, OutcomeKind.CANCELLED),
    ],
)
async def test_failed_or_cancelled_task_says_so(harness: Harness, end: JSONObject, kind: OutcomeKind) -> None:
    await harness.connect(tools={}, extensions={TASKS: {}})
    time = LoopTime()
    calling = harness.start(ToolCall("x", as_task=True))
    await harness.response(resultType="task", taskId="t", status="working")
    await time.advance(0)
    await time.advance(1.1)
    await harness.response(taskId="t", **end)
    outcome = await calling
    assert (outcome.kind, bool(outcome.summary)) == (kind, True)


async def test_cancelling_a_call_cancels_its_task(harness: Harness) -> None:
    await harness.connect(tools={}, extensions={TASKS: {}})
    calling = harness.start(ToolCall("x", as_task=True))
    await harness.response(resultType="task", taskId="t", status="working")
    time = LoopTime()
    await time.advance(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    while (message := await harness.wire.next())["method"] == "subscriptions/listen":
        pass
    assert message["method"] == "tasks/cancel"


async def test_server_without_task_support_is_not_asked_for_a_task(harness: Harness) -> None:
    await harness.connect(tools={})
    outcome = await harness.hand.call("srv", ToolCall("x", as_task=True))
    assert outcome.kind is OutcomeKind.FAILED
    assert harness.wire.sends_nothing()


@pytest.mark.parametrize(
    ("offered", "support", "choice"),
    [
        ({}, "required", TaskChoice.NO),
        (CORE, "required", TaskChoice.MUST),
        (CORE, "optional", TaskChoice.MAY),
        (CORE, "", TaskChoice.NO),
    ],
)
async def test_task_support_depends_on_server_and_tool(
    harness: Harness, offered: JSONObject, support: str, choice: TaskChoice
) -> None:
    harness.is_stateless = False
    await harness.connect(tools={}, tasks=offered)
    tool = Tool.read({"name": "x", "execution": {"taskSupport": support}})
    assert task_choice(tool, harness.engine.servers.get("srv").view.negotiated) is choice
    assert task_choice(tool, None) is TaskChoice.NO


async def test_with_the_extension_any_tool_may_run_as_a_task(harness: Harness) -> None:
    await harness.connect(tools={}, extensions={TASKS: {}})
    assert (
        task_choice(Tool.read({"name": "x"}), harness.engine.servers.get("srv").view.negotiated)
        is TaskChoice.MAY
    )


async def test_repeated_call_ends_when_the_server_disconnects(harness: Harness) -> None:
    await harness.connect(tools={})
    reports: list[RepeatReport] = []
    plan = RepeatPlan(times=5, stops_on_error=False)
    work = harness.hand.repeat("srv", ToolCall("x", {"n": 1}), plan, reports.append)
    running = asyncio.get_running_loop().create_task(work)
    for _ in range(2):
        assert (await harness.response(content=[]))["arguments"] == {"n": 1}
    await harness.request()
    harness.wire.end()
    report = await running
    assert (report.done, report.errors) == (3, 1)
    assert report.stopped == "The server exited with code 9."


async def test_resource_is_polled_until_the_server_disconnects(harness: Harness) -> None:
    await harness.connect(resources={})
    time, seen = LoopTime(), list[Observation]()
    work = harness.hand.poll_resource("srv", "a:b", PollPlan(), seen.append)
    watching = asyncio.get_running_loop().create_task(work)
    for text in ("one", "two"):
        await harness.response(contents=[{"uri": "a:b", "text": text}])
        await time.advance(0)
        await time.advance(5.1)
    harness.wire.end("The server exited with code 9.")
    reason = await watching
    assert [one.has_changed for one in seen] == [False, True]
    assert "The server exited with code 9." in reason


async def test_poll_of_a_disconnected_server_ends_immediately(harness: Harness) -> None:
    await harness.connect(tools={})
    await harness.engine.servers.connector.disconnect("srv")
    assert "not connected" in await harness.hand.poll_tool(
        "srv", ToolCall("x"), PollPlan(), lambda seen: None
    )
    unknown = ToolCall("x", {"n": "${no}"}, variables=Variables())
    with pytest.raises(UserError, match="has no value"):
        await harness.hand.poll_tool("srv", unknown, PollPlan(), lambda seen: None)


async def test_results_are_checked_against_the_schema_in_another_process(
    harness: Harness,
) -> None:
    response = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"n":"x"},"content":[]}}'
    schema: JSONObject = {"properties": {"n": {"type": "integer"}}}
    found = await harness.hand.check_output(response, schema)
    assert (found.state, found.differences[0].pointer) == (OutputState.DIFFERS, "/n")
    assert (await harness.hand.check_output(response, None)).state is OutputState.NOT_DECLARED
    deep: JSON = {}
    for _ in range(20_000):
        deep = {"not": deep}
    assert (await harness.hand.check_output(response, deep)).state is OutputState.UNCHECKED


async def test_schema_check_that_never_ends_times_out(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.engine, "_checker", Worker(1.0, "Checking against the schema"))
    twice: JSONObject = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema: JSONObject = {"$ref": "#/$defs/d0", "$defs": {**twice, "d40": {"type": "string"}}}
    response = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":5,"content":[]}}'
    found = await harness.hand.check_output(response, schema)
    assert (found.state, found.reason) == (
        OutputState.UNCHECKED,
        "Checking against the schema took more than 1 s.",
    )


async def test_saved_calls_of_several_folders_are_listed_and_changes_noticed(
    harness: Harness, tmp_path: Path
) -> None:
    calls, project = harness.engine.calls, tmp_path / "project"
    with pytest.raises(ConfigError, match="No folder is set for saved calls"):
        await calls.save(SavedCall("a", "x"), project)
    await harness.engine.settings.set("calls.folders", [str(project), "relative/is/left/out"])
    own = await calls.save(SavedCall("mine", "x"))
    theirs = await calls.save(SavedCall("theirs", "x"), project)
    folders = await calls.saved()
    assert [(one.path.name, one.is_own) for one in folders] == [("calls", True), ("project", False)]
    assert [call.name for one in folders for call in one.loaded.calls] == ["mine", "theirs"]
    assert await calls.changed(folders) is None
    await calls.delete(theirs)
    renamed = await calls.rename(own, "ours")
    changed = await calls.changed(folders)
    assert changed is not None
    assert [call for one in changed for call in one.loaded.calls] == [renamed]


async def test_variables_belong_to_their_folder_and_the_environment_needs_permission(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_TEST", "e")
    calls, project = harness.engine.calls, tmp_path / "project"
    settings = harness.engine.settings
    await settings.set("calls.folders", [str(project)])
    await calls.set_variable("token", "mine")
    await calls.set_variable("page", 1, project)
    assert (await calls.variables(project)) == Variables({"page": 1}, {})
    await settings.set("calls.environment", ["LENS_TEST", "LENS_NOT_SET"])
    assert (await calls.variables()) == Variables({"token": "mine"}, {"LENS_TEST": "e"})
    await calls.remove_variable("token")
    assert (await calls.variable_values()) == {}
