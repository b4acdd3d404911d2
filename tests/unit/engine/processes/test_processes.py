"""Processes of a server: tree, resource use, exits and the cost of calls, with real processes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.processes.processes import ProcessView
from inspector.engine.processes.sample import take_sample, tree_cpu_ns
from inspector.engine.views import CallOutcome, ServerStatus
from tests.helpers.platforms import IS_WINDOWS, needs_process_groups
from tests.helpers.servers import Lab, fault_entry, shell_entry

SERVER = Path(__file__).parents[3] / "helpers" / "workserver.py"


def work_entry(*args: str, name: str = "srv", cwd: str = "") -> StdioEntry:
    words = ("-I", "-S", str(SERVER), *args)
    return StdioEntry(name=name, command=sys.executable, args=words, cwd=cwd)


async def call(lab: Lab, tool: str, **arguments: int) -> CallOutcome:
    """Make a measured call, as the window does."""
    engine = lab.engine
    work = engine.tool_caller
    return await engine.processes.measured("srv", lambda: work.call("srv", ToolCall(tool, {**arguments})))


async def started(lab: Lab, *args: str, cwd: str = "") -> ProcessView:
    lab.engine.servers.add(work_entry(*args, cwd=cwd))
    await lab.engine.servers.connector.connect("srv")
    return await lab.engine.processes.scan("srv")


async def test_snapshot_shows_the_running_process(lab: Lab, tmp_path: Path) -> None:
    view = await started(lab, cwd=str(tmp_path))
    assert view.pid == lab.view().pid
    assert view.folder == str(tmp_path)
    assert view.sample is not None
    (process,) = view.sample.processes
    assert (process.pid, process.depth, process.is_stray) == (view.pid, 0, False)
    assert str(SERVER) in process.command
    assert process.rss is not None
    assert process.rss > 1_000_000
    assert process.threads == 1
    assert process.cpu_ns is not None
    assert process.cpu_ns > 0
    assert process.share is None  # the first sample
    assert view.ended == ()


async def test_second_snapshot_shows_the_cpu_usage(lab: Lab) -> None:
    await started(lab)
    await call(lab, "burn", ms=120)
    view = await lab.engine.processes.scan("srv")
    assert view.sample is not None
    assert view.sample.share is not None
    assert view.sample.share > 0.1


async def test_children_are_listed_below_their_parents(lab: Lab) -> None:
    await started(lab)
    await call(lab, "family")
    view = await lab.engine.processes.scan("srv")
    assert view.sample is not None
    assert [each.depth for each in view.sample.processes] == [0, 1, 2]
    assert view.sample.threads >= 3


@needs_process_groups
async def test_orphaned_process_is_still_shown(lab: Lab) -> None:
    await started(lab)
    await call(lab, "orphan")
    view = await lab.engine.processes.scan("srv")
    assert view.sample is not None
    assert [each.is_stray for each in view.sample.processes] == [False, True]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell it")
async def test_grown_memory_is_measured_in_detail_immediately(lab: Lab) -> None:
    before = (await started(lab)).sample
    await call(lab, "family")
    await lab.engine.processes.scan("srv")  # notices the growth
    after = (await lab.engine.processes.scan("srv")).sample
    assert before is not None
    assert after is not None
    assert (after.pss or 0) > (before.pss or 0)


async def test_open_files_are_listed(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("x")
    view = await started(lab, str(file))
    assert view.sample is not None
    assert [each.path for each in view.sample.files] == [str(file)]
    assert view.sample.handles is not None
    assert view.sample.handles >= 4


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell it")
async def test_shared_memory_is_counted_proportionally(lab: Lab) -> None:
    view = await started(lab)
    assert view.sample is not None
    assert view.sample.pss is not None
    assert 0 < view.sample.pss <= view.sample.rss


async def test_secrets_in_the_command_are_masked(lab: Lab) -> None:
    view = await started(lab, "--api-key=sk-live-1234567890abcdef")
    assert view.sample is not None
    assert "1234567890abcdef" not in view.sample.processes[0].command


async def test_exit_is_recorded_with_its_code_and_last_lines(lab: Lab) -> None:
    await lab.fails_to_connect(fault_entry("exit=3"))
    view = await lab.engine.processes.scan("srv")
    assert (view.pid, view.sample) == (None, None)
    latest = view.ended[0]
    assert (latest.status, latest.was_requested) == ("exited with code 3", False)
    assert latest.last_lines == ("Error: API_TOKEN is not set.", "Set it and start again.")
    assert latest.ended_ns >= latest.started_ns


async def test_requested_exit_is_distinguished(lab: Lab) -> None:
    await started(lab)
    await lab.engine.servers.connector.disconnect("srv")
    (ended,) = (await lab.engine.processes.scan("srv")).ended
    assert ended.was_requested


async def test_crash_during_a_call_is_in_the_history_with_its_status(lab: Lab) -> None:
    status = "exited with code 9" if IS_WINDOWS else "was terminated by signal SIGKILL"
    await started(lab)
    await call(lab, "crash")
    await lab.until(ServerStatus.FAILED)
    (ended,) = (await lab.engine.processes.scan("srv")).ended
    assert (ended.status, ended.was_requested) == (status, False)
    assert ended.last_lines == ("about to crash",)


async def test_each_run_has_its_own_last_lines(lab: Lab) -> None:
    await started(lab)
    await call(lab, "crash")
    await lab.until(ServerStatus.FAILED)
    await lab.engine.servers.connector.connect("srv")
    await lab.engine.servers.connector.disconnect("srv")
    ended = (await lab.engine.processes.scan("srv")).ended
    assert [each.last_lines for each in ended] == [(), ("about to crash",)]


async def test_start_and_exit_are_signaled(lab: Lab) -> None:
    reported: list[str] = []
    lab.engine.processes.changed.connect(reported.append)
    await started(lab)
    await lab.engine.servers.connector.disconnect("srv")
    assert reported == ["srv", "srv"]


async def test_a_removed_server_has_no_history(lab: Lab) -> None:
    await started(lab)
    await lab.engine.servers.remove("srv")
    assert await lab.engine.processes.scan("srv") == ProcessView("srv")


async def test_concurrent_snapshots_do_not_mix(lab: Lab) -> None:
    await started(lab)
    runs = (lab.engine.processes.scan("srv") for _ in range(5))
    views = await asyncio.gather(*runs)
    assert all(view.sample is not None and len(view.sample.processes) == 1 for view in views)


async def test_finished_process_gives_no_sample(lab: Lab) -> None:
    lab.engine.servers.add(shell_entry("exit 0"))
    await lab.fails_to_connect(shell_entry("exit 0", name="other"))
    pid = (await lab.engine.processes.scan("other")).ended[0].pid
    assert take_sample(pid, None, deep=True) is None
    assert tree_cpu_ns(pid) is None


async def test_call_reports_the_cpu_time_of_its_process(lab: Lab) -> None:
    await started(lab)
    idle, busy = await call(lab, "nothing"), await call(lab, "burn", ms=100)
    assert idle.cost is not None
    assert busy.cost is not None
    assert idle.cost.cpu_ns is not None
    assert busy.cost.cpu_ns is not None
    assert idle.cost.cpu_ns < 50_000_000
    assert busy.cost.cpu_ns >= 90_000_000


async def test_work_of_a_finished_child_counts(lab: Lab) -> None:
    await started(lab)
    outcome = await call(lab, "burn_in_child", ms=100)
    assert outcome.cost is not None
    assert outcome.cost.cpu_ns is not None
    assert outcome.cost.cpu_ns >= 80_000_000


async def test_stderr_during_a_call_is_counted_and_found(lab: Lab) -> None:
    await started(lab)
    await call(lab, "chatter", stderr=1, stray=1)
    outcome = await call(lab, "chatter", stderr=3, stray=2)
    assert outcome.cost is not None
    assert (outcome.cost.stderr, outcome.cost.stray) == (3, 2)
    assert "3 stderr lines · 2 stray lines" in outcome.cost.text()
    lines = sorted(lab.engine.log.raw(row) for row in outcome.cost.rows)
    assert lines == [b"note 0", b"note 1", b"note 2", b"stray 0", b"stray 1"]


async def test_cost_is_stored_with_the_operation(lab: Lab) -> None:
    await started(lab)
    outcome = await call(lab, "burn", ms=20)
    assert outcome.row is not None
    assert lab.engine.log.cost(outcome.row) == outcome.cost


async def test_unobserved_call_is_not_measured(lab: Lab) -> None:
    await started(lab)
    outcome = await lab.call("nothing")
    assert outcome.cost is None
    assert outcome.row is not None
    assert lab.engine.log.cost(outcome.row) is None


async def test_a_call_in_which_the_server_dies_has_an_outcome(lab: Lab) -> None:
    await started(lab)
    outcome = await call(lab, "crash")
    assert outcome.cost is not None
    assert outcome.cost.cpu_ns is None
    assert outcome.cost.stderr == 1
