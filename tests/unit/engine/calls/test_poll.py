"""Polling: interval, changes, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.engine.calls.repetition import (
    DEFAULT_IGNORING,
    Observation,
    PollPlan,
    compare_packed,
    pack,
    poll,
)
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.traffic.compare.diff import IGNORE_NOTHING, Diff
from tests.helpers.fakes import FakeClock, LoopTime
from tests.helpers.playbook import frame


def outcome_of(id: int, **result: JSON) -> CallOutcome:
    return CallOutcome(OutcomeKind.RESULT, 1, frame(id=id, result=result))


class Poll:
    """A running poll; the test supplies the outcomes and advances the time."""

    def __init__(self, plan: PollPlan) -> None:
        loop = asyncio.get_running_loop()
        self.time = LoopTime()
        self.outcomes: asyncio.Queue[CallOutcome] = asyncio.Queue()
        self.runs = 0
        self.observations: list[Observation] = []
        self.lost: asyncio.Future[str] = loop.create_future()
        self._plan = plan
        work = poll(self._call, self._compare, plan, self.observations.append, self.lost, FakeClock())
        self.task = loop.create_task(work)

    async def _call(self) -> CallOutcome:
        self.runs += 1
        return await self.outcomes.get()

    async def _compare(self, before: CallOutcome, after: CallOutcome) -> Diff:
        return compare_packed(pack(before.response, after.response, self._plan.ignoring))

    async def complete(self, outcome: CallOutcome) -> Observation:
        """Complete the current call with this outcome, then advance the time to the next one."""
        self.outcomes.put_nowait(outcome)
        await self.time.advance(0)
        observation = self.observations[-1]
        await self.time.advance(self._plan.interval + 0.1)
        return observation


@pytest.fixture
async def polling() -> AsyncIterator[Poll]:
    polling = Poll(PollPlan())
    await polling.time.advance(0)
    yield polling
    polling.task.cancel()
    await asyncio.wait([polling.task])


async def test_default_interval_is_five_seconds(polling: Poll) -> None:
    polling.outcomes.put_nowait(outcome_of(1))
    await polling.time.advance(4.9)
    assert polling.runs == 1
    await polling.time.advance(0.2)
    assert polling.runs == 2


async def test_polls_never_overlap(polling: Poll) -> None:
    await polling.time.advance(60)
    assert (polling.runs, polling.observations) == (1, [])
    polling.outcomes.put_nowait(outcome_of(1))
    await polling.time.advance(0)
    await polling.time.advance(0.1)
    assert polling.runs == 2


async def test_change_is_reported_with_both_values(polling: Poll) -> None:
    first = await polling.complete(outcome_of(1, n=1))
    assert (first.number, first.before, first.has_changed) == (1, None, False)
    same = await polling.complete(outcome_of(2, n=1))
    assert (same.has_changed, same.changes) == (False, 0)
    changed = await polling.complete(outcome_of(3, n=2))
    assert (changed.number, changed.has_changed, changed.changes) == (3, True, 1)
    assert changed.before is not None
    assert (changed.before.response, changed.outcome.response) == (
        outcome_of(2, n=1).response,
        outcome_of(3, n=2).response,
    )
    assert changed.diff is not None
    ((index, _),) = changed.diff.differences()
    assert changed.diff.path_text(index) == "result.n"


async def test_ids_times_and_metadata_are_not_changes_unless_requested(polling: Poll) -> None:
    await polling.complete(outcome_of(1, requestId="a", at="2025-01-01T10:00:00Z", _meta={"x": 1}))
    second = outcome_of(2, requestId="b", at="2025-01-01T10:00:05Z", _meta={"x": 2})
    assert not (await polling.complete(second)).has_changed
    first = outcome_of(1, requestId="a", at="2025-01-01T10:00:00Z")
    assert not compare_packed(pack(first.response, second.response, IGNORE_NOTHING)).is_same


async def test_different_outcome_is_a_change(polling: Poll) -> None:
    await polling.complete(outcome_of(1))
    failed = CallOutcome(OutcomeKind.FAILED, 1, summary="It did not respond.")
    lost = await polling.complete(failed)
    assert (lost.has_changed, lost.diff) == (True, None)
    assert not (await polling.complete(failed)).has_changed
    assert (await polling.complete(outcome_of(2))).changes == 2


async def test_lost_server_ends_the_poll_immediately_with_the_reason(polling: Poll) -> None:
    polling.outcomes.put_nowait(outcome_of(1))
    await polling.time.advance(1)
    polling.lost.set_result("The server is failed. It exited.")
    assert await polling.task == "The server is failed. It exited."
    assert polling.runs == 1


async def test_poll_that_failed_with_the_server_is_not_reported(polling: Poll) -> None:
    polling.lost.set_result("gone")
    polling.outcomes.put_nowait(CallOutcome(OutcomeKind.FAILED, 1))
    assert await polling.task == "gone"
    assert polling.observations == []


async def test_lost_connection_ends_the_poll_before_the_server_is_reported_lost(polling: Poll) -> None:
    polling.outcomes.put_nowait(CallOutcome(OutcomeKind.FAILED, 1, summary="It exited.", is_lost=True))
    assert await polling.task == "It exited."
    assert polling.observations == []


@pytest.mark.parametrize("interval", [0.9, 0, -1, 1e9, float("nan")])
async def test_unreasonable_interval_is_rejected(interval: float) -> None:
    with pytest.raises(UserError, match="between 1 s and 24 h"):
        await Poll(PollPlan(interval)).task


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
    assert compare_packed(pack(before, after, DEFAULT_IGNORING)).is_same == is_same
