"""Delivery of engine events to the window: order, batches, latest values."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from inspector.qt import bridge as bridge_module
from tests.qt.lens_driver import Lens, scripted


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
    timer = lens.app.bridge._timer
    timer.timeout.connect(lambda: batches.append(len(heard)))
    emit = lens.app.bridge._each(heard.append)
    in_engine(lens, lambda: [emit(number) for number in range(5)])
    lens.run(lens.app.bridge.caught_up())
    assert heard == list(range(5))
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
