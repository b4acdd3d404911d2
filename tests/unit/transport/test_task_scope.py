"""Task scopes: owners of background tasks."""

from __future__ import annotations

import asyncio

import pytest

from inspector.transport.task_scope import TaskScope, shielded


async def test_closing_cancels_running_tasks_and_waits_for_them() -> None:
    scope = TaskScope()
    cleaned: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("done")

    task = scope.spawn("work", work())
    await asyncio.sleep(0)
    await scope.close()
    assert task.cancelled()
    assert cleaned == ["done"]


async def test_a_task_that_fails_is_reported_by_name(caplog: pytest.LogCaptureFixture) -> None:
    scope = TaskScope()

    async def fail() -> None:
        raise ZeroDivisionError("oops")

    task = scope.spawn("the failing one", fail())
    with pytest.raises(ZeroDivisionError):
        await task
    await asyncio.sleep(0)
    assert "task the failing one failed" in caplog.text
    await scope.close()


async def test_a_task_may_close_its_own_scope() -> None:
    scope = TaskScope()
    task = scope.spawn("closes", scope.close())
    await task
    assert not task.cancelled()


async def test_settling_waits_for_tasks_with_a_timeout() -> None:
    scope = TaskScope()
    quick = scope.spawn("quick", asyncio.sleep(0))
    await scope.settle(5)
    assert quick.done()
    slow = scope.spawn("slow", asyncio.Event().wait())
    await scope.settle(0.01)
    assert not slow.done()
    await scope.close()


async def test_shielded_work_runs_to_the_end_before_the_cancellation_is_raised() -> None:
    may_end, done = asyncio.Event(), []

    async def work() -> None:
        await may_end.wait()
        done.append("work")

    scope = TaskScope()
    task = scope.spawn("caller", shielded(work()))
    for _ in range(2):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["work"]


async def test_shielded_work_returns_its_result_or_raises_its_error() -> None:
    async def fail() -> None:
        raise ZeroDivisionError("oops")

    assert await shielded(asyncio.sleep(0, "result")) == "result"
    with pytest.raises(ZeroDivisionError, match="oops"):
        await shielded(fail())
