"""Fetching a list again, as often as a server says that it changed, but never twice at a time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from inspector.qt.bridge import Bridge


class Refreshing(QObject):
    """Refetches a list; requests during a fetch are merged into one more fetch afterwards.

    A server must not make MCP Lens send a request for each of its notifications.
    """

    def __init__(
        self, bridge: Bridge, name: str, fetch: Callable[[], Coroutine[Any, Any, None]], owner: QObject
    ) -> None:
        super().__init__(owner)
        self._bridge = bridge
        self._name = name
        self._fetch = fetch
        self._owner = owner
        self._is_fetching = False
        self._again = False

    def refresh(self) -> None:
        self._again = True
        if not self._is_fetching:
            self._is_fetching = True
            self._bridge.start(self._name, self._run(), self._owner)

    async def _run(self) -> None:
        try:
            while self._again:
                self._again = False
                await self._fetch()
        finally:
            self._is_fetching = False
