"""Restarts of servers when their files change, with real files and servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import HttpEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.content import read_result
from inspector.engine.engine import Engine
from inspector.engine.processes.file_watch import FileWatchView, WatchTiming
from inspector.engine.views import ServerStatus
from inspector.traffic.records import RecordKind
from tests.helpers.editedserver import edited_entry, write_server
from tests.helpers.fakes import LoopTime


class WatchStage:
    """An engine with one server in a folder, with a short polling interval."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = Engine(ServerListFile(folder / "servers.json"))
        self.engine.filewatch.timing = WatchTiming(poll=0.02, quiet=0.02, max_delay=1.0)
        self.restarts: list[tuple[str, str]] = []
        self._changes = asyncio.Event()
        self.engine.filewatch.changed.connect(lambda view: self._changes.set())
        self.engine.servers.changed.connect(lambda view: self._changes.set())
        self.engine.filewatch.restarted.connect(lambda *names: self.restarts.append(names))

    async def start(self, *watch: str) -> None:
        self.engine.servers.save(edited_entry(self.folder, *watch))
        await self.engine.servers.connector.connect("edited")

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not is_so():
                self._changes.clear()
                await self._changes.wait()

    async def until_looked(self) -> None:
        """Wait until the first scan is done."""
        await self.until(lambda: bool(self.view.files or self.view.problem))

    async def until_restarts(self, count: int) -> None:
        await self.until(lambda: len(self.restarts) >= count and not self.view.is_restarting)

    @property
    def view(self) -> FileWatchView:
        return self.engine.filewatch._view("edited")

    @property
    def status(self) -> ServerStatus:
        return self.engine.servers.get("edited").view.status

    async def response(self, tool: str) -> str:
        outcome = await self.engine.tool_caller.call("edited", ToolCall(tool))
        return read_result(outcome.response).parts[0].content.data.decode()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[WatchStage]:
    stage = WatchStage(tmp_path)
    yield stage
    await stage.engine.close()


async def test_an_edited_file_restarts_its_server(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    first = stage.engine.servers.get("edited").view.pid
    write_server(stage.folder, say="two, longer")
    await stage.until_restarts(1)
    assert stage.restarts == [("edited", "server.py changed")]
    assert stage.engine.servers.get("edited").view.pid != first
    assert await stage.response("say") == "two, longer"
    view = stage.view
    assert (view.is_on, view.is_restarting, view.failure) == (True, False, "")
    assert view.took_ns is not None
    assert view.changed == (str(stage.folder / "server.py"),)
    notes = [row.raw.decode() for row in stage.engine.log.find("edited", RecordKind.LOCAL)]
    assert "server.py changed: restarting." in notes


async def test_server_that_fails_to_start_is_retried_at_the_next_save(stage: WatchStage) -> None:
    path = write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    path.write_text("this is no python")
    await stage.until(lambda: bool(stage.view.failure))
    assert stage.status is ServerStatus.FAILED
    assert stage.view.took_ns is None
    assert "exited with code 1" in stage.view.failure
    assert stage.view.is_on
    write_server(stage.folder, say="three")
    await stage.until_restarts(1)
    assert await stage.response("say") == "three"
    assert stage.view.failure == ""


async def test_save_repairs_a_server_that_never_started(stage: WatchStage) -> None:
    (stage.folder / "server.py").write_text("this is no python")
    stage.engine.servers.save(edited_entry(stage.folder, "*.py"))
    stage.engine.servers.connector.connect_soon("edited")
    await stage.until(lambda: stage.status is ServerStatus.FAILED)
    await stage.until_looked()
    write_server(stage.folder, say="there")
    await stage.until_restarts(1)
    assert await stage.response("say") == "there"


async def test_other_files_do_not_restart_it(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    (stage.folder / "stage.txt").write_text("x")
    await stage.start("stage.txt")
    await stage.until_looked()
    write_server(stage.folder, say="two")
    (stage.folder / "stage.txt").write_text("xyz")
    await stage.until_restarts(1)
    assert stage.restarts == [("edited", "stage.txt changed")]


async def test_files_written_in_quick_succession_cause_one_restart(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.txt", "*.py")
    await stage.until_looked()
    time = LoopTime()
    stage.engine.filewatch.timing = WatchTiming(poll=0.02, quiet=60.0, max_delay=1e9)
    files = stage.view.files
    for number in range(4):
        (stage.folder / f"{number}.txt").write_text("x")
        while stage.view.files != files + number + 1:
            await time.advance(61)
    await time.advance(0)
    await time.advance(61)
    time.go_on()  # ending the process may take timeouts
    await stage.until_restarts(1)
    assert stage.restarts == [("edited", "0.txt, 1.txt, 2.txt and 1 more changed")]


async def test_disconnected_server_is_not_restarted(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    await stage.engine.servers.connector.disconnect("edited")
    assert not stage.view.is_on
    assert stage.status is ServerStatus.IDLE


async def test_reconnecting_resumes_the_watch(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    await stage.engine.servers.connector.disconnect("edited")
    write_server(stage.folder, say="while away")
    await stage.engine.servers.connector.connect("edited")
    await stage.until(lambda: stage.view.is_on and bool(stage.view.files))
    assert stage.restarts == []
    write_server(stage.folder, say="afterwards")
    await stage.until_restarts(1)


async def test_globs_can_be_changed_while_running_and_are_saved(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start()
    assert not stage.view.is_on
    await stage.engine.filewatch.set_globs("edited", ("*.py",))
    await stage.until_looked()
    assert ServerListFile(stage.folder / "servers.json").find("edited").watch == ("*.py",)
    write_server(stage.folder, say="two")
    await stage.until_restarts(1)
    await stage.engine.filewatch.set_globs("edited", ())
    await stage.until(lambda: not stage.view.is_on)
    assert stage.view.globs == ()


async def test_globs_changed_during_a_restart_apply_after_it(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    (stage.folder / "other.txt").write_text("x")
    (stage.folder / "more.txt").write_text("x")
    await stage.start("*.py")
    await stage.until_looked()
    write_server(stage.folder, say="two")
    await stage.until(lambda: stage.view.is_restarting)
    await stage.engine.filewatch.set_globs("edited", ("*.txt",))
    await stage.until_restarts(1)
    await stage.until(lambda: stage.view.globs == ("*.txt",) and stage.view.files == 2)
    (stage.folder / "other.txt").write_text("xyz")
    await stage.until_restarts(2)
    assert stage.restarts[1] == ("edited", "other.txt changed")


async def test_server_disconnected_during_a_restart_is_left_alone(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    write_server(stage.folder, say="two")
    await stage.until(lambda: stage.view.is_restarting)
    await stage.engine.servers.connector.disconnect("edited")
    await stage.until(lambda: not stage.view.is_restarting)
    assert (stage.view.is_on, stage.view.failure) == (False, "")
    assert stage.status is ServerStatus.IDLE


async def test_globs_without_matches_are_reported(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.rs")
    await stage.until_looked()
    assert stage.view.problem == f"No files match in {stage.folder}."
    assert stage.view.is_on


async def test_invalid_glob_is_rejected(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start()
    with pytest.raises(ConfigError):
        await stage.engine.filewatch.set_globs("edited", ("[z-a]",))
    assert stage.view.globs == ()


async def test_invalid_glob_in_the_file_is_reported(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("[z-a]")
    await stage.until(lambda: bool(stage.view.problem))
    assert "is not a valid file pattern" in stage.view.problem
    assert stage.status is ServerStatus.CONNECTED


async def test_a_removed_server_is_watched_no_longer(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    await stage.engine.servers.remove("edited")
    with pytest.raises(ConfigError):
        await stage.engine.filewatch.view("edited")


async def test_late_event_of_a_removed_server_is_ignored(stage: WatchStage) -> None:
    write_server(stage.folder, say="one")
    await stage.start("*.py")
    await stage.until_looked()
    view = stage.engine.servers.get("edited").view
    await stage.engine.servers.remove("edited")
    stage.engine.servers.changed.emit(view)
    assert "edited" not in stage.engine.filewatch._views


async def test_remote_server_has_no_watched_files(stage: WatchStage) -> None:
    entry = HttpEntry(name="edited", url="http://127.0.0.1:9/mcp", watch=("*.py",))
    stage.engine.servers.add(entry)
    assert (await stage.engine.filewatch.view("edited")).globs == ()
