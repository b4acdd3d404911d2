"""Messages related to a row: its operation, and what happened meanwhile.

`UserWaits` finds the time that the user took to reply to server requests, which is not the server's
latency.

`TimeAxis` gives the positions of rows in nanoseconds since 1970. Lengths come from the monotonic clock. A
position is the monotonic time plus the offset between the clocks, which is determined again where they
diverge: another run in the same capture, sleep, a clock change.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from inspector.traffic.columns import Column
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import NEEDS_USER
from inspector.traffic.records import Direction, RecordKind, Status

MAX_STEPS = 400
_MAX_MEMBERS = 20_000
# How far to look for rows of the operation (5 ms), and for what else happened during it (10 ms).
_OPERATION_SPAN = 200_000
_MEANWHILE_SPAN = 20_000

_MAX_REQUESTS = 256  # per request; no user is asked more often


class Role(Enum):
    """A row's role in its operation."""

    REQUEST = "request"
    RETRY = "retry"  # with the replies to the server's requests
    TASK = "task"  # a request or notification about it
    RESPONSE = "response"
    SERVER_REQUEST = "server request"
    REPLY = "reply"  # our reply to it
    PROGRESS = "progress"
    CANCELLED = "cancelled"
    LOG = "log"
    STDERR = "stderr"
    HTTP = "HTTP"
    SSE = "SSE"
    EVENT = "event"  # of the process or the connection, or local
    ORIGINAL = "original"  # the request that this one repeats
    RESENT = "resent"  # resent later by the user
    OTHER = "other"


_EVENTS: dict[int, Role] = {
    RecordKind.STDERR: Role.STDERR,
    RecordKind.TEXT: Role.OTHER,
    RecordKind.PROCESS: Role.EVENT,
    RecordKind.STATE: Role.EVENT,
    RecordKind.LOCAL: Role.EVENT,
    RecordKind.LOGIN: Role.EVENT,
}
_KINDS: dict[int, Role] = {
    **_EVENTS,
    RecordKind.HTTP: Role.HTTP,
    RecordKind.SSE: Role.SSE,
}
_NOTIFICATIONS = {
    "notifications/progress": Role.PROGRESS,
    "notifications/cancelled": Role.CANCELLED,
    "notifications/message": Role.LOG,
    "notifications/tasks": Role.TASK,
    "notifications/tasks/status": Role.TASK,
}


@dataclass(frozen=True, slots=True)
class Step:
    row: int
    role: Role
    offset_ns: int  # since the operation began


@dataclass(frozen=True, slots=True)
class RelatedMessages:
    """The rows around one operation.

    `left_out` steps are missing between the first half of `steps` and the second; `note` says what was not
    searched, "" if nothing.
    """

    operation: int
    steps: tuple[Step, ...]
    left_out: int = 0
    note: str = ""


def related_messages(log: TrafficLog, row: int, maximum: int = MAX_STEPS) -> RelatedMessages:
    """Return the messages related to a row, with bounded cost and number of steps."""
    root = log.operation(row)
    members = _without_operation(log, row) if root is None else _members(log, root)
    first = members[0] if root is None else root
    meanwhile, note = ([], "") if root is None else _meanwhile(log, root, members)
    roles = {member: _role(log, member, first) for member in (*members, *meanwhile)}
    roles.update(_resends(log, members))
    steps = tuple(Step(each, roles[each], elapsed_ns(log, first, each)) for each in sorted(roles))
    if len(steps) <= maximum:
        return RelatedMessages(first, steps, 0, note)
    half = maximum // 2
    return RelatedMessages(first, (*steps[:half], *steps[-half:]), len(steps) - 2 * half, note)


def _members(log: TrafficLog, root: int) -> list[int]:
    last = min(len(log), root + _OPERATION_SPAN)
    # Include the root whatever its column says: a file can hold anything.
    rows = [root, *find_rows(log.columns.operation, root, root + 1, last, _MAX_MEMBERS)]
    response = log.columns.partner[root]
    return [*rows, response] if response >= last else rows


def _without_operation(log: TrafficLog, row: int) -> list[int]:
    """Return the rows around one without an operation: its partner and its HTTP exchange."""
    columns = log.columns
    rows = {row, columns.partner[row], columns.exchange[row]}
    if columns.kind[row] == RecordKind.HTTP:
        last = min(len(log), row + _OPERATION_SPAN)
        rows.update(find_rows(columns.exchange, row, max(0, row - 1), last, _MAX_MEMBERS))
    return sorted(each for each in rows if each >= 0)


def _meanwhile(log: TrafficLog, root: int, members: list[int]) -> tuple[list[int], str]:
    """Return what the same server sent or did during the operation without naming it."""
    is_open = any(log.columns.status[row] == Status.PENDING for row in members)
    end = len(log) if is_open else max(members)
    last = min(end, root + _MEANWHILE_SPAN)
    note = ""
    if last < end:
        note = (
            f"Logs and stderr were searched only in the first {_MEANWHILE_SPAN:,} of {end - root:,} rows of "
            "this operation. To see later ones, filter by server and time."
        )
    columns = log.columns
    server, log_message = columns.server[root], log.strings.number_of("notifications/message")
    rows = range(root + 1, last)
    kinds = zip(rows, columns.kind[root + 1 : last], columns.server[root + 1 : last], strict=False)
    return [
        row
        for row, kind, sender in kinds
        if sender == server
        and (kind in _EVENTS or (kind == RecordKind.NOTIFICATION and columns.method[row] == log_message))
        and not _is_of_another(log, row, root)
    ], note


def _is_of_another(log: TrafficLog, row: int, root: int) -> bool:
    """True if a row was carried by the HTTP exchange of another operation."""
    columns = log.columns
    exchange = columns.exchange[row]
    return exchange >= 0 and columns.operation[exchange] not in (-1, root)


def _resends(log: TrafficLog, members: Iterable[int]) -> dict[int, Role]:
    resent = log.resent()
    if not resent:
        return {}
    requests = {row for row in members if log.columns.kind[row] <= RecordKind.TEXT}
    later = {new: Role.RESENT for new, old in resent.items() if old in requests}
    return later | {resent[row]: Role.ORIGINAL for row in requests if row in resent}


def _role(log: TrafficLog, row: int, root: int) -> Role:
    kind, is_ours = log.kind(row), log.direction(row) == Direction.OUT
    if row == root and kind == RecordKind.BATCH:
        return Role.REQUEST
    match kind:
        case RecordKind.REQUEST if is_ours:
            return _role_of_ours(log, row, root)
        case RecordKind.REQUEST:
            return Role.SERVER_REQUEST
        case RecordKind.RESULT | RecordKind.ERROR | RecordKind.BATCH:
            return Role.REPLY if is_ours else Role.RESPONSE
        case RecordKind.NOTIFICATION:
            return _NOTIFICATIONS.get(log.method(row), Role.OTHER)
    return _KINDS.get(kind, Role.OTHER)


def _role_of_ours(log: TrafficLog, row: int, root: int) -> Role:
    if row == root:
        return Role.REQUEST
    return Role.TASK if log.method(row).startswith("tasks/") else Role.RETRY


class UserWaits:
    """Server requests that the user replies to (sampling, elicitation), by operation.

    Covers the whole log, whatever the filter, and reads each row once.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = log.first
        self._methods: set[int] = set()
        self._rows = array("q")

    def is_input_request(self, request: int) -> bool:
        self._read_new_rows()
        return self._log.columns.method[request] in self._methods

    def input_requests(self, operation: int, first: int, last: int) -> list[int]:
        """Return the rows of an operation's requests between `first` and `last`."""
        self._read_new_rows()
        if not self._rows:
            return []
        start = bisect_left(self._rows, first)
        rows = self._rows[start : start + _MAX_REQUESTS]
        return [row for row in rows if row < last and self._log.columns.operation[row] == operation]

    def during(self, request: int) -> int:
        """Return how much of a request's duration was spent waiting for the user.

        All of it if it is such a server request itself.
        """
        self._read_new_rows()
        if not self._rows:
            return 0
        columns = self._log.columns
        response = columns.partner[request]
        if columns.method[request] in self._methods:
            return max(0, columns.duration[request])
        if response <= request:
            return 0
        end, waited, until = columns.monotonic[response], 0, columns.monotonic[request]
        for row in self.input_requests(columns.operation[request], request, response):
            duration = columns.duration[row]
            over = end if duration < 0 else min(columns.monotonic[row] + duration, end)
            waited += max(0, over - max(columns.monotonic[row], until))  # two may be pending at a time
            until = max(until, over)
        return waited

    def _read_new_rows(self) -> None:
        """Read the new rows."""
        first, last = self._seen, len(self._log)
        if first == last:
            return
        self._seen = last
        columns, found = self._log.columns, []
        for method in NEEDS_USER:
            number = self._log.strings.number_of(method)
            if number is not None:
                self._methods.add(number)
                found += find_rows(columns.method, number, first, last)
        self._rows.extend(
            row
            for row in sorted(found)
            if columns.kind[row] == RecordKind.REQUEST and columns.direction[row] == Direction.IN
        )


def find_rows(column: Column, value: int, first: int, last: int, maximum: int = 1 << 62) -> list[int]:
    """Return the rows from `first` up to `last` with a value in a column, without a Python loop."""
    rows: list[int] = []
    try:
        while len(rows) < maximum:
            rows.append(column.index(value, first, last))
            first = rows[-1] + 1
    except ValueError:
        pass
    return rows


MAX_POSITION = 2**62  # a file may hold any number, and adding to it must not overflow
_DIVERGED_NS = 1_000_000_000  # offsets that differ by more than this are not clock drift
_STRIDE = 1024


class TimeAxis:
    """Positions of rows on the time axis. Reads at most every row once, usually far fewer."""

    def __init__(self, log: TrafficLog) -> None:
        self._columns = log.columns
        self._seen = log.first
        # Where the clocks diverged, and their offset from there on.
        self._rows: list[int] = []
        self._offsets: list[int] = []

    def position(self, row: int) -> int:
        if row >= self._seen:
            self._read_until(row)
        index = -1 if row >= self._rows[-1] else bisect_right(self._rows, row) - 1
        return min(max(self._columns.monotonic[row] + self._offsets[index], 0), MAX_POSITION)

    def end_of_run(self, row: int) -> int | None:
        """Return where the clocks next diverged, which ended what was open; None if nowhere."""
        index = bisect_right(self._rows, row)
        return self.position(self._rows[index] - 1) if index < len(self._rows) else None

    def _read_until(self, row: int) -> None:
        """Check the last row of each stretch; if the clocks diverged within it, check every row."""
        while self._seen <= row:
            if not self._rows:
                self._add_offset(self._seen)
            last = min(self._seen + _STRIDE, row + 1)
            if self._has_diverged(last - 1):
                self._add_offset(next(each for each in range(self._seen, last) if self._has_diverged(each)))
                last = self._rows[-1] + 1
            self._seen = last

    def _has_diverged(self, row: int) -> bool:
        offset = self._columns.wall[row] - self._columns.monotonic[row]
        return abs(offset - self._offsets[-1]) > _DIVERGED_NS

    def _add_offset(self, row: int) -> None:
        self._rows.append(row)
        self._offsets.append(self._columns.wall[row] - self._columns.monotonic[row])


def elapsed_ns(log: TrafficLog, first: int, second: int) -> int:
    """Return the time from one row to another; negative if the second was earlier."""
    columns = log.columns
    monotonic = columns.monotonic[second] - columns.monotonic[first]
    wall = columns.wall[second] - columns.wall[first]
    return monotonic if abs(monotonic - wall) <= _DIVERGED_NS else wall
