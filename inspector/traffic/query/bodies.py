"""Bodies of rows, searched as the bytes that they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, compress
from typing import TypeAlias

from inspector.traffic.log import TrafficLog
from inspector.traffic.query.needle import Needle, as_bytes
from inspector.traffic.query.patterns import SEARCHED, regular_expression, searches
from inspector.traffic.query.tree import Operator

BodyTest: TypeAlias = Callable[[TrafficLog, int], bool]
_PART = 1024 * 1024  # of a big body that is read at a time
_SMALL = 16 * 1024  # a body that is searched together with others
_GROUP = 512  # rows that are searched together


def is_in_body(log: TrafficLog, row: int, needle: Needle) -> bool:
    """Search a body in parts, which overlap by as much as the text can be long."""
    kept = log.kept(row)
    if kept <= _PART:
        return needle.is_in(log.raw(row))
    length = _PART + needle.longest
    return any(needle.is_in(log.part(row, start, length)) for start in range(0, kept, _PART))


def body_test(operator: Operator, values: Sequence[str]) -> BodyTest:
    """What a comparison of `text` asks of a body."""
    if operator is Operator.FITS:
        needle = Needle(values[0])
        return lambda log, row: is_in_body(log, row, needle)
    if operator is Operator.LIKE:
        pattern = regular_expression(values[0])
        return lambda log, row: searches(pattern, log.head(row, SEARCHED).decode(errors="replace"))
    wanted = frozenset(map(as_bytes, values))
    lengths = frozenset(map(len, wanted))
    return lambda log, row: log.kept(row) in lengths and log.raw(row) in wanted


def rows_with(log: TrafficLog, needle: Needle, window: range, alive: bytes) -> bytes:
    """A byte for each row of the window: 1 where a body of those that are alive has the text."""
    found = bytearray(len(window))
    for first in range(0, len(window), _GROUP):
        group = range(first, min(first + _GROUP, len(window)))
        for at in _group_with(log, needle, window.start, group, alive):
            found[at] = 1
    return bytes(found)


def _group_with(log: TrafficLog, needle: Needle, start: int, group: range, alive: bytes) -> Iterator[int]:
    """Small bodies are joined, since one search of much is far cheaper than many searches of little."""
    raws = log.in_memory(start + group.start, start + group.stop)
    small: list[bytes] = []
    places: list[int] = []
    for at, kept in compress(zip(group, raws, strict=True), alive[group.start : group.stop]):
        raw = kept if kept is not None or log.kept(start + at) > _SMALL else log.raw(start + at)
        if raw is not None and len(raw) <= _SMALL:
            small.append(raw)
            places.append(at)
        elif is_in_body(log, start + at, needle):
            yield at
    yield from (places[index] for index in _indexes_with(needle, small))


def _indexes_with(needle: Needle, bodies: list[bytes]) -> Iterator[int]:
    joined = b"\xff".join(bodies).lower()
    ends = list(accumulate(len(body) + 1 for body in bodies))
    place = needle.find(joined, 0) if bodies else -1
    while place >= 0:
        index = bisect_right(ends, place)
        yield index
        place = needle.find(joined, ends[index])
