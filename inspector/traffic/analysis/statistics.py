"""Statistics of rows: latency and error counts per method and subject, and message rate.

Counts are per exchange: a request and its response are one, included if either matches the filter. Time
that the user took to reply to a server request is counted separately and is not part of any latency.
Latencies are kept in a histogram with 32 steps per doubling: percentiles are within 1.6 % of the exact
ones (exact below 64 ns); count, mean, minimum and maximum are exact. The rate is kept in buckets that
widen over time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, repeat
from math import ceil
from operator import floordiv
from typing import TypeAlias

from inspector.traffic.analysis.related import UserWaits
from inspector.traffic.columns import Column
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

PERCENTILE_ERROR = 1 / 64  # relative to the exact percentile

OTHERS = "(others)"  # subjects beyond the first 2,000 are counted together

_METHODS_WITH_SUBJECTS = ("tools/call", "prompts/get", "resources/read")
_MAX_SUBJECTS = 2000
_FRACTIONS = (0.5, 0.95, 0.99)

_BITS = 5

_MIN_WIDTH_NS = 10_000_000
_MAX_BUCKETS = 4096

# As plain ints: looking up an enum member costs as much as the rest of a step.
_REQUEST, _NOTIFICATION, _RESULT, _ERROR, _TEXT = map(
    int,
    (RecordKind.REQUEST, RecordKind.NOTIFICATION, RecordKind.RESULT, RecordKind.ERROR, RecordKind.TEXT),
)
_OUT, _PENDING, _TOOL_ERROR = int(Direction.OUT), int(Status.PENDING), int(Status.TOOL_ERROR)
_COUNTER_BY_STATUS = {
    int(Status.ERROR): "errors",
    _TOOL_ERROR: "tool_errors",
    int(Status.CANCELLED): "cancelled",
    int(Status.TIMED_OUT): "timed_out",
    int(Status.NO_RESPONSE): "no_response",
    int(Status.NOT_SENT): "no_response",
}

# Server number, string indices of method and subject, and the direction of the request.
_Key: TypeAlias = tuple[int, int, int, int]
_OTHER_SUBJECT = -1


@dataclass(frozen=True, slots=True)
class MethodStats:
    """Statistics of a method, or with `subject`, of one tool, prompt or resource.

    Times in nanoseconds; None if nothing was timed. Percentiles are within `PERCENTILE_ERROR` of the
    exact ones.
    """

    server: str
    method: str
    subject: str
    is_ours: bool  # sent by us
    count: int
    errors: int
    tool_errors: int
    cancelled: int
    timed_out: int
    no_response: int  # the connection ended, or it was not sent
    waiting: int
    bytes_out: int
    bytes_in: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    mean_ns: int | None
    user_wait_ns: int  # total time spent waiting for the user
    histogram: tuple[Bin, ...]

    @property
    def incomplete(self) -> int:
        """The number of requests that ended without a response."""
        return self.cancelled + self.timed_out + self.no_response


class Statistics:
    """Incremental statistics of a set of rows.

    Call `extend` with matching rows, in any slices, each row once, and `refresh` with those that changed
    later (`log.touched`). To remove rows, create new statistics.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._waits = UserWaits(log)
        self._rates = RateSeries()
        self._groups: dict[_Key, _Group] = {}
        self._subjects = 0
        self._first = log.first
        self._counted = bytearray()  # by row from `_first` on: 1 for a counted request
        self._waiting: dict[int, _Group] = {}

    def extend(self, rows: Sequence[int]) -> None:
        self._count_times(rows)
        columns = self._log.columns
        self._counted.extend(bytes(max(0, len(self._log) - self._first - len(self._counted))))
        gathered = zip(
            rows,
            gather(columns.kind, rows),
            gather(columns.server, rows),
            gather(columns.method, rows),
            gather(columns.subject, rows),
            gather(columns.direction, rows),
            gather(columns.size, rows),
            strict=True,
        )
        groups, with_subjects, partner = self._groups, self._methods_with_subjects(), columns.partner
        for row, kind, server, method, subject, direction, size in gathered:
            if kind > _ERROR or not method:
                continue
            is_response = kind >= _RESULT
            key = (
                server,
                method,
                subject if method in with_subjects else 0,
                3 - direction if is_response else direction,
            )
            group = groups.get(key) or self._new_group(*key)
            if direction == _OUT:
                group.bytes_out += size
            else:
                group.bytes_in += size
            if kind == _NOTIFICATION:
                group.count += 1
            else:
                self._count_exchange(group, partner[row] if is_response else row)

    def refresh(self, rows: Sequence[int]) -> bool:
        """Re-examine rows that changed. Return True if that made a difference."""
        status, waiting = self._log.columns.status, self._waiting
        settled = [row for row in rows if row in waiting and status[row] != _PENDING]
        for row in settled:
            group = waiting.pop(row, None)
            if group is not None:  # a row may have changed twice
                group.waiting -= 1
                self._count_outcome(group, row)
        return bool(settled)

    def summary(self) -> tuple[MethodStats, ...]:
        """Return statistics by server and method, each method followed by its subjects.

        Our requests come first, the most frequent ones first.
        """
        methods: dict[tuple[int, int, int], _Group] = {}
        parts: dict[tuple[int, int, int], list[tuple[int, _Group]]] = {}
        for (server, method, subject, sender), group in self._groups.items():
            methods.setdefault((server, method, sender), _Group()).merge(group)
            if subject:
                parts.setdefault((server, method, sender), []).append((subject, group))
        found: list[MethodStats] = []
        for key in sorted(methods, key=lambda key: (key[0], -key[2], -methods[key].count, key[1])):
            found.append(self._stats(key, "", methods[key]))
            by_count = sorted(parts.get(key, ()), key=lambda part: (-part[1].count, part[0]))
            found += (self._stats(key, self._subject(number), group) for number, group in by_count)
        return tuple(found)

    def rate(self, buckets: int, start_ns: int | None = None, end_ns: int | None = None) -> Rate:
        """Return messages and errors over time, in at most this many buckets."""
        return self._rates.rate(buckets, start_ns, end_ns)

    def _stats(self, key: tuple[int, int, int], subject: str, group: _Group) -> MethodStats:
        server, method, sender = key
        latencies = group.latencies
        p50, p95, p99 = latencies.percentiles(_FRACTIONS)
        return MethodStats(
            server=self._log.servers()[server],
            method=self._log.strings.text(method),
            subject=subject,
            is_ours=sender == Direction.OUT,
            count=group.count,
            errors=group.errors,
            tool_errors=group.tool_errors,
            cancelled=group.cancelled,
            timed_out=group.timed_out,
            no_response=group.no_response,
            waiting=group.waiting,
            bytes_out=group.bytes_out,
            bytes_in=group.bytes_in,
            p50_ns=p50,
            p95_ns=p95,
            p99_ns=p99,
            max_ns=latencies.maximum if latencies.count else None,
            mean_ns=latencies.mean,
            user_wait_ns=group.user_wait,
            histogram=latencies.bins(),
        )

    def _subject(self, number: int) -> str:
        return OTHERS if number == _OTHER_SUBJECT else self._log.strings.text(number)

    def _new_group(self, server: int, method: int, subject: int, sender: int) -> _Group:
        if subject:
            self._subjects += 1
            if self._subjects > _MAX_SUBJECTS:
                return self._groups.setdefault((server, method, _OTHER_SUBJECT, sender), _Group())
        return self._groups.setdefault((server, method, subject, sender), _Group())

    def _methods_with_subjects(self) -> set[int]:
        numbers = map(self._log.strings.number_of, _METHODS_WITH_SUBJECTS)
        return {number for number in numbers if number is not None}

    def _count_exchange(self, group: _Group, request: int) -> None:
        if request < self._first or self._counted[request - self._first]:
            return
        self._counted[request - self._first] = 1
        group.count += 1
        if self._log.columns.status[request] == _PENDING:
            group.waiting += 1
            self._waiting[request] = group
        else:
            self._count_outcome(group, request)

    def _count_outcome(self, group: _Group, request: int) -> None:
        columns = self._log.columns
        counter = _COUNTER_BY_STATUS.get(columns.status[request])
        if counter is not None:
            setattr(group, counter, getattr(group, counter) + 1)
        duration = columns.duration[request]
        if duration < 0:
            return
        waited = self._waits.during(request)
        group.user_wait += waited
        if not self._waits.is_input_request(request):
            group.latencies.add(duration - waited)

    def _count_times(self, rows: Sequence[int]) -> None:
        columns = self._log.columns
        times, kinds = gather(columns.wall, rows), gather(columns.kind, rows)
        statuses = gather(columns.status, rows)
        messages = [at for at, kind in zip(times, kinds, strict=True) if kind <= _TEXT]
        errors = [
            at
            for at, kind, status in zip(times, kinds, statuses, strict=True)
            if kind == _ERROR or (kind == _RESULT and status == _TOOL_ERROR)
        ]
        self._rates.add(messages, errors)


def gather(column: Column, rows: Sequence[int]) -> Sequence[int]:
    """Return a column's values at these rows."""
    if isinstance(rows, range) and rows.step == 1:
        return column[rows.start : rows.stop]
    return [column[row] for row in rows]


class Latencies:
    """Durations in nanoseconds. Holds at most about 2,000 numbers, however many are added."""

    __slots__ = ("_steps", "count", "maximum", "minimum", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.minimum = 0
        self.maximum = 0
        self._steps: dict[int, int] = {}

    def add(self, ns: int) -> None:
        if ns < 0:
            ns = 0
        if ns < self.minimum or not self.count:
            self.minimum = ns
        if ns > self.maximum:
            self.maximum = ns
        self.count += 1
        self.total += ns
        step = _step(ns)
        self._steps[step] = self._steps.get(step, 0) + 1

    def merge(self, other: Latencies) -> None:
        if not other.count:
            return
        self.minimum = min(self.minimum, other.minimum) if self.count else other.minimum
        self.maximum = max(self.maximum, other.maximum)
        self.count += other.count
        self.total += other.total
        for step, count in other._steps.items():
            self._steps[step] = self._steps.get(step, 0) + count

    @property
    def mean(self) -> int | None:
        return self.total // self.count if self.count else None

    def percentiles(self, fractions: Iterable[float]) -> list[int | None]:
        """Return for each fraction the duration that it does not exceed (nearest rank)."""
        steps = sorted(self._steps)
        ranks = list(accumulate(self._steps[step] for step in steps))
        return [self._at(steps, ranks, max(1, ceil(fraction * self.count))) for fraction in fractions]

    def _at(self, steps: list[int], ranks: list[int], rank: int) -> int | None:
        index = bisect_left(ranks, rank)
        if index == len(steps):
            return None
        start, end = _bounds(steps[index])
        return min(max((start + end - 1) // 2, self.minimum), self.maximum)

    def bins(self, maximum: int = 24) -> tuple[Bin, ...]:
        """Return bins for a logarithmic axis, including empty ones: neighboring steps merged."""
        if not self.count:
            return ()
        first, last = min(self._steps), max(self._steps)
        together = ceil((last - first + 1) / maximum)
        counts = [0] * ceil((last - first + 1) / together)
        for step, count in self._steps.items():
            counts[(step - first) // together] += count
        starts = [_bounds(first + together * index)[0] for index in range(len(counts) + 1)]
        return tuple(map(Bin, starts, starts[1:], counts))


def _step(ns: int) -> int:
    """Return the histogram step of a duration, given by its highest six bits."""
    shift = ns.bit_length() - _BITS - 1
    return ns if shift <= 0 else (shift << _BITS) + (ns >> shift)


def _bounds(step: int) -> tuple[int, int]:
    """Return the start and exclusive end of a step."""
    shift = max(0, (step >> _BITS) - 1)
    start = (step - (shift << _BITS)) << shift
    return start, start + (1 << shift)


@dataclass(frozen=True, slots=True)
class Bin:
    """The number of durations from `start_ns` up to, but excluding, `end_ns`."""

    start_ns: int
    end_ns: int
    count: int


@dataclass(slots=True)
class _Group:
    count: int = 0
    errors: int = 0
    tool_errors: int = 0
    cancelled: int = 0
    timed_out: int = 0
    no_response: int = 0
    waiting: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    user_wait: int = 0
    latencies: Latencies = field(default_factory=Latencies)

    def merge(self, other: _Group) -> None:
        self.count += other.count
        self.errors += other.errors
        self.tool_errors += other.tool_errors
        self.cancelled += other.cancelled
        self.timed_out += other.timed_out
        self.no_response += other.no_response
        self.waiting += other.waiting
        self.bytes_out += other.bytes_out
        self.bytes_in += other.bytes_in
        self.user_wait += other.user_wait
        self.latencies.merge(other.latencies)


class RateSeries:
    """Bounded time series: beyond 4,096 non-empty buckets, the bucket width doubles."""

    def __init__(self) -> None:
        self._width = _MIN_WIDTH_NS
        self._messages: Counter[int] = Counter()
        self._errors: Counter[int] = Counter()

    def add(self, messages: Iterable[int], errors: Iterable[int]) -> None:
        """Add the times of messages, and of those that are errors."""
        self._messages.update(map(floordiv, messages, repeat(self._width)))
        self._errors.update(map(floordiv, errors, repeat(self._width)))
        while len(self._messages) > _MAX_BUCKETS:
            self._width *= 2
            self._messages, self._errors = _halved(self._messages), _halved(self._errors)

    def rate(self, buckets: int, start_ns: int | None = None, end_ns: int | None = None) -> Rate:
        """Return at most `buckets` buckets over all, or a range; never finer than what is stored."""
        if not self._messages:
            return Rate(start_ns or 0, self._width, (), ())
        start = min(self._messages) if start_ns is None else start_ns // self._width
        end = max(self._messages) + 1 if end_ns is None else -(-end_ns // self._width)
        together = max(1, -(-(end - start) // max(1, buckets)))
        count = max(0, -(-(end - start) // together))
        return Rate(
            start * self._width,
            together * self._width,
            _spread(self._messages, start, together, count),
            _spread(self._errors, start, together, count),
        )


@dataclass(frozen=True, slots=True)
class Rate:
    """Message and error counts. Bucket `i` starts at `start_ns + i * width_ns` (ns since 1970)."""

    start_ns: int
    width_ns: int
    messages: tuple[int, ...]
    errors: tuple[int, ...]


def _halved(buckets: Counter[int]) -> Counter[int]:
    wider: Counter[int] = Counter()
    for bucket, count in buckets.items():
        wider[bucket // 2] += count
    return wider


def _spread(buckets: Counter[int], start: int, together: int, count: int) -> tuple[int, ...]:
    found = [0] * count
    for bucket, number in buckets.items():
        index = (bucket - start) // together
        if 0 <= index < count:
            found[index] += number
    return tuple(found)
