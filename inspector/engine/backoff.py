"""How long to wait before connecting again."""

from __future__ import annotations

import random
from collections.abc import Iterator

TRIES = 5
STEADY = 60.0  # seconds after which a connection counts as stable and the retry count restarts
_FIRST = 1.0
_LONGEST = 30.0


def delays(tries: int = TRIES, chance: random.Random | None = None) -> Iterator[float]:
    """Yield the seconds before each attempt: exponential, with jitter to spread many clients."""
    source = chance or random.Random()
    for number in range(tries):
        full = min(_FIRST * 2**number, _LONGEST)
        yield full * source.uniform(0.5, 1.0)


def restarts() -> Iterator[tuple[int, float]]:
    """Yield the numbered attempts of one series, each with its delay."""
    return enumerate(delays(), 1)
