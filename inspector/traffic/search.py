"""Looks for a pattern in the bytes of many rows at once.

Rows in memory are searched one by one. Those in a capture's file are searched a chunk at a time: a thousand
rows in one call of the searcher, and only matches are traced back to their rows.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from inspector.traffic.log import TrafficLog

# Whether it matches depends on where a body begins or ends, or on more than a match itself holds: anchors,
# word borders, groups with a question mark (look around), possessive repeats. Rather too many than too few.
_NEEDS_BORDERS = re.compile(rb"[$^]|\\[AbBZ]|\(\?|[*+?}]\+")
_LITERAL = re.compile(rb"(?:[^.^$*+?{}\[\]\\|()]|\\[^0-9A-Za-z])+", re.DOTALL)
_PLAIN_FLAGS = re.IGNORECASE | re.DOTALL | re.MULTILINE  # a text means the same under each of these
_DENSE = 8  # a chunk is read as one when at least one row in so many is asked for
_MANY_HITS = 16  # in a row: then looking into each body costs less than tracing each match back

Span = tuple[int, int]
Find = Callable[[bytes, int], Span | None]


def find_in_bodies(log: TrafficLog, pattern: re.Pattern[bytes], numbers: Sequence[int]) -> array[int]:
    """The rows of these (ascending) whose kept bytes match. Any thread; for some 16,000 rows at a time.

    A match within one body counts, one across two does not: as `pattern.search` on each row's bytes.
    """
    search = _Search(log, pattern, _finder(pattern))
    found, at = array("q"), 0
    while at < len(numbers):
        first = numbers[at]
        last = search.end_of_run(first)
        until = bisect_left(numbers, last, at)
        some = numbers[at:until]
        if len(some) * _DENSE < last - first or not search.is_one_chunk(first, last):
            found.extend(search.one_by_one(some))
        else:
            rows = search.in_chunk(first, last)
            found.extend(rows if len(some) == last - first else sorted(set(some).intersection(rows)))
        at = until
    return found


@dataclass(frozen=True, slots=True)
class _Search:
    log: TrafficLog
    pattern: re.Pattern[bytes]
    find: Find | None  # None when each body has to be looked at alone

    def end_of_run(self, first: int) -> int:
        """Where the rows end that are in the same chunk with this one, or in memory with it."""
        chunks = self.log.columns.chunk
        if self._is_in_memory(first):
            return first + 1024
        return max(bisect_right(chunks, chunks[first], first), first + 1)

    def is_one_chunk(self, first: int, last: int) -> bool:
        """Whether these rows follow one another in one chunk: a file can say anything."""
        columns = self.log.columns
        if self._is_in_memory(first) or last > len(columns.chunk):
            return False
        if columns.chunk[first:last] != array("I", [columns.chunk[first]]) * (last - first):
            return False
        offsets = accumulate(columns.kept[first : last - 1], initial=columns.offset[first])
        return list(columns.offset[first:last]) == list(offsets)

    def one_by_one(self, numbers: Iterable[int]) -> list[int]:
        search, raw = self.pattern.search, self.log.raw
        return [number for number in numbers if search(raw(number))]

    def in_chunk(self, first: int, last: int) -> list[int]:
        columns = self.log.columns
        data, offsets = self.log.stored(columns.chunk[first]), columns.offset[first:last]
        if self.find is None:
            return self._each_in_chunk(data, first, last)
        end = min(offsets[-1] + columns.kept[last - 1], len(data))
        rows: list[int] = []
        at = offsets[0]
        while at < end and (span := self.find(data, at)) is not None and span[0] < end:
            index = bisect_right(offsets, span[0]) - 1
            at = offsets[index] + columns.kept[first + index]
            # One that goes on into the next row may hide a shorter one that does not.
            if span[1] <= at or self.pattern.search(data[offsets[index] : at]):
                rows.append(first + index)
            if len(rows) == _MANY_HITS and index < 2 * _MANY_HITS:
                return rows + self._each_in_chunk(data, first + index + 1, last)
        return rows

    def _each_in_chunk(self, data: bytes, first: int, last: int) -> list[int]:
        search, columns = self.pattern.search, self.log.columns
        places = zip(columns.offset[first:last], columns.kept[first:last], strict=True)
        return [row for row, (at, kept) in enumerate(places, first) if search(data[at : at + kept])]

    def _is_in_memory(self, number: int) -> bool:
        return self.log.in_memory(number, number + 1) != [None] or number >= len(self.log.columns.chunk)


def _finder(pattern: re.Pattern[bytes]) -> Find | None:
    """How to find it in many bodies at once; None when that cannot be done."""
    if literal := _literal(pattern):
        return _literal_finder(literal, bool(pattern.flags & re.IGNORECASE))
    if _NEEDS_BORDERS.search(pattern.pattern) or pattern.search(b""):
        return None

    def find(data: bytes, start: int) -> Span | None:
        match = pattern.search(data, start)
        return match.span() if match else None

    return find


def _literal(pattern: re.Pattern[bytes]) -> bytes:
    """The text that a pattern stands for, when it is nothing but a text."""
    if pattern.flags & ~_PLAIN_FLAGS or not _LITERAL.fullmatch(pattern.pattern):
        return b""
    return re.sub(rb"\\(.)", rb"\1", pattern.pattern, flags=re.DOTALL)


def _literal_finder(literal: bytes, ignores_case: bool) -> Find:
    """A text is found faster than a pattern; without regard to case, many times faster."""
    if not ignores_case:
        return lambda data, start: _span(data.find(literal, start), literal)
    needle = literal.lower()
    lowered: tuple[bytes, bytes] = (b"", b"")  # the last chunk, and that in small letters

    def find(data: bytes, start: int) -> Span | None:
        nonlocal lowered
        if data is not lowered[0]:
            lowered = (data, data.lower())
        return _span(lowered[1].find(needle, start), needle)

    return find


def _span(at: int, text: bytes) -> Span | None:
    return None if at < 0 else (at, at + len(text))
