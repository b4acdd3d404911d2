"""Work on the engine's thread, and delivery of engine events to the window: order, batches, latest values."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from PySide6.QtCore import QTimer

from inspector.base.clock import SystemClock
from inspector.base.errors import UserError
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.qt import bridge as bridge_module
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, scripted

T = TypeVar("T")


def in_engine(lens: Lens, work: Callable[[], object]) -> None:
    """Run something on the engine's thread and wait for it there, so that one batch has all of it."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    lens.app.thread.call(run)
    assert done.wait(30)


def test_only_the_latest_value_is_delivered_per_batch(lens: Lens) -> None:
    lens.connect(scripted())
    shown: list[int] = []
    put = lens.app.bridge.on_window(shown.append)
    in_engine(lens, lambda: [put(number) for number in range(10_000)])
    lens.until(lambda: shown)
    assert shown == [9_999]
    put(1)
    lens.until(lambda: len(shown) == 2)
    assert shown == [9_999, 1]


def test_equal_changes_of_a_list_are_reported_once_per_batch(lens: Lens) -> None:
    lens.connect(scripted())
    heard: list[tuple[str, str]] = []
    lens.app.bridge.list_changed.connect(lambda server, kind: heard.append((server, kind)))
    emit = lens.app.thread.engine.list_changed.emit
    changes = [("scripted", "tools"), ("scripted", "prompts")] * 5_000
    in_engine(lens, lambda: [emit(*change) for change in changes])
    lens.until(lambda: heard)
    assert heard == changes[:2]


def test_events_keep_their_order_when_a_batch_is_cut(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "_MAX_BATCH_S", 0)  # after each event
    heard: list[int] = []
    batches: list[int] = []
    rounds = QTimer(interval=0)
    rounds.timeout.connect(lambda: batches.append(len(heard)))
    rounds.start()
    emit = lens.app.bridge.each_on_window(heard.append)
    in_engine(lens, lambda: [emit(number) for number in range(5)])
    lens.ask(lambda engine: None)
    assert heard == list(range(5))
    rounds.stop()
    assert len(set(batches)) >= 5  # the event loop ran in between


def test_events_from_several_threads_are_all_delivered(lens: Lens) -> None:
    heard: set[int] = set()

    def deliver(waiting: object) -> None:
        heard.update(number for (number,) in waiting)  # type: ignore[attr-defined]

    put = lens.app.bridge._batched(deliver)
    threads = [
        threading.Thread(target=lambda first=first: [put(first + n) for n in range(5_000)])
        for first in (0, 5_000, 10_000, 15_000)
    ]
    for thread in threads:
        thread.start()
    lens.until(lambda: len(heard) == 20_000)
    for thread in threads:
        thread.join()


def engine_thread(lens: Lens) -> threading.Thread:
    return lens.app.thread._thread


def test_plain_function_runs_on_the_engine_thread(lens: Lens) -> None:
    assert lens.ask(lambda engine: threading.current_thread()) is engine_thread(lens)


def test_function_that_makes_a_coroutine_runs_on_the_engine_thread_like_the_coroutine(lens: Lens) -> None:
    threads: list[threading.Thread] = []

    async def work() -> str:
        threads.append(threading.current_thread())
        return "done"

    def make(engine: Engine) -> Coroutine[Any, Any, str]:
        threads.append(threading.current_thread())
        return work()

    assert lens.ask(make) == "done"
    assert threads == [engine_thread(lens)] * 2


@pytest.mark.parametrize("fails", [False, True])
def test_signals_emitted_by_the_work_arrive_before_its_result(lens: Lens, fails: bool) -> None:
    heard: list[str] = []
    lens.app.bridge.problem_found.connect(heard.append)
    lens.app.bridge.traffic_grew.connect(lambda length: heard.append(f"{length} rows"))
    rows = len(lens.app.bridge.log)

    async def work(engine: Engine) -> None:
        engine.servers.problem_found.emit("first")
        await asyncio.sleep(0)
        engine.servers.problem_found.emit("second")
        Recorder(engine.log, "one", SystemClock()).note(RecordKind.STATE, "a row")
        if fails:
            raise UserError("It failed.", "Try again.")

    async def ask() -> None:
        try:
            await lens.app.bridge.ask(work)
        except UserError as exc:
            heard.append(str(exc))
        assert f"{rows + 1} rows" in heard
        heard.append("ended")

    lens.run(ask())
    heard.remove(f"{rows + 1} rows")  # possibly between the others
    assert heard == ["first", "second", *(["It failed. Try again."] if fails else []), "ended"]


def test_rows_alone_are_reported_before_the_result(lens: Lens) -> None:
    lengths: list[int] = []
    lens.app.bridge.traffic_grew.connect(lengths.append)
    work = lens.app.bridge.ask(
        lambda engine: Recorder(engine.log, "one", SystemClock()).note(RecordKind.STATE, "a row")
    )
    lens.run(work)
    assert lengths[-1] == len(lens.app.bridge.log)


@pytest.mark.parametrize("is_started", [False, True])
def test_cancelled_ask_cancels_the_work(lens: Lens, is_started: bool) -> None:
    events: list[str] = []

    async def work(engine: Engine) -> None:
        events.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            events.append("ended")

    task = lens.app.bridge.start("wait", lens.app.bridge.ask(work))
    if is_started:
        lens.until(lambda: events)
    task.cancel()
    lens.until(task.done)
    lens.settle()
    assert task.cancelled()
    assert events == (["started", "ended"] if is_started else [])


@pytest.mark.parametrize("end", ["result", "error", "cancel"])
def test_work_is_not_kept_after_it_ended(lens: Lens, end: str) -> None:
    class Panel:
        pass

    panel = Panel()
    kept = weakref.ref(panel)

    async def work(panel: object) -> None:
        if end == "cancel":
            await asyncio.Event().wait()
        if end == "error":
            raise UserError("It failed.", "Try again.")

    def make(panel: object) -> Coroutine[Any, Any, None]:
        return lens.app.bridge.ask(lambda engine: work(panel and None))

    errors: list[BaseException | None] = []
    task = asyncio.get_running_loop().create_task(make(panel))
    lens.settle()
    if end == "cancel":
        task.cancel()
    lens.until(task.done)
    errors.append(None if task.cancelled() else task.exception())  # its traceback has the frames of the ask
    lens.settle()
    del panel
    gc.collect()
    assert kept() is None


def test_ask_runs_after_the_bridge_was_closed_without_waiting_for_events(lens: Lens) -> None:
    bridge, heard = lens.app.bridge, list[str]()
    bridge.problem_found.connect(heard.append)
    lens.run(bridge.close())

    def work(engine: Engine) -> int:
        engine.servers.problem_found.emit("late")
        return 7

    assert lens.ask(work) == 7
    assert heard == []


def test_closing_the_bridge_ends_the_wait_of_an_ask_for_events(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = lens.app.bridge
    monkeypatch.setattr(bridge_module.Bridge, "_deliver", lambda self: None)
    bridge._timer.timeout.disconnect()

    def work(engine: Engine) -> int:
        engine.servers.problem_found.emit("never delivered")
        return 7

    task = asyncio.get_running_loop().create_task(bridge.ask(work))
    lens.until(lambda: bridge._waiting)
    lens.run(bridge.close())
    assert lens.run(_result(task)) == 7


async def _result(task: asyncio.Task[T]) -> T:
    return await task


def test_in_a_flood_only_the_server_that_causes_it_is_not_read(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "_MAX_PAINT_S", 3600)
    monkeypatch.setattr(bridge_module, "_PAINTING_ROUNDS", sys.maxsize)  # the window never finishes painting
    lens.connect(scripted("quiet"))
    lens.connect(scripted("noisy"))
    bridge, thread = lens.app.bridge, lens.app.thread
    noise = Recorder(bridge.log, "noisy", SystemClock())
    lens.ask(lambda engine: noise.stderr([b"noise"] * 2 * bridge_module._FLOOD_ROWS, time.monotonic_ns()))
    lens.until(lambda: bridge._pause is not None)
    call = thread.engine.tool_caller.call
    paused = thread.submit(call("noisy", ToolCall("echo", {"text": "a"})))
    for _ in range(5):
        lens.until(thread.submit(call("quiet", ToolCall("echo", {"text": "a"}))).done)
    assert not paused.done()
    bridge._end_pause()
    lens.until(paused.done)
