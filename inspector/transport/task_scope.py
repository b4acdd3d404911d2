"""Background tasks: their owner, turns on the event loop that they share, and shielded clean-up.

Tasks are named, their errors are logged, and they are cancelled when their scope closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end even if the caller is cancelled; raise the cancellation afterwards.

    For clean-up that is bounded in time: stopped halfway, it would leave a process running.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()


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
