"""Pending requests of one connection: timeouts, progress and completion.

All requests share one timer, as nearly every request is answered long before its timeout. A timeout
restarts with progress, up to a total; both pause while a server request waits for the user.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from inspector.base.errors import LensError, RequestCancelled, RequestTimedOut
from inspector.base.json.values import compact
from inspector.base.units import duration
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import Message, RequestId

T = TypeVar("T")
OnProgress: TypeAlias = Callable[[ProgressReceived], None]


class Limits(NamedTuple):
    """Timeouts: `idle` seconds since the request or its last progress, `total` seconds overall."""

    idle: float
    total: float


NO_LIMIT = Limits(math.inf, math.inf)


class Exchange(NamedTuple):
    """A request and its response; `row` and `response_row` are their rows in the traffic log."""

    request: Message
    response: Message
    row: int
    response_row: int | None = None


class PendingRequests:
    """Pending requests of one connection, by id.

    An id can only be reused by a raw message. Then it is unknown which request a response belongs to: the
    newer one gets it, and the older one fails at once.
    """

    def __init__(self) -> None:
        self._requests: dict[RequestId, PendingRequest] = {}
        self._superseded: list[PendingRequest] = []
        self._loop = asyncio.get_running_loop()
        self._timer = SharedTimer(self._time_out_due)

    def add(
        self,
        request: Message,
        limits: Limits,
        on_progress: OnProgress | None,
        human: CallTimer | None = None,
    ) -> PendingRequest:
        assert request.id is not None
        if request.id in self._requests:
            self._superseded.append(self._requests[request.id])
            self.ended(request.id, _superseded(request.id))
        pending = PendingRequest(request, limits, on_progress, human, self._loop, self._timer)
        self._requests[request.id] = pending
        return pending

    def contains(self, request: Message) -> bool:
        """True if this very request is pending, not another with the same id."""
        return self._find(request) is not None

    def has_id(self, id: RequestId | None) -> bool:
        """True if any request with this id is pending."""
        return id is not None and id in self._requests

    def remove(self, request: Message) -> None:
        pending = self._find(request)
        if pending is not None and request.id is not None:
            del self._requests[request.id]
            pending.response.cancel()

    def sent(self, request: Message, operation: int | None) -> None:
        """Set the operation of a request that is about to be sent."""
        pending = self._find(request)
        if pending is not None:
            pending.operation = operation

    def of_operation(self, operation: int | None) -> list[PendingRequest]:
        """Return the pending requests of an operation; all of them for None."""
        pending = [request for request in self._requests.values() if not request.response.done()]
        return [request for request in pending if operation is None or request.operation == operation]

    def responded(self, request: Message, response: Message, row: int | None = None) -> None:
        pending = self._requests.get(request.id) if request.id is not None else None
        if pending is not None and not pending.response.done():
            pending.response_row = row
            pending.response.set_result(response)

    def progressed(self, event: ProgressReceived) -> None:
        pending = self._requests.get(event.request_id)
        if pending is not None:
            pending.progressed(event)

    def failed(self, request: Message, error: LensError) -> None:
        """Fail this request. A newer one that took its id is not affected."""
        if request.id is not None and not any(request is older.request for older in self._superseded):
            self.ended(request.id, error)

    def ended(self, id: RequestId, error: LensError) -> None:
        """Fail the request with this id."""
        pending = self._requests.get(id)
        if pending is not None and not pending.response.done():
            pending.response.set_exception(error)
            pending.response.exception()  # mark as retrieved, in case nothing awaits it any more

    def fail_all(self, error: LensError) -> None:
        for id in self._requests:
            self.ended(id, error)

    def close(self) -> None:
        """Stop the timer: timeouts no longer apply."""
        self._timer.stop()

    def _time_out_due(self) -> None:
        """Time out the requests that are due, and set the timer for the next one."""
        now = self._loop.time()
        for pending in (*self._requests.values(), *self._superseded):
            if pending.due <= now:
                pending.time_out()
            self._timer.set(pending.due)

    def _find(self, request: Message) -> PendingRequest | None:
        pending = self._requests.get(request.id) if request.id is not None else None
        return pending if pending is not None and pending.request is request else None


def _superseded(id: RequestId) -> RequestCancelled:
    return RequestCancelled(
        f"Another request with the id {compact(id)} was sent manually while this one was pending.",
        "A response with this id now goes to the other request. See Traffic for all messages.",
    )


class PendingRequest:
    """A pending request, resolved with its response or failed. Waiting may start late, or never.

    `operation` is the operation that it belongs to in the log, set when it is sent. Timeouts apply while a
    task waits; `timer` is set for when they are due.
    """

    def __init__(
        self,
        request: Message,
        limits: Limits,
        on_progress: OnProgress | None,
        human: CallTimer | None,
        loop: asyncio.AbstractEventLoop,
        timer: SharedTimer,
    ) -> None:
        self.request = request
        self.response: asyncio.Future[Message] = loop.create_future()
        self.on_progress = on_progress
        self.operation: int | None = None
        self.response_row: int | None = None
        self._human = human
        self._loop = loop
        self._timer = timer
        self._limits = limits
        self._started = self._traffic = loop.time()
        self._pauses = 0
        self._paused_at = 0.0
        self._task: asyncio.Task[Any] | None = None  # the one that waits
        self._cancels = 0  # the task's cancellation count when it began to wait
        self._is_late = False
        self._is_over = False

    @property
    def has_response(self) -> bool:
        return self.response.done() and not self.response.cancelled() and self.response.exception() is None

    async def wait(self, sending: Awaitable[int]) -> Exchange:
        """Send, then wait, within one timeout: the server may have stopped reading.

        `sending` returns the request's row. Raises RequestTimedOut, and what sending and waiting raise.
        """
        self._begin()
        try:
            row, response = await sending, await self.response
            return Exchange(self.request, response, row, self.response_row)
        except asyncio.CancelledError:
            if self._was_timed_out():
                raise self._timed_out() from None
            raise
        finally:
            self._end()

    async def wait_for_response(self) -> Message:
        """Wait for the response to a request that was already sent. Progress since then counts."""
        self._begin()
        try:
            return await self.response
        except asyncio.CancelledError:
            if self._was_timed_out():
                raise self._timed_out() from None
            raise
        finally:
            self._end()

    def _begin(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task, self._cancels = task, task.cancelling()
        self._timer.set(self.due)

    def _end(self) -> None:
        """Stop waiting, perhaps during a pause."""
        if self._is_late and self._task is not None:
            self._task.uncancel()  # it ended for another reason meanwhile
        self._task, self._is_over = None, True
        if self._pauses and self._human is not None:
            self._human.end()

    @property
    def due(self) -> float:
        """When it times out, by the loop's clock; infinity while no timeout applies."""
        if self._task is None or self._pauses or self._is_late:
            return math.inf
        return min(self._traffic + self._limits.idle, self._started + self._limits.total)

    def time_out(self) -> None:
        """Time out: the waiting task gets RequestTimedOut."""
        if self._task is not None:
            self._is_late = True
            self._task.cancel()

    def _was_timed_out(self) -> bool:
        """True if only the timeout cancelled the task. Same logic as `asyncio.timeout`."""
        if not self._is_late or self._task is None:
            return False
        self._is_late = False
        return self._task.uncancel() <= self._cancels

    def _timed_out(self) -> RequestTimedOut:
        waited = self._loop.time() - self._started
        return RequestTimedOut(
            f"The server did not respond to {self.request.method} within {duration(round(waited * 1e9))}.",
            "It may still be working: check its Console, or raise the timeout.",
        )

    def progressed(self, event: ProgressReceived) -> None:
        self._traffic = self._loop.time()
        if self.on_progress is not None:
            self.on_progress(event)

    def pause(self) -> None:
        """Pause the timeouts until `resume` was called as often."""
        if self._pauses == 0:
            self._paused_at = self._loop.time()
            if self._human is not None and not self._is_over:
                self._human.begin()
        self._pauses += 1

    def resume(self) -> None:
        self._pauses -= 1
        if self._pauses:
            return
        now = self._loop.time()
        paused = now - self._paused_at
        self._started += paused
        self._traffic = min(now, self._traffic + paused)
        if not self._is_over and self._human is not None:
            self._human.end()
        self._timer.set(self.due)


class CallTimer:
    """Total timeout of a call, and the time that it waited for replies to server requests.

    The timeout covers all requests of the call and is paused meanwhile. Concurrent waits count once.
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
        """True if a cancellation is due to the total timeout."""
        return self._limit is not None and self._limit.expired()

    async def limit(self, call: Awaitable[T], total: float) -> T:
        """Await a call with a total timeout that excludes the waits. Raises RequestTimedOut."""
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
            summary = f"The call timed out after {total:g} s in total. A cancellation was sent to the server."
            raise RequestTimedOut(summary, "Raise the total timeout in the call options.") from None

    def begin(self) -> None:
        """Start counting, until `end` was called as often."""
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


class SharedTimer:
    """A shared timer that fires at the earliest requested time, even if no longer needed.

    Nearly every request is answered long before its timeout: setting and cancelling a timer for each took
    as long as recording it. `on_due` finds out what is due and sets the next time.
    """

    def __init__(self, on_due: Callable[[], None]) -> None:
        self._on_due = on_due
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._when = math.inf

    def set(self, when: float) -> None:
        """Fire at this time of the loop's clock, or earlier."""
        if when < self._when:
            self.stop()
            self._when = when
            self._timer = self._loop.call_at(when, self._fire)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._when = None, math.inf

    def _fire(self) -> None:
        self._timer, self._when = None, math.inf
        self._on_due()
