"""Pending requests of one connection: timeouts, progress and completion.

All requests share one timer, as nearly every request is answered long before its timeout. A timeout
restarts with progress, up to a total; both pause while a server request waits for the user.
`RequestQueue` is for servers that fail on concurrent requests.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from inspector.base.errors import (
    ConnectionLost,
    FailureKind,
    HttpRefused,
    LensError,
    RequestCancelled,
    RequestTimedOut,
    UnusableResponse,
    UserError,
)
from inspector.base.json.values import compact
from inspector.base.units import duration
from inspector.protocol.connection import Certainty, ProgressReceived, UnusableReceived
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.protocol.unusable import Unusable

T = TypeVar("T")
OnProgress: TypeAlias = Callable[[ProgressReceived], None]


class Limits(NamedTuple):
    """Timeouts: `idle` seconds since the request or its last progress, `total` seconds overall."""

    idle: float
    total: float


NO_LIMIT = Limits(math.inf, math.inf)
_MAX_UNUSABLE = 8  # messages that may explain why there is no response
# Seconds to wait for a proper response after an unusable one for the only pending request.
_GRACE_AFTER_UNUSABLE = {Certainty.LIKELY: 0.5, Certainty.POSSIBLE: 10.0}


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

    def __init__(self, *, has_console: bool = False) -> None:
        self._requests: dict[RequestId, PendingRequest] = {}
        self._superseded: list[PendingRequest] = []
        self._unusable = UnusableOutput(has_console=has_console)
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
        pending = PendingRequest(request, limits, on_progress, human, self._loop, self._timer, self._unusable)
        self._requests[request.id] = pending
        return pending

    def contains(self, request: Message) -> bool:
        """True if this very request is pending, not another with the same id."""
        return self._find(request) is not None

    def has_id(self, id: RequestId | None) -> bool:
        """True if any request with this id is pending."""
        return id is not None and id in self._requests

    def request(self, id: RequestId | None) -> Message | None:
        """Return the pending request with this id."""
        pending = self._requests.get(id) if id is not None else None
        return None if pending is None else pending.request

    def remove(self, request: Message) -> None:
        pending = self._find(request)
        if pending is not None and request.id is not None:
            del self._requests[request.id]
            pending.response.cancel()

    def sent(self, request: Message, row: int, operation: int | None) -> None:
        """Set the row and the operation of a request that is about to be sent."""
        pending = self._find(request)
        if pending is not None:
            pending.row, pending.operation = row, operation

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

    def received_unusable(self, event: UnusableReceived, row: int = -1) -> None:
        """Handle output that is no usable response: fail the request that it must be about, if any.

        `row` is its row in the traffic log, -1 if it has none.
        """
        request = event.request
        output = Output(self._loop.time(), event.unusable, row)
        if request is not None and event.certainty is Certainty.CERTAIN:
            self.failed(request, unusable_error(request.method, output))
            return
        self._unusable.add(output)
        pending = self._find(request) if request is not None else None
        if pending is not None:
            pending.received_unusable(output, _GRACE_AFTER_UNUSABLE[event.certainty])

    def unusable_output(self) -> Output | None:
        """Return the output that most likely explains why there is no response."""
        return self._unusable.since(0.0)

    def explained(self, request: Message, error: UserError) -> UserError:
        """Return the error about an event stream without a response together with what arrived instead."""
        pending = self._find(request)
        output = pending.unusable_output() if pending is not None else None
        if output is None or error.kind is not FailureKind.EVENT_STREAM or isinstance(error, HttpRefused):
            return error
        return ConnectionLost(
            f"{error.summary} Instead the server sent {output.unusable.what}.",
            output.next_step,
            kind=error.kind,
        )

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


def call_when_ended(pending: Sequence[PendingRequest], callback: Callable[[], None]) -> None:
    """Call `callback` once all these requests have ended; at once if there are none."""
    left = len(pending)

    def on_ended(response: asyncio.Future[Message]) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            callback()

    for request in pending:
        request.response.add_done_callback(on_ended)
    if not pending:
        callback()


def _superseded(id: RequestId) -> RequestCancelled:
    return RequestCancelled(
        f"Another request with the id {compact(id)} was sent manually while this one was pending.",
        "A response with this id now goes to the other request. See Traffic for all messages.",
    )


class Output(NamedTuple):
    """Output that is no usable response: when it arrived (the loop's clock), and its row, or -1."""

    at: float
    unusable: Unusable
    row: int = -1

    @property
    def next_step(self) -> str:
        """What to do about it, and where it is."""
        return (
            f"{self.unusable.fix} See message {self.row + 1} in Traffic."
            if self.row >= 0
            else self.unusable.fix
        )


def unusable_error(method: str, output: Output) -> UnusableResponse:
    """Return the error for a request with an unusable response."""
    return UnusableResponse(
        f"The response to {method} cannot be used: the server sent {output.unusable.what}.",
        output.next_step,
        kind=FailureKind.UNUSABLE,
    )


class UnusableOutput:
    """The latest output of a server that is no usable response.

    It explains why there is no response. `has_console`: the server is a process, whose log is known.
    """

    def __init__(self, *, has_console: bool = False) -> None:
        self._has_console = has_console
        self._latest: deque[Output] = deque(maxlen=_MAX_UNUSABLE)

    def add(self, output: Output) -> None:
        self._latest.append(output)

    def since(self, start: float) -> Output | None:
        """Return the most telling output since then: a response before text, then the first."""
        found = self._all_since(start)
        return next((each for each in found if each.unusable.is_response), found[0] if found else None)

    def _all_since(self, start: float) -> list[Output]:
        return [output for output in self._latest if output.at >= start]

    def timeout(self, method: str, started: float, now: float) -> RequestTimedOut:
        """Return the error for a request without a response."""
        summary = f"The server did not respond to {method} within {duration(round((now - started) * 1e9))}."
        output = self.since(started)
        if output is not None:
            others = len(self._all_since(started)) - 1
            count = f"{others} or more" if others + 1 == _MAX_UNUSABLE else str(others)
            more = (
                f" (and {count} other unusable {'messages' if others > 1 else 'message'})" if others else ""
            )
            return RequestTimedOut(
                f"{summary} Instead it sent {output.unusable.what}{more}.", output.next_step
            )
        log = "its Console" if self._has_console else "its log"
        return RequestTimedOut(summary, f"It may still be working: check {log}, or raise the timeout.")


class PendingRequest:
    """A pending request, resolved with its response or failed. Waiting may start late, or never.

    `row` and `operation` are its row in the log and the operation that it belongs to, set when it is sent.
    Timeouts apply while a task waits; `timer` is set for when they are due.
    """

    __slots__ = (
        *("request", "response", "on_progress", "row", "operation", "response_row"),
        *("_human", "_loop", "_timer", "_limits", "_started", "_traffic", "_pauses", "_paused_at"),
        *("_task", "_cancels", "_is_late", "_is_over", "_unusable", "_probable"),
    )

    def __init__(
        self,
        request: Message,
        limits: Limits,
        on_progress: OnProgress | None,
        human: CallTimer | None,
        loop: asyncio.AbstractEventLoop,
        timer: SharedTimer,
        unusable: UnusableOutput,
    ) -> None:
        self.request = request
        self.response: asyncio.Future[Message] = loop.create_future()
        self.on_progress = on_progress
        self.row = -1
        self.operation: int | None = None
        self.response_row: int | None = None
        self._human = human
        self._loop = loop
        self._timer = timer
        self._unusable = unusable
        # Its response, and when it counts as such unless a proper one follows.
        self._probable: tuple[Output, float] | None = None
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

    async def wait(self, sending: Awaitable[None]) -> Exchange:
        """Send, then wait, within one timeout: the server may have stopped reading.

        Raises RequestTimedOut, and what sending and waiting raise.
        """
        self._begin()
        try:
            await sending
            return Exchange(self.request, await self.response, self.row, self.response_row)
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
        due = min(self._traffic + self._limits.idle, self._started + self._limits.total)
        return due if self._probable is None else min(due, self._probable[1])

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

    def _timed_out(self) -> RequestTimedOut | UnusableResponse:
        if self._probable is not None:
            return unusable_error(self.request.method, self._probable[0])
        return self._unusable.timeout(self.request.method, self._started, self._loop.time())

    def unusable_output(self) -> Output | None:
        """Return the output since the request that most likely explains why there is no response."""
        return self._unusable.since(self._started)

    def received_unusable(self, output: Output, grace: float) -> None:
        """Wait for a proper response to follow one that is probably meant for this request."""
        end = self._loop.time() + grace
        self._probable = (output, end if self._probable is None else min(end, self._probable[1]))
        self._timer.set(self.due)

    def progressed(self, event: ProgressReceived) -> None:
        self._probable = None
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


class RequestQueue:
    """Lets one request at a time through, in the order of arrival.

    A request that ended without a response, by a timeout or a cancellation, lets the next one through.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._error: LensError | None = None

    async def wait(self, human: CallTimer | None = None) -> Callable[[], None]:
        """Wait until no other request is pending; return a function to call when this one has ended.

        That may be called repeatedly. The time is excluded from the total timeout of the call. Raises the
        error of `close`.
        """
        if human is not None and self._turn.locked():
            human.begin_queued()
            try:
                await self._turn.acquire()
            finally:
                human.end_queued()
        else:
            await self._turn.acquire()
        if self._error is not None:
            self._turn.release()
            raise self._error
        is_released = False

        def release() -> None:
            nonlocal is_released
            if not is_released:
                is_released = True
                self._turn.release()

        return release

    def close(self, error: LensError) -> None:
        """Fail the requests that wait."""
        self._error = error


class CallTimer:
    """Total timeout of a call, and the time that it waited for replies to server requests.

    The timeout covers all requests of the call and is paused meanwhile, and while a request is queued.
    Concurrent waits count once.
    """

    __slots__ = ("_due", "_limit", "_open", "_queued", "_queued_since", "_seconds", "_since")

    def __init__(self) -> None:
        self._queued = self._queued_since = 0.0
        self._seconds = 0.0
        self._open = 0
        self._since = 0.0
        self._limit: asyncio.Timeout | None = None
        self._due: float | None = None

    @property
    def ns(self) -> int:
        return round(self._seconds * 1e9) if self._seconds else 0

    @property
    def queued_ns(self) -> int:
        """How long requests of the call waited for other requests (`RequestQueue`)."""
        return round(self._queued * 1e9) if self._queued else 0

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

    def begin_queued(self) -> None:
        """Pause the timeout while a request waits for its turn. A call queues one request at a time."""
        self._queued_since = asyncio.get_running_loop().time()
        self._due = None if self._limit is None else self._limit.when()
        self._reschedule(None)

    def end_queued(self) -> None:
        paused = asyncio.get_running_loop().time() - self._queued_since
        self._queued += paused
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
