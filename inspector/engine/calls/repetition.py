"""Repeated calls: many times with latencies, or at an interval with diffs.

`repeat` runs a plan of sequential or concurrent calls. `poll` calls at an interval and compares each result
with the one before, in the worker process when large.
"""

from __future__ import annotations

import asyncio
import pickle
from bisect import insort
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.json.values import JSONError, to_wire
from inspector.config.json_file import read_exactly
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.traffic.compare.diff import Diff, IgnoreOptions
from inspector.traffic.compare.texts import compare_texts, reduced

MAX_TIMES = 100_000
MAX_IN_FLIGHT = 64
_RESPONDED = (OutcomeKind.RESULT, OutcomeKind.TOOL_ERROR, OutcomeKind.RPC_ERROR)


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """How often, how many concurrently, and whether to stop at the first failed call."""

    times: int = 10
    in_flight: int = 1
    stops_on_error: bool = True

    def check(self) -> None:
        """Raise UserError if the plan is invalid."""
        if not 1 <= self.times <= MAX_TIMES:
            raise UserError(
                f"A call can be repeated 1 to {MAX_TIMES:,} times.", "Choose a number in this range."
            )
        if not 1 <= self.in_flight <= MAX_IN_FLIGHT:
            raise UserError(
                f"1 to {MAX_IN_FLIGHT} calls can run at the same time.", "Choose a number in this range."
            )


@dataclass(frozen=True, slots=True)
class RepeatReport:
    """Progress of a repeated call. Times are of calls with a response; 0 if there are none."""

    wanted: int
    done: int = 0
    kinds: tuple[tuple[OutcomeKind, int], ...] = ()
    min_ns: int = 0
    median_ns: int = 0
    p95_ns: int = 0
    max_ns: int = 0
    elapsed_ns: int = 0  # total
    first_error: CallOutcome | None = None
    latest: CallOutcome | None = None
    is_over: bool = False
    stopped: str = ""  # why it ended early, as a sentence

    @property
    def errors(self) -> int:
        """Number of calls without a result or with isError."""
        return sum(count for kind, count in self.kinds if kind is not OutcomeKind.RESULT)

    @property
    def per_second(self) -> float:
        return self.done / (self.elapsed_ns / 1e9) if self.elapsed_ns else 0.0


async def repeat(
    call: Callable[[], Awaitable[CallOutcome]],
    plan: RepeatPlan,
    clock: Clock,
    on_report: Callable[[RepeatReport], None],
) -> RepeatReport:
    """Run the calls; `on_report` is called after each. Stops when the connection is lost.

    Cancelling the caller cancels the calls in flight; the last report remains valid. Raises UserError for
    an invalid plan.
    """
    plan.check()
    tally = _Tally(plan, clock)

    async def work() -> None:
        while tally.begin_next():
            tally.add(await call())
            on_report(tally.report())
            await asyncio.sleep(0)  # calls that fail at once must not starve the loop

    async with asyncio.TaskGroup() as group:
        for _ in range(min(plan.in_flight, plan.times)):
            group.create_task(work())
    report = tally.report(is_over=True)
    on_report(report)
    return report


class _Tally:
    """Collects results; times are kept sorted, so that a report takes constant time."""

    def __init__(self, plan: RepeatPlan, clock: Clock) -> None:
        self._plan = plan
        self._clock = clock
        self._started_at = clock.monotonic_ns()
        self._started = 0
        self._done = 0
        self._times: list[int] = []
        self._kinds: Counter[OutcomeKind] = Counter()
        self._first_error: CallOutcome | None = None
        self._latest: CallOutcome | None = None
        self._stopped = ""

    def begin_next(self) -> bool:
        if self._stopped or self._started == self._plan.times:
            return False
        self._started += 1
        return True

    def add(self, outcome: CallOutcome) -> None:
        self._done += 1
        self._kinds[outcome.kind] += 1
        self._latest = outcome
        if outcome.kind in _RESPONDED:
            insort(self._times, outcome.elapsed_ns)
        if outcome.kind is not OutcomeKind.RESULT:
            self._first_error = self._first_error or outcome
            self._stopped = self._stopped or self._reason_to_stop(outcome)

    def _reason_to_stop(self, error: CallOutcome) -> str:
        if error.is_lost:
            return error.summary
        return f"Call {self._done:,} returned no result." if self._plan.stops_on_error else ""

    def report(self, *, is_over: bool = False) -> RepeatReport:
        return RepeatReport(
            self._plan.times,
            self._done,
            tuple(self._kinds.most_common()),
            self._percentile(0),
            self._percentile(50),
            self._percentile(95),
            self._percentile(100),
            self._clock.monotonic_ns() - self._started_at,
            self._first_error,
            self._latest,
            is_over,
            self._stopped if self._done < self._plan.times else "",
        )

    def _percentile(self, percent: int) -> int:
        """Return the nearest-rank percentile, i.e. an actual time."""
        if not self._times:
            return 0
        rank = -(-percent * len(self._times) // 100)
        return self._times[max(rank, 1) - 1]


MIN_INTERVAL = 1.0
MAX_INTERVAL = 24 * 3600.0
DEFAULT_INTERVAL = 5.0
DEFAULT_IGNORING = IgnoreOptions(ids=True, times=True, metadata=True)


@dataclass(frozen=True, slots=True)
class PollPlan:
    """Interval in seconds between the starts of two calls, and what to ignore.

    A call that takes longer delays the next: two never overlap.
    """

    interval: float = DEFAULT_INTERVAL
    ignoring: IgnoreOptions = DEFAULT_IGNORING

    def check(self) -> None:
        """Raise UserError if the plan is invalid."""
        if not MIN_INTERVAL <= self.interval <= MAX_INTERVAL:
            raise UserError("The interval must be between 1 s and 24 h.", "Choose an interval in this range.")
        self.ignoring.check()


@dataclass(frozen=True, slots=True)
class Observation:
    """One call of a poll. `before` is the previous outcome, None for the first.

    `diff` is set if both had a response; without it, `has_changed` means that it ended in a different way.
    """

    number: int
    at_ns: int  # wall time of its start
    outcome: CallOutcome
    before: CallOutcome | None = None
    has_changed: bool = False
    diff: Diff | None = None
    changes: int = 0  # so far, including this one


async def poll(
    call: Callable[[], Awaitable[CallOutcome]],
    compare: Callable[[CallOutcome, CallOutcome], Awaitable[Diff]],
    plan: PollPlan,
    on_observation: Callable[[Observation], None],
    lost: asyncio.Future[str],
    clock: Clock,
) -> str:
    """Call until the server is lost and return the reason; cancel the caller to end it.

    Raises UserError for an invalid plan.
    """
    plan.check()
    loop = asyncio.get_running_loop()
    latest: Observation | None = None
    while not lost.done():
        due, at = loop.time() + plan.interval, clock.wall_ns()
        outcome = await call()
        if lost.done() or outcome.is_lost:
            return lost.result() if lost.done() else outcome.summary
        latest = await _observe(latest, outcome, at, compare)
        on_observation(latest)
        await asyncio.wait([lost], timeout=max(0.0, due - loop.time()))
    return lost.result()


async def _observe(
    latest: Observation | None,
    outcome: CallOutcome,
    at: int,
    compare: Callable[[CallOutcome, CallOutcome], Awaitable[Diff]],
) -> Observation:
    if latest is None:
        return Observation(1, at, outcome)
    before = latest.outcome
    diff = await compare(before, outcome) if before.response and outcome.response else None
    if before.kind is not outcome.kind:
        has_changed = True
    else:
        has_changed = before.summary != outcome.summary if diff is None else not diff.is_same
    changes = latest.changes + has_changed
    return Observation(latest.number + 1, at, outcome, before, has_changed, diff, changes)


def pack(before: bytes, after: bytes, ignoring: IgnoreOptions) -> bytes:
    """Pickle the input of `compare_packed`."""
    return pickle.dumps((before, after, ignoring))


def compare_packed(data: bytes) -> Diff:
    """Compare two responses (their results or errors only) in the worker process."""
    before, after, ignoring = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return reduced(compare_texts(comparable_part(before), comparable_part(after), ignoring))


def comparable_part(response: bytes) -> bytes:
    """Return a response without its id; unchanged if it cannot be parsed."""
    try:
        message = read_exactly(response.decode())
        if not isinstance(message, dict):
            return response
        return to_wire({name: value for name, value in message.items() if name not in ("jsonrpc", "id")})
    except (UnicodeDecodeError, JSONError):
        return response
