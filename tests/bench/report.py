"""The result of a benchmark: numbers, limits, and the load of the machine."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

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
