"""Time from exec to a painted window with an idle loop, and its memory at rest.

Alternates with a bare Qt window (QApplication, QMainWindow, QTableView, Fusion), warm: the first start of
each does not count. QT_QPA_PLATFORM is respected; the default is offscreen. `cpu_ratio` compares
processor time, which is less affected by other work on the machine; the limit is on wall time.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from tests.bench.memory import tree_pss_mib
from tests.bench.report import Result, note
from tests.bench.sandbox import sandbox

MAX_RATIO_TO_BARE = 1.8
MAX_PSS_MIB = 130
_REST_S = 1.5
_PROGRAMS = ("bare", "lens")


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds of wall and processor time until usable; memory, if requested."""

    wall_ms: float
    cpu_ms: float
    pss_mib: float = 0.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="counted starts of each program")


def run(options: argparse.Namespace) -> Result:
    starts: dict[str, list[Start]] = {name: [] for name in _PROGRAMS}
    with sandbox() as env:
        pss = {name: _start(name, env, rest=True).pss_mib for name in _PROGRAMS}
        for number in range(options.runs):
            for name in _PROGRAMS:
                starts[name].append(_start(name, env))
            latest = ", ".join(f"{name} {starts[name][-1].wall_ms:.0f} ms" for name in _PROGRAMS)
            note(f"start {number + 1}: {latest}")
        platform = env["QT_QPA_PLATFORM"]
    bare, lens = (statistics.median(start.wall_ms for start in starts[name]) for name in _PROGRAMS)
    bare_cpu, lens_cpu = (statistics.median(start.cpu_ms for start in starts[name]) for name in _PROGRAMS)
    return Result(
        "startup",
        {
            "platform": platform,
            "runs": options.runs,
            "lens_ms": round(lens),
            "bare_ms": round(bare),
            "ratio": round(lens / bare, 2),
            "lens_cpu_ms": round(lens_cpu),
            "bare_cpu_ms": round(bare_cpu),
            "cpu_ratio": round(lens_cpu / bare_cpu, 2),
            "lens_pss_mib": pss["lens"],
            "bare_pss_mib": pss["bare"],
        },
        {"ratio<=1.8": lens / bare <= MAX_RATIO_TO_BARE, "pss<=130": pss["lens"] <= MAX_PSS_MIB},
    )


def _start(name: str, env: dict[str, str], *, rest: bool = False) -> Start:
    """Start a program and end it; with `rest`, measure its memory once it is idle."""
    started = time.monotonic_ns()
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.bench.windows.{name}"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if env["QT_QPA_PLATFORM"] == "offscreen" else None,
    )
    try:
        usable, cpu = _read_mark(process)
        if rest:
            time.sleep(_REST_S)
        pss = tree_pss_mib(process.pid) if rest else 0.0
        return Start((usable - started) / 1e6, cpu / 1e6, pss)
    finally:
        process.kill()
        process.wait()


def _read_mark(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit("The program ended before its window could be used; run it by hand to see why.")
    moment, cpu = line.split()
    return int(moment), int(cpu)
