"""The full check of what is written, asked for when the typing pauses: `Checking`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.schema.validate import Verdict

PAUSE_MS = 250

Validate = Callable[[JSON, JSONObject, Callable[[Verdict], None]], None]
"""Check a value against a schema, somewhere else, and call back on the window's thread, once, or never."""


class Checking(QObject):
    """Validates after each pause in typing and drops results for outdated values.

    Signals:
        checked: Carries the Verdict on the current value.
    """

    checked = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._schema: JSON = True
        self._question = 0
        self._validate: Validate | None = None
        self._value: Callable[[], JSONObject | None] = lambda: None
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._ask)

    def set_schema(self, schema: JSON) -> None:
        self._schema = schema
        self._question += 1
        self._pause.stop()

    def set_validate(self, validate: Validate | None, value: Callable[[], JSONObject | None]) -> None:
        """Set the validator and its input; `value` returns None if there is nothing to check."""
        self._validate, self._value = validate, value

    def value_changed(self) -> None:
        """Invalidate pending results and validate again soon."""
        self._question += 1
        if self._validate is not None:
            self._pause.start()

    def _ask(self) -> None:
        value = self._value()
        if value is None or self._validate is None:
            return
        self._question += 1
        self._validate(self._schema, value, partial(self._on_answered, self._question))

    def _on_answered(self, question: int, verdict: Verdict) -> None:
        if shiboken6.isValid(self) and question == self._question:
            self.checked.emit(verdict)
