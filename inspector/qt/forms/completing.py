"""Asks a server how a value may go on, for a form of named values: `Completing`."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject

from inspector.base.errors import LensError
from inspector.base.jsonvalue import JSONObject
from inspector.qt.bridge import Bridge
from inspector.qt.forms.namedvalues import NamedValues

_MOST_SHOWN = 100


class Completing(QObject):
    """Requests completions, one at a time.

    A newer request, or leaving the field, cancels the older one; the server is notified.
    """

    def __init__(self, bridge: Bridge, server: str, form: NamedValues) -> None:
        super().__init__(form)
        self._bridge = bridge
        self._server = server
        self._form = form
        self._ref: JSONObject = {}
        self._task: asyncio.Task[None] | None = None
        form.completions_wanted.connect(self._on_wanted)
        form.completions_not_wanted.connect(self._on_not_wanted)

    def set_ref(self, ref: JSONObject) -> None:
        """Set what the values belong to: a prompt or a resource template."""
        self._cancel()
        self._ref = ref

    # --------------------------------------------------------------

    def _on_wanted(self, name: str, text: str) -> None:
        self._cancel()
        self._task = self._bridge.start(f"complete {name}", self._complete(name, text), self._form)

    def _on_not_wanted(self, name: str) -> None:
        self._cancel()

    def _cancel(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _complete(self, name: str, text: str) -> None:
        # "context.arguments": the values already chosen for the others.
        others = {other: value for other, value in self._form.strings().items() if other != name}
        try:
            completion = await self._bridge.complete(self._server, self._ref, name, text, others)
        except LensError as exc:
            self._form.set_note(name, f"No completions: {exc}")
            return
        shown = completion.values[:_MOST_SHOWN]
        self._form.show_completions(name, shown)
        total = completion.total or len(completion.values)
        more = completion.has_more or total > len(shown)
        self._form.set_note(name, f"The first {len(shown)} of {total:,} are offered." if more else "")
