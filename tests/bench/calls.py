"""Tool calls through the engine thread, recorded, against a raw asyncio client.

Sequential, or with `--in-flight N` that many at a time. Both use a server of the same command,
alternating; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics

from inspector.engine.engine import Engine, EngineThread
from inspector.engine.views import OutcomeKind
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.rawclient import RawClient
from tests.bench.report import Result, note, stopwatch
from tests.bench.servercommand import ECHO_SERVER, add_options, entry

MIN_RATIO_TO_RAW = 0.5
MIN_RATIO_TO_RAW_IN_FLIGHT = 0.2
_ROUNDS = 9


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, ECHO_SERVER, "echo", {"message": "hi"})
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="calls in a round")
    parser.add_argument("--in-flight", type=int, default=1, metavar="N", help="calls at a time")


def run(options: argparse.Namespace) -> Result:
    with connected_engine(entry(options)) as thread:
        raw, lens = asyncio.run(_rounds(thread, options))
        recorded = count_calls(thread.engine.log)
    # A first round of each warms up and is not counted, but its calls were recorded too.
    made = (_ROUNDS + 1) * options.count
    minimum = MIN_RATIO_TO_RAW if options.in_flight == 1 else MIN_RATIO_TO_RAW_IN_FLIGHT
    ratio = statistics.median(ours / floor for ours, floor in zip(lens, raw, strict=True))
    return Result(
        "calls",
        {
            "command": options.command,
            "era": options.era,
            "tool": options.tool,
            "in_flight": options.in_flight,
            "calls": made,
            "recorded": recorded,
            "lens_per_s": round(statistics.median(lens)),
            "raw_per_s": round(statistics.median(raw)),
            "ratio": round(ratio, 2),
        },
        {f"ratio>={minimum}": ratio >= minimum, "all recorded": recorded == made},
    )


async def _rounds(thread: EngineThread, options: argparse.Namespace) -> tuple[list[float], list[float]]:
    """Return calls per second of the raw client and of ours, round by round."""
    raw, lens = [], []
    client = await RawClient.start(shlex.split(options.command))
    for number in range(_ROUNDS + 1):
        with stopwatch() as floor:
            await _call_raw(client, options)
        with stopwatch() as ours:
            await asyncio.wrap_future(thread.submit(call_engine(thread.engine, options)))
        if number:
            raw.append(options.count / floor.seconds)
            lens.append(options.count / ours.seconds)
            note(f"round {number}: raw {raw[-1]:,.0f}/s, lens {lens[-1]:,.0f}/s")
    await client.close()
    return raw, lens


async def _call_raw(client: RawClient, options: argparse.Namespace) -> None:
    if options.in_flight > 1:
        await client.call_many(options.tool, options.args, options.count, options.in_flight)
        return
    for _ in range(options.count):
        response = await client.call(options.tool, options.args)
        if "result" not in response:
            raise SystemExit(f"The server answered with an error: {response}")


async def call_engine(engine: Engine, options: argparse.Namespace) -> None:
    """Make the calls of one round with as many callers as calls may be in flight."""
    calls = iter(range(options.count))

    async def call_on() -> None:
        for _ in calls:
            outcome = await engine.call_tool(SERVER, options.tool, options.args)
            if outcome.kind is not OutcomeKind.RESULT:
                raise SystemExit(f"A call failed: {outcome.summary or outcome.response!r}")

    await asyncio.gather(*(call_on() for _ in range(options.in_flight)))


def count_calls(log: TrafficLog) -> int:
    """Return the number of tool calls that have a response."""
    requests = (row for row in range(len(log)) if log.kind(row) == RecordKind.REQUEST)
    return sum(log.method(row) == "tools/call" and log.status(row) is Status.OK for row in requests)
