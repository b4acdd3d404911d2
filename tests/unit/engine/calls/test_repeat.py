"""Calls repeated many times."""

from __future__ import annotations

import asyncio

import pytest

from inspector.base.errors import UserError
from inspector.engine.calls.repetition import RepeatPlan, RepeatReport, repeat
from inspector.engine.views import CallOutcome, OutcomeKind
from tests.helpers.fakes import FakeClock


class Calls:
    """Returns outcomes in order, each 1 ms longer than the last; `bad` are the numbers that fail."""

    def __init__(self, *bad: int, kind: OutcomeKind = OutcomeKind.TOOL_ERROR) -> None:
        self.count = 0
        self.open = self.max_open = 0
        self.gate, self.three_are_open = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self._bad, self._kind = bad, kind

    async def __call__(self) -> CallOutcome:
        self.count += 1
        number = self.count
        self.open += 1
        self.max_open = max(self.open, self.max_open)
        if self.open == 3:
            self.three_are_open.set()
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
        finally:
            self.open -= 1
        return CallOutcome(self._kind if number in self._bad else OutcomeKind.RESULT, number * 1_000_000)


async def run(calls: Calls, plan: RepeatPlan) -> tuple[RepeatReport, list[RepeatReport]]:
    reports: list[RepeatReport] = []
    return await repeat(calls, plan, FakeClock(), reports.append), reports


async def test_calls_run_sequentially_with_metrics() -> None:
    calls = Calls()
    report, reports = await run(calls, RepeatPlan(times=100))
    assert (report.done, report.errors, report.is_over, report.stopped) == (100, 0, True, "")
    assert [report.min_ns, report.median_ns, report.p95_ns, report.max_ns] == [
        1_000_000,
        50_000_000,
        95_000_000,
        100_000_000,
    ]
    assert calls.max_open == 1
    assert [one.done for one in reports] == [*range(1, 101), 100]
    assert reports[0].p95_ns == 1_000_000


async def test_concurrency_limit_is_respected() -> None:
    calls = Calls()
    report, _ = await run(calls, RepeatPlan(times=20, in_flight=4))
    assert (report.done, calls.max_open) == (20, 4)


async def test_first_error_ends_it_and_pending_calls_are_awaited() -> None:
    calls = Calls(3)
    report, _ = await run(calls, RepeatPlan(times=50, in_flight=2))
    assert 3 <= report.done <= 5
    assert report.stopped == "Call 3 returned no result."
    assert report.first_error is not None
    assert report.first_error.kind is OutcomeKind.TOOL_ERROR
    assert calls.open == 0


async def test_errors_that_do_not_end_it_are_counted() -> None:
    report, _ = await run(Calls(2, 5), RepeatPlan(times=10, stops_on_error=False))
    assert (report.done, report.errors, report.stopped) == (10, 2, "")
    assert dict(report.kinds) == {OutcomeKind.RESULT: 8, OutcomeKind.TOOL_ERROR: 2}


async def test_failed_calls_have_no_duration() -> None:
    report, _ = await run(Calls(1, 2, kind=OutcomeKind.FAILED), RepeatPlan(times=2, stops_on_error=False))
    assert (report.errors, report.max_ns, report.median_ns) == (2, 0, 0)


async def test_a_lost_connection_ends_it_whatever_the_plan() -> None:
    async def call() -> CallOutcome:
        return CallOutcome(OutcomeKind.FAILED, 1, summary="It exited.", is_lost=True)

    plan = RepeatPlan(times=50, stops_on_error=False)
    report = await repeat(call, plan, FakeClock(), lambda report: None)
    assert (report.done, report.stopped) == (1, "It exited.")


async def test_cancelling_cancels_the_pending_calls() -> None:
    calls = Calls()
    calls.gate.clear()
    reports: list[RepeatReport] = []
    work = repeat(calls, RepeatPlan(times=9, in_flight=3), FakeClock(), reports.append)
    task = asyncio.get_running_loop().create_task(work)
    await calls.three_are_open.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (calls.open, calls.count, reports) == (0, 3, [])


@pytest.mark.parametrize("plan", [RepeatPlan(0), RepeatPlan(10**9), RepeatPlan(5, 0), RepeatPlan(5, 1000)])
async def test_unreasonable_plan_is_rejected(plan: RepeatPlan) -> None:
    calls = Calls()
    with pytest.raises(UserError, match="Choose a number in this range"):
        await run(calls, plan)
    assert calls.count == 0
