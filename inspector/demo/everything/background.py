"""Work that goes on after the call that began it was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVarTuple, Unpack

import anyio
import anyio.abc

Args = TypeVarTuple("Args")


class Background:
    """Background tasks of the process: they outlive connections and end with the server."""

    def __init__(self) -> None:
        self._group: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self, server: object) -> AsyncIterator[None]:
        """The server's lifespan; the SDK enters it once, even with many HTTP connections."""
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    def start(self, work: Callable[[Unpack[Args]], Coroutine[Any, Any, None]], *arguments: *Args) -> None:
        assert self._group is not None, "the server runs"
        self._group.start_soon(work, *arguments)
