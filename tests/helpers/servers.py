"""Entries for servers with faults, and helpers for tests of an engine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from inspector.base.errors import UserError
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.content import read_result
from inspector.engine.engine import Engine
from inspector.engine.server_view import ServerView
from inspector.engine.settings import SettingsStore
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.traffic.records import Record, RecordKind

FAULTSERVER = str(Path(__file__).parent / "faultserver.py")
ARGV = (sys.executable, "-I", "-S", FAULTSERVER)


def fault_entry(
    *words: str, name: str = "srv", env: dict[str, str] | None = None, cwd: str = ""
) -> StdioEntry:
    """Return an entry for `faultserver.py` with these words."""
    return StdioEntry(name=name, command=ARGV[0], args=(*ARGV[1:], *words), env=env or {}, cwd=cwd)


def shell_entry(script: str, name: str = "srv") -> StdioEntry:
    return StdioEntry(name=name, command="/bin/sh", args=("-c", script))


def timeouts(connect: float = 15, request: float = 120, total: float = 3600) -> SettingsStore:
    """Return the default settings, except for these timeouts in seconds."""
    return SettingsStore(
        defaults={
            "connections.connectTimeout": connect,
            "connections.requestTimeout": request,
            "connections.longestRequest": total,
        }
    )


def server_views(engine: Engine) -> tuple[ServerView, ...]:
    return tuple(server.view for server in engine.servers.all())


class Lab:
    """An engine under test."""

    def __init__(self, settings: SettingsStore | None = None, engine: Engine | None = None) -> None:
        self.engine = engine or Engine(settings=settings or timeouts(10, 10))
        self.views: list[ServerView] = []
        self._changed = asyncio.Event()
        self.engine.servers.changed.connect(self._on_changed)

    def _on_changed(self, view: ServerView) -> None:
        self.views.append(view)
        self._changed.set()

    async def connect(self, *words: str, name: str = "srv") -> None:
        self.engine.servers.add(fault_entry(*words, name=name))
        await self.engine.servers.connector.connect(name)

    async def fails_to_connect(self, entry: StdioEntry) -> UserError:
        """Assert that connecting fails and that the server's view says the same."""
        self.engine.servers.add(entry)
        with pytest.raises(UserError) as caught:
            await self.engine.servers.connector.connect(entry.name)
        view = self.view(entry.name)
        assert view.status is ServerStatus.FAILED
        assert (view.reason, view.next_step) == (caught.value.summary, caught.value.next_step)
        return caught.value

    async def call(self, tool: str, name: str = "srv", **arguments: str | int) -> CallOutcome:
        return await self.engine.tool_caller.call(name, ToolCall(tool, {**arguments}))

    async def text(self, tool: str, name: str = "srv", **arguments: str | int) -> str:
        """Call a tool that returns one text."""
        outcome = await self.call(tool, name, **arguments)
        assert outcome.kind is OutcomeKind.RESULT, outcome
        (part,) = read_result(outcome.response).parts
        return part.content.data.decode()

    def view(self, name: str = "srv") -> ServerView:
        return next(view for view in server_views(self.engine) if view.name == name)

    async def until(self, status: ServerStatus, name: str = "srv") -> ServerView:
        while self.view(name).status is not status:
            await self.changed()
        return self.view(name)

    async def changed(self) -> None:
        """Wait until the status of a server changes."""
        self._changed.clear()
        await self._changed.wait()

    def rows(self, *kinds: RecordKind, name: str = "srv") -> list[Record]:
        return self.engine.log.find(name, *(kinds or RecordKind))

    def stderr(self, name: str = "srv") -> list[bytes]:
        return [row.raw for row in self.rows(RecordKind.STDERR, name=name)]

    async def still_works(self) -> None:
        """Assert that another server still works."""
        await self.connect(name="another")
        assert await self.text("echo", name="another", text="hello") == "hello"
        await self.engine.servers.connector.disconnect("another")


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    lab = Lab()
    yield lab
    await lab.engine.close()


async def gone(*pids: int, within: float = 30.0) -> None:
    """Poll until these processes are gone or zombies."""
    async with asyncio.timeout(within):
        for pid in pids:
            while is_alive(pid):  # noqa: ASYNC110 - the process table sends no events
                await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
