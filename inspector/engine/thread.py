"""Runs an engine on a thread of its own, so that no repaint delays a byte and no byte delays a repaint."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from inspector.engine.engine import Engine

T = TypeVar("T")


class EngineThread:
    """Runs an engine on its own thread; work can be submitted from any thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="engine")

    def start(self) -> None:
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the engine's loop. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Schedule a plain function on the engine's thread."""
        self._loop.call_soon_threadsafe(function, *args)

    def stop(self) -> None:
        """Close the engine and join the thread; no child process is left afterwards."""
        if not self._thread.is_alive():
            self._loop.close()
            return
        self.submit(self.engine.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_end_tasks())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


async def _end_tasks() -> None:
    """Cancel remaining tasks and let all of them clean up before the loop closes."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        if not task.cancelling():
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
