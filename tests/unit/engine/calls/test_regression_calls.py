"""Regression calls are rerun after a restart and compared with their expected results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.calls.library import CallLibrary
from inspector.engine.calls.regression_calls import RegressionResult, RegressionState, RegressionView
from inspector.engine.engine import Engine
from inspector.engine.processes.file_watch import WatchTiming
from inspector.engine.secrets import Secrets
from inspector.traffic.records import RecordKind
from tests.helpers.editedserver import edited_entry, write_server

SERVER = "edited"


class Bench:
    """An engine with a server whose files are watched, and saved calls of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = Engine(calls=CallLibrary(saved=folder / "calls"))
        self.engine.filewatch.timing = WatchTiming(poll=0.02, quiet=0.02, max_delay=1.0)
        self.regression_calls = self.engine.regression_calls
        self.views: list[RegressionView] = []
        self._changes = asyncio.Event()
        self.regression_calls.changed.connect(self._on_changed)
        self.engine.filewatch.changed.connect(lambda view: self._changes.set())

    def _on_changed(self, view: RegressionView) -> None:
        self.views.append(view)
        self._changes.set()

    async def start(self, *watch: str, **responses: str | int) -> None:
        write_server(self.folder, **responses)
        self.engine.servers.add(edited_entry(self.folder, *watch))
        await self.engine.servers.connector.connect(SERVER)

    async def save(
        self, tool: str, *, server: str = SERVER, is_regression: bool = True, **more: object
    ) -> SavedCall:
        call = SavedCall(f"Call of {tool}", tool, server, is_regression=is_regression, **more)  # type: ignore[arg-type]
        return await self.engine.calls.save(call)

    async def until_ran(self, number: int) -> RegressionView:
        async with asyncio.timeout(30):
            while not (self.views and self.views[-1].number == number and not self.views[-1].is_running):
                self._changes.clear()
                await self._changes.wait()
        return self.views[-1]

    async def until_running(self) -> None:
        async with asyncio.timeout(30):
            while not (self.views and self.views[-1].count(RegressionState.RUNNING)):
                self._changes.clear()
                await self._changes.wait()

    async def run(self, number: int) -> RegressionView:
        await self.regression_calls.run(SERVER)
        return await self.until_ran(number)

    async def edit(self, **responses: str | int) -> None:
        """Edit the server and reconnect, without waiting for the file watch."""
        write_server(self.folder, **responses)
        await self.engine.servers.connector.connect(SERVER)


def state(view: RegressionView, tool: str) -> RegressionState:
    return result(view, tool).state


def result(view: RegressionView, tool: str) -> RegressionResult:
    return next(each for each in view.results if each.call.tool == tool)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.engine.close()


async def test_an_edit_that_changes_nothing_is_green_and_another_is_red(bench: Bench) -> None:
    await bench.start("*.py", one="first", two="second")
    await bench.save("one")
    await bench.save("two")
    first = await bench.run(1)
    assert [each.state for each in first.results] == [RegressionState.NEW, RegressionState.NEW]
    await bench.regression_calls.accept_all(SERVER)
    while not bench.engine.filewatch._view(SERVER).files:
        bench._changes.clear()
        await bench._changes.wait()
    write_server(bench.folder, one="first", two="something else")
    second = await bench.until_ran(2)
    assert second.cause == "server.py changed"
    assert (state(second, "one"), state(second, "two")) == (RegressionState.SAME, RegressionState.DIFFERENT)
    assert (second.bad, second.count(RegressionState.SAME)) == (1, 1)
    red = result(second, "two")
    assert red.diff is not None
    assert not red.diff.is_same
    assert red.is_accepted
    assert json.loads(red.expected)["result"]["content"][0]["text"] == "second"
    write_server(bench.folder, one="first", two="second")
    third = await bench.until_ran(3)
    assert third.bad == 0


async def test_accepted_result_is_still_expected_after_a_restart(bench: Bench, tmp_path: Path) -> None:
    await bench.start(one="first")
    call = await bench.save("one")
    await bench.run(1)
    assert call.path is not None
    await bench.regression_calls.accept(SERVER, call.path)
    written = json.loads((tmp_path / "calls" / "expected" / call.path.name).read_text())
    assert written["result"]["content"] == [{"type": "text", "text": "first"}]
    other = Bench(tmp_path)
    try:
        await other.start(one="first")
        view = await other.run(1)
        assert state(view, "one") is RegressionState.SAME
        assert result(view, "one").is_accepted
    finally:
        await other.engine.close()


async def test_until_one_is_accepted_the_first_good_result_is_the_reference(bench: Bench) -> None:
    await bench.start(one="first")
    await bench.save("one")
    await bench.run(1)
    assert state(await bench.run(2), "one") is RegressionState.SAME
    await bench.edit(one="other")
    third = await bench.run(3)
    assert state(third, "one") is RegressionState.DIFFERENT
    assert not result(third, "one").is_accepted
    # A repeated failure is still a failure.
    assert state(await bench.run(4), "one") is RegressionState.DIFFERENT


async def test_no_call_stays_green_when_the_server_fails_to_start(bench: Bench) -> None:
    await bench.save("one")
    await bench.start("*.py", one="first")
    await bench.run(1)
    await bench.regression_calls.accept_all(SERVER)
    (bench.folder / "server.py").write_text("this is ( no server")
    view = await bench.until_ran(2)
    assert (state(view, "one"), view.cause) == (RegressionState.FAILED, "server.py changed")
    assert result(view, "one").problem.startswith("The server did not start. The server exited with code 1")
    write_server(bench.folder, one="first")
    assert state(await bench.until_ran(3), "one") is RegressionState.SAME


async def test_call_with_other_arguments_is_not_compared_with_its_previous_result(bench: Bench) -> None:
    call = await bench.save("one")
    await bench.start(one="first")
    await bench.run(1)
    await bench.engine.calls.save(replace(call, arguments={"now": "another"}))
    await bench.edit(one="other")
    assert state(await bench.run(2), "one") is RegressionState.NEW


async def test_accepting_a_red_result_makes_it_green(bench: Bench) -> None:
    await bench.start(one="first")
    await bench.save("one")
    await bench.run(1)
    await bench.edit(one="other")
    await bench.run(2)
    await bench.regression_calls.accept_all(SERVER)
    assert state(bench.views[-1], "one") is RegressionState.SAME
    assert not result(bench.views[-1], "one").can_accept
    assert state(await bench.run(3), "one") is RegressionState.SAME


async def test_failure_can_be_the_expected_result(bench: Bench) -> None:
    await bench.start(one="wrong")
    await bench.save("one")
    await bench.save("missing")
    view = await bench.run(1)
    assert state(view, "missing") is RegressionState.NEW
    await bench.regression_calls.accept_all(SERVER)
    assert (await bench.run(2)).bad == 0
    await bench.edit(one="right")
    assert state(await bench.run(3), "one") is RegressionState.DIFFERENT


async def test_failure_is_not_a_reference_result(bench: Bench) -> None:
    await bench.start(one="wrong")
    await bench.save("one")
    await bench.run(1)
    await bench.edit(one="right")
    assert state(await bench.run(2), "one") is RegressionState.NEW


async def test_only_regression_calls_of_this_server_are_run(bench: Bench) -> None:
    await bench.start(one="first", two="second")
    await bench.save("one")
    await bench.save("two", is_regression=False)
    await bench.save("two", server="another")
    await bench.save("two", server="")
    view = await bench.run(1)
    assert [each.call.tool for each in view.results] == ["one"]


async def test_without_regression_calls_a_message_says_what_to_do(bench: Bench) -> None:
    await bench.start(one="first")
    with pytest.raises(ConfigError, match="This server has no regression calls"):
        await bench.regression_calls.run(SERVER)


async def test_disconnected_server_is_not_called(bench: Bench) -> None:
    await bench.start(one="first")
    await bench.save("one")
    await bench.engine.servers.connector.disconnect(SERVER)
    with pytest.raises(ConfigError, match="not connected"):
        await bench.regression_calls.run(SERVER)


async def test_calls_are_listed_before_they_run_and_again_when_their_files_change(bench: Bench) -> None:
    await bench.start(one="first")
    call = await bench.save("one")
    assert [each.state for each in (await bench.regression_calls.view(SERVER)).results] == [
        RegressionState.NOT_RUN
    ]
    await bench.run(1)
    assert [each.state for each in (await bench.regression_calls.view(SERVER)).results] == [
        RegressionState.NEW
    ]
    await bench.regression_calls.set_regression(SERVER, call, False)
    assert bench.views[-1].results == ()


async def test_folder_variables_are_expanded(bench: Bench) -> None:
    await bench.start(one="first")
    await bench.engine.calls.set_variable("who", "you")
    await bench.save("one", arguments={"name": "${who}"})
    view = await bench.run(1)
    assert state(view, "one") is RegressionState.NEW
    rows = bench.engine.log.find(SERVER, RecordKind.REQUEST)
    sent = [row for row in rows if row.method == "tools/call"]
    assert json.loads(sent[0].raw)["params"]["arguments"] == {"name": "you"}


async def test_variable_without_a_value_is_a_described_failure(bench: Bench) -> None:
    await bench.start(one="first")
    await bench.save("one", arguments={"name": "${missing}"})
    view = await bench.run(1)
    assert state(view, "one") is RegressionState.FAILED
    assert "missing" in result(view, "one").problem


async def test_unanswered_call_times_out(bench: Bench) -> None:
    await bench.start(one="never", two="second")
    await bench.save("one", total=0.2)
    view = await bench.run(1)
    assert state(view, "one") is RegressionState.FAILED
    assert view.bad == 1


async def test_run_can_be_stopped(bench: Bench) -> None:
    await bench.start(one="never", two="second")
    await bench.save("one")
    await bench.save("two")
    await bench.regression_calls.run(SERVER)
    await bench.until_running()
    await bench.regression_calls.stop(SERVER)
    view = await bench.until_ran(1)
    assert [each.state for each in view.results] == [RegressionState.STOPPED, RegressionState.STOPPED]


async def test_newer_run_replaces_a_hanging_one(bench: Bench) -> None:
    await bench.start(one="never")
    await bench.save("one")
    await bench.regression_calls.run(SERVER)
    await bench.until_running()
    await bench.edit(one="first")
    bench.regression_calls.begin(SERVER, "again")
    view = await bench.until_ran(2)
    assert (view.cause, state(view, "one")) == ("again", RegressionState.NEW)


async def test_ignored_paths_are_not_compared(bench: Bench) -> None:
    await bench.start(one="first")
    call = await bench.save("one")
    await bench.run(1)
    await bench.regression_calls.accept_all(SERVER)
    await bench.edit(one="other")
    await bench.run(2)
    await bench.regression_calls.ignore(SERVER, call, "result.content[*].text")
    assert state(bench.views[-1], "one") is RegressionState.SAME
    assert state(await bench.run(3), "one") is RegressionState.SAME


async def test_broken_expected_result_is_reported(bench: Bench, tmp_path: Path) -> None:
    await bench.start(one="first")
    call = await bench.save("one")
    assert call.path is not None
    (tmp_path / "calls" / "expected").mkdir()
    (tmp_path / "calls" / "expected" / call.path.name).write_text("{")
    view = await bench.run(1)
    assert "not valid JSON" in result(view, "one").problem


async def test_a_server_that_is_removed_meanwhile_leaves_nothing_behind(bench: Bench) -> None:
    await bench.start(one="never")
    await bench.save("one")
    await bench.regression_calls.run(SERVER)
    await bench.until_running()
    await bench.engine.servers.remove(SERVER)
    assert bench.regression_calls._view(SERVER) == RegressionView(SERVER)


async def test_call_from_a_project_folder_needs_permission(bench: Bench, tmp_path: Path) -> None:
    await bench.start(one="first")
    project = tmp_path / "checkout"
    project.mkdir()
    await bench.engine.calls.add_folder(project)
    path = project / "pulled.json"
    path.write_text(json.dumps({"server": SERVER, "tool": "one", "watch": True}))
    bench.regression_calls.begin(SERVER, "server.py changed")
    view = await bench.until_ran(1)
    assert state(view, "one") is RegressionState.NOT_APPROVED
    assert not [
        row for row in bench.engine.log.find(SERVER, RecordKind.REQUEST) if row.method == "tools/call"
    ]
    await bench.run(2)  # run by the user
    bench.regression_calls.begin(SERVER, "server.py changed")
    assert state(await bench.until_ran(3), "one") is RegressionState.SAME
    path.write_text(json.dumps({"server": SERVER, "tool": "one", "watch": True, "arguments": {"all": True}}))
    bench.regression_calls.begin(SERVER, "server.py changed")
    assert state(await bench.until_ran(4), "one") is RegressionState.NOT_APPROVED


async def test_permission_is_kept_in_the_next_run(tmp_path: Path) -> None:
    own, project = tmp_path / "calls", tmp_path / "checkout"
    project.mkdir()
    calls = CallLibrary(saved=own)
    await calls.add_folder(project)
    pulled = SavedCall("x", "one", SERVER, {"n": 1}, path=project / "x.json", is_regression=True)
    assert await calls.allowed_variables(pulled) is None
    await calls.allow(pulled)
    later = CallLibrary(saved=own)
    assert await later.allowed_variables(pulled) is not None
    assert await later.allowed_variables(replace(pulled, arguments={"n": 2})) is None
    assert await later.allowed_variables(replace(pulled, server="another")) is None
    assert (own / ".allowed.json").stat().st_mode & 0o077 == 0
    (own / ".allowed.json").write_text("{")
    assert await CallLibrary(saved=own).allowed_variables(pulled) is None


async def test_making_it_a_regression_call_gives_permission(bench: Bench, tmp_path: Path) -> None:
    await bench.start(one="first")
    project = tmp_path / "checkout"
    project.mkdir()
    await bench.engine.calls.add_folder(project)
    saved = await bench.engine.calls.save(SavedCall("Mine", "one", SERVER, is_regression=True), project)
    assert await bench.engine.calls.allowed_variables(saved) is None
    await bench.regression_calls.set_regression(SERVER, saved, True)
    bench.regression_calls.begin(SERVER, "server.py changed")
    assert state(await bench.until_ran(1), "one") is RegressionState.NEW


async def test_variable_changed_after_the_permission_needs_a_new_one(bench: Bench, tmp_path: Path) -> None:
    """Threat: a pull changes `variables.json`, so that an allowed call is sent with other arguments."""
    await bench.start(one="first")
    project = tmp_path / "checkout"
    project.mkdir()
    await bench.engine.calls.add_folder(project)
    call: JSONObject = {"server": SERVER, "tool": "one", "watch": True, "arguments": {"path": "${path}"}}
    (project / "pulled.json").write_text(json.dumps(call))
    variables = project / "variables.json"
    variables.write_text(json.dumps({"path": "/tmp/log", "unused": 1}))
    await bench.run(1)  # run by the user
    variables.write_text(json.dumps({"path": "/tmp/log", "unused": 2}))
    bench.regression_calls.begin(SERVER, "server.py changed")
    assert state(await bench.until_ran(2), "one") is RegressionState.SAME
    variables.write_text(json.dumps({"path": "/etc/shadow"}))
    bench.regression_calls.begin(SERVER, "server.py changed")
    assert state(await bench.until_ran(3), "one") is RegressionState.NOT_APPROVED
    sent = [
        row.raw for row in bench.engine.log.find(SERVER, RecordKind.REQUEST) if row.method == "tools/call"
    ]
    assert not [raw for raw in sent if b"/etc/shadow" in raw]


async def test_new_secret_value_of_a_variable_needs_no_new_permission(tmp_path: Path) -> None:
    own, project = tmp_path / "calls", tmp_path / "checkout"
    project.mkdir()
    calls = CallLibrary(saved=own, secrets=Secrets())
    await calls.add_folder(project)
    arguments: JSONObject = {"token": "${token}"}
    pulled = SavedCall("x", "one", SERVER, arguments, path=project / "x.json", is_regression=True)
    await calls.set_variable("token", "t0ken", project)
    await calls.allow(pulled)
    await calls.set_variable("token", "n3w", project)
    variables = await calls.allowed_variables(pulled)
    assert variables is not None
    assert variables.values == {"token": "n3w"}
    (project / "variables.json").write_text(json.dumps({"token": "from the folder"}))
    assert await calls.allowed_variables(pulled) is None
    assert calls._secrets is not None
    await calls._secrets.end()
