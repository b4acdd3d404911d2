"""Comparison of recorded messages, of exchanges, and of whole captures.

The rows may be in different captures. For messages above about 1 MB use the worker process:
`texts.compare_packed(texts.pack(log.raw(row), other.raw(other_row), ignoring))`.

For captures, exchanges are aligned by what was requested (direction, method, subject), in order, whatever
the servers are called. Bodies are read only if their sizes allow that they are equal, and compared by
structure only on demand (`inspect_part`): a capture may have 100,000 exchanges.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from statistics import median
from typing import TypeAlias

from inspector.base import units
from inspector.base.json.values import JSON, JSONError, parse, to_wire
from inspector.traffic.compare.alignment import Effort, Pair, aligning
from inspector.traffic.compare.diff import NOTHING, Change, ChangeKind, Diff, Ignoring
from inspector.traffic.compare.texts import compare_texts
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind, Status

_ROWS_A_STEP = 5_000
_STEPS = 6_000_000  # for the alignment: a few seconds at most
_BYTES_A_STEP = 1024 * 1024
_BYTES_FOR_ONE = _BYTES_A_STEP // 50  # minimum cost of a pair, however small it is
_COARSE = "The captures differ so much that some exchanges may not be paired optimally."
_Asked: TypeAlias = tuple[int, str, str]  # direction, method, subject
_ERRORS = (Status.ERROR, Status.TOOL_ERROR)


class Verdict(IntEnum):
    SAME = 0  # the same bytes, apart from the request's id; or found to be equal
    ONLY_LEFT = 1
    ONLY_RIGHT = 2
    OTHER_STATUS = 3
    OTHER_BYTES = 4  # may differ only in what is ignored: see `inspect_part`
    DIFFERENT = 5


@dataclass(frozen=True, slots=True)
class ExchangePair:
    """Request rows of an exchange; None in the capture that lacks it."""

    left: int | None
    right: int | None
    verdict: Verdict


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


@dataclass(slots=True)
class _Tally:
    counts: list[int] = field(default_factory=lambda: [0, 0])
    errors: list[int] = field(default_factory=lambda: [0, 0])
    durations: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))


def compare_captures(left: TrafficLog, right: TrafficLog, ignoring: Ignoring = NOTHING) -> CaptureDiff:
    """Compare two captures at once. For a window, create a CaptureDiff and run its `steps`."""
    diff = CaptureDiff(left, right, ignoring)
    for _ in diff.steps():
        pass
    return diff


class CaptureDiff:
    """Comparison of two captures, filled by `steps`; pairs are in order of their exchanges."""

    def __init__(self, left: TrafficLog, right: TrafficLog, ignoring: Ignoring = NOTHING) -> None:
        ignoring.check()
        self.logs = (left, right)
        self.ignoring = ignoring
        self.note = ""
        self._requested: dict[_Asked, int] = {}  # numbered
        self._tallies: list[_Tally] = []
        self._left, self._right = array("q"), array("q")
        self._verdicts = array("B")

    def __len__(self) -> int:
        return len(self._verdicts)

    def steps(self) -> Generator[float, None, None]:
        """Do the work in steps of some milliseconds; yield the fraction that is done."""
        rows, tokens = (array("q"), array("q")), (array("I"), array("I"))
        for side in (0, 1):
            for share in self._collect(side, rows[side], tokens[side]):
                yield 0.2 * (side + share)
        effort = Effort(_STEPS)
        aligned = aligning(tokens[0], tokens[1], effort)
        pairs = yield from _counting(aligned, 0.4)
        self.note = _COARSE if effort.was_short else ""
        for _ in self._put_in_order(pairs, *rows):
            yield 0.6
        for share in self._judge_all():
            yield 0.6 + 0.4 * share

    def pair(self, number: int) -> ExchangePair:
        left, right = self._left[number], self._right[number]
        verdict = Verdict(self._verdicts[number])
        return ExchangePair(left if left >= 0 else None, right if right >= 0 else None, verdict)

    def pairs(self, *verdicts: Verdict) -> list[int]:
        """Return the indices of the pairs with one of these verdicts."""
        return [number for number, verdict in enumerate(self._verdicts) if verdict in verdicts]

    def inspect_part(self, number: int) -> ExchangeDiff | None:
        """Compare a pair by structure, which also settles its verdict; None when only one side has it."""
        pair = self.pair(number)
        if pair.left is None or pair.right is None:
            return None
        diff = compare_exchanges(self.logs[0], pair.left, self.logs[1], pair.right, self.ignoring)
        if pair.verdict is Verdict.OTHER_BYTES:
            self._verdicts[number] = Verdict.SAME if diff.is_same else Verdict.DIFFERENT
        return diff

    def subjects(self) -> list[SubjectDiff]:
        """Return what was requested, in order of first occurrence."""
        return [
            SubjectDiff(*requested, (t.counts[0], t.counts[1]), (t.errors[0], t.errors[1]), _medians(t))
            for requested, t in zip(self._requested, self._tallies, strict=True)
        ]

    def _collect(self, side: int, rows: array[int], tokens: array[int]) -> Iterator[float]:
        """Collect the requests of one capture, with a token for what each requests."""
        log = self.logs[side]
        columns, count = log.columns, len(log)
        known: dict[tuple[int, int, int], int] = {}
        for row in range(count):
            if row % _ROWS_A_STEP == 0:
                yield row / count
            if columns.kind[row] != RecordKind.REQUEST:
                continue
            key = (columns.direction[row], columns.method[row], columns.subject[row])
            if key not in known:
                known[key] = self._number((key[0], log.strings.text(key[1]), log.strings.text(key[2])))
            rows.append(row)
            tokens.append(known[key])
            self._count(self._tallies[known[key]], side, columns.status[row], columns.duration[row])

    def _number(self, requested: _Asked) -> int:
        if requested not in self._requested:
            self._requested[requested] = len(self._tallies)
            self._tallies.append(_Tally())
        return self._requested[requested]

    @staticmethod
    def _count(tally: _Tally, side: int, status: int, duration: int) -> None:
        tally.counts[side] += 1
        tally.errors[side] += status in _ERRORS
        if duration >= 0:
            tally.durations[side].append(duration)

    def _put_in_order(self, pairs: list[Pair], left: array[int], right: array[int]) -> Iterator[None]:
        at = other = 0
        for number, (i, j) in enumerate([*pairs, (len(left), len(right))]):
            if number % _ROWS_A_STEP == 0:
                yield
            for row in left[at:i]:
                self._add(row, -1, Verdict.ONLY_LEFT)
            for row in right[other:j]:
                self._add(-1, row, Verdict.ONLY_RIGHT)
            if i < len(left) and j < len(right):
                self._add(left[i], right[j], Verdict.OTHER_BYTES)
            at, other = i + 1, j + 1

    def _add(self, left: int, right: int, verdict: Verdict) -> None:
        self._left.append(left)
        self._right.append(right)
        self._verdicts.append(verdict)

    def _judge_all(self) -> Iterator[float]:
        work = 0
        for number, verdict in enumerate(self._verdicts):
            if work >= _BYTES_A_STEP:
                work = 0
                yield number / len(self)
            if verdict == Verdict.OTHER_BYTES:
                left, right = self._left[number], self._right[number]
                self._verdicts[number] = self._judged(left, right)
                work += _BYTES_FOR_ONE + self._bytes_to_read(left)

    def _bytes_to_read(self, left: int) -> int:
        """Return the bytes to read on one side; the other has as many, or is not read."""
        kept, response = self.logs[0].columns.kept, self.logs[0].partner(left)
        return kept[left] + (kept[response] if response is not None else 0)

    def _judged(self, left: int, right: int) -> Verdict:
        ours, theirs = self.logs
        if ours.columns.status[left] != theirs.columns.status[right]:
            return Verdict.OTHER_STATUS
        responses = ours.partner(left), theirs.partner(right)
        rows = [(left, right), responses]
        is_same = all(_has_same_bytes(ours, row, theirs, other) for row, other in rows)
        return Verdict.SAME if is_same else Verdict.OTHER_BYTES


def _counting(work: Generator[None, None, list[Pair]], share: float) -> Generator[float, None, list[Pair]]:
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


_ABSENT = "none"
_MAX_PARSED = 64 * 1024
_HEAD = 2_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of both exchanges, formatted side by side."""

    name: str
    left: str
    right: str

    @property
    def is_different(self) -> bool:
        return self.left != self.right


@dataclass(frozen=True, slots=True)
class ExchangeDiff:
    """Diffs of request and response; a Diff is None if neither side has such a message."""

    facts: tuple[Fact, ...]
    request: Diff | None
    response: Diff | None

    @property
    def is_same(self) -> bool:
        """True if messages and status are equal; times and sizes may differ."""
        status = next(fact for fact in self.facts if fact.name == "Status")
        return not status.is_different and all(
            diff is None or diff.is_same for diff in (self.request, self.response)
        )


def compare_messages(
    log: TrafficLog, row: int, other: TrafficLog, other_row: int, ignoring: Ignoring = NOTHING
) -> Diff:
    """Compare two messages. Raises UserError for an invalid `ignoring`."""
    diff = compare_texts(log.raw(row), other.raw(other_row), ignoring)
    sides = [("left", log, row), ("right", other, other_row)]
    cut = [_cut_note(side, log.kept(row), log.size(row)) for side, log, row in sides]
    notes = " ".join(filter(None, [diff.note, *cut]))
    return replace(diff, note=notes) if notes != diff.note else diff


def compare_exchanges(
    log: TrafficLog, row: int, other: TrafficLog, other_row: int, ignoring: Ignoring = NOTHING
) -> ExchangeDiff:
    """Compare two exchanges, given by the row of their request or response."""
    ours, theirs = Exchange.of(log, row), Exchange.of(other, other_row)
    return ExchangeDiff(
        tuple(
            Fact(name, left, right)
            for (name, left), (_, right) in zip(ours.facts(), theirs.facts(), strict=True)
        ),
        _compare_parts(log, ours.request, other, theirs.request, ignoring),
        _compare_parts(log, ours.response, other, theirs.response, ignoring),
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rows of a request and its response; None for a missing one."""

    log: TrafficLog
    request: int | None
    response: int | None

    @classmethod
    def of(cls, log: TrafficLog, row: int) -> Exchange:
        partner = log.partner(row)
        is_response = log.kind(row) in (RecordKind.RESULT, RecordKind.ERROR)
        return cls(log, partner, row) if is_response else cls(log, row, partner)

    def facts(self) -> list[tuple[str, str]]:
        log, row = self.log, self.request if self.request is not None else self.response
        assert row is not None
        duration, http = log.duration_ns(row), log.http(row)
        return [
            ("Method", log.method(row) or _ABSENT),
            ("Subject", log.subject(row) or _ABSENT),
            ("Status", status_word(log.status(row))),
            ("Duration", _ABSENT if duration is None else units.duration(duration)),
            ("Request size", self._size(self.request)),
            ("Response size", self._size(self.response)),
            ("HTTP status", _ABSENT if http is None or http.status is None else str(http.status)),
            ("Protocol version", log.revision(row) or _ABSENT),
        ]

    def _size(self, row: int | None) -> str:
        return _ABSENT if row is None else units.size(self.log.size(row))


def status_word(status: Status) -> str:
    return status.name.lower().replace("_", " ")


def _compare_parts(
    log: TrafficLog, row: int | None, other: TrafficLog, other_row: int | None, ignoring: Ignoring
) -> Diff | None:
    if row is not None and other_row is not None:
        return compare_messages(log, row, other, other_row, ignoring)
    if row is not None:
        return _one_sided(ChangeKind.REMOVED, log.raw(row), "The right side has no such message.")
    if other_row is not None:
        return _one_sided(ChangeKind.ADDED, other.raw(other_row), "The left side has no such message.")
    return None


def _one_sided(kind: ChangeKind, raw: bytes, note: str) -> Diff:
    value = _value(raw)
    left, right = (None, value) if kind is ChangeKind.ADDED else (value, None)
    return Diff((Change(-1, 0, kind, None, None, left, right),), note)


def _value(raw: bytes) -> JSON:
    """Parse a message; return the start of its text if it is large or not JSON."""
    text = raw[: _MAX_PARSED + 1].decode(errors="backslashreplace")
    try:
        return parse(text) if len(raw) <= _MAX_PARSED else text[:_HEAD]
    except JSONError:
        return text[:_HEAD]


def _cut_note(side: str, kept: int, size: int) -> str:
    if kept >= size:
        return ""
    return f"Only the first {units.size(kept)} of {units.size(size)} of the {side} message were saved."
