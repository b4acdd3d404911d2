"""The optional stream of server messages: losing it does not end the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.cli.headless import _StreamFollower
from inspector.config.servers.entries import HttpEntry, Timeouts
from inspector.engine.engine import Engine
from inspector.engine.views import ServerStatus
from inspector.traffic.records import RecordKind
from tests.helpers import httpfaults as faults
from tests.helpers.httpfaults import FaultServer

GONE = "The server responded to the GET for its event stream with HTTP 500."


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    async with FaultServer(session="s-1") as server:
        server.order("GET", faults.replies(500))
        yield server


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine()
    yield engine
    await engine.close()


async def connect(engine: Engine, server: FaultServer, keep_alive: float = 0) -> None:
    timeouts = Timeouts(keep_alive=keep_alive)
    engine.servers.add(
        HttpEntry(name="a", url=server.url(), era="2025-11-25", type="http", timeouts=timeouts)
    )
    changes = asyncio.Event()
    engine.servers.changed.connect(lambda view: changes.set() if view.stream_problem else None)
    await engine.servers.connector.connect("a")
    await changes.wait()


async def test_server_stays_connected_without_the_stream_of_server_messages(
    engine: Engine, server: FaultServer
) -> None:
    await connect(engine, server)
    view = engine.servers.get("a").view
    assert (view.status, view.stream_problem) == (ServerStatus.CONNECTED, GONE)
    await engine.servers.get("a").client.ping()
    texts = [engine.log.raw(row).decode() for row in _rows(engine, RecordKind.STATE)]
    assert f"Server messages are not received: {GONE}" in texts


async def test_reopened_stream_is_recorded_and_shown(engine: Engine, server: FaultServer) -> None:
    await connect(engine, server)
    enough = asyncio.Event()
    server.order("GET", faults.held(enough))
    await engine.servers.get("a").session.reopen_stream()
    assert engine.servers.get("a").view.stream_problem == ""
    texts = [engine.log.raw(row) for row in _rows(engine, RecordKind.STATE)]
    assert texts[-1] == b"Server messages are received again."
    enough.set()


async def test_lost_stream_does_not_start_a_second_keep_alive(engine: Engine, server: FaultServer) -> None:
    await connect(engine, server, keep_alive=1000)
    tasks = [task for task in asyncio.all_tasks() if task.get_name() == "keep alive"]
    assert len(tasks) == 1


async def test_command_line_reports_the_lost_stream_on_stderr(
    engine: Engine, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _StreamFollower(engine)
    await connect(engine, server)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"mcp-lens: Server messages are not received: {GONE} Requests are not affected.\n"


def _rows(engine: Engine, kind: RecordKind) -> list[int]:
    return [row for row in range(len(engine.log)) if engine.log.kind(row) == kind]
