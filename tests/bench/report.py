"""The result of a benchmark: numbers, limits, and the load of the machine."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Number: TypeAlias = int | float | str | bool | None


@dataclass
class Result:
    """One line of JSON: the measurements, and whether each limit holds."""

    name: str
    numbers: dict[str, Number] = field(default_factory=dict)
    bars: dict[str, bool] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return all(self.bars.values())

    def print(self) -> None:
        load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
        line = {"bench": self.name, **self.numbers, "bars": self.bars, "holds": self.holds, "load": load}
        print(json.dumps(line), flush=True)


def note(text: str) -> None:
    """Print a note for the user; stdout is for the result only."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall time of some work, and the processor time of the thread that did it."""

    seconds: float
    cpu_seconds: float


async def timed(work: Coroutine[Any, Any, object]) -> Timing:
    """Await some work on the thread of this event loop.

    Processor time is hardly affected by other work on the machine.
    """
    started, cpu_started = time.perf_counter(), time.thread_time()
    await work
    return Timing(time.perf_counter() - started, time.thread_time() - cpu_started)


def compare(ours: Sequence[Timing], floor: Sequence[Timing], count: int) -> dict[str, Number]:
    """Return the medians of rounds with `count` calls each; `ratio` is the median of each pair's ratio."""
    pairs = list(zip(ours, floor, strict=True))
    return {
        "lens_per_s": round(count / statistics.median(timing.seconds for timing in ours)),
        "floor_per_s": round(count / statistics.median(timing.seconds for timing in floor)),
        "ratio": round(statistics.median(theirs.seconds / mine.seconds for mine, theirs in pairs), 2),
        "lens_cpu_us": round(statistics.median(timing.cpu_seconds for timing in ours) / count * 1e6, 1),
        "floor_cpu_us": round(statistics.median(timing.cpu_seconds for timing in floor) / count * 1e6, 1),
    }


@dataclass
class Stopwatch:
    seconds: float = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    started = time.perf_counter()
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - started
