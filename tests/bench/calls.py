"""Sequential tool calls through the engine on its thread, recorded, against a raw asyncio client.

Both talk to a server of their own from the same command, in turns; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics
from typing import Any

from inspector.engine.engine import Engine
from inspector.engine.thread import EngineThread
from inspector.engine.views import OutcomeKind
from inspector.traffic.records import RecordKind, Status
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.rawclient import RawClient
from tests.bench.report import Result, remark, stopwatch
from tests.bench.servercommand import ECHO_SERVER, add_options

LEAST_OF_RAW = 0.5
_ROUNDS = 9


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, ECHO_SERVER, "echo", {"message": "hi"})
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="calls in a round")


def run(options: argparse.Namespace) -> Result:
    with connected_engine(options) as thread:
        raw, lens = asyncio.run(_rounds(thread, options))
        recorded = _recorded(thread.engine)
    # A first round of each warms up and is not counted, but its calls were recorded too.
    made = (_ROUNDS + 1) * options.count
    ratio = statistics.median(ours / floor for ours, floor in zip(lens, raw, strict=True))
    return Result(
        "calls",
        {
            "command": options.command,
            "era": options.era,
            "tool": options.tool,
            "calls": made,
            "recorded": recorded,
            "lens_per_s": round(statistics.median(lens)),
            "raw_per_s": round(statistics.median(raw)),
            "ratio": round(ratio, 2),
        },
        {"ratio>=0.5": ratio >= LEAST_OF_RAW, "all recorded": recorded == made},
    )


async def _rounds(thread: EngineThread, options: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Calls a second of the raw client and of ours, round by round."""
    raw, lens = [], []
    client = await RawClient.start(shlex.split(options.command))
    for number in range(_ROUNDS + 1):
        with stopwatch() as floor:
            await _call_raw(client, options.tool, options.args, options.count)
        with stopwatch() as ours:
            work = _call_engine(thread.engine, options.tool, options.args, options.count)
            await asyncio.wrap_future(thread.submit(work))
        if number:
            raw.append(options.count / floor.seconds)
            lens.append(options.count / ours.seconds)
            remark(f"round {number}: raw {raw[-1]:,.0f}/s, lens {lens[-1]:,.0f}/s")
    await client.close()
    return raw, lens


async def _call_raw(client: RawClient, tool: str, arguments: dict[str, Any], count: int) -> None:
    for _ in range(count):
        answer = await client.call(tool, arguments)
        if "result" not in answer:
            raise SystemExit(f"The server answered with an error: {answer}")


async def _call_engine(engine: Engine, tool: str, arguments: dict[str, Any], count: int) -> None:
    for _ in range(count):
        outcome = await engine.call_tool(SERVER, tool, arguments)
        if outcome.kind is not OutcomeKind.RESULT:
            raise SystemExit(f"A call failed: {outcome.summary or outcome.answer!r}")


def _recorded(engine: Engine) -> int:
    """Tool calls in the log that have their answer."""
    log = engine.log
    requests = (row for row in range(len(log)) if log.kind(row) == RecordKind.REQUEST)
    return sum(log.method(row) == "tools/call" and log.status(row) is Status.OK for row in requests)
