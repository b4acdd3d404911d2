"""From exec to a window that is painted and whose loop is idle, and the memory it takes at rest.

In turns with a bare Qt window (QApplication, QMainWindow, QTableView, Fusion), warm: the first start of each
is not counted. QT_QPA_PLATFORM is respected; offscreen when it is not set.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from tests.bench.memory import tree_pss_mib
from tests.bench.report import Result, remark
from tests.bench.sandbox import sandbox

MOST_OF_BARE = 2.0
MOST_PSS_MIB = 130
_REST_S = 1.5
_PROGRAMS = ("bare", "lens")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="counted starts of each program")


def run(options: argparse.Namespace) -> Result:
    times: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    with sandbox() as env:
        pss = {name: _start(name, env, rest=True)[1] for name in _PROGRAMS}
        for number in range(options.runs):
            for name in _PROGRAMS:
                times[name].append(_start(name, env)[0])
            latest = ", ".join(f"{name} {times[name][-1]:.0f} ms" for name in _PROGRAMS)
            remark(f"start {number + 1}: {latest}")
        platform = env["QT_QPA_PLATFORM"]
    bare, lens = (statistics.median(times[name]) for name in _PROGRAMS)
    return Result(
        "startup",
        {
            "platform": platform,
            "runs": options.runs,
            "lens_ms": round(lens),
            "bare_ms": round(bare),
            "ratio": round(lens / bare, 2),
            "ratio_of_best": round(min(times["lens"]) / min(times["bare"]), 2),
            "lens_pss_mib": pss["lens"],
            "bare_pss_mib": pss["bare"],
        },
        {"ratio<=2": lens / bare <= MOST_OF_BARE, "pss<=130": pss["lens"] <= MOST_PSS_MIB},
    )


def _start(name: str, env: dict[str, str], *, rest: bool = False) -> tuple[float, float]:
    """Milliseconds until usable; and, after a rest, the memory in MiB."""
    started = time.monotonic_ns()
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.bench.windows.{name}"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if env["QT_QPA_PLATFORM"] == "offscreen" else None,
    )
    try:
        usable = _read_mark(process)
        if rest:
            time.sleep(_REST_S)  # memory at rest is what is asked for: let it come to rest
        return (usable - started) / 1e6, tree_pss_mib(process.pid) if rest else 0.0
    finally:
        process.kill()
        process.wait()


def _read_mark(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit("The program ended before its window could be used; run it by hand to see why.")
    return int(line)
