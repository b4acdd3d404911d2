"""Signals without Qt."""

from __future__ import annotations

from inspector.base.signals import Signal


def test_receivers_are_called_in_the_order_they_connected() -> None:
    calls: list[str] = []
    signal: Signal[int] = Signal()
    signal.connect(lambda number: calls.append(f"first {number}"))
    signal.connect(lambda number: calls.append(f"second {number}"))

    signal.emit(7)

    assert calls == ["first 7", "second 7"]


def test_a_disconnected_receiver_is_not_called() -> None:
    calls: list[int] = []
    signal: Signal[int] = Signal()
    signal.connect(calls.append)
    signal.disconnect(calls.append)

    signal.emit(7)

    assert calls == []


def test_changes_made_while_emitting_take_effect_with_the_next_emit() -> None:
    calls: list[str] = []
    signal: Signal[()] = Signal()

    def once() -> None:
        calls.append("once")
        signal.disconnect(once)
        signal.connect(lambda: calls.append("new"))

    signal.connect(once)
    signal.connect(lambda: calls.append("always"))

    signal.emit()
    assert calls == ["once", "always"]
    signal.emit()
    assert calls == ["once", "always", "always", "new"]
