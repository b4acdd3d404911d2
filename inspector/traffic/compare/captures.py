"""Comparison of two captures: their exchanges paired, and counts per method and subject.

Exchanges are aligned by what was requested (direction, method, subject), in order, whatever the servers
are called. Bodies are read only if their sizes allow that they are equal, and compared by structure only
on demand (`CaptureDiff.compare_pair`): a capture may have 100,000 exchanges.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import median
from typing import TypeAlias

from inspector.base.json.values import to_wire
from inspector.traffic.compare.alignment import Effort, Pair, align_in_steps
from inspector.traffic.compare.diff import IGNORE_NOTHING, IgnoreOptions
from inspector.traffic.compare.messages import ExchangeDiff, compare_exchanges
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

_ROWS_PER_STEP = 5_000
_ALIGNMENT_STEPS = 6_000_000  # a few seconds at most
_BYTES_PER_STEP = 1024 * 1024
_MIN_PAIR_COST = _BYTES_PER_STEP // 50  # minimum cost of a pair, however small it is
_COARSE = "The captures differ so much that some exchanges may not be paired optimally."
_Target: TypeAlias = tuple[int, str, str]  # direction, method, subject
_ERRORS = (Status.ERROR, Status.TOOL_ERROR)


class PairStatus(IntEnum):
    SAME = 0  # the same bytes, apart from the request's id; or found to be equal
    ONLY_LEFT = 1
    ONLY_RIGHT = 2
    OTHER_STATUS = 3
    OTHER_BYTES = 4  # may differ only in what is ignored: see `compare_pair`
    DIFFERENT = 5


@dataclass(frozen=True, slots=True)
class ExchangePair:
    """Request rows of an exchange; None in the capture that lacks it."""

    left: int | None
    right: int | None
    status: PairStatus


@dataclass(frozen=True, slots=True)
class SubjectDiff:
    """One kind of request with its counts and errors in each capture.

    Durations are medians, None if there are none.
    """

    direction: int
    method: str
    subject: str
    counts: tuple[int, int]
    errors: tuple[int, int]
    medians_ns: tuple[int | None, int | None]

    @property
    def is_different(self) -> bool:
        """True if counts or errors differ; durations always do."""
        return self.counts[0] != self.counts[1] or self.errors[0] != self.errors[1]


class CaptureDiff:
    """Comparison of two captures, filled by `steps`; pairs are in order of their exchanges."""

    def __init__(self, left: TrafficLog, right: TrafficLog, ignoring: IgnoreOptions = IGNORE_NOTHING) -> None:
        ignoring.check()
        self.logs = (left, right)
        self.ignoring = ignoring
        self.note = ""
        self._targets: dict[_Target, int] = {}  # numbered
        self._tallies: list[_Tally] = []
        self._left, self._right = array("q"), array("q")
        self._statuses = array("B")

    def __len__(self) -> int:
        return len(self._statuses)

    def steps(self) -> Generator[float, None, None]:
        """Do the work in steps of some milliseconds; yield the fraction that is done."""
        rows, tokens = (array("q"), array("q")), (array("I"), array("I"))
        for side in (0, 1):
            for share in self._collect(side, rows[side], tokens[side]):
                yield 0.2 * (side + share)
        effort = Effort(_ALIGNMENT_STEPS)
        aligned = align_in_steps(tokens[0], tokens[1], effort)
        pairs = yield from _with_share(aligned, 0.4)
        self.note = _COARSE if effort.was_short else ""
        for _ in self._put_in_order(pairs, *rows):
            yield 0.6
        for share in self._check_bytes():
            yield 0.6 + 0.4 * share

    def pair(self, number: int) -> ExchangePair:
        left, right = self._left[number], self._right[number]
        status = PairStatus(self._statuses[number])
        return ExchangePair(left if left >= 0 else None, right if right >= 0 else None, status)

    def pairs(self, *statuses: PairStatus) -> list[int]:
        """Return the indices of the pairs with one of these statuses."""
        return [number for number, status in enumerate(self._statuses) if status in statuses]

    def compare_pair(self, number: int) -> ExchangeDiff | None:
        """Compare a pair by structure, which also settles its status; None when only one side has it."""
        pair = self.pair(number)
        if pair.left is None or pair.right is None:
            return None
        diff = compare_exchanges(self.logs[0], pair.left, self.logs[1], pair.right, self.ignoring)
        if pair.status is PairStatus.OTHER_BYTES:
            self._statuses[number] = PairStatus.SAME if diff.is_same else PairStatus.DIFFERENT
        return diff

    def subjects(self) -> list[SubjectDiff]:
        """Return what was requested, in order of first occurrence."""
        return [
            SubjectDiff(*target, (t.counts[0], t.counts[1]), (t.errors[0], t.errors[1]), _medians(t))
            for target, t in zip(self._targets, self._tallies, strict=True)
        ]

    def _collect(self, side: int, rows: array[int], tokens: array[int]) -> Iterator[float]:
        """Collect the requests of one capture, with a token for what each requests."""
        log = self.logs[side]
        columns, count = log.columns, len(log)
        known: dict[tuple[int, int, int], int] = {}
        for row in range(log.first, count):
            if row % _ROWS_PER_STEP == 0:
                yield row / count
            if columns.kind[row] != RecordKind.REQUEST:
                continue
            key = (columns.direction[row], columns.method[row], columns.subject[row])
            if key not in known:
                known[key] = self._number((key[0], log.strings.text(key[1]), log.strings.text(key[2])))
            rows.append(row)
            tokens.append(known[key])
            self._count(self._tallies[known[key]], side, columns.status[row], columns.duration[row])

    def _number(self, target: _Target) -> int:
        if target not in self._targets:
            self._targets[target] = len(self._tallies)
            self._tallies.append(_Tally())
        return self._targets[target]

    @staticmethod
    def _count(tally: _Tally, side: int, status: int, duration: int) -> None:
        tally.counts[side] += 1
        tally.errors[side] += status in _ERRORS
        if duration >= 0:
            tally.durations[side].append(duration)

    def _put_in_order(self, pairs: list[Pair], left: array[int], right: array[int]) -> Iterator[None]:
        at = other = 0
        for number, (i, j) in enumerate([*pairs, (len(left), len(right))]):
            if number % _ROWS_PER_STEP == 0:
                yield
            for row in left[at:i]:
                self._add(row, -1, PairStatus.ONLY_LEFT)
            for row in right[other:j]:
                self._add(-1, row, PairStatus.ONLY_RIGHT)
            if i < len(left) and j < len(right):
                self._add(left[i], right[j], PairStatus.OTHER_BYTES)
            at, other = i + 1, j + 1

    def _add(self, left: int, right: int, status: PairStatus) -> None:
        self._left.append(left)
        self._right.append(right)
        self._statuses.append(status)

    def _check_bytes(self) -> Iterator[float]:
        work = 0
        for number, status in enumerate(self._statuses):
            if work >= _BYTES_PER_STEP:
                work = 0
                yield number / len(self)
            if status == PairStatus.OTHER_BYTES:
                left, right = self._left[number], self._right[number]
                self._statuses[number] = self._pair_status(left, right)
                work += _MIN_PAIR_COST + self._bytes_to_read(left)

    def _bytes_to_read(self, left: int) -> int:
        """Return the bytes to read on one side; the other has as many, or is not read."""
        kept, response = self.logs[0].columns.kept, self.logs[0].partner(left)
        return kept[left] + (kept[response] if response is not None else 0)

    def _pair_status(self, left: int, right: int) -> PairStatus:
        ours, theirs = self.logs
        if ours.columns.status[left] != theirs.columns.status[right]:
            return PairStatus.OTHER_STATUS
        responses = ours.partner(left), theirs.partner(right)
        rows = [(left, right), responses]
        is_same = all(_has_same_bytes(ours, row, theirs, other) for row, other in rows)
        return PairStatus.SAME if is_same else PairStatus.OTHER_BYTES


@dataclass(slots=True)
class _Tally:
    counts: list[int] = field(default_factory=lambda: [0, 0])
    errors: list[int] = field(default_factory=lambda: [0, 0])
    durations: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))


def _with_share(work: Generator[None, None, list[Pair]], share: float) -> Generator[float, None, list[Pair]]:
    """Pass steps on as a constant fraction: their total is unknown."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            pairs: list[Pair] = end.value
            return pairs
        yield share


def _has_same_bytes(log: TrafficLog, row: int | None, other: TrafficLog, other_row: int | None) -> bool:
    """True if two messages are equal except for their ids; read only if their sizes allow it."""
    if row is None or other_row is None:
        return row is other_row
    ours, theirs = _id_text(log, row), _id_text(other, other_row)
    if log.size(row) - len(ours) != other.size(other_row) - len(theirs):
        return False
    return _without_id(log.raw(row), ours) == _without_id(other.raw(other_row), theirs)


def _id_text(log: TrafficLog, row: int) -> bytes:
    id = log.id(row)
    return b"" if id is None else to_wire(id)


def _without_id(raw: bytes, id: bytes) -> bytes:
    """Remove the first member "id" with this value, in its two usual spellings."""
    for written in (b'"id":' + id, b'"id": ' + id):
        before, found, after = raw.partition(written)
        if found:
            return before + after
    return raw


def _medians(tally: _Tally) -> tuple[int | None, int | None]:
    left, right = (round(median(durations)) if durations else None for durations in tally.durations)
    return left, right
