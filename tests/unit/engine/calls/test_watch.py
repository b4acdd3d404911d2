"""Looking again and again: how often, what counts as a change, how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.engine.calls.repetition import (
    WATCH_IGNORING,
    Observation,
    WatchPlan,
    compare_packed,
    pack,
    watch,
)
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.traffic.compare.diff import NOTHING, Diff
from tests.helpers.fakes import FakeClock, LoopTime
from tests.helpers.playbook import frame


def gave(id: int, **result: JSON) -> CallOutcome:
    return CallOutcome(OutcomeKind.RESULT, 1, frame(id=id, result=result))


class Watching:
    """A watch under way; the test gives the outcomes and moves the time."""

    def __init__(self, plan: WatchPlan) -> None:
        loop = asyncio.get_running_loop()
        self.time = LoopTime()
        self.outcomes: asyncio.Queue[CallOutcome] = asyncio.Queue()
        self.runs = 0
        self.sightings: list[Observation] = []
        self.lost: asyncio.Future[str] = loop.create_future()
        self._plan = plan
        work = watch(self._inspect, self._compare, plan, self.sightings.append, self.lost, FakeClock())
        self.task = loop.create_task(work)

    async def _inspect(self) -> CallOutcome:
        self.runs += 1
        return await self.outcomes.get()

    async def _compare(self, before: CallOutcome, after: CallOutcome) -> Diff:
        return compare_packed(pack(before.response, after.response, self._plan.ignoring))

    async def see(self, outcome: CallOutcome) -> Observation:
        """The outcome of the look that is under way; then the time for the next one comes."""
        self.outcomes.put_nowait(outcome)
        await self.time.advance(0)
        observation = self.sightings[-1]
        await self.time.advance(self._plan.interval + 0.1)
        return observation


@pytest.fixture
async def watching() -> AsyncIterator[Watching]:
    watching = Watching(WatchPlan())
    await watching.time.advance(0)
    yield watching
    watching.task.cancel()
    await asyncio.wait([watching.task])


async def test_watch_polls_every_five_seconds(watching: Watching) -> None:
    watching.outcomes.put_nowait(gave(1))
    await watching.time.advance(4.9)
    assert watching.runs == 1
    await watching.time.advance(0.2)
    assert watching.runs == 2


async def test_polls_never_overlap(watching: Watching) -> None:
    await watching.time.advance(60)
    assert (watching.runs, watching.sightings) == (1, [])
    watching.outcomes.put_nowait(gave(1))
    await watching.time.advance(0)
    await watching.time.advance(0.1)
    assert watching.runs == 2


async def test_change_is_reported_with_both_values(watching: Watching) -> None:
    first = await watching.see(gave(1, n=1))
    assert (first.number, first.before, first.has_changed) == (1, None, False)
    same = await watching.see(gave(2, n=1))
    assert (same.has_changed, same.changes) == (False, 0)
    changed = await watching.see(gave(3, n=2))
    assert (changed.number, changed.has_changed, changed.changes) == (3, True, 1)
    assert changed.before is not None
    assert (changed.before.response, changed.outcome.response) == (
        gave(2, n=1).response,
        gave(3, n=2).response,
    )
    assert changed.diff is not None
    ((index, _),) = changed.diff.differences()
    assert changed.diff.path_text(index) == "result.n"


async def test_ids_times_and_metadata_are_not_changes_unless_requested(watching: Watching) -> None:
    await watching.see(gave(1, requestId="a", at="2025-01-01T10:00:00Z", _meta={"x": 1}))
    second = gave(2, requestId="b", at="2025-01-01T10:00:05Z", _meta={"x": 2})
    assert not (await watching.see(second)).has_changed
    first = gave(1, requestId="a", at="2025-01-01T10:00:00Z")
    assert not compare_packed(pack(first.response, second.response, NOTHING)).is_same


async def test_different_outcome_is_a_change(watching: Watching) -> None:
    await watching.see(gave(1))
    failed = CallOutcome(OutcomeKind.FAILED, 1, summary="It did not answer.")
    lost = await watching.see(failed)
    assert (lost.has_changed, lost.diff) == (True, None)
    assert not (await watching.see(failed)).has_changed
    assert (await watching.see(gave(2))).changes == 2


async def test_lost_server_ends_the_watch_immediately_with_the_reason(watching: Watching) -> None:
    watching.outcomes.put_nowait(gave(1))
    await watching.time.advance(1)
    watching.lost.set_result("The server is failed. It exited.")
    assert await watching.task == "The server is failed. It exited."
    assert watching.runs == 1


async def test_poll_that_failed_with_the_server_is_not_reported(watching: Watching) -> None:
    watching.lost.set_result("gone")
    watching.outcomes.put_nowait(CallOutcome(OutcomeKind.FAILED, 1))
    assert await watching.task == "gone"
    assert watching.sightings == []


async def test_lost_connection_ends_the_watch_before_the_server_is_reported_lost(watching: Watching) -> None:
    watching.outcomes.put_nowait(CallOutcome(OutcomeKind.FAILED, 1, summary="It exited.", is_lost=True))
    assert await watching.task == "It exited."
    assert watching.sightings == []


@pytest.mark.parametrize("interval", [0.9, 0, -1, 1e9, float("nan")])
async def test_unreasonable_interval_is_rejected(interval: float) -> None:
    with pytest.raises(UserError, match="every 1 s to 24 h"):
        await Watching(WatchPlan(interval)).task


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        (
            b'{"jsonrpc":"2.0","id":1,"result":{"a":1.0}}',
            b'{"id":2,"jsonrpc":"2.0","result":{"a":1.0}}',
            True,
        ),
        (b'{"id":1,"result":{"a":1.0}}', b'{"id":2,"result":{"a":1.00}}', False),
        (b'{"id":1,"error":{}}', b'{"id":1,"result":{}}', False),
        (b"\xff", b"\xff", True),
        (b"{half", b"{half of it", False),
        (b"[1]", b"[2]", False),
    ],
)
def test_results_are_compared_without_volatile_values(before: bytes, after: bytes, is_same: bool) -> None:
    assert compare_packed(pack(before, after, WATCH_IGNORING)).is_same == is_same
