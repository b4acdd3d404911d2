"""Requests of ours that wait for their answer: limits, progress, and how the waiting ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from inspector.base.errors import LensError, RequestCancelled, RequestTimedOut
from inspector.base.jsonvalue import compact
from inspector.base.units import duration
from inspector.protocol.connection import Progressed
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.session.alarm import Alarm

T = TypeVar("T")

OnProgress: TypeAlias = Callable[[Progressed], None]


class Limits(NamedTuple):
    """How long to wait: `idle` seconds since the request or its last progress, `total` in any case."""

    idle: float
    total: float


NO_LIMIT = Limits(math.inf, math.inf)


class HumanTime:
    """How long a call waited for answers of ours, not of the server; what is asked at once counts once.

    A call may have a limit in all, over everything that is sent for it: that stands still meanwhile.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._open = 0
        self._since = 0.0
        self._limit: asyncio.Timeout | None = None
        self._due: float | None = None

    @property
    def ns(self) -> int:
        return round(self._seconds * 1e9)

    @property
    def is_limit_reached(self) -> bool:
        """Asked by whoever is being cancelled: is it for the limit in all?"""
        return self._limit is not None and self._limit.expired()

    async def limit(self, call: Awaitable[T], total: float) -> T:
        """The whole call, within so many seconds that are not ours. Raises RequestTimedOut."""
        limit = asyncio.timeout(total)
        try:
            async with limit:
                self._limit = limit
                try:
                    return await call
                finally:
                    self._limit = None
        except TimeoutError:
            if not limit.expired():
                raise
            summary = f"The call was not done within {total:g} s in all. The server was told to give it up."
            raise RequestTimedOut(summary, "Give it more time in its options.") from None

    def begin(self) -> None:
        """It is our turn, until `end` was called as often."""
        self._open += 1
        if self._open == 1:
            self._since = asyncio.get_running_loop().time()
            self._due = None if self._limit is None else self._limit.when()
            self._reschedule(None)

    def end(self) -> None:
        self._open -= 1
        if self._open == 0:
            paused = asyncio.get_running_loop().time() - self._since
            self._seconds += paused
            if self._due is not None:
                self._reschedule(self._due + paused)

    def _reschedule(self, when: float | None) -> None:
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(when)


class Exchange(NamedTuple):
    """A request and its answer; `row` and `answer_row` are their numbers in the traffic log."""

    request: Message
    answer: Message
    row: int
    answer_row: int | None = None


class Waiter:
    """One request: resolved with its answer, or failed. Whoever waits may begin late, or never.

    `operation` is what it belongs to in the log, once it was sent. Its limits are kept while somebody waits:
    `alarm` is told when they are due.
    """

    def __init__(
        self,
        request: Message,
        limits: Limits,
        on_progress: OnProgress | None,
        human: HumanTime | None,
        loop: asyncio.AbstractEventLoop,
        alarm: Alarm,
    ) -> None:
        self.request = request
        self.answer: asyncio.Future[Message] = loop.create_future()
        self.on_progress = on_progress
        self.operation: int | None = None
        self.answer_row: int | None = None
        self._human = human
        self._loop = loop
        self._alarm = alarm
        self._limits = limits
        self._started = self._heard = loop.time()
        self._pauses = 0
        self._paused_at = 0.0
        self._task: asyncio.Task[Any] | None = None  # that waits
        self._cancels = 0  # of that task, when it began to wait
        self._is_late = False
        self._is_over = False

    @property
    def is_answered(self) -> bool:
        return self.answer.done() and not self.answer.cancelled() and self.answer.exception() is None

    async def wait(self, sending: Awaitable[int]) -> Exchange:
        """Send, then wait, within one limit: the server may have stopped reading.

        `sending` gives the request's row. Raises RequestTimedOut, and what sending and waiting raise.
        """
        self._begin()
        try:
            row, answer = await sending, await self.answer
            return Exchange(self.request, answer, row, self.answer_row)
        except asyncio.CancelledError:
            if self._is_for_limit():
                raise self._timed_out() from None
            raise
        finally:
            self._end()

    async def wait_on(self) -> Message:
        """Wait for the answer to a request that was sent. Progress has counted since then."""
        self._begin()
        try:
            return await self.answer
        except asyncio.CancelledError:
            if self._is_for_limit():
                raise self._timed_out() from None
            raise
        finally:
            self._end()

    def _begin(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task, self._cancels = task, task.cancelling()
        self._alarm.set(self.due)

    def _end(self) -> None:
        """It is over, perhaps in the middle of a pause."""
        if self._is_late and self._task is not None:
            self._task.uncancel()  # something else ended it meanwhile
        self._task, self._is_over = None, True
        if self._pauses and self._human is not None:
            self._human.end()

    # -------------------------------------------------------------- its limits

    @property
    def due(self) -> float:
        """When it will have waited for too long, by the loop's clock; never, while that does not count."""
        if self._task is None or self._pauses or self._is_late:
            return math.inf
        return min(self._heard + self._limits.idle, self._started + self._limits.total)

    def end_late(self) -> None:
        """The limit is reached: whoever waits gets RequestTimedOut."""
        if self._task is not None:
            self._is_late = True
            self._task.cancel()

    def _is_for_limit(self) -> bool:
        """It was cancelled: for the limit, and not by somebody else as well? As `asyncio.timeout` has it."""
        if not self._is_late or self._task is None:
            return False
        self._is_late = False
        return self._task.uncancel() <= self._cancels

    def _timed_out(self) -> RequestTimedOut:
        waited = self._loop.time() - self._started
        return RequestTimedOut(
            f"The server did not answer {self.request.method} within {duration(round(waited * 1e9))}.",
            "It may still be working: look at its Console, or give the request more time.",
        )

    def progressed(self, event: Progressed) -> None:
        self._heard = self._loop.time()
        if self.on_progress is not None:
            self.on_progress(event)

    # -------------------------------------------------------------- while it is our turn

    def pause(self) -> None:
        """The limits stand still, until `unpause` was called as often."""
        if self._pauses == 0:
            self._paused_at = self._loop.time()
            if self._human is not None and not self._is_over:
                self._human.begin()
        self._pauses += 1

    def unpause(self) -> None:
        self._pauses -= 1
        if self._pauses:
            return
        now = self._loop.time()
        paused = now - self._paused_at
        self._started += paused
        self._heard = min(now, self._heard + paused)
        if not self._is_over and self._human is not None:
            self._human.end()
        self._alarm.set(self.due)


class WaitingRoom:
    """All waiting requests of one conversation, by id.

    Only a person can use an id twice. Then nobody can tell whose answer it is that comes: it goes to the
    newer request, and the older one fails at once instead of waiting for what it will not get.
    """

    def __init__(self) -> None:
        self._waiters: dict[RequestId, Waiter] = {}
        self._superseded: list[Waiter] = []
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._end_late)

    def enter(
        self,
        request: Message,
        limits: Limits,
        on_progress: OnProgress | None,
        human: HumanTime | None = None,
    ) -> Waiter:
        assert request.id is not None
        if request.id in self._waiters:
            self._superseded.append(self._waiters[request.id])
            self.ended(request.id, _superseded(request.id))
        waiter = Waiter(request, limits, on_progress, human, self._loop, self._alarm)
        self._waiters[request.id] = waiter
        return waiter

    def holds(self, request: Message) -> bool:
        """Does this very request wait, and not another of its id?"""
        return self._of(request) is not None

    def has(self, id: RequestId | None) -> bool:
        """Does any request of this id wait?"""
        return id is not None and id in self._waiters

    def leave(self, request: Message) -> None:
        waiter = self._of(request)
        if waiter is not None and request.id is not None:
            del self._waiters[request.id]
            waiter.answer.cancel()

    def sent(self, request: Message, operation: int | None) -> None:
        """A request is about to be sent, and belongs to this operation of the log."""
        waiter = self._of(request)
        if waiter is not None:
            waiter.operation = operation

    def of_operation(self, operation: int | None) -> list[Waiter]:
        """Those that wait for this operation; all of them for None."""
        waiters = [waiter for waiter in self._waiters.values() if not waiter.answer.done()]
        return [each for each in waiters if operation is None or each.operation == operation]

    def answered(self, request: Message, answer: Message, row: int | None = None) -> None:
        waiter = self._waiters.get(request.id) if request.id is not None else None
        if waiter is not None and not waiter.answer.done():
            waiter.answer_row = row
            waiter.answer.set_result(answer)

    def progressed(self, event: Progressed) -> None:
        waiter = self._waiters.get(event.request_id)
        if waiter is not None:
            waiter.progressed(event)

    def failed(self, request: Message, error: LensError) -> None:
        """This request will get no answer. That says nothing about another one that took its id."""
        if request.id is not None and not any(request is older.request for older in self._superseded):
            self.ended(request.id, error)

    def ended(self, id: RequestId, error: LensError) -> None:
        """No request of this id will."""
        waiter = self._waiters.get(id)
        if waiter is not None and not waiter.answer.done():
            waiter.answer.set_exception(error)
            waiter.answer.exception()  # counts as heard, also when nobody waits for it any more

    def fail_all(self, error: LensError) -> None:
        for id in self._waiters:
            self.ended(id, error)

    def close(self) -> None:
        """Nothing is waited for any more: limits are not kept either."""
        self._alarm.stop()

    def _end_late(self) -> None:
        """End those that have waited for too long, and look again when the next is due."""
        now = self._loop.time()
        for waiter in (*self._waiters.values(), *self._superseded):
            if waiter.due <= now:
                waiter.end_late()
            self._alarm.set(waiter.due)

    def _of(self, request: Message) -> Waiter | None:
        waiter = self._waiters.get(request.id) if request.id is not None else None
        return waiter if waiter is not None and waiter.request is request else None


def _superseded(id: RequestId) -> RequestCancelled:
    return RequestCancelled(
        f"Another request with the id {compact(id)} was sent by hand while this one waited.",
        "An answer with this id is now taken for the other's; the Traffic view has all that comes.",
    )
