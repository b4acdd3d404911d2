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

_Read: TypeAlias = Callable[[int], bytes]
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
    found, read = bytearray(len(window)), _small_body_reader(log)
    for first in range(0, len(window), _GROUP):
        rows = list(compress(window[first : first + _GROUP], alive[first : first + _GROUP]))
        for row in _group_with(log, needle, rows, read):
            found[row - window.start] = 1
    return bytes(found)


def _group_with(log: TrafficLog, needle: Needle, rows: list[int], read: _Read) -> Iterator[int]:
    """Small bodies are joined, since one search of much is far cheaper than many searches of little."""
    kept = log.columns.kept
    small = [row for row in rows if kept[row] <= _SMALL]
    if len(small) < len(rows):
        yield from (row for row in rows if kept[row] > _SMALL and is_in_body(log, row, needle))
    yield from (small[index] for index in _indexes_with(needle, list(map(read, small))))


def _small_body_reader(log: TrafficLog) -> _Read:
    """Reads rows in turn. Rows that were let go lie together on the shelf: it is asked once a chunk."""
    columns, first, memory = log.columns, 0, list[bytes | None]()
    chunk, stored = -1, b""

    def read(row: int) -> bytes:
        nonlocal first, memory, chunk, stored
        if not first <= row < first + len(memory):
            first, memory = row, log.in_memory(row, row + _GROUP)
        raw = memory[row - first]
        if raw is not None:
            return raw
        if columns.chunk[row] != chunk:
            chunk = columns.chunk[row]
            stored = log.stored(chunk)
        return stored[columns.offset[row] : columns.offset[row] + columns.kept[row]]

    return read


def _indexes_with(needle: Needle, bodies: list[bytes]) -> Iterator[int]:
    joined = b"\xff".join(bodies).lower()
    ends = list(accumulate(len(body) + 1 for body in bodies))
    place = needle.find(joined, 0) if bodies else -1
    while place >= 0:
        index = bisect_right(ends, place)
        yield index
        place = needle.find(joined, ends[index])
