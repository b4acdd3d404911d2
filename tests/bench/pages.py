"""A long list of tools, all pages, recorded and parsed, against a raw asyncio client.

The raw client requests the pages, parses them, and stores nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics
import sys

from inspector.engine.engine import EngineThread
from tests.bench.enginehost import SERVER, connected_engine
from tests.bench.rawclient import RawClient
from tests.bench.report import Result, note, stopwatch
from tests.bench.servercommand import add_command, entry

PAGE_SERVER = shlex.join([sys.executable, "-m", "tests.bench.pageserver"])
MAX_RATIO_TO_RAW = 4.0
_ROUNDS = 7


def configure(parser: argparse.ArgumentParser) -> None:
    add_command(parser, PAGE_SERVER)


def run(options: argparse.Namespace) -> Result:
    with connected_engine(entry(options)) as thread:
        raw, lens, listed, pages = asyncio.run(_rounds(thread, options))
    ratio = statistics.median(ours / floor for ours, floor in zip(lens, raw, strict=True))
    return Result(
        "pages",
        {
            "command": options.command,
            "tools": listed,
            "pages": pages,
            "lens_s": round(statistics.median(lens), 3),
            "raw_s": round(statistics.median(raw), 3),
            "ratio": round(ratio, 2),
        },
        {"ratio<4": ratio < MAX_RATIO_TO_RAW},
    )


async def _rounds(
    thread: EngineThread, options: argparse.Namespace
) -> tuple[list[float], list[float], int, int]:
    raw, lens, listed, pages = [], [], 0, 0
    client = await RawClient.start(shlex.split(options.command))
    for number in range(_ROUNDS):
        with stopwatch() as floor:
            there = await _list_raw(client)
        with stopwatch() as ours:
            listing = await asyncio.wrap_future(thread.submit(thread.engine.list_tools(SERVER)))
        listed, pages = len(listing.items), listing.pages
        if listed != there:
            raise SystemExit(f"The raw client saw {there} tools, ours {listed}.")
        raw.append(floor.seconds)
        lens.append(ours.seconds)
        note(f"round {number + 1}: raw {raw[-1]:.3f} s, lens {lens[-1]:.3f} s")
    await client.close()
    return raw, lens, listed, pages


async def _list_raw(client: RawClient) -> int:
    count, cursor = 0, None
    while True:
        result = (await client.request("tools/list", {} if cursor is None else {"cursor": cursor}))["result"]
        count += len(result["tools"])
        cursor = result.get("nextCursor")
        if cursor is None:
            return count
