"""One very long line: a tool result of many megabytes through the engine and a raw client."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics

from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import EngineThread
from inspector.engine.views import OutcomeKind
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.rawclient import RawClient
from tests.bench.report import Result, note, stopwatch
from tests.bench.servercommand import ECHO_SERVER, add_options, entry

MAX_RATIO_TO_RAW = 2.0
_ROUNDS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, ECHO_SERVER, "line", {"size": 50 * 1024 * 1024})


def run(options: argparse.Namespace) -> Result:
    with connected_engine(entry(options)) as thread:
        raw, lens, size = asyncio.run(_rounds(thread, options))
    ratio = statistics.median(ours / floor for ours, floor in zip(lens, raw, strict=True))
    return Result(
        "line",
        {
            "command": options.command,
            "era": options.era,
            "bytes": size,
            "lens_s": round(statistics.median(lens), 3),
            "raw_s": round(statistics.median(raw), 3),
            "ratio": round(ratio, 2),
        },
        {"ratio<=2": ratio <= MAX_RATIO_TO_RAW},
    )


async def _rounds(thread: EngineThread, options: argparse.Namespace) -> tuple[list[float], list[float], int]:
    raw, lens, size = [], [], 0
    client = await RawClient.start(shlex.split(options.command))
    for number in range(_ROUNDS):
        with stopwatch() as floor:
            await client.call(options.tool, options.args)
        with stopwatch() as ours:
            work = thread.engine.tool_caller.call(SERVER, ToolCall(options.tool, options.args))
            outcome = await asyncio.wrap_future(thread.submit(work))
        if outcome.kind is not OutcomeKind.RESULT:
            raise SystemExit(f"The call failed: {outcome.summary or outcome.response[:300]!r}")
        size = len(outcome.response)
        raw.append(floor.seconds)
        lens.append(ours.seconds)
        note(f"round {number + 1}: raw {raw[-1]:.3f} s, lens {lens[-1]:.3f} s")
    await client.close()
    return raw, lens, size
