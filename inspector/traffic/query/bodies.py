"""Bodies of rows, searched as the bytes that they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import TypeAlias

from inspector.traffic.log import TrafficLog
from inspector.traffic.query.needle import Needle, as_bytes
from inspector.traffic.query.patterns import SEARCHED, regular_expression, searches
from inspector.traffic.query.tree import Operator

BodyTest: TypeAlias = Callable[[TrafficLog, int], bool]
_PART = 1024 * 1024  # of a big body that is read at a time


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
    for at, raw in compress(enumerate(log.in_memory(window.start, window.stop)), alive):
        row = window.start + at
        if is_in_body(log, row, needle) if raw is None or len(raw) > _PART else needle.is_in(raw):
            found[at] = 1
    return bytes(found)
