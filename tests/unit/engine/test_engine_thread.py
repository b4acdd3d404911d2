"""The engine on its own thread."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine, EngineThread
from inspector.engine.views import OutcomeKind
from tests.helpers.servers import fault_entry


def test_work_runs_on_the_engines_thread_until_it_is_stopped() -> None:
    thread = EngineThread(Engine())
    thread.start()

    async def where() -> str:
        return threading.current_thread().name

    assert thread.submit(where()).result(5) == "engine"
    called = threading.Event()
    thread.call(called.set)
    assert called.wait(5)
    thread.stop()
    thread.stop()


def test_a_thread_that_was_never_started_can_be_stopped() -> None:
    EngineThread(Engine()).stop()


def test_cancelling_the_future_cancels_the_work() -> None:
    thread = EngineThread(Engine())
    thread.start()
    started, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    future = thread.submit(work())
    assert started.wait(5)
    future.cancel()
    assert ended.wait(5)
    with pytest.raises(CancelledError):
        future.result(0)
    thread.stop()


def test_stopping_stops_servers_and_resolves_waiting_callers(tmp_path: Path) -> None:
    thread = EngineThread(Engine())
    thread.start()
    thread.engine.servers.add(fault_entry("never"))
    thread.submit(thread.engine.servers.connector.connect("srv")).result(10)
    waiting = thread.submit(thread.engine.tool_caller.call("srv", ToolCall("never")))
    marker = threading.Event()
    thread.engine.log.grew.connect(lambda length: marker.set())
    assert marker.wait(5)
    thread.stop()
    assert waiting.result(0).kind is OutcomeKind.FAILED
