"""Looking at a tool or a resource again and again, and telling what changed."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.clock import Clock
from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSONProblem, to_wire
from inspector.config.exactfile import read_exactly
from inspector.engine.views import CallOutcome
from inspector.traffic.compare.carrying import carried
from inspector.traffic.compare.diff import Diff
from inspector.traffic.compare.ignoring import Ignoring
from inspector.traffic.compare.texts import compare_texts

LEAST_INTERVAL = 1.0
MOST_INTERVAL = 24 * 3600.0
DEFAULT_INTERVAL = 5.0
Looking: TypeAlias = Awaitable[CallOutcome]
WATCH_IGNORING = Ignoring(ids=True, times=True, metadata=True)


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """Interval in seconds between the starts of two looks, and what to ignore.

    A look that takes longer delays the next: two never overlap.
    """

    interval: float = DEFAULT_INTERVAL
    ignoring: Ignoring = WATCH_IGNORING

    def check(self) -> None:
        """Raise UserError if the plan is invalid."""
        if not LEAST_INTERVAL <= self.interval <= MOST_INTERVAL:
            raise UserError("A watch looks every 1 s to 24 h.", "Choose an interval between.")
        self.ignoring.check()


@dataclass(frozen=True, slots=True)
class Sighting:
    """One look. `before` is the previous outcome, None for the first.

    `diff` is set if both had a response; without it, `has_changed` means that it ended in a different way.
    """

    number: int
    at_ns: int  # wall time of its start
    outcome: CallOutcome
    before: CallOutcome | None = None
    has_changed: bool = False
    diff: Diff | None = None
    changes: int = 0  # so far, including this one


async def watch(
    look: Callable[[], Looking],
    compare: Callable[[CallOutcome, CallOutcome], Awaitable[Diff]],
    plan: WatchPlan,
    on_sight: Callable[[Sighting], None],
    lost: asyncio.Future[str],
    clock: Clock,
) -> str:
    """Look until the server is lost and return the reason; cancel the caller to end it.

    Raises UserError for an invalid plan.
    """
    plan.check()
    loop = asyncio.get_running_loop()
    latest: Sighting | None = None
    while not lost.done():
        due, at = loop.time() + plan.interval, clock.wall_ns()
        outcome = await look()
        if lost.done() or outcome.is_lost:
            return lost.result() if lost.done() else outcome.summary
        latest = await _sighting(latest, outcome, at, compare)
        on_sight(latest)
        await asyncio.wait([lost], timeout=max(0.0, due - loop.time()))
    return lost.result()


async def _sighting(
    latest: Sighting | None,
    outcome: CallOutcome,
    at: int,
    compare: Callable[[CallOutcome, CallOutcome], Awaitable[Diff]],
) -> Sighting:
    if latest is None:
        return Sighting(1, at, outcome)
    before = latest.outcome
    diff = await compare(before, outcome) if before.answer and outcome.answer else None
    if before.kind is not outcome.kind:
        has_changed = True
    else:
        has_changed = before.summary != outcome.summary if diff is None else not diff.is_same
    changes = latest.changes + has_changed
    return Sighting(latest.number + 1, at, outcome, before, has_changed, diff, changes)


# ------------------------------------------------------------------ comparing


def pack(before: bytes, after: bytes, ignoring: Ignoring) -> bytes:
    """Pickle the input of `compare_packed`."""
    return pickle.dumps((before, after, ignoring))


def compare_packed(data: bytes) -> Diff:
    """Compare two responses (their results or errors only) in the worker process."""
    before, after, ignoring = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return carried(compare_texts(essence(before), essence(after), ignoring))


def essence(answer: bytes) -> bytes:
    """Return a response without its id; unchanged if it cannot be parsed."""
    try:
        message = read_exactly(answer.decode())
        if not isinstance(message, dict):
            return answer
        return to_wire({name: value for name, value in message.items() if name not in ("jsonrpc", "id")})
    except (UnicodeDecodeError, JSONProblem):
        return answer
