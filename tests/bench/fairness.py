"""Calls to one server while another one floods notifications, against the same calls without noise.

Both servers are connected to one engine. Rounds with and without noise alternate; the medians of all calls
are compared. With noise, a call waits for at most a few turns of the event loop, each of which handles a
bounded part of what the noisy server sent. `cpu_share` is how busy the engine's thread was with noise.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from dataclasses import replace

from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.report import Result, note
from tests.bench.servercommand import ECHO_SERVER, add_command, entry

MAX_RATIO_TO_QUIET = 25
_NOISY = "noisy"
_ROUNDS = 4


def configure(parser: argparse.ArgumentParser) -> None:
    add_command(parser, ECHO_SERVER)
    parser.add_argument("--count", type=int, default=50, metavar="N", help="calls in a round")
    parser.add_argument("--size", type=int, default=50, metavar="N", help="characters of a notification")


def run(options: argparse.Namespace) -> Result:
    with connected_engine(entry(options)) as thread:
        engine = thread.engine
        noisy = replace(entry(options), name=_NOISY)
        quiet_ms, noisy_ms, share = thread.submit(_measure(engine, noisy, options)).result()
    quiet, noise = statistics.median(quiet_ms), statistics.median(noisy_ms)
    return Result(
        "fairness",
        {
            "calls": len(noisy_ms),
            "notification_chars": options.size,
            "quiet_ms": round(quiet, 2),
            "noisy_ms": round(noise, 2),
            "noisy_max_ms": round(max(noisy_ms), 1),
            "ratio": round(noise / quiet, 1),
            "cpu_share": round(share, 2),
        },
        {f"ratio<={MAX_RATIO_TO_QUIET}": noise / quiet <= MAX_RATIO_TO_QUIET},
    )


async def _measure(
    engine: Engine, noisy: StdioEntry, options: argparse.Namespace
) -> tuple[list[float], list[float], float]:
    """Return the milliseconds of the calls without and with noise, and the thread's CPU share with it."""
    engine.servers.add(noisy)
    await engine.servers.connector.connect(_NOISY)
    quiet: list[float] = []
    noise: list[float] = []
    shares: list[float] = []
    await _call(engine, options.count)
    for number in range(_ROUNDS):
        quiet += await _call(engine, options.count)
        flood = asyncio.ensure_future(_flood(engine, options.size))
        started, cpu = time.perf_counter(), time.thread_time()
        try:
            noise += await _call(engine, options.count)
        finally:
            flood.cancel()
        shares.append((time.thread_time() - cpu) / (time.perf_counter() - started))
        note(f"round {number + 1}: {statistics.median(noise):.2f} ms with noise")
        await engine.servers.connector.disconnect(
            _NOISY
        )  # whatever is still in its pipe is not noise for the next round
        await engine.servers.connector.connect(_NOISY)
    return quiet, noise, statistics.median(shares)


async def _flood(engine: Engine, size: int) -> None:
    while True:
        await engine.tool_caller.call(_NOISY, ToolCall("flood", {"count": 100_000, "size": size}))


async def _call(engine: Engine, count: int) -> list[float]:
    durations = []
    for _ in range(count):
        started = time.perf_counter()
        await engine.tool_caller.call(SERVER, ToolCall("echo", {"message": "hi"}))
        durations.append((time.perf_counter() - started) * 1000)
    return durations
