"""One known task: polls it, answers its input requests, fetches its outcome.

The polling interval is the server's. A lost connection only interrupts this. `TaskInputRequests` is for
the Tasks extension, whose task state contains the requests; each is answered once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from inspector.base.clock import Clock
from inspector.base.errors import CapabilityMissing, ConnectionLost, LensError, UserError
from inspector.engine.calls.tool_calls import conclude_task, failed
from inspector.engine.tasks.views import TaskOrigin, TaskView, TrackingState
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import INVALID_PARAMS, RequestId, RpcError
from inspector.protocol.tasks import Task, TaskStatus, TaskTracker
from inspector.protocol.types import InputRequest
from inspector.session.pending_requests import CallTimer, OnProgress
from inspector.session.task_client import TaskClient
from inspector.transport.task_scope import TaskScope

_MAX_FAILURES = 5  # consecutive failures after which polling stops
_MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class TaskStart:
    """How a task became known: the call it belongs to, if that was one of ours.

    `request_id` is that call's id, used as the progress token while the task runs.
    """

    origin: TaskOrigin
    tool: str = ""
    row: int | None = None
    request_id: RequestId | None = None
    started_ns: int = 0
    on_changes: Callable[[Task], None] | None = None
    on_progress: OnProgress | None = None
    human: CallTimer = field(default_factory=CallTimer)


class TaskFollower:
    """A known task being polled. `on_change` is called whenever its view changes."""

    def __init__(
        self,
        server: str,
        task: Task,
        start: TaskStart,
        calls: TaskClient,
        clock: Clock,
        scope: TaskScope,
        on_change: Callable[[TaskFollower], None],
    ) -> None:
        self.server = server
        self.start = start
        self.tracking = TrackingState.STOPPED
        self.wants_outcome = start.origin is TaskOrigin.CALLED
        self.outcome: CallOutcome | None = None
        self._tracker = TaskTracker(task)
        self._calls = calls
        self._clock = clock
        self._scope = scope
        self._on_change = on_change
        self._created_ns = _creation_time(task, start.origin, clock)
        self._following: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._human = start.human
        self._input_requests = TaskInputRequests(
            self._tracker, calls, scope, self._human, start.row, self._changed, self._on_refused
        )
        self._waiters: list[asyncio.Future[CallOutcome]] = []
        self._woken = asyncio.Event()
        self._wants_poll = False
        self._is_polling = False
        self._next_poll_ns: int | None = None
        self._progress: ProgressReceived | None = None
        # Progress token. For this connection only: the next one reuses the same ids.
        self.progress_token = start.request_id
        self._wants_cancel = False
        self._is_result_refused = False
        self._problems: dict[str, None] = {}
        self._note = ""

    @property
    def task(self) -> Task:
        return self._tracker.task

    @property
    def is_over(self) -> bool:
        return self.task.status.is_terminal

    @property
    def view(self) -> TaskView:
        task, progress = self.task, self._progress
        expires = None if task.ttl_ms is None else self._created_ns + task.ttl_ms * 1_000_000
        return TaskView(
            server=self.server,
            task=task,
            tool=self.start.tool,
            origin=self.start.origin,
            tracking=self.tracking,
            created_ns=self._created_ns,
            expires_ns=expires,
            next_poll_ns=self._next_poll_ns,
            is_polling=self._is_polling,
            progress=progress.progress if progress else None,
            total=progress.total if progress else None,
            progress_message=progress.message if progress else "",
            open_requests=self._input_requests.open_count,
            wants_cancel=self._wants_cancel,
            is_fetching=self._fetching is not None,
            note=self._note,
            problems=tuple(self._problems),
            row=self.start.row,
            outcome=self.outcome,
        )

    def receive(self, task: Task) -> None:
        """Update the task's state, however it arrived."""
        is_change = task != self.task
        changes = self._tracker.receive(task)
        for problem in changes.problems:
            self.add_problem(problem)
        self._input_requests.withdraw(task)
        if changes.requested:
            self._input_requests.ask(changes.requested)
        if task.status is TaskStatus.INPUT_REQUIRED and self._may_wait_for_result:
            self._fetch()  # the server sends its requests while that waits
        if is_change and self.start.on_changes is not None and task.id == self.task.id:
            self.start.on_changes(task)
        self._woken.set()
        self._changed()

    def progressed(self, event: ProgressReceived) -> None:
        self._progress = event
        if self.start.on_progress is not None:
            self.start.on_progress(event)
        self._changed()

    def add_problem(self, problem: str) -> None:
        """Report a protocol violation, once, also in the traffic."""
        if problem not in self._problems and len(self._problems) < _MAX_PROBLEMS:
            self._problems[problem] = None
            self._calls.note(problem)

    def follow(self, *, now: bool = False) -> None:
        """Start polling; `now` does not wait for the server's interval.

        A request that was refused, or whose reply was lost, is then asked again.
        """
        if now:
            self._input_requests.ask_again()
        self._wants_poll = self._wants_poll or now
        self._woken.set()
        if self._following is None:
            self.tracking, self._note = TrackingState.FOLLOWED, ""
            self._following = self._scope.spawn(f"follow task {self.task.id}", self._follow())
        self._changed()

    def fetch(self) -> None:
        """Fetch the result, waiting for it if necessary."""
        self.wants_outcome = True
        self._fetch()
        self._changed()

    def cancelling(self) -> None:
        """Note that cancellation was requested. The task may still complete."""
        self._wants_cancel = True
        self._changed()

    async def wait(self) -> CallOutcome:
        """Wait for the outcome, or until there can be none."""
        if self.outcome is not None:
            return self.outcome
        waiter: asyncio.Future[CallOutcome] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def detach(self) -> None:
        """Stop waiting for it; the task continues."""
        self._release(
            CallOutcome(
                OutcomeKind.DETACHED,
                self._elapsed(),
                row=self.start.row,
                summary="Stopped waiting for the call; its task continues.",
                next_step="See the Tasks tab.",
                task_id=self.task.id,
            )
        )

    def on_disconnected(self, reason: str) -> None:
        """Handle the loss of the connection: waiters are released; the task may well continue."""
        self.progress_token = None
        if self.tracking is TrackingState.FOLLOWED or self._fetching is not None:
            self._stop(TrackingState.WAITING, reason)
            next_step = "The task stays in the list and is followed again after you reconnect."
            self._abandon(ConnectionLost(reason, next_step))

    def drop(self, reason: str) -> None:
        """Drop the task locally."""
        self._stop(TrackingState.STOPPED, reason)
        self._abandon(UserError(reason, "Call the tool again to start a new task."))

    async def _follow(self) -> None:
        failures = 0
        while await self._wait_until_due():
            try:
                task = await self._poll()
            except LensError as exc:
                failures += 1
                if self._handle_failure(exc, failures):
                    return
            else:
                failures = 0
                self._note = self._note if self._input_requests.are_refused else ""
                self.receive(task)
        await self._conclude()

    async def _wait_until_due(self) -> bool:
        """Wait until the next poll is due. False if the task ended, possibly by notification."""
        while not self.is_over and not self._wants_poll:
            self._woken.clear()
            wait_ms = self.task.next_poll_ms
            self._next_poll_ns = self._clock.monotonic_ns() + wait_ms * 1_000_000
            self._changed()
            try:
                async with asyncio.timeout(wait_ms / 1000):
                    await self._woken.wait()
            except TimeoutError:
                break
        self._wants_poll = False
        self._next_poll_ns = None
        return not self.is_over

    async def _poll(self) -> Task:
        self._is_polling = True
        self._changed()
        try:
            return await self._calls.get(self.task.id)
        finally:
            self._is_polling = False

    def _handle_failure(self, error: LensError, failures: int) -> bool:
        """Handle a failed poll; return True if there is no point in polling again."""
        if type(error) is ConnectionLost:  # subclasses are about one request only
            self.on_disconnected(error.summary)
        elif isinstance(error, RpcError) and error.code == INVALID_PARAMS:
            self._end_unknown(error)
        elif failures >= _MAX_FAILURES or isinstance(error, CapabilityMissing):
            times = "" if failures == 1 else f" {failures} times in a row"
            self._stop(TrackingState.STOPPED, f"Polling failed{times}: {_error_text(error)}")
            self._abandon(error)
        else:
            self._note = f"Polling failed: {_error_text(error)}"
            self._changed()
            return False
        return True

    def _end_unknown(self, error: RpcError) -> None:
        expires = self.view.expires_ns
        is_expired = expires is not None and expires <= self._clock.monotonic_ns()
        why = "its time to live has expired" if is_expired else error.message
        self._stop(TrackingState.UNKNOWN, f"The server no longer knows the task: {why}")
        self._abandon(error)

    async def _conclude(self) -> None:
        self._input_requests.withdraw(self.task)
        if self.outcome is None and (self.wants_outcome or not self._calls.can_wait_for_result):
            self._fetch()
            if self._fetching is not None:
                await asyncio.wait([self._fetching])
        self._following = None
        if self.tracking is TrackingState.FOLLOWED:
            self.tracking = TrackingState.ENDED
        self._changed()

    @property
    def _may_wait_for_result(self) -> bool:
        return self.wants_outcome and self._calls.can_wait_for_result and not self._is_result_refused

    def _fetch(self) -> None:
        if self._fetching is None and self.outcome is None:
            self._fetching = self._scope.spawn(f"outcome of task {self.task.id}", self._fetch_outcome())

    async def _fetch_outcome(self) -> None:
        task = self.task
        try:
            outcome = await conclude_task(
                self._calls.outcome(task, self._human), task.id, self.start.request_id, self.start.row
            )
        except LensError as exc:
            self._fetching = None
            self._on_not_fetched(exc)
            return
        self._fetching = None
        if outcome.kind is OutcomeKind.RPC_ERROR and not task.status.is_terminal and not self.is_over:
            # Apparently no result yet: the task's status says more.
            self.add_problem(f"tasks/result was rejected while the task was {task.status.value}.")
            self._is_result_refused = True
        else:
            self._end_with(outcome)
        if not self.is_over and self._following is not None:
            self.follow(now=True)

    def _on_not_fetched(self, error: LensError) -> None:
        if type(error) is ConnectionLost:
            self.on_disconnected(error.summary)
            return
        self._note = f"Could not fetch the result: {_error_text(error)}"
        self._abandon(error)
        self._changed()

    def _end_with(self, outcome: CallOutcome) -> None:
        self.outcome = outcome._replace(elapsed_ns=self._elapsed(), waited_ns=self._human.ns)
        self._release(self.outcome)
        self._changed()

    def _on_refused(self, error: LensError) -> None:
        """Keep the task waiting. The user may poll to be asked again, or cancel it."""
        self._note = _error_text(error)
        self._abandon(error)
        self._changed()

    def _stop(self, tracking: TrackingState, note: str) -> None:
        self.tracking, self._note = tracking, note
        self._next_poll_ns, self._is_polling = None, False
        work = (self._following, self._fetching)
        self._following = self._fetching = None
        self._input_requests.stop()
        current = asyncio.current_task()
        for task in work:
            if task is not None and task is not current:
                task.cancel()
        self._changed()

    def _abandon(self, error: LensError) -> None:
        outcome = failed(error, self._elapsed())
        self._release(outcome._replace(row=self.start.row, task_id=self.task.id))

    def _release(self, outcome: CallOutcome) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(outcome)

    def _elapsed(self) -> int:
        return self._clock.monotonic_ns() - (self.start.started_ns or self._created_ns)

    def _changed(self) -> None:
        self._on_change(self)


def _creation_time(task: Task, origin: TaskOrigin, clock: Clock) -> int:
    """Return the creation time on our clock: now for our calls, else as the server states."""
    now = clock.monotonic_ns()
    if origin is TaskOrigin.CALLED:
        return now
    try:
        created = datetime.fromisoformat(task.created_at)
        age_ns = clock.wall_ns() - round(created.astimezone().timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        return now
    return now - max(age_ns, 0)


def _error_text(error: LensError) -> str:
    return error.summary if isinstance(error, UserError) else str(error)


class TaskInputRequests:
    """Server requests inside a task's state, each answered once.

    Asks what `tracker` reports as new. `row` is that of the call; `human` counts the time that replies take.
    `on_change`: `open_count` changed; `on_refused`: a request was refused, so the task cannot continue.
    """

    def __init__(
        self,
        tracker: TaskTracker,
        calls: TaskClient,
        scope: TaskScope,
        human: CallTimer,
        row: int | None,
        on_change: Callable[[], None],
        on_refused: Callable[[LensError], None],
    ) -> None:
        self._tracker = tracker
        self._calls = calls
        self._scope = scope
        self._human = human
        self._row = row
        self._on_change = on_change
        self._on_refused = on_refused
        self._running: dict[asyncio.Task[None], frozenset[str]] = {}
        self._refused: set[str] = set()

    @property
    def open_count(self) -> int:
        """Number of requests waiting for the user."""
        return sum(map(len, self._running.values()))

    @property
    def are_refused(self) -> bool:
        """True if the task waits for replies that will not come."""
        return bool(self._refused)

    def ask(self, requested: Mapping[str, InputRequest]) -> None:
        running = self._scope.spawn(f"answer task {self._tracker.task.id}", self._response(requested))
        self._running[running] = frozenset(requested)

    def ask_again(self) -> None:
        """Ask refused requests, or those whose reply was lost, again if still pending."""
        self._tracker.forget(self._refused)
        self._refused = set()

    def withdraw(self, task: Task) -> None:
        """Cancel requests that the server no longer makes."""
        still_open = _keys_of(task)
        for running, keys in tuple(self._running.items()):
            if not keys & still_open:
                running.cancel()

    def stop(self) -> None:
        """Stop after a disconnect or when polling ends; open requests are asked again later."""
        self._tracker.forget(key for keys in self._running.values() for key in keys)
        current = asyncio.current_task()
        for running in tuple(self._running):
            if running is not current:
                running.cancel()

    async def _response(self, requested: Mapping[str, InputRequest]) -> None:
        id, this = self._tracker.task.id, asyncio.current_task()
        try:
            responses = await self._calls.replies_to(id, requested, self._human, self._row)
        except LensError as exc:
            self._on_unanswered(exc, requested)
            return
        finally:
            if this is not None:
                self._running.pop(this, None)  # from here on it must not be cancelled with the request
            self._on_change()
        try:
            await self._calls.update(id, responses)
        except LensError as exc:
            self._on_unanswered(exc, requested)

    def _on_unanswered(self, error: LensError, requested: Mapping[str, InputRequest]) -> None:
        if type(error) is ConnectionLost:
            self._tracker.forget(requested)
            return
        self._refused.update(requested)
        self._on_refused(error)


def _keys_of(task: Task) -> set[str]:
    try:
        return set(task.input_requests())
    except ValueError:
        return set()
