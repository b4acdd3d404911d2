"""A tool that floods notifications, called with the window visible and its table following.

Compares what was recorded with what was sent (the number that the tool returns, or --expect), and
measures on the window's thread how long its event loop was blocked. Then opens the capture file:
everything must be stored, in the order of the numbers at the start of the notifications, if there are
any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.engine.calls.tool_calls import ToolCall
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.records import Direction, RecordKind
from tests.bench.enginehost import SERVER
from tests.bench.memory import peak_rss_mib
from tests.bench.report import Result, stopwatch
from tests.bench.servercommand import DEMO_SERVER, add_options
from tests.bench.windowhost import in_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.engine.engine import Engine
    from inspector.protocol.connection import ProgressReceived
    from inspector.traffic.log import TrafficLog

WORST_GAP_MS = 100
MIN_PER_S = 50_000
MAX_RSS_MIB = 400
_NUMBER = re.compile(rb'"data"\s*:\s*"(\d+) ')


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, DEMO_SERVER, "flood", {"count": 100_000, "size": 115})
    parser.add_argument("--expect", type=int, metavar="N", help="how many are sent, if the tool does not say")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _flood(app, options)

    return in_window(options, measure)


async def _flood(app: App, options: argparse.Namespace) -> Result:
    from tests.bench.heartbeat import Heartbeat

    heartbeat, log = Heartbeat(), app.bridge.log
    before = len(_notifications(log))
    heartbeat.start()
    with stopwatch() as watch:
        outcome = await app.bridge.ask(
            lambda engine: engine.tool_caller.call(SERVER, ToolCall(options.tool, options.args))
        )
    await _until_shown(app)
    heartbeat.stop()
    recorded, rss = len(_notifications(log)) - before, peak_rss_mib()
    stored = (await _stored(app))[before:]
    sent = options.expect if options.expect is not None else _sent(outcome.response)
    return Result(
        "flood",
        {
            "command": options.command,
            "era": options.era,
            "sent": sent,
            "recorded": recorded,
            "shown": app.window.traffic.model.rowCount(),
            "per_s": round(recorded / watch.seconds),
            "worst_gap_ms": heartbeat.worst_ms(),
            "p99_gap_ms": heartbeat.p99_ms(),
            "stored": len(stored),
            "peak_rss_mib": rss,
        },
        {
            "none lost": recorded == sent,
            "gap<=100ms": heartbeat.worst_ms() <= WORST_GAP_MS,
            "per_s>=50000": recorded / watch.seconds >= MIN_PER_S,
            "all stored": len(stored) == sent,
            "in order": _is_in_order(stored),
            "rss<=400": rss <= MAX_RSS_MIB,
        },
    )


async def _until_shown(app: App) -> None:
    """Wait until the table has caught up with the log."""
    model, grew = app.window.traffic.model, asyncio.Event()
    app.bridge.traffic_grew.connect(lambda length: grew.set())
    while model.find_row(len(app.bridge.log) - 1) is None:
        grew.clear()
        await grew.wait()


def _notifications(log: TrafficLog) -> list[int]:
    """Return the rows of the server's notifications."""
    rows = (row for row in range(len(log)) if log.kind(row) == RecordKind.NOTIFICATION)
    return [row for row in rows if log.direction(row) == Direction.IN]


async def _stored(app: App) -> list[bytes]:
    """Return the notifications in the closed file."""

    async def end(engine: Engine) -> Path:
        await engine.captures.end()
        assert engine.captures.folder is not None
        (path,) = engine.captures.folder.iterdir()
        return path

    log = open_capture(await app.bridge.ask(end)).log
    return [log.raw(row) for row in _notifications(log)]


def _is_in_order(notifications: list[bytes]) -> bool:
    """Check the order by the leading numbers; True if there are none."""
    found = map(_NUMBER.search, notifications)
    numbers = [int(match[1]) for match in found if match]
    return not numbers or numbers == list(range(len(notifications)))


def _sent(response: bytes) -> int:
    """Return the count in the tool's text."""
    try:
        return int(json.loads(response)["result"]["content"][0]["text"])
    except (ValueError, KeyError, IndexError, TypeError):
        raise SystemExit(
            f"The tool's text is no count; say --expect N. It gave: {response[:300]!r}"
        ) from None


def _ignore(event: ProgressReceived) -> None:
    """Ignore progress."""
