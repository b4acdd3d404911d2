"""Requests of ours that wait for their answer: limits, progress, and how the waiting ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.errors import LensError, RequestTimedOut
from inspector.base.units import duration
from inspector.protocol.connection import Progressed
from inspector.protocol.jsonrpc import Message, RequestId

OnProgress: TypeAlias = Callable[[Progressed], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait: `idle` seconds since the request or its last progress, `total` in any case."""

    idle: float
    total: float


NO_LIMIT = Limits(math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer; `row` is the request's number in the traffic log."""

    request: Message
    answer: Message
    row: int


class _Waiter:
    """One request: resolved with its answer, or failed."""

    def __init__(self, request: Message, limits: Limits, on_progress: OnProgress | None) -> None:
        loop = asyncio.get_running_loop()
        self.request = request
        self.answer: asyncio.Future[Message] = loop.create_future()
        self.on_progress = on_progress
        self._limits = limits
        self._started = loop.time()
        self._timeout: asyncio.Timeout | None = None

    async def wait(self, sending: Awaitable[int]) -> Exchange:
        """Send, then wait, within one limit: the server may have stopped reading.

        `sending` gives the request's row. Raises RequestTimedOut, and what sending and waiting raise.
        """
        try:
            async with asyncio.timeout(
                None if self._limits is NO_LIMIT else self._limits.idle
            ) as self._timeout:
                return Exchange(self.request, row=await sending, answer=await self.answer)
        except TimeoutError:
            raise self._timed_out() from None

    def progressed(self, event: Progressed) -> None:
        now = asyncio.get_running_loop().time()
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(min(now + self._limits.idle, self._started + self._limits.total))
        if self.on_progress is not None:
            self.on_progress(event)

    def _timed_out(self) -> RequestTimedOut:
        waited = asyncio.get_running_loop().time() - self._started
        return RequestTimedOut(
            f"The server did not answer {self.request.method} within {duration(round(waited * 1e9))}.",
            "It may still be working: look at its Console, or give the request more time.",
        )


class WaitingRoom:
    """All waiting requests of one conversation, by id."""

    def __init__(self) -> None:
        self._waiters: dict[RequestId, _Waiter] = {}

    def enter(self, request: Message, limits: Limits, on_progress: OnProgress | None) -> _Waiter:
        assert request.id is not None
        waiter = _Waiter(request, limits, on_progress)
        self._waiters[request.id] = waiter
        return waiter

    def leave(self, request: Message) -> None:
        assert request.id is not None
        waiter = self._waiters.pop(request.id, None)
        if waiter is not None and not waiter.answer.cancel() and not waiter.answer.cancelled():
            waiter.answer.exception()  # heard: sending may have failed before the waiting did

    def answered(self, request: Message, answer: Message) -> None:
        waiter = self._waiters.get(request.id) if request.id is not None else None
        if waiter is not None and not waiter.answer.done():
            waiter.answer.set_result(answer)

    def progressed(self, event: Progressed) -> None:
        waiter = self._waiters.get(event.request_id)
        if waiter is not None:
            waiter.progressed(event)

    def failed(self, id: RequestId | None, error: LensError) -> None:
        waiter = self._waiters.get(id) if id is not None else None
        if waiter is not None and not waiter.answer.done():
            waiter.answer.set_exception(error)

    def fail_all(self, error: LensError) -> None:
        for waiter in self._waiters.values():
            if not waiter.answer.done():
                waiter.answer.set_exception(error)
