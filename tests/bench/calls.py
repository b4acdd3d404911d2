"""Tool calls through the engine thread, recorded, against a raw asyncio client.

First one at a time, then `--in-flight` at a time. Both clients use a server of the same command,
alternating; the median of the rounds counts. `cpu_us` is the processor time of the client's thread for
one call, which other work on the machine hardly affects; the limits are on wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex

from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine, EngineThread
from inspector.engine.views import OutcomeKind
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.rawclient import RawClient
from tests.bench.report import Number, Result, Timing, compare, note, timed
from tests.bench.servercommand import ECHO_SERVER, add_options, entry

MIN_RATIO_TO_RAW = 0.6
MIN_RATIO_TO_RAW_IN_FLIGHT = 0.4
_ROUNDS = 9


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, ECHO_SERVER, "echo", {"message": "hi"})
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="calls in a round")
    parser.add_argument("--in-flight", type=int, default=32, metavar="N", help="calls at a time")


def run(options: argparse.Namespace) -> Result:
    with connected_engine(entry(options)) as thread:
        sequential, in_flight = asyncio.run(_measure(thread, options))
        recorded = count_calls(thread.engine.log)
    # A first round of each warms up and is not counted, but its calls were recorded too.
    made = 2 * (_ROUNDS + 1) * options.count
    numbers: dict[str, Number] = {
        "command": options.command,
        "era": options.era,
        "tool": options.tool,
        "in_flight": options.in_flight,
        "calls": made,
        "recorded": recorded,
        **sequential,
        **{f"in_flight_{name}": number for name, number in in_flight.items()},
    }
    bars = {
        f"ratio>={MIN_RATIO_TO_RAW}": _ratio(sequential) >= MIN_RATIO_TO_RAW,
        f"in_flight_ratio>={MIN_RATIO_TO_RAW_IN_FLIGHT}": _ratio(in_flight) >= MIN_RATIO_TO_RAW_IN_FLIGHT,
        "all recorded": recorded == made,
    }
    return Result("calls", numbers, bars)


def _ratio(numbers: dict[str, Number]) -> float:
    ratio = numbers["ratio"]
    assert isinstance(ratio, float)
    return ratio


async def _measure(
    thread: EngineThread, options: argparse.Namespace
) -> tuple[dict[str, Number], dict[str, Number]]:
    """Return the numbers of sequential calls, and of several in flight."""
    client = await RawClient.start(shlex.split(options.command))
    try:
        sequential = await _rounds(thread, client, options, 1)
        return sequential, await _rounds(thread, client, options, options.in_flight)
    finally:
        await client.close()


async def _rounds(
    thread: EngineThread, client: RawClient, options: argparse.Namespace, in_flight: int
) -> dict[str, Number]:
    raw: list[Timing] = []
    lens: list[Timing] = []
    for number in range(_ROUNDS + 1):
        floor = await timed(_call_raw(client, options, in_flight))
        calls = call_engine(thread.engine, options, in_flight)
        ours = await asyncio.wrap_future(thread.submit(timed(calls)))
        if number:
            raw.append(floor)
            lens.append(ours)
            rates = [options.count / timing.seconds for timing in (floor, ours)]
            note(f"{in_flight} in flight, round {number}: raw {rates[0]:,.0f}/s, lens {rates[1]:,.0f}/s")
    return compare(lens, raw, options.count)


async def _call_raw(client: RawClient, options: argparse.Namespace, in_flight: int) -> None:
    if in_flight > 1:
        await client.call_many(options.tool, options.args, options.count, in_flight)
        return
    for _ in range(options.count):
        response = await client.call(options.tool, options.args)
        if "result" not in response:
            raise SystemExit(f"The server answered with an error: {response}")


async def call_engine(engine: Engine, options: argparse.Namespace, in_flight: int = 1) -> None:
    """Make the calls of one round with as many callers as calls may be in flight."""
    calls = iter(range(options.count))

    async def call_on() -> None:
        for _ in calls:
            outcome = await engine.tool_caller.call(SERVER, ToolCall(options.tool, options.args))
            if outcome.kind is not OutcomeKind.RESULT:
                raise SystemExit(f"A call failed: {outcome.summary or outcome.response!r}")

    await asyncio.gather(*(call_on() for _ in range(in_flight)))


def count_calls(log: TrafficLog) -> int:
    """Return the number of tool calls that have a response."""
    requests = (row for row in range(len(log)) if log.kind(row) == RecordKind.REQUEST)
    return sum(log.method(row) == "tools/call" and log.status(row) is Status.OK for row in requests)
