"""A typed signal without Qt: connect, disconnect and emit, all on one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVarTuple

Args = TypeVarTuple("Args")


class Signal(Generic[*Args]):
    """A signal whose receivers are called in connection order, on the emitting thread.

    A receiver may connect or disconnect receivers while it is called; that takes effect with the next emit.
    """

    def __init__(self) -> None:
        self._receivers: tuple[Callable[[*Args], object], ...] = ()

    def connect(self, receiver: Callable[[*Args], object]) -> None:
        self._receivers = (*self._receivers, receiver)

    def disconnect(self, receiver: Callable[[*Args], object]) -> None:
        self._receivers = tuple(each for each in self._receivers if each != receiver)

    def emit(self, *args: *Args) -> None:
        for receiver in self._receivers:
            receiver(*args)
