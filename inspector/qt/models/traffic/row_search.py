"""Incremental search and sorting of log rows that match a condition.

Searches on the window's thread, 8 ms per turn of the event loop (another thread would gain nothing under
the GIL), and reports matches as it finds them.

A table that shows operations has one row for each, that of its first request. Operations with more requests
(multi round-trip retries, task polls) are noted as the log is read.

Sorting works in steps of about a millisecond. A merge sort cannot be interrupted in C and is slow in
Python, so rows are distributed into buckets by sampled splitters and each bucket is sorted in C. Rows equal
to a splitter share a bucket that needs no sorting: many rows have one of a few statuses.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from operator import eq, ne
from time import perf_counter
from typing import NamedTuple, Protocol, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from inspector.traffic.log import TrafficLog
from inspector.traffic.records import LOGIN_SUBJECT, Direction, RecordKind, Status

# The first turn may take as long as is unnoticeable: small logs need no second one.
_FIRST_TURN_S = 0.02
_TURN_S = 0.008
# How often results are reported during a search: the view repaints each time, which would otherwise take
# most of the time.
_REPORT_INTERVAL_S = 0.1
_MIN_STEP, _MAX_STEP = 64, 32_768  # rows at a time; the clock is checked in between

_ALL_KINDS = bytes([1] * 256)
_FRAMES = bytes(1 <= kind <= RecordKind.TEXT for kind in range(256))
_FRAMES_AND_LOGINS = bytes(1 <= kind <= RecordKind.TEXT or kind == RecordKind.LOGIN for kind in range(256))
_ALL_BUT_LOGINS = bytes(kind not in (RecordKind.STDERR, RecordKind.LOGIN) for kind in range(256))
_ALL_BUT_STDERR = bytes(kind != RecordKind.STDERR for kind in range(256))


class Matcher(Protocol):
    """A compiled filter (`inspector.traffic.filter.matcher`)."""

    def rows(self, numbers: range) -> Iterable[int]:
        """Return those of these rows that match, in order."""
        ...

    def matches(self, number: int) -> bool: ...

    @property
    def is_cheap(self) -> bool:
        """True if it does not need to read bodies."""
        ...


class Condition(NamedTuple):
    """The condition for rows to be shown. All parts must hold."""

    server: str | None = None
    with_events: bool = False
    with_logins: bool = True  # login steps, requests and HTTP exchanges
    any_kind: bool = False  # the matcher decides about kinds, stderr included
    matcher: Matcher | None = None
    span: tuple[int, int] | None = None  # wall time in nanoseconds, both ends inclusive
    operations: bool = False  # only the first request of each operation

    @property
    def narrows(self) -> bool:
        """True if more than the choice of kinds hides rows."""
        return self.server is not None or self.matcher is not None or self.span is not None


class RowSearch(QObject):
    """The matching rows in log order, kept up to date as the log grows and its rows change.

    Signals:
        restarted: The condition or the cleared range changed: `rows` is empty and fills again.
        found: More rows match, after all others; carries them.
        moved_in: An older row matches now; carries its position, where it already is, and the row.
        moved_out: A row no longer matches; carries its former position and the row.
        retouched: Shown rows changed; carries them.
        dropping: The oldest rows left memory; carries how many of `rows` will be removed now.
        dropped: They were removed from the beginning of `rows`; carries their number.
        progressed: The search made progress; see `share`.
    """

    restarted = Signal()
    found = Signal(object)
    moved_in = Signal(int, int)
    moved_out = Signal(int, int)
    retouched = Signal(object)
    dropping = Signal(int)
    dropped = Signal(int)
    progressed = Signal()

    def __init__(self, log: TrafficLog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows = array("q")
        self.operations = OperationRows(log)
        self._log = log
        self._condition = Condition()
        self._first = 0
        self._dropped = log.first
        self._seen = 0  # rows before this one were searched
        self._length = 0  # of the log, as far as it is searched
        self._backlog = 0
        self._touched = 0
        self._unreported = array("q")
        self._reported_at = 0.0
        self._to_recheck: list[int] = []  # rows to check again, newest first
        self._step = _MIN_STEP
        self._is_stopped = False
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._on_turn)

    @property
    def condition(self) -> Condition:
        return self._condition

    @property
    def first(self) -> int:
        """The first row that is searched: earlier ones were cleared from the view."""
        return self._first

    @property
    def _start(self) -> int:
        return max(self._first, self._dropped)

    @property
    def count(self) -> int:
        """The number of rows to search: those in memory that were not cleared from the view."""
        return self._length - self._start

    @property
    def length(self) -> int:
        """The log's length as last reported to this search."""
        return self._length

    @property
    def backlog(self) -> int:
        """The first row that was recorded after the search started."""
        return self._backlog

    @property
    def is_searching(self) -> bool:
        """True while there are rows left to search."""
        return not self._is_stopped and (self._seen < self._length or bool(self._to_recheck))

    @property
    def is_stopped(self) -> bool:
        """True if the user stopped the search early."""
        return self._is_stopped

    @property
    def share(self) -> float:
        """The fraction searched, from 0 to 1."""
        return (self._seen - self._start) / self.count if self.count > 0 else 1.0

    def set_condition(self, condition: Condition) -> None:
        if condition != self._condition:
            self._condition = condition
            self.restart()

    def begin_at(self, first: int) -> None:
        """Exclude the rows before `first`; 0 excludes none."""
        if first != self._first:
            self._first = first
            self.restart()

    def restart(self) -> None:
        self.rows = array("q")
        self._dropped = self._log.first
        self._seen = self._start
        self._backlog = self._length
        self._to_recheck = []
        self._unreported = array("q")
        self._reported_at = 0.0
        self._step = _MIN_STEP
        self._is_stopped = False
        self.restarted.emit()
        self._take_turn(_FIRST_TURN_S)

    def extend(self, length: int) -> None:
        """Search up to this length of the log and its changed rows. A stale length is ignored."""
        is_idle = not self.is_searching
        self._length = max(self._length, length)
        self.drop_old_rows()
        self._note_touched()
        if is_idle and not self._is_stopped:
            self._take_turn(_FIRST_TURN_S)

    def drop_old_rows(self) -> None:
        """Remove the rows that the log has dropped from memory."""
        first = self._log.first
        if first <= self._dropped:
            return
        self._dropped = first
        self._seen = max(self._seen, first)
        self.operations.drop(first)
        self._to_recheck = [number for number in self._to_recheck if number >= first]
        self._unreported = self._unreported[bisect_left(self._unreported, first) :]
        count = bisect_left(self.rows, first)
        if count:
            self.dropping.emit(count)
            del self.rows[:count]
            self.dropped.emit(count)

    def search_again(self, numbers: Iterable[int]) -> None:
        """Check rows again after a change the log does not report, such as a note."""
        self._requeue(set(numbers))
        if not self._is_stopped:
            self._take_turn(_FIRST_TURN_S)

    def stop(self) -> None:
        """Stop searching. New rows are ignored until `resume` or `restart`."""
        self._report()
        self._is_stopped = True
        self._timer.stop()
        self.progressed.emit()

    def resume(self) -> None:
        """Resume after `stop`."""
        self._is_stopped = False
        self._take_turn(_TURN_S)

    def finish(self) -> None:
        """Search everything now, however long it takes."""
        while self.is_searching:
            self._take_turn(3600.0)

    def search_up_to(self, number: int) -> None:
        """Search up to this row now, for navigation. Undoes `stop`."""
        self._is_stopped = False
        while self._seen <= number < self._length:
            self._take_turn(_FIRST_TURN_S)
        self._report()

    def position_of(self, number: int) -> int | None:
        """Return the position of a log row among those found, None if absent."""
        position = bisect_left(self.rows, number)
        return position if position < len(self.rows) and self.rows[position] == number else None

    def _on_turn(self) -> None:
        self._take_turn(_TURN_S)

    def _take_turn(self, seconds: float) -> None:
        until = perf_counter() + seconds
        while self._seen < self._length and perf_counter() < until:
            self._search_rows()
        is_time = (
            self._seen >= self._length
            or self._to_recheck
            or perf_counter() - self._reported_at > _REPORT_INTERVAL_S
        )
        if is_time:
            self._report()
        same = array("q")
        while self._to_recheck and perf_counter() < until:
            self._recheck(self._to_recheck.pop(), same)
        if same:
            self.retouched.emit(same)
        self._update_timer()
        self.progressed.emit()

    def _report(self) -> None:
        self._reported_at = perf_counter()
        new, self._unreported = self._unreported, array("q")
        if new:
            self.rows.extend(new)
            self.found.emit(new)

    def _update_timer(self) -> None:
        if not self.is_searching:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _search_rows(self) -> None:
        """Search a run of rows; its length is adjusted to take a few milliseconds."""
        began = perf_counter()
        numbers = range(self._seen, min(self._seen + self._step, self._length))
        self._seen = numbers.stop
        later = self.operations.update(numbers.stop)
        self._unreported.extend(self._matching(numbers))
        if self._condition.operations:
            self._queue(root for root in later if self._start <= root < numbers.start)
        took = perf_counter() - began
        if took < 0.0015:
            self._step = min(self._step * 2, _MAX_STEP)
        elif took > 0.004:
            self._step = max(self._step // 2, _MIN_STEP)

    def _matching(self, numbers: range) -> Iterable[int]:
        condition = self._condition
        if condition.operations:
            return self._in_server_and_span(self._operations_in(numbers))
        flags = self._of_kinds(numbers)
        if condition.matcher is None:
            return self._in_server_and_span(compress(numbers, flags))
        found = condition.matcher.rows(numbers)  # whole runs, which are fastest
        return self._in_server_and_span(row for row in found if flags[row - numbers.start])

    def _of_kinds(self, numbers: range) -> bytes | bytearray:
        """Return one byte per row: 1 if its kind is to be shown."""
        condition, kinds = self._condition, self._log.columns.kind[numbers.start : numbers.stop].tobytes()
        if condition.any_kind:
            return kinds.translate(_ALL_KINDS)
        if condition.with_events == condition.with_logins:
            return kinds.translate(_ALL_BUT_STDERR if condition.with_events else _FRAMES)
        # An HTTP exchange may be part of a login. Few logs have any; the subject distinguishes them.
        flags = bytearray(kinds.translate(_ALL_BUT_LOGINS if condition.with_events else _FRAMES_AND_LOGINS))
        login = self._log.strings.number_of(LOGIN_SUBJECT)
        position = kinds.find(RecordKind.HTTP) if login is not None else -1
        subjects = self._log.columns.subject
        while position >= 0:
            if subjects[numbers.start + position] == login:
                flags[position] = condition.with_logins
            position = kinds.find(RecordKind.HTTP, position + 1)
        return flags

    def _in_server_and_span(self, rows: Iterable[int]) -> Iterable[int]:
        """Filter rows by server and time span."""
        condition, columns = self._condition, self._log.columns
        if condition.server is not None:
            server, servers = self._log.server_number(condition.server), columns.server
            rows = [row for row in rows if servers[row] == server]
        if condition.span is not None:
            (low, high), wall = condition.span, columns.wall
            rows = [row for row in rows if low <= wall[row] <= high]
        return rows

    def _operations_in(self, numbers: range) -> Iterable[int]:
        """Return the first requests among these rows whose operations match.

        Either the request or the response may match, since users search for both. A match in the response
        to an older request is checked again later.
        """
        operation, partner = self._log.columns.operation, self._log.columns.partner
        matcher = self._condition.matcher
        if matcher is None:
            return compress(numbers, map(eq, numbers, operation[numbers.start : numbers.stop]))
        roots: set[int] = set()
        for row in matcher.rows(numbers):
            root = operation[row]
            if root < 0 <= partner[row]:
                root = operation[partner[row]]  # a response belongs to its request's operation
            if root >= 0 and (root == row or self.operations.response(root) == row):
                roots.add(root)
        self._queue(root for root in roots if self._start <= root < numbers.start)
        return sorted(root for root in roots if root >= numbers.start)

    def _operation_matches(self, root: int, matcher: Matcher) -> bool:
        response = self.operations.response(root)
        return matcher.matches(root) or (0 <= response < self._length and matcher.matches(response))

    def _note_touched(self) -> None:
        touched = self._log.touched
        end = len(touched)
        if self._touched < touched.first and self.rows:  # paused for long: changes may have been missed
            self._touched = end
            self.restart()
        elif end > self._touched:
            self._requeue(set(touched[self._touched : end]))
            self._touched = end

    def _requeue(self, numbers: set[int]) -> None:
        """Queue rows that a change may move in or out; report the others at once."""
        numbers = {number for number in numbers if self._start <= number < self._seen}
        if not numbers:
            return
        roots = {self.operations.note_again(number) for number in numbers}
        if self._condition.operations:
            numbers |= {root for root in roots if self._start <= root < self._seen}
        elif self._condition.matcher is None:
            self.retouched.emit(array("q", sorted(numbers)))
            return
        self._queue(numbers)

    def _queue(self, numbers: Iterable[int]) -> None:
        if more := set(numbers):
            self._to_recheck = sorted(more.union(self._to_recheck), reverse=True)

    def _matches(self, number: int) -> bool:
        condition = self._condition
        if not condition.operations or condition.matcher is None:
            return any(True for _ in self._matching(range(number, number + 1)))
        if self._log.columns.operation[number] != number or not self._operation_matches(
            number, condition.matcher
        ):
            return False
        return number in self._in_server_and_span(range(number, number + 1))

    def _recheck(self, number: int, same: array[int]) -> None:
        matches = self._matches(number)
        position = bisect_left(self.rows, number)
        was_found = position < len(self.rows) and self.rows[position] == number
        if matches and was_found:
            same.append(number)
        elif matches:
            self.rows.insert(position, number)
            self.moved_in.emit(position, number)
        elif was_found:
            del self.rows[position]
            self.moved_out.emit(position, number)


_IS_REQUEST = bytes(kind == RecordKind.REQUEST for kind in range(256))
_IS_OUT = bytes(direction == Direction.OUT for direction in range(256))


class OperationRows:
    """The requests of each operation, read from the log.

    Each row is read once, up to the length given to `update`; changed rows can be noted again.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = log.first
        self._later: dict[int, list[int]] = {}  # further requests, by the row of the first

    def update(self, length: int) -> set[int]:
        """Read the log up to `length`. Returns the first rows of the operations that continued."""
        first, columns = self._seen, self._log.columns
        if length <= first:
            return set()
        self._seen = length
        requests = columns.kind[first:length].tobytes().translate(_IS_REQUEST)
        rows = list(compress(range(first, length), requests))
        operation = columns.operation
        others = list(compress(rows, map(ne, rows, map(operation.__getitem__, rows))))
        for row in others:
            self._note(row)
        return {operation[row] for row in others if operation[row] >= 0}

    def drop(self, first: int) -> None:
        """Forget operations that began before the row `first`."""
        self._seen = max(self._seen, first)
        self._later = {root: rows for root, rows in self._later.items() if root >= first}

    def note_again(self, row: int) -> int:
        """Note a changed row, which may have got its operation. Returns the operation, or -1."""
        if row < self._seen and self._log.columns.kind[row] == RecordKind.REQUEST:
            self._note(row)
        return self._log.columns.operation[row]

    def _note(self, row: int) -> None:
        root = self._log.columns.operation[row]
        if root < 0 or root == row or not _IS_OUT[self._log.columns.direction[row]]:
            return
        later = self._later.setdefault(root, [])
        if row not in later:
            later.append(row)
            later.sort()

    def last(self, root: int) -> int:
        """Return the newest client request of an operation."""
        later = self._later.get(root)
        return later[-1] if later else root

    def rounds(self, root: int) -> int:
        """Return the number of rounds: 1, plus one for each time the server asked for more input."""
        method = self._log.columns.method
        return 1 + sum(method[row] == method[root] for row in self._later.get(root, ()))

    def response(self, root: int) -> int:
        """Return the row of the newest response, or -1 while it is pending."""
        return self._log.columns.partner[self.last(root)]

    def status(self, root: int) -> Status:
        """Return the operation's status: that of its newest request."""
        return self._log.status(self.last(root))

    def duration_ns(self, root: int) -> int | None:
        """Return the time from the first request to the newest response, over all rounds."""
        response, monotonic = self.response(root), self._log.columns.monotonic
        return None if response < 0 else abs(monotonic[response] - monotonic[root])


# Sort keys; all keys of one sort are of one type.
SortKey: TypeAlias = Callable[[int], int | str | tuple[int, int]]

_BUCKET_SIZE = 4_096  # approximate rows sorted per step
_ROWS_PER_STEP = 4_096  # rows distributed per step
_SAMPLES = 8  # keys sampled per splitter


def sort_in_steps(rows: Sequence[int], key: SortKey, *, is_descending: bool) -> Iterator[array[int] | None]:
    """Sort in steps: yield None after each, and the rows at the end. The sort is stable."""
    splitters = _splitters(rows, key)
    yield None
    buckets = [array("q") for _ in range(2 * len(splitters) + 1)]
    for start in range(0, len(rows), _ROWS_PER_STEP):
        _distribute(rows[start : start + _ROWS_PER_STEP], key, splitters, buckets)
        yield None
    result = array("q")
    order = range(len(buckets))
    for number in reversed(order) if is_descending else order:
        bucket, buckets[number] = buckets[number], array("q")
        if number % 2 == 0:  # odd buckets hold equal keys only
            bucket = array("q", sorted(bucket, key=key, reverse=is_descending))
        result.extend(bucket)
        yield None
    yield result


def sort_now(rows: Sequence[int], key: SortKey, *, is_descending: bool) -> array[int]:
    """Sort a few rows at once."""
    return array("q", sorted(rows, key=key, reverse=is_descending))


def _splitters(rows: Sequence[int], key: SortKey) -> list[int | str | tuple[int, int]]:
    from random import Random  # imported late, to keep startup fast

    count = len(rows) // _BUCKET_SIZE
    # Not every n-th row: requests and responses alternate, so half of the keys would never be sampled.
    chosen = Random(0).choices(rows, k=count * _SAMPLES) if count else []
    sample = sorted(map(key, chosen))
    return sorted(set(sample[_SAMPLES // 2 :: _SAMPLES]))


def _distribute(
    rows: Sequence[int],
    key: SortKey,
    splitters: list[int | str | tuple[int, int]],
    buckets: list[array[int]],
) -> None:
    """Distribute rows: bucket 2i+1 gets keys equal to splitter i, bucket 2i those before it."""
    count = len(splitters)
    for row, value in zip(rows, map(key, rows), strict=True):
        position = bisect_left(splitters, value)
        is_equal = position < count and splitters[position] == value
        buckets[2 * position + is_equal].append(row)
