"""Arguments checked in full against a tool's schema, away from the window: the schema is the server's."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.qt.bridge import Bridge
from inspector.schema.validate import Verdict, pack, validate_packed


class Validating:
    """The validator of an ArgumentsEditor: a callable, run in another process with a time limit."""

    def __init__(self, bridge: Bridge, owner: QObject) -> None:
        self._bridge = bridge
        self._owner = owner

    def __call__(self, schema: JSON, value: JSONObject, answer: Callable[[Verdict], None]) -> None:
        self._bridge.start("check arguments", self._check(schema, value, answer), self._owner)

    async def _check(self, schema: JSON, value: JSONObject, answer: Callable[[Verdict], None]) -> None:
        try:
            verdict = await self._bridge.work_apart(validate_packed, pack(schema, value))
        except UserError as exc:
            verdict = Verdict(unchecked=exc.summary)
        except RecursionError:
            verdict = Verdict(unchecked="The schema or the arguments are nested too deeply to be checked.")
        answer(verdict)
