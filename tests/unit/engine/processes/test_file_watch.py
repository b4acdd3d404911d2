"""Servers that are restarted when their files change. With real files and real servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import HttpEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.content.content import read_result
from inspector.engine.engine import Engine
from inspector.engine.processes.file_watch import FileWatchView, WatchTiming
from inspector.engine.views import ServerStatus
from inspector.traffic.records import RecordKind
from tests.helpers.editedserver import edited_entry, write_server
from tests.helpers.fakes import LoopTime


class Watched:
    """An engine with one server in a folder, whose files are looked at often."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = Engine(ServerListFile(folder / "servers.json"))
        self.engine.filewatch.timing = WatchTiming(poll=0.02, quiet=0.02, max_delay=1.0)
        self.restarts: list[tuple[str, str]] = []
        self._changes = asyncio.Event()
        self.engine.filewatch.changed.connect(lambda view: self._changes.set())
        self.engine.server_changed.connect(lambda view: self._changes.set())
        self.engine.filewatch.restarted.connect(lambda *names: self.restarts.append(names))

    async def start(self, *watch: str) -> None:
        self.engine.save(edited_entry(self.folder, *watch))
        await self.engine.connect("edited")

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not is_so():
                self._changes.clear()
                await self._changes.wait()

    async def until_looked(self) -> None:
        """Until there is something to compare with."""
        await self.until(lambda: bool(self.view.files or self.view.problem))

    async def until_restarts(self, count: int) -> None:
        await self.until(lambda: len(self.restarts) >= count and not self.view.is_restarting)

    @property
    def view(self) -> FileWatchView:
        return self.engine.filewatch._view("edited")

    @property
    def status(self) -> ServerStatus:
        return self.engine.view("edited").status

    async def response(self, tool: str) -> str:
        outcome = await self.engine.call_tool("edited", tool, {})
        return read_result(outcome.response).parts[0].content.data.decode()


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    watched = Watched(tmp_path)
    yield watched
    await watched.engine.close()


async def test_an_edited_file_restarts_its_server(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    first = watched.engine.view("edited").pid
    write_server(watched.folder, say="two, longer")
    await watched.until_restarts(1)
    assert watched.restarts == [("edited", "server.py changed")]
    assert watched.engine.view("edited").pid != first
    assert await watched.response("say") == "two, longer"
    view = watched.view
    assert (view.is_on, view.is_restarting, view.failure) == (True, False, "")
    assert view.took_ns is not None
    assert view.changed == (str(watched.folder / "server.py"),)
    notes = [row.raw.decode() for row in watched.engine.log.find("edited", RecordKind.LOCAL)]
    assert "server.py changed: restarting." in notes


async def test_server_that_fails_to_start_is_retried_at_the_next_save(watched: Watched) -> None:
    path = write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    path.write_text("this is no python")
    await watched.until(lambda: bool(watched.view.failure))
    assert watched.status is ServerStatus.FAILED
    assert watched.view.took_ns is None
    assert "exited with code 1" in watched.view.failure
    assert watched.view.is_on
    write_server(watched.folder, say="three")
    await watched.until_restarts(1)
    assert await watched.response("say") == "three"
    assert watched.view.failure == ""


async def test_save_repairs_a_server_that_never_started(watched: Watched) -> None:
    (watched.folder / "server.py").write_text("this is no python")
    watched.engine.save(edited_entry(watched.folder, "*.py"))
    watched.engine.connect_soon("edited")
    await watched.until(lambda: watched.status is ServerStatus.FAILED)
    await watched.until_looked()
    write_server(watched.folder, say="there")
    await watched.until_restarts(1)
    assert await watched.response("say") == "there"


async def test_other_files_do_not_restart_it(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    (watched.folder / "watched.txt").write_text("x")
    await watched.start("watched.txt")
    await watched.until_looked()
    write_server(watched.folder, say="two")
    (watched.folder / "watched.txt").write_text("xyz")
    await watched.until_restarts(1)
    assert watched.restarts == [("edited", "watched.txt changed")]


async def test_files_written_in_quick_succession_cause_one_restart(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.txt", "*.py")
    await watched.until_looked()
    time = LoopTime()
    watched.engine.filewatch.timing = WatchTiming(poll=0.02, quiet=60.0, max_delay=1e9)
    files = watched.view.files
    for number in range(4):
        (watched.folder / f"{number}.txt").write_text("x")
        while watched.view.files != files + number + 1:
            await time.advance(61)
    await time.advance(0)
    await time.advance(61)
    await watched.until_restarts(1)
    assert watched.restarts == [("edited", "0.txt, 1.txt, 2.txt and 1 more changed")]


async def test_disconnected_server_is_not_restarted(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    await watched.engine.disconnect("edited")
    assert not watched.view.is_on
    assert watched.status is ServerStatus.IDLE


async def test_reconnecting_resumes_the_watch(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    await watched.engine.disconnect("edited")
    write_server(watched.folder, say="while away")
    await watched.engine.connect("edited")
    await watched.until(lambda: watched.view.is_on and bool(watched.view.files))
    assert watched.restarts == []
    write_server(watched.folder, say="afterwards")
    await watched.until_restarts(1)


async def test_globs_can_be_changed_while_running_and_are_saved(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start()
    assert not watched.view.is_on
    await watched.engine.filewatch.set_globs("edited", ("*.py",))
    await watched.until_looked()
    assert ServerListFile(watched.folder / "servers.json").find("edited").watch == ("*.py",)
    write_server(watched.folder, say="two")
    await watched.until_restarts(1)
    await watched.engine.filewatch.set_globs("edited", ())
    await watched.until(lambda: not watched.view.is_on)
    assert watched.view.globs == ()


async def test_globs_changed_during_a_restart_apply_after_it(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    (watched.folder / "other.txt").write_text("x")
    (watched.folder / "more.txt").write_text("x")
    await watched.start("*.py")
    await watched.until_looked()
    write_server(watched.folder, say="two")
    await watched.until(lambda: watched.view.is_restarting)
    await watched.engine.filewatch.set_globs("edited", ("*.txt",))
    await watched.until_restarts(1)
    await watched.until(lambda: watched.view.globs == ("*.txt",) and watched.view.files == 2)
    (watched.folder / "other.txt").write_text("xyz")
    await watched.until_restarts(2)
    assert watched.restarts[1] == ("edited", "other.txt changed")


async def test_server_disconnected_during_a_restart_is_left_alone(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    write_server(watched.folder, say="two")
    await watched.until(lambda: watched.view.is_restarting)
    await watched.engine.disconnect("edited")
    await watched.until(lambda: not watched.view.is_restarting)
    assert (watched.view.is_on, watched.view.failure) == (False, "")
    assert watched.status is ServerStatus.IDLE


async def test_globs_without_matches_are_reported(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.rs")
    await watched.until_looked()
    assert watched.view.problem == f"No files match in {watched.folder}."
    assert watched.view.is_on


async def test_invalid_glob_is_rejected(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start()
    with pytest.raises(ConfigError):
        await watched.engine.filewatch.set_globs("edited", ("[z-a]",))
    assert watched.view.globs == ()


async def test_invalid_glob_in_the_file_is_reported(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("[z-a]")
    await watched.until(lambda: bool(watched.view.problem))
    assert "is not a valid file pattern" in watched.view.problem
    assert watched.status is ServerStatus.CONNECTED


async def test_a_removed_server_is_watched_no_longer(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    await watched.engine.remove("edited")
    with pytest.raises(ConfigError):
        await watched.engine.filewatch.view("edited")


async def test_late_event_of_a_removed_server_is_ignored(watched: Watched) -> None:
    write_server(watched.folder, say="one")
    await watched.start("*.py")
    await watched.until_looked()
    view = watched.engine.view("edited")
    await watched.engine.remove("edited")
    watched.engine.server_changed.emit(view)
    assert "edited" not in watched.engine.filewatch._views


async def test_remote_server_has_no_watched_files(watched: Watched) -> None:
    entry = HttpEntry(name="edited", url="http://127.0.0.1:9/mcp", watch=("*.py",))
    watched.engine.add(entry)
    assert (await watched.engine.filewatch.view("edited")).globs == ()
