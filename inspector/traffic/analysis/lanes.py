"""Lanes of the timeline: a server's bars stacked without overlap, and merged when too small.

The bars of a sub-row do not overlap, so both their starts and their ends are sorted. So the cost of
painting depends on the number of pixels: where bars are smaller than a pixel, a binary search finds the
first one after that pixel.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from inspector.traffic.records import Status

MAX_SUBROWS = 8
OPEN = 2**63 - 1  # end of a bar that has not ended

# From harmless to bad: the worst of the bars in a pixel determines its color.
_BY_RANK = (
    Status.NONE,
    Status.LATE,
    Status.OK,
    Status.PENDING,
    Status.NOT_SENT,
    Status.CANCELLED,
    Status.NO_RESPONSE,
    Status.TIMED_OUT,
    Status.TOOL_ERROR,
    Status.ERROR,
)
RANKS = {status.value: rank for rank, status in enumerate(_BY_RANK)}


class Piece(NamedTuple):
    """What to paint: one bar, or several together. Times are positions."""

    subrow: int
    start_ns: int
    end_ns: int | None  # None while open
    status: Status  # the worst
    bars: int  # number of bars merged
    operation: int  # of the first


class SubRow:
    """Bars ordered by start.

    The overflow sub-row holds bars that overlap: those that found no room.
    """

    def __init__(self, number: int, *, is_overflow: bool = False) -> None:
        self.number = number
        self.is_overflow = is_overflow
        self.starts = array("q")
        self.ends = array("q")
        self.operations = array("q")
        self.deciders = array("q")  # the row that decided the status
        self._ranks = bytearray()
        self._seen: tuple[int, ...] = ()  # the ranks that some bar has, or had: the worst first

    def room_for(self, start: int, end: int) -> int:
        """Return the index at which a bar fits; -1 if another is in the way."""
        index = len(self.starts)
        if index and self.starts[-1] >= start:
            index = bisect_left(self.starts, start)
            if self.starts[index] < end:
                return -1
        return -1 if index and self.ends[index - 1] > start else index

    def insert(self, index: int, start: int, end: int, operation: int) -> None:
        self.starts.insert(index, start)
        self.ends.insert(index, end)
        self.operations.insert(index, operation)
        self.deciders.insert(index, -1)
        self._ranks.insert(index, 0)

    def remove(self, index: int) -> None:
        for column in (self.starts, self.ends, self.operations, self.deciders, self._ranks):
            del column[index]

    def index(self, start: int, operation: int) -> int:
        """Return the index of a bar in this sub-row."""
        index = bisect_left(self.starts, start)
        if self.operations[index] == operation:
            return index
        # Only overlapping bars can start at the same time; they are ordered by operation.
        return bisect_left(self.operations, operation, index, bisect_right(self.starts, start, index))

    def can_end(self, index: int, end: int) -> bool:
        return self.is_overflow or index + 1 == len(self.starts) or self.starts[index + 1] >= end

    def status(self, index: int) -> Status:
        return Status.PENDING if self.ends[index] == OPEN else _BY_RANK[self._ranks[index]]

    def decide(self, index: int, status: int, decider: int) -> None:
        """Set a bar's status, unless a later row has already decided it."""
        if decider >= self.deciders[index]:
            self.deciders[index] = decider
            self._ranks[index] = rank = RANKS.get(status, 0)
            if rank not in self._seen:
                self._seen = tuple(sorted({*self._seen, rank}, reverse=True))

    def bar_at(self, at: int, slack: int) -> int | None:
        """Return the index of the bar at this time, or of one no further away than `slack`."""
        after = bisect_right(self.starts, at)
        near = [
            (max(self.starts[index] - at, at - self.ends[index], 0), index)
            for index in (after - 1, after)
            if 0 <= index < len(self.starts)
        ]
        distance, index = min(near, default=(slack + 1, -1))
        return index if distance <= slack else None

    def between(self, t0: int, t1: int) -> tuple[int, int]:
        """Return the index range of the bars visible in a time range, end exclusive."""
        first = bisect_right(self.starts, t0) - 1
        if first < 0 or self.ends[first] <= t0:
            first += 1
        return first, bisect_left(self.starts, t1, first)

    def pieces(self, t0: int, t1: int, pixel: int) -> list[Piece]:
        """Return what to paint of a time range: at most two pieces per pixel, plus two."""
        starts, ends, operations, number = self.starts, self.ends, self.operations, self.number
        pieces: list[Piece] = []
        index, last = self.between(t0, t1)
        bars = 1
        while index < last:
            start, end = starts[index], ends[index]
            following = index + 1
            if self.is_overflow or end - start < pixel:
                edge = start - (start - t0) % pixel + pixel
                following = self._first_after(edge, following, last, 4 * bars)
                last_one = following - 1
                if last_one > index and not self.is_overflow and ends[last_one] - starts[last_one] >= pixel:
                    following = last_one  # it starts in this pixel and is painted separately
                end = edge if self.is_overflow else ends[following - 1]
            bars = following - index
            shown_end = None if end == OPEN else end
            status = self._worst(index, following)
            pieces.append(Piece(number, start, shown_end, status, bars, operations[index]))
            index = following
        return pieces

    def _first_after(self, edge: int, first: int, last: int, guess: int) -> int:
        """Return the index of the first bar, up to `last`, that starts at `edge` or later."""
        near = first + guess
        if near < last and self.starts[near] >= edge:  # searching a small range is twice as fast
            last = near
        return bisect_left(self.starts, edge, first, last)

    def _worst(self, first: int, last: int) -> Status:
        if last - first == 1:
            return self.status(first)
        for rank in self._seen:
            if self._ranks.find(rank, first, last) >= 0:
                return _BY_RANK[rank]
        return Status.NONE


class Lane:
    """The sub-rows of one server: up to eight as needed, and one for the overflow."""

    def __init__(self) -> None:
        self.subrows: list[SubRow] = []
        self.overflow = SubRow(MAX_SUBROWS, is_overflow=True)

    def place(self, start: int, end: int, operation: int) -> tuple[SubRow, int]:
        """Put a bar into the first sub-row with room; return where it is."""
        for subrow in self.subrows:
            index = subrow.room_for(start, end)
            if index >= 0:
                break
        else:
            subrow, index = self._make_room(start, operation)
        subrow.insert(index, start, end, operation)
        return subrow, index

    def _make_room(self, start: int, operation: int) -> tuple[SubRow, int]:
        if len(self.subrows) < MAX_SUBROWS:
            self.subrows.append(SubRow(len(self.subrows)))
            return self.subrows[-1], 0
        first = bisect_left(self.overflow.starts, start)
        last = bisect_right(self.overflow.starts, start, first)
        return self.overflow, bisect_left(self.overflow.operations, operation, first, last)

    def numbered(self, number: int) -> SubRow | None:
        if number == MAX_SUBROWS:
            return self.overflow
        return self.subrows[number] if 0 <= number < len(self.subrows) else None

    def all(self) -> list[SubRow]:
        return [*self.subrows, self.overflow] if self.overflow.starts else self.subrows
