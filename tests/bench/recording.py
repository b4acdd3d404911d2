"""Tool calls with the traffic recorded to a file, against the same without a file.

Two engines in one process, each with a server of the same command, alternating; the median of the rounds
counts. A recorded round is over when all of it is in the file.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import closing
from pathlib import Path

from inspector.engine.engine import EngineThread
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from tests.bench.calls import call_engine, count_calls
from tests.bench.enginehost import connected_engine
from tests.bench.report import Result, note, stopwatch
from tests.bench.servercommand import ECHO_SERVER, add_options, entry

MIN_RATIO_TO_UNRECORDED = 0.8
_ROUNDS = 9


def configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, ECHO_SERVER, "echo", {"message": "hi"})
    parser.add_argument("--count", type=int, default=4000, metavar="N", help="calls in a round")
    parser.add_argument("--in-flight", type=int, default=1, metavar="N", help="calls at a time")


def run(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="lens-bench-") as folder:
        path = Path(folder, "calls.mcpcap")
        with (
            connected_engine(entry(options)) as plain,
            connected_engine(entry(options)) as recorded,
            closing(Recording(recorded.engine.log, path)) as recording,
        ):
            without, with_file = _rounds(plain, recorded, recording, options)
        size, stored = path.stat().st_size, count_calls(_log_of(path))
    made = (_ROUNDS + 1) * options.count
    ratio = statistics.median(ours / floor for ours, floor in zip(with_file, without, strict=True))
    return Result(
        "recording",
        {
            "command": options.command,
            "era": options.era,
            "tool": options.tool,
            "in_flight": options.in_flight,
            "calls": made,
            "stored": stored,
            "file_mib": round(size / 2**20, 1),
            "recorded_per_s": round(statistics.median(with_file)),
            "unrecorded_per_s": round(statistics.median(without)),
            "ratio": round(ratio, 2),
        },
        {"ratio>=0.8": ratio >= MIN_RATIO_TO_UNRECORDED, "all stored": stored == made},
    )


def _rounds(
    plain: EngineThread, recorded: EngineThread, recording: Recording, options: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Return calls per second without and with a file; the first round warms up."""
    without, with_file = [], []
    for number in range(_ROUNDS + 1):
        with stopwatch() as floor:
            plain.submit(call_engine(plain.engine, options, options.in_flight)).result()
        with stopwatch() as ours:
            recorded.submit(call_engine(recorded.engine, options, options.in_flight)).result()
            recording.flush()
        if number:
            without.append(options.count / floor.seconds)
            with_file.append(options.count / ours.seconds)
            note(f"round {number}: without {without[-1]:,.0f}/s, recorded {with_file[-1]:,.0f}/s")
    return without, with_file


def _log_of(path: Path) -> TrafficLog:
    capture = open_capture(path)
    capture.close()
    return capture.log
