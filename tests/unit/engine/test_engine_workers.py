"""Large messages are parsed in another process, with a time limit and one at a time."""

from __future__ import annotations

import asyncio
import json
import lzma
import os
import random

import psutil
import pytest

from inspector.base.errors import UserError
from inspector.engine.content.content import read_contents
from inspector.engine.content.text_formats import pretty_text
from inspector.engine.workers import INLINE_LIMIT, Worker
from tests.helpers.servers import gone

BIG = b'["%s"]' % (b"x" * 2 * INLINE_LIMIT)


@pytest.fixture
async def worker() -> object:
    worker = Worker()
    yield worker
    await worker.close()


async def test_small_message_is_processed_inline(worker: Worker) -> None:
    assert await worker.run(pretty_text, b"[1]") == pretty_text(b"[1]")
    assert worker.pid is None


async def test_big_message_is_processed_in_a_worker_with_the_same_result(worker: Worker) -> None:
    assert await worker.run(pretty_text, BIG) == pretty_text(BIG)
    assert worker.pid not in (None, os.getpid())


async def test_values_of_any_size_arrive_intact_however_many_slices_they_take(worker: Worker) -> None:
    parts = [{"uri": f"x://{size}", "text": "ż" * size} for size in (0, 1, 70_000, 300_000, 3, 1_500_000)]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"contents": parts}}).encode()
    assert await worker.run(read_contents, raw) == read_contents(raw)


async def test_potentially_endless_work_runs_in_a_worker_however_small(worker: Worker) -> None:
    assert await worker.run(pretty_text, b"[1]", separate=True) == pretty_text(b"[1]")
    assert worker.pid not in (None, os.getpid())


async def test_one_worker_process_handles_jobs_sequentially(worker: Worker) -> None:
    sizes = await asyncio.gather(*(worker.run(len, b"x" * (INLINE_LIMIT + extra)) for extra in range(1, 6)))
    assert sizes == [INLINE_LIMIT + extra for extra in range(1, 6)]


async def test_timeout_kills_the_process_and_says_so() -> None:
    worker = Worker(time_limit=0.01)  # less than it takes to start
    with pytest.raises(UserError, match=r"Parsing the message took more than 0\.01 s"):
        await worker.run(len, BIG)
    assert worker.pid is None


async def test_cancel_kills_the_process_and_the_next_result_belongs_to_the_next_request(
    worker: Worker,
) -> None:
    slow = random.Random(1).randbytes(8 * 2**20)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(worker.run(lzma.compress, slow), 0.3)
    assert await worker.run(len, BIG) == len(BIG)


async def test_a_process_that_fails_says_so_and_the_next_one_works(
    worker: Worker, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match="The process that parses large messages exited"):
        await worker.run(json.loads, b"{" * 2 * INLINE_LIMIT)
    assert await worker.run(len, BIG) == len(BIG)


async def test_killed_process_says_so_and_the_next_one_works(worker: Worker) -> None:
    await worker.run(len, BIG)
    assert worker.pid is not None
    psutil.Process(worker.pid).kill()
    await gone(worker.pid)
    with pytest.raises(UserError, match="The process that parses large messages exited"):
        await worker.run(len, BIG)
    assert await worker.run(len, BIG) == len(BIG)


async def test_nothing_is_started_after_close(worker: Worker) -> None:
    waiting = [asyncio.get_running_loop().create_task(worker.run(len, BIG)) for _ in range(3)]
    await asyncio.sleep(0)
    await worker.close()
    for task in waiting:
        with pytest.raises(UserError):
            await task
    assert worker.pid is None
    assert await worker.run(len, b"small") == 5


@pytest.mark.parametrize("turns", range(1, 8))
async def test_close_waits_for_a_process_that_is_being_started(worker: Worker, turns: int) -> None:
    """The loop may be closed right after it: asyncio would then leave the process and its pipes open."""
    before = set(psutil.Process().children())
    running = asyncio.create_task(worker.run(pretty_text, b"[1]", separate=True))
    for _ in range(turns):
        await asyncio.sleep(0)
    await worker.close()
    assert set(psutil.Process().children()) == before
    with pytest.raises(UserError, match="closing"):
        await running


@pytest.mark.parametrize("turns", range(1, 4))
async def test_close_waits_for_a_process_that_a_cancelled_call_is_ending(worker: Worker, turns: int) -> None:
    slow = random.Random(1).randbytes(8 * 2**20)
    before = set(psutil.Process().children())
    await worker.run(len, BIG)
    running = asyncio.create_task(worker.run(lzma.compress, slow))
    await asyncio.sleep(0)
    running.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    await worker.close()
    assert set(psutil.Process().children()) == before
    with pytest.raises(asyncio.CancelledError):
        await running
