"""Garbage is collected on the window's thread, once there is enough of it."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import psutil
import pytest
from PySide6.QtCore import QObject

from inspector.app.runtime_hooks import GarbageCollector


class _Knot:
    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def owner(qapp: object) -> Iterator[QObject]:
    owner = QObject()
    yield owner
    owner.deleteLater()
    gc.enable()


def test_automatic_garbage_collection_is_disabled(owner: QObject) -> None:
    gc.enable()
    GarbageCollector(owner)
    assert not gc.isenabled()


def test_garbage_is_eventually_collected(owner: QObject) -> None:
    collector, lost = GarbageCollector(owner), weakref.ref(_Knot())
    assert lost() is not None
    for _ in range(3):
        heap = [_Knot() for _ in range(6_000)]
        del heap
        collector.collect()
    assert lost() is None


def test_small_amounts_of_garbage_are_deferred(owner: QObject) -> None:
    collector = GarbageCollector(owner)
    gc.collect()
    lost = weakref.ref(_Knot())
    collector.collect()
    assert lost() is not None


def test_deferred_garbage_is_collected_when_idle(owner: QObject) -> None:
    collector, knot = GarbageCollector(owner), _Knot()
    lost = weakref.ref(knot)
    gc.collect()
    gc.freeze()
    del knot
    gc.collect()
    assert lost() is not None
    collector.collect_all()
    assert lost() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no malloc_trim")
def test_freed_memory_returns_to_the_system_although_the_heap_is_fragmented(owner: QObject) -> None:
    collector, process = GarbageCollector(owner), psutil.Process()
    blocks = [bytearray(16 * 1024) for _ in range(4_000)]
    kept = blocks[::16]
    full = process.memory_info().rss
    del blocks
    knots = [_Knot() for _ in range(6_000)]
    collector.collect()
    collector.trim()
    assert full - process.memory_info().rss > 50_000_000
    assert (len(kept), len(knots)) == (250, 6_000)


def test_the_heap_of_an_idle_window_is_not_trimmed(owner: QObject, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, trims = GarbageCollector(owner), list[None]()
    monkeypatch.setattr("inspector.app.runtime_hooks.trim_heap", lambda: trims.append(None))
    gc.collect()
    collector.collect()
    collector.trim()
    assert trims == []
