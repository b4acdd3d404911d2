"""Background tasks: their owner, and turns on the event loop that they share.

Tasks are named, their errors are logged, and they are cancelled when their scope closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


class Turns:
    """Yields to the event loop after a bounded amount of work, so that other servers have their turn."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._spent = 0

    async def spend(self, work: int) -> None:
        self._spent += work
        if self._spent >= self._limit:
            self._spent = 0
            await asyncio.sleep(0)


class TaskScope:
    """Owns tasks. `close` cancels those still running and waits for them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def settle(self, limit: float) -> None:
        """Wait for the tasks to finish, at most this many seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=limit)

    async def close(self) -> None:
        current = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("task %s failed", task.get_name(), exc_info=error)
