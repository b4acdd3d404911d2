"""How long to wait before connecting again."""

from __future__ import annotations

import random
from collections.abc import Iterator

TRIES = 5
STEADY = 60.0  # seconds after which a connection counts as good, and its loss as a new one
_FIRST = 1.0
_LONGEST = 30.0


def delays(tries: int = TRIES, chance: random.Random | None = None) -> Iterator[float]:
    """Seconds before each try: doubling, and spread out, so that many clients do not come back at once."""
    source = chance or random.Random()
    for number in range(tries):
        full = min(_FIRST * 2**number, _LONGEST)
        yield full * source.uniform(0.5, 1.0)


def restarts() -> Iterator[tuple[int, float]]:
    """The tries of one series, numbered, each with its wait."""
    return enumerate(delays(), 1)
