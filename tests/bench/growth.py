"""Memory and disk space of a long recording: both stop growing at their limits.

Records small notifications and calls without a server, as fast as the disk takes them, with a disk limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from pathlib import Path

import psutil

from inspector.base.clock import SystemClock
from inspector.engine.captures import Captures
from inspector.engine.settings import SettingsStore
from inspector.protocol.jsonrpc import read
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from tests.bench.report import Result, note, stopwatch

MAX_RSS_MIB = 300
MAX_DISK_SHARE = 1.1  # of the limit
MAX_GROWTH = 1.1  # of memory, in the second half of the run
_BATCH = 20_000
_FRAMES_PER_MESSAGE = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=6_000_000, metavar="N", help="rows to record")
    parser.add_argument("--limit", type=int, default=256, metavar="MIB", help="disk limit of captures")


def run(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="lens-bench-") as folder:
        return asyncio.run(_measure(options, Path(folder)))


async def _measure(options: argparse.Namespace, folder: Path) -> Result:
    settings = SettingsStore(defaults={"captures.keepMebibytes": options.limit})
    log = TrafficLog()
    captures = Captures(log, folder / "captures", settings)
    await captures.begin()
    recorder, clock = Recorder(log, "bench", SystemClock()), SystemClock()
    rss: list[float] = []
    disk: list[float] = []
    with stopwatch() as watch:
        while len(log) < options.rows:
            _record(recorder, clock, len(log))
            await asyncio.to_thread(_flush, captures)
            rss.append(psutil.Process().memory_info().rss / 2**20)
            disk.append(_size(folder / "captures"))
            if len(rss) % 10 == 0:
                note(f"{len(log):,} rows: RSS {rss[-1]:.0f} MiB, disk {disk[-1]:.0f} MiB")
    in_memory = len(log) - getattr(log, "first", 0)
    await captures.end()
    stored = await captures.stored()
    half = max(rss[: len(rss) // 2])
    return Result(
        "growth",
        {
            "rows": len(log),
            "rows_in_memory": in_memory,
            "files": len(stored),
            "rows_per_s": round(len(log) / watch.seconds),
            "rss_start_mib": round(rss[0]),
            "rss_half_mib": round(half),
            "rss_end_mib": round(rss[-1]),
            "rss_max_mib": round(max(rss)),
            "limit_mib": options.limit,
            "disk_max_mib": round(max(disk)),
        },
        {
            f"rss_max<={MAX_RSS_MIB}": max(rss) <= MAX_RSS_MIB,
            f"rss_second_half<={MAX_GROWTH}x": max(rss[len(rss) // 2 :]) <= MAX_GROWTH * half,
            f"disk_max<={MAX_DISK_SHARE}x limit": max(disk) <= MAX_DISK_SHARE * options.limit,
        },
    )


def _record(recorder: Recorder, clock: SystemClock, first: int) -> None:
    for id in range(first, first + _BATCH // _FRAMES_PER_MESSAGE):
        call = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": f"tool-{id % 50}"}}
        recorder.sent(read(json.dumps(call).encode()))
        progress = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": f"line {id}"}}
        result = {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": f"{id}"}]}}
        frames = [read(json.dumps(each).encode()) for each in (progress, result)]
        recorder.received(frames, clock.monotonic_ns())


def _flush(captures: Captures) -> None:
    recording = captures._recording
    assert recording is not None
    assert recording.flush()


def _size(folder: Path) -> float:
    total = 0
    for entry in os.scandir(folder):
        if entry.is_file():
            total += entry.stat().st_size
    return total / 2**20
