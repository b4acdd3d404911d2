"""An example for a field, made in turns: a schema can ask for so much that the window would stand still."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from PySide6.QtCore import QObject, QTimer

from inspector.base.jsonvalue import JSON
from inspector.schema.fields import Field
from inspector.schema.sample import Slices, example_slices

_TURN_S = 0.008


class Filling(QObject):
    """Generates one example at a time; a new one replaces the one in progress."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._slices: Slices[JSON] | None = None
        self._put: Callable[[JSON], None] | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._go_on)

    @property
    def is_busy(self) -> bool:
        return self._slices is not None

    def begin(self, field: Field, put: Callable[[JSON], None]) -> None:
        """Generate an example and pass it to `put`, usually at once, else when done."""
        self._slices, self._put = example_slices(field), put
        self._timer.start()
        self._go_on()

    def cancel(self) -> None:
        self._slices = self._put = None
        self._timer.stop()

    def _go_on(self) -> None:
        slices, put = self._slices, self._put
        if slices is None or put is None:
            return
        until = time.perf_counter() + _TURN_S
        try:
            while time.perf_counter() < until:
                next(slices)
        except StopIteration as done:
            self.cancel()
            put(cast(JSON, done.value))
