"""A capture of a million messages in the window: open, filter, search, sort, scroll.

The capture is created first by another process; `--keep` names a file that is created once and reused.
Baselines: reading all bodies with SQLite, and scrolling a bare Qt table.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.traffic.records import RecordKind, Status
from tests.bench.capturemaker import ABSENT_TEXT, RARE_EVERY, RARE_WORD, make_capture
from tests.bench.memory import peak_rss_mib
from tests.bench.report import Number, Result, Stopwatch, note, stopwatch
from tests.bench.windowhost import in_empty_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.traffic.log import TrafficLog
    from tests.bench.heartbeat import Heartbeat
    from tests.bench.openedcapture import Watched
    from tests.bench.scrolling import FrameTimes

FIRST_ROWS_S = 1.0
FILTER_S = 0.5
TEXT_S = 3.0
FRAME_MS = 33
MAX_RSS_MIB = 600
WORST_GAP_MS = 100

_SLOW_NS = 5_000_000
_FAILED = (Status.ERROR, Status.TOOL_ERROR)
_FILTERS = {
    "field": "method:tools/call and status:error",
    "number": "dur>5ms",
    "rare_text": RARE_WORD,
    "absent_text": ABSENT_TEXT,
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frames", type=int, default=1_000_000, metavar="N", help="in the capture")
    parser.add_argument(
        "--keep", type=Path, metavar="PATH", help="make the capture here, or use what is here"
    )


def run(options: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="lens-bench-") as folder:
        path = options.keep or Path(folder, "big.mcpcap")
        if not path.exists():
            note(f"making a capture of {options.frames:,} frames")
            make_capture(path, options.frames)

        async def measure(app: App) -> Result:
            return await _look_through(app, path)

        return in_empty_window(measure)


@dataclass
class _Phases:
    """Seconds and longest gaps of the window's loop, by action."""

    heartbeat: Heartbeat
    seconds: dict[str, float] = field(default_factory=dict)
    gaps_ms: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[Stopwatch]:
        self.heartbeat.start()
        with stopwatch() as watch:
            yield watch
        self.heartbeat.stop()
        self.seconds[name] = round(watch.seconds, 3)
        self.gaps_ms[name] = self.heartbeat.worst_ms()
        note(f"{name}: {watch.seconds:.3f} s, worst gap {self.gaps_ms[name]} ms")


async def _look_through(app: App, path: Path) -> Result:
    from tests.bench.heartbeat import Heartbeat
    from tests.bench.scrolling import bare_twin, jump, step

    phases = _Phases(Heartbeat())
    view = await _open(app, path, phases)
    table, log = view.panel.table, view.panel.source.log
    found = await _filter(view, phases)
    was_stopped = await _stop(view, phases)
    with phases.phase("scroll"):
        jumps, steps = await jump(table), await step(table)
    await _sort(view, phases)
    rss = peak_rss_mib()
    twin = bare_twin(table)
    bare_jumps, bare_steps = await jump(twin), await step(twin)
    twin.deleteLater()
    read_s = _read_all(path)
    return Result(
        "capture",
        {
            "rows": len(log),
            "file_mib": _mib(path),
            **{f"{name}_s": seconds for name, seconds in phases.seconds.items()},
            "read_all_s": read_s,
            "text_ratio": round(phases.seconds["absent_text"] / read_s, 2),
            **_frame_numbers("jump", jumps, bare_jumps),
            **_frame_numbers("step", steps, bare_steps),
            **{f"{name}_gap_ms": gap for name, gap in phases.gaps_ms.items()},
            "progress_shown": found["absent_text"].shown,
            "peak_rss_mib": rss,
        },
        {
            "first rows<1s": phases.seconds["first_rows"] < FIRST_ROWS_S,
            "filter<0.5s": max(phases.seconds["field"], phases.seconds["number"]) < FILTER_S,
            "text<3s": max(phases.seconds["rare_text"], phases.seconds["absent_text"]) < TEXT_S,
            "text has progress": found["absent_text"].shown >= 3,
            "text can be stopped": was_stopped,
            "frame<=33ms": max(jumps.p99, steps.p99) <= FRAME_MS,
            "gap<=100ms": max(phases.gaps_ms.values()) <= WORST_GAP_MS,
            "rss<=600": rss <= MAX_RSS_MIB,
            "found what is there": _are_right(found, log),
        },
    )


async def _open(app: App, path: Path, phases: _Phases) -> Watched:
    from tests.bench.openedcapture import Watched

    with phases.phase("first_rows"):
        view = await Watched.open(app, path)
    with phases.phase("all_rows"):
        await view.until_found()
    return view


@dataclass(frozen=True, slots=True)
class _Found:
    """The number of matching rows, and how often the progress bar was updated."""

    count: int
    shown: int


async def _filter(view: Watched, phases: _Phases) -> dict[str, _Found]:
    found = {}
    for name, text in _FILTERS.items():
        with phases.phase(name):
            count = await view.filter(text)
        found[name] = _Found(count, len(set(view.progress)))
        await view.filter("")
    return found


async def _stop(view: Watched, phases: _Phases) -> bool:
    """Start a text search and stop it midway; False if it was finished before."""
    view.begin_filter(ABSENT_TEXT)
    await view.until_share(0.2)
    with phases.phase("stop"):
        await view.stop()
    was_stopped = view.search.is_stopped and view.search.share < 1
    await view.filter("")
    return was_stopped


def _are_right(found: dict[str, _Found], log: TrafficLog) -> bool:
    """Compare with a check of every row; the rare word is in one message of RARE_EVERY."""
    columns, calls = log.columns, log.strings.number_of("tools/call")
    frames = [row for row in range(len(log)) if columns.kind[row] <= RecordKind.TEXT]
    failed = [row for row in frames if columns.status[row] in _FAILED and columns.method[row] == calls]
    slow = [row for row in frames if columns.duration[row] > _SLOW_NS]
    there = {
        "field": len(failed),
        "number": len(slow),
        "rare_text": len(frames) // RARE_EVERY,
        "absent_text": 0,
    }
    counts = {name: each.count for name, each in found.items()}
    note(f"found {counts}, there are {there}")
    return counts == there


async def _sort(view: Watched, phases: _Phases) -> None:
    from inspector.qt.models.traffic.columns import Column

    with phases.phase("sort"):
        await view.sort(Column.DURATION)


def _frame_numbers(name: str, ours: FrameTimes, bare: FrameTimes) -> dict[str, Number]:
    return {
        f"{name}_p99_ms": ours.p99,
        f"{name}_worst_ms": ours.worst,
        f"bare_{name}_p99_ms": bare.p99,
        f"{name}_ratio": round(ours.p99 / bare.p99, 2),
    }


def _read_all(path: Path) -> float:
    """Return the seconds that SQLite needs to read all bodies, chunk by chunk."""
    with contextlib.closing(sqlite3.connect(path)) as connection, stopwatch() as watch:
        for _ in connection.execute("SELECT bytes FROM chunk ORDER BY number"):
            pass
    return round(watch.seconds, 3)


def _mib(path: Path) -> int:
    return round(path.stat().st_size / 2**20)
