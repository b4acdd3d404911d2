"""The process of a server: its environment, and how it ends with everything that it started."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import psutil
import pytest

from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.traffic.records import RecordKind
from inspector.transport import process
from tests.helpers.servers import Lab, fault_entry, gone, is_alive


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """For servers that ignore termination: SIGKILL is sent soon."""
    monkeypatch.setattr(process, "GRACE_AFTER_STDIN", 0.1)
    monkeypatch.setattr(process, "GRACE_AFTER_TERM", 0.2)


async def grandchildren(lab: Lab, count: int) -> list[int]:
    """Return the pids that the server wrote to stderr; a call ensures that all were read."""
    await lab.text("echo", text="")
    pids = [int(match[1]) for line in lab.stderr() if (match := re.match(rb"grandchild (\d+)", line))]
    assert len(pids) == count
    assert all(is_alive(pid) for pid in pids)
    return pids


async def test_server_runs_in_its_own_session_and_process_group(lab: Lab) -> None:
    await lab.connect()
    about = json.loads(await lab.text("about"))
    assert about["pid"] == about["group"] == about["session"] == lab.view().pid
    assert about["session"] != os.getsid(0)


async def test_server_environment_has_its_configured_variables_and_none_of_our_secrets(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET_TOKEN", "hunter2")
    lab.engine.servers.add(fault_entry(env={"THEIR_TOKEN": "swordfish"}))
    await lab.engine.servers.connector.connect("srv")
    environment = json.loads(await lab.text("environment"))
    assert environment["THEIR_TOKEN"] == "swordfish"
    assert environment["PATH"] == os.environ["PATH"]
    assert "OUR_SECRET_TOKEN" not in environment
    assert "hunter2" not in json.dumps(environment)
    (started, *_) = lab.rows(RecordKind.PROCESS)
    assert b"THEIR_TOKEN" in started.raw  # which were configured is shown, what they hold is not
    assert b"swordfish" not in started.raw


async def test_a_server_runs_in_the_configured_folder(lab: Lab, tmp_path: Path) -> None:
    lab.engine.servers.add(fault_entry(cwd=str(tmp_path)))
    await lab.engine.servers.connector.connect("srv")
    assert json.loads(await lab.text("about"))["cwd"] == str(tmp_path)


async def test_well_behaved_server_exits_when_its_stdin_closes(lab: Lab) -> None:
    await lab.connect()
    await lab.engine.servers.connector.disconnect("srv")
    assert lab.rows(RecordKind.PROCESS)[-1].raw.endswith(b"exited with code 0.")


async def test_server_that_keeps_running_is_terminated(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_AFTER_STDIN", 0.1)
    await lab.connect("stays")
    await lab.engine.servers.connector.disconnect("srv")
    assert lab.rows(RecordKind.PROCESS)[-1].raw.endswith(b"was terminated by signal SIGTERM.")


@pytest.mark.usefixtures("short_grace")
async def test_server_that_ignores_termination_is_killed(lab: Lab) -> None:
    await lab.connect("stays", "ignores-term")
    await lab.engine.servers.connector.disconnect("srv")
    assert lab.rows(RecordKind.PROCESS)[-1].raw.endswith(b"was terminated by signal SIGKILL.")


async def test_stopping_one_server_does_not_hold_up_another(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_AFTER_STDIN", 600.0)
    await lab.connect("stays")
    pid = lab.view().pid
    assert pid is not None
    stopping = asyncio.get_running_loop().create_task(lab.engine.servers.connector.disconnect("srv"))
    await lab.still_works()
    assert not stopping.done()
    os.kill(pid, signal.SIGKILL)
    await stopping


@pytest.mark.parametrize("words", [("grandchild",), ("grandchild=own",), ("grandchild=holds",)])
async def test_child_processes_of_a_server_end_with_it(lab: Lab, words: tuple[str, ...]) -> None:
    await lab.connect(*words)
    pids = await grandchildren(lab, 1)
    await lab.engine.servers.connector.disconnect("srv")
    await gone(*pids)


@pytest.mark.usefixtures("short_grace")
async def test_child_processes_end_with_a_server_that_had_to_be_killed(lab: Lab) -> None:
    await lab.connect("stays", "ignores-term", "grandchild", "grandchild=own")
    pids = await grandchildren(lab, 2)
    await lab.engine.servers.connector.disconnect("srv")
    await gone(*pids)


async def test_child_processes_end_when_the_server_dies_by_itself(lab: Lab) -> None:
    await lab.connect("grandchild", "grandchild=holds", "grandchild=own")
    pids = await grandchildren(lab, 3)
    outcome = await lab.call("dies")  # told at once, though a grandchild holds its output open
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary == "The server exited with code 9."
    await lab.until(ServerStatus.FAILED)
    await gone(*pids)


async def test_killing_a_server_ends_a_child_process_that_left_its_session(lab: Lab) -> None:
    await lab.connect("grandchild=own")
    pids = await grandchildren(lab, 1)
    pid = lab.view().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await lab.until(ServerStatus.FAILED)
    await gone(*pids)


async def test_slow_server_has_two_seconds_to_exit_after_its_stdin_closes(lab: Lab) -> None:
    await lab.connect("saves-first")
    await lab.engine.servers.connector.disconnect("srv")
    assert lab.rows(RecordKind.PROCESS)[-1].raw.endswith(b"exited with code 0.")


async def test_closing_the_engine_stops_everything_it_started(lab: Lab) -> None:
    for number in range(3):
        await lab.connect("grandchild", name=f"srv {number}")
    before = psutil.Process().children(recursive=True)
    assert len(before) >= 6
    await lab.engine.close()
    await gone(*(process.pid for process in before))


async def test_cancelled_connect_leaves_no_process(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry("grandchild", "silent"))
    lab.engine.servers.connector.connect_soon("srv")
    while (pid := lab.view().pid) is None:
        await lab.changed()
    await lab.engine.servers.connector.disconnect("srv")
    await gone(pid)


async def test_all_of_stderr_is_recorded_before_the_exit(lab: Lab) -> None:
    await lab.connect()
    outcome = await lab.call("shouts-and-dies", lines=5000)
    assert outcome.kind is OutcomeKind.FAILED
    await lab.until(ServerStatus.FAILED)
    rows = lab.rows(RecordKind.STDERR, RecordKind.PROCESS)
    assert [row.raw for row in rows if row.kind is RecordKind.STDERR] == [b"line %d" % n for n in range(5000)]
    exits = [index for index, row in enumerate(rows) if row.raw.endswith(b"exited with code 7.")]
    assert exits == [len(rows) - 1]
    assert outcome.next_step.endswith("line 4998\nline 4999")


async def test_output_during_shutdown_is_recorded(lab: Lab) -> None:
    await lab.connect()
    await lab.call("writes-after-stdin")
    await lab.engine.servers.connector.disconnect("srv")
    assert b"last words" in lab.rows(RecordKind.NOTIFICATION)[-1].raw
    assert lab.stderr() == [b"last line without its end"]
