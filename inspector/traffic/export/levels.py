"""A text as it is, and again with its escapes resolved: once, and twice for JSON in a string of JSON."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TypeAlias

from inspector.traffic.export.escapes import unescape
from inspector.traffic.export.finding import Hit, hits

# A long body is processed in windows, so that the caller gets a turn. A secret that begins in one may reach
# this far into the next.
WINDOW = 64 * 1024
_OVERLAP = 16 * 1024
_RESOLVED = 2

# The text, where the window begins and ends in it, and a map from its positions to the raw text.
_Level: TypeAlias = tuple[bytes, int, int, Callable[[int], int]]


def levels(raw: bytes, start: int, stop: int) -> Iterator[_Level]:
    """Yield a window of a text at each level; the first is the text itself."""
    yield raw, start, stop, int
    data = raw[start : stop + _OVERLAP]
    origin: Callable[[int], int] = lambda place: start + place  # noqa: E731
    for _ in range(_RESOLVED):
        if b"\\" not in data:
            return
        view = unescape(data)
        origin = _through(view.origin, origin)
        data = view.data
        yield data, 0, bisect_left(range(len(data)), stop, key=origin), origin


def _through(inner: Callable[[int], int], outer: Callable[[int], int]) -> Callable[[int], int]:
    return lambda place: outer(inner(place))


def hits_at_all_levels(raw: bytes, start: int, stop: int) -> Iterator[Hit]:
    """Yield each secret once, whatever level it was found at."""
    seen: set[tuple[int, int]] = set()
    for data, first, last, origin in levels(raw, start, stop):
        for hit in hits(data, first, last):
            span = origin(hit.start), origin(hit.end)
            if span not in seen:
                seen.add(span)
                yield hit
