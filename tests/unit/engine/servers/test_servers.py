"""Servers of an engine: added, saved, connected, stopped and removed, in any order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError, ConnectFailed, RequestCancelled
from inspector.config.servers.entries import StdioEntry, Timeouts
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.views import ServerStatus
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind
from tests.helpers.servers import Lab, fault_entry, server_views, shell_entry


@pytest.fixture
def server_list(tmp_path: Path) -> ServerListFile:
    return ServerListFile(tmp_path / "servers.json")


@pytest.fixture
async def engine(server_list: ServerListFile) -> AsyncIterator[Engine]:
    engine = Engine(server_list)
    yield engine
    await engine.close()


def names(engine: Engine) -> list[str]:
    return [view.name for view in server_views(engine)]


async def test_server_list_is_loaded_and_its_problems_are_reported(
    engine: Engine, server_list: ServerListFile
) -> None:
    server_list.path.write_text('{"mcpServers": {"a": {"command": "x", "disabled": true}, "b": 5}}')
    problems: list[str] = []
    engine.servers.problem_found.connect(problems.append)
    engine.servers.load()
    (view,) = server_views(engine)
    assert (view.name, view.status, view.is_saved) == ("a", ServerStatus.DISABLED, True)
    assert len(problems) == 1
    assert "server 'b'" in problems[0]


async def test_saved_server_is_written_and_a_session_only_one_is_not(
    engine: Engine, server_list: ServerListFile
) -> None:
    engine.servers.save(StdioEntry(name="kept", command="x"))
    engine.servers.add(StdioEntry(name="passing", command="x"))
    assert names(engine) == ["kept", "passing"]
    assert [entry.name for entry in server_list.load().entries] == ["kept"]
    await engine.servers.set_enabled("passing", False)
    await engine.servers.set_enabled("kept", False)
    assert [(entry.name, entry.enabled) for entry in server_list.load().entries] == [("kept", False)]
    assert [view.status for view in server_views(engine)] == [ServerStatus.DISABLED, ServerStatus.DISABLED]


async def test_server_that_cannot_be_saved_is_not_added(engine: Engine, server_list: ServerListFile) -> None:
    server_list.path.write_text("{broken")
    with pytest.raises(ConfigError, match="is not valid JSON"):
        engine.servers.save(StdioEntry(name="a", command="x"))
    assert names(engine) == []


async def test_names_are_unique(engine: Engine, server_list: ServerListFile) -> None:
    engine.servers.save(StdioEntry(name="a", command="x"))
    with pytest.raises(ConfigError, match="A server named 'a' already exists"):
        engine.servers.save(StdioEntry(name="a", command="y"))
    assert server_list.find("a") == StdioEntry(name="a", command="x")
    assert engine.servers.unique_name("a") == "a 2"
    assert engine.servers.unique_name("b") == "b"


async def test_removed_server_is_deleted_from_the_file_and_its_history_stays(
    engine: Engine, server_list: ServerListFile
) -> None:
    removed: list[str] = []
    engine.servers.removed.connect(removed.append)
    engine.servers.save(fault_entry())
    await engine.servers.connector.connect("srv")
    rows = len(engine.log)
    await engine.servers.remove("srv")
    assert (names(engine), removed, server_list.load().entries) == ([], ["srv"], ())
    assert len(engine.log) > rows
    with pytest.raises(ConfigError, match="No server named 'srv'"):
        await engine.servers.connector.connect("srv")


def test_a_given_log_is_used_though_it_is_empty() -> None:
    log = TrafficLog()
    assert Engine(log=log).log is log


async def test_a_failure_is_raised_and_shown(lab: Lab) -> None:
    error = await lab.fails_to_connect(shell_entry("exit 3"))
    assert isinstance(error, ConnectFailed)


async def test_connect_soon_reports_failure_only_in_the_view(lab: Lab) -> None:
    lab.engine.servers.add(shell_entry("exit 3"))
    lab.engine.servers.connector.connect_soon("srv")
    view = await lab.until(ServerStatus.FAILED)
    assert view.reason == "The server exited with code 3."


async def test_stopping_a_connect_tells_the_waiting_caller(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry("silent"))
    connecting = asyncio.get_running_loop().create_task(lab.engine.servers.connector.connect("srv"))
    await lab.until(ServerStatus.CONNECTING)
    await lab.engine.servers.connector.disconnect("srv")
    with pytest.raises(RequestCancelled, match="The connection attempt was cancelled"):
        await connecting
    assert lab.view().status is ServerStatus.IDLE


async def test_cancelling_the_waiting_caller_does_not_stop_the_connect(lab: Lab) -> None:
    lab.engine.servers.add(fault_entry())
    connecting = asyncio.get_running_loop().create_task(lab.engine.servers.connector.connect("srv"))
    await lab.until(ServerStatus.CONNECTING)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await lab.until(ServerStatus.CONNECTED)


@pytest.mark.parametrize(
    ("last", "status"), [("connect", ServerStatus.CONNECTED), ("disconnect", ServerStatus.IDLE)]
)
async def test_last_of_several_quick_clicks_wins(lab: Lab, last: str, status: ServerStatus) -> None:
    lab.engine.servers.add(fault_entry())
    clicks = ["connect", "connect", "disconnect", "connect", "disconnect", last]
    loop = asyncio.get_running_loop()
    tasks = []
    for click in clicks:
        tasks.append(loop.create_task(getattr(lab.engine.servers.connector, click)("srv")))
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(result is None or isinstance(result, RequestCancelled) for result in results), results
    assert lab.view().status is status


async def test_disabled_server_is_shown_as_disabled_even_after_a_failure(lab: Lab) -> None:
    await lab.fails_to_connect(shell_entry("exit 3"))
    await lab.engine.servers.set_enabled("srv", False)
    assert lab.view().status is ServerStatus.DISABLED


async def test_enabling_a_server_connects_it(lab: Lab) -> None:
    lab.engine.servers.add(replace(fault_entry(), enabled=False))
    assert lab.view().status is ServerStatus.DISABLED
    await lab.engine.servers.set_enabled("srv", True)
    await lab.until(ServerStatus.CONNECTED)
    pid = lab.view().pid
    await lab.engine.servers.set_enabled("srv", True)  # already enabled: nothing to do
    assert (lab.view().status, lab.view().pid) == (ServerStatus.CONNECTED, pid)


async def test_disabled_server_is_not_connected(lab: Lab) -> None:
    lab.engine.servers.add(replace(fault_entry(), enabled=False))
    with pytest.raises(ConfigError, match=r"The server 'srv' is disabled\. Enable it first"):
        await lab.engine.servers.connector.connect("srv")
    assert lab.view().status is ServerStatus.DISABLED
    assert lab.rows(RecordKind.PROCESS) == []


async def test_sequential_server_never_gets_two_requests_at_once(lab: Lab) -> None:
    lab.engine.servers.add(replace(fault_entry(), sequential=True))
    await lab.engine.servers.connector.connect("srv")
    assert lab.view().is_sequential
    texts = await asyncio.gather(*(lab.text("echo", text=f"{number}") for number in range(5)))
    assert texts == [str(number) for number in range(5)]
    kinds = [row.kind for row in lab.rows(RecordKind.REQUEST, RecordKind.RESULT)][-10:]
    assert kinds == [RecordKind.REQUEST, RecordKind.RESULT] * 5


async def test_server_that_timed_out_gets_more_time_on_request(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.session.connect._SLOW_AFTER", 0.1)
    entry = replace(fault_entry("silent"), timeouts=Timeouts(connect=0.1))
    await lab.fails_to_connect(entry)
    assert lab.view().can_wait_longer
    lab.engine.servers.connector.wait_longer("srv")
    while not (lab.view().status is ServerStatus.CONNECTING and lab.view().can_wait_longer):
        await lab.changed()
    lab.engine.servers.connector.wait_longer("srv")
    assert "MCP Lens waits" in lab.view().next_step
    await lab.engine.servers.connector.disconnect("srv")


async def test_disabling_stops_a_connected_server(lab: Lab) -> None:
    await lab.connect()
    await lab.engine.servers.set_enabled("srv", False)
    assert lab.view().status is ServerStatus.DISABLED
    assert lab.view().pid is None


async def test_several_servers_are_connected_at_once(lab: Lab) -> None:
    for number in range(4):
        lab.engine.servers.add(fault_entry(name=f"srv {number}"))
    await asyncio.gather(*(lab.engine.servers.connector.connect(f"srv {number}") for number in range(4)))
    texts = await asyncio.gather(*(lab.text("echo", name=f"srv {n}", text=f"I am {n}") for n in range(4)))
    assert texts == ["I am 0", "I am 1", "I am 2", "I am 3"]


async def test_engine_signals_which_list_changed(lab: Lab) -> None:
    changes: list[tuple[str, str]] = []
    lab.engine.list_changed.connect(lambda server, kind: changes.append((server, kind)))
    await lab.connect()
    await lab.call("notifies", method="notifications/tools/list_changed")
    await lab.call("notifies", method="notifications/prompts/list_changed")
    await lab.call("notifies", method="notifications/message")
    assert changes == [("srv", "tools"), ("srv", "prompts")]
