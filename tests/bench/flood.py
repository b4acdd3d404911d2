"""A tool that floods notifications, called with the window shown and its traffic table following.

Counts what was recorded against what was sent (the number that the tool gives back, or --expect) and
measures on the window's own thread how long its event loop was away.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from typing import TYPE_CHECKING

from inspector.traffic.records import Direction, RecordKind
from tests.bench.enginehost import SERVER
from tests.bench.memory import peak_rss_mib
from tests.bench.report import Result, stopwatch
from tests.bench.servercommand import DEMO_SERVER, add_options
from tests.bench.windowhost import in_window

if TYPE_CHECKING:
    from inspector.app.behind import App
    from inspector.protocol.connection import Progressed
    from inspector.traffic.log import TrafficLog

WORST_GAP_MS = 100
LEAST_PER_S = 50_000


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, DEMO_SERVER, "flood", {"count": 100_000, "size": 100})
    parser.add_argument("--expect", type=int, metavar="N", help="how many are sent, if the tool does not say")


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        return await _flood(app, options)

    return in_window(options, measure)


async def _flood(app: App, options: argparse.Namespace) -> Result:
    from tests.bench.heartbeat import Heartbeat

    heartbeat, log = Heartbeat(), app.bridge.log
    before = _notifications(log)
    heartbeat.start()
    with stopwatch() as watch:
        outcome = await app.bridge.call_tool(SERVER, options.tool, options.args, _ignore)
    await _until_shown(app)
    heartbeat.stop()
    recorded = _notifications(log) - before
    sent = options.expect if options.expect is not None else _sent(outcome.answer)
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
            "peak_rss_mib": peak_rss_mib(),
        },
        {
            "none lost": recorded == sent,
            "gap<=100ms": heartbeat.worst_ms() <= WORST_GAP_MS,
            "per_s>=50000": recorded / watch.seconds >= LEAST_PER_S,
        },
    )


async def _until_shown(app: App) -> None:
    """The table has caught up with the log."""
    model, grew = app.window.traffic.model, asyncio.Event()
    app.bridge.traffic_grew.connect(lambda length: grew.set())
    while model.find_row(len(app.bridge.log) - 1) is None:
        grew.clear()
        await grew.wait()


def _notifications(log: TrafficLog) -> int:
    """How many the server has sent."""
    rows = (row for row in range(len(log)) if log.kind(row) == RecordKind.NOTIFICATION)
    return sum(log.direction(row) == Direction.IN for row in rows)


def _sent(answer: bytes) -> int:
    """The count in the tool's text."""
    try:
        return int(json.loads(answer)["result"]["content"][0]["text"])
    except (ValueError, KeyError, IndexError, TypeError):
        raise SystemExit(f"The tool's text is no count; say --expect N. It gave: {answer[:300]!r}") from None


def _ignore(event: Progressed) -> None:
    """Progress is not measured here."""
