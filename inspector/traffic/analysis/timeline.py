"""Timeline: operations as bars on a time axis, one lane per server.

All bars are kept, in arrays. What to paint is computed for a time range and a width in pixels, and its
cost depends on the pixels. Positions are nanoseconds since 1970 (`TimeAxis`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from inspector.traffic.analysis.lanes import MAX_SUBROWS, OPEN, RANKS, Lane, Piece, SubRow
from inspector.traffic.analysis.related import MAX_POSITION, Role, TimeAxis, UserWaits, related_messages
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

# More pieces than these are merged further, into blocks of several pixels: eight crowded sub-rows for each
# of many servers would take too long to paint.
_MAX_PIECES = 4096
_MAX_MARKS = 1000
_MAX_ROUNDS = 100
_SUBROWS = MAX_SUBROWS + 1

# As plain ints: looking up an enum member costs as much as the rest of a step.
_RESULT, _PENDING = int(RecordKind.RESULT), int(Status.PENDING)


class MarkKind(Enum):
    """What a mark in a bar stands for."""

    FIRST_BYTE = "first byte"
    SSE = "server-sent event"
    PROGRESS = "progress update"
    ROUND = "round"
    POLL = "task poll"
    SERVER_REQUEST = "server request"
    LOG = "log message"


_MARKS = {
    Role.SSE: MarkKind.SSE,
    Role.PROGRESS: MarkKind.PROGRESS,
    Role.RETRY: MarkKind.ROUND,
    Role.TASK: MarkKind.POLL,
    Role.SERVER_REQUEST: MarkKind.SERVER_REQUEST,
    Role.LOG: MarkKind.LOG,
}


class Wait(NamedTuple):
    """Time spent waiting for the user. `end_ns` is None while it lasts."""

    start_ns: int
    end_ns: int | None


class Mark(NamedTuple):
    at_ns: int
    kind: MarkKind
    row: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One operation. `end_ns` is None while it is open."""

    operation: int
    server: int
    start_ns: int
    end_ns: int | None
    status: Status
    waits: tuple[Wait, ...]
    marks: tuple[Mark, ...]


class BarPosition(NamedTuple):
    """Where an operation is painted."""

    start_ns: int
    end_ns: int | None
    server: int
    subrow: int


@dataclass(frozen=True, slots=True)
class LaneView:
    """What to paint of a server.

    Sub-row number `MAX_SUBROWS` is the overflow, which is always merged.
    """

    server: int
    name: str
    subrows: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """Operations started per pixel over the whole time range, and their worst status."""

    start_ns: int
    end_ns: int
    counts: tuple[int, ...]
    statuses: tuple[Status, ...]


class Timeline:
    """The operations that have a row among those given.

    Call `extend` with matching rows, in any slices, and `refresh` with those that changed later
    (`log.touched`). To remove rows, create a new timeline.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._axis = TimeAxis(log)
        self._waits = UserWaits(log)
        self._lanes: dict[int, Lane] = {}
        self._first = log.first
        # By row from `_first` on: 0, or the sub-row of this operation's bar.
        self._positions = array("I")
        self._pending: dict[int, int] = {}  # operations, by their pending requests
        # By open operation: the number of pending requests, and the latest time seen.
        self._open: dict[int, tuple[int, int]] = {}
        self._rounds: dict[int, list[Wait]] = {}
        self._span: tuple[int, int] | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, rows: Iterable[int]) -> None:
        log = self._log
        known = self._first + len(self._positions)
        self._positions.extend(array("I", bytes(4 * max(0, len(log) - known))))
        if len(log):
            self._axis.position(len(log) - 1)
        operations, positions, first = log.columns.operation, self._positions, self._first
        partners, kinds, known = log.columns.partner, log.columns.kind, first + len(positions)
        for row in rows:
            operation = operations[row]
            if not first <= operation < known:
                continue
            if not positions[operation - first]:
                self._begin(operation)
            # The response to the first request, as most are: that request covers it.
            elif partners[row] == operation and kinds[row] >= _RESULT:
                continue
            if row != operation:
                self._update(operation, row)

    def refresh(self, rows: Iterable[int]) -> bool:
        """Re-examine rows that changed. Return True if any of them is in the timeline."""
        operations, changed = self._log.columns.operation, False
        for row in rows:
            operation = operations[row]
            if self._position(operation):
                self._update(operation, row)
                changed = True
        return changed

    def span(self) -> tuple[int, int] | None:
        """Return the first start and the last known time."""
        return self._span

    def window(
        self, t0: int, t1: int, width: int, servers: Sequence[int] | None = None
    ) -> tuple[LaneView, ...]:
        """Return what to paint of a time range in this many pixels, for all servers or for these."""
        shown = [server for server in sorted(self._lanes) if servers is None or server in servers]
        subrows = [subrow for server in shown for subrow in self._lanes[server].all()]
        pixel = _pixel(subrows, t0, t1, max(1, width))
        names = self._log.servers()
        return tuple(
            LaneView(
                server,
                names[server],
                len(self._lanes[server].all()),
                tuple(
                    piece for subrow in self._lanes[server].all() for piece in subrow.pieces(t0, t1, pixel)
                ),
            )
            for server in shown
        )

    def overview(self, width: int) -> Overview:
        if self._span is None:
            return Overview(0, 0, (), ())
        start, end = self._span
        width = max(1, width)
        counts, worst = [0] * width, [Status.NONE] * width
        for lane in self.window(start, end + 1, width):
            for piece in lane.pieces:
                pixel = min((piece.start_ns - start) * width // (end + 1 - start), width - 1)
                counts[pixel] += piece.bars
                if RANKS[piece.status] > RANKS[worst[pixel]]:
                    worst[pixel] = piece.status
        return Overview(start, end, tuple(counts), tuple(worst))

    def at(self, at: int, server: int, subrow: int, slack: int = 0) -> int | None:
        """Return the operation at a time in a sub-row, or one at most `slack` away."""
        lane = self._lanes.get(server)
        row = lane.numbered(subrow) if lane is not None else None
        index = row.bar_at(at, slack) if row is not None else None
        return row.operations[index] if row is not None and index is not None else None

    def where(self, row: int) -> BarPosition | None:
        """Return where a row's operation is painted; None if it is not in the timeline."""
        operation = self._log.columns.operation[row]
        if not self._position(operation):
            return None
        subrow, index = self._find(operation)
        end, server = subrow.ends[index], self._log.columns.server[operation]
        return BarPosition(subrow.starts[index], None if end == OPEN else end, server, subrow.number)

    def bar(self, operation: int) -> Bar | None:
        """Return everything about one operation. Searches the log: meant for the hovered one."""
        position = self.where(operation)
        if position is None:
            return None
        subrow, index = self._find(operation)
        return Bar(
            operation,
            position.server,
            position.start_ns,
            position.end_ns,
            subrow.status(index),
            self.waits(operation),
            self.marks(operation),
        )

    def waits(self, operation: int) -> tuple[Wait, ...]:
        """Return when the user was waited for: between two rounds, or in a server request. Cheap."""
        columns, position = self._log.columns, self._axis.position
        waits = list(self._rounds.get(operation, ()))
        for row in self._waits.input_requests(operation, operation, len(self._log)):
            start, duration = position(row), columns.duration[row]
            if duration >= 0:
                waits.append(Wait(start, start + _length(duration)))
            elif columns.status[row] == Status.PENDING:
                waits.append(Wait(start, None))
        return tuple(sorted(waits, key=lambda wait: wait.start_ns))

    def marks(self, operation: int) -> tuple[Mark, ...]:
        """Return what happened during an operation. Searches the log, as `related_messages` does."""
        start = self._axis.position(operation)
        marks = []
        for step in related_messages(self._log, operation, _MAX_MARKS).steps:
            if step.role in _MARKS:
                marks.append(Mark(start + step.offset_ns, _MARKS[step.role], step.row))
            elif step.role is Role.HTTP:
                http = self._log.readable_http(step.row)
                if http is not None and http.first_byte_ns is not None:
                    at = start + step.offset_ns + http.first_byte_ns
                    marks.append(Mark(at, MarkKind.FIRST_BYTE, step.row))
        return tuple(sorted(marks, key=lambda mark: mark.at_ns))

    def _begin(self, operation: int) -> None:
        """Make the bar, as long as the operation's first request."""
        self._count += 1
        columns = self._log.columns
        start, status = self._axis.position(operation), columns.status[operation]
        subrow, index = self._put(operation, start, start + _length(columns.duration[operation]))
        if status == _PENDING:
            self._wait_for(operation, operation, start)
        else:
            subrow.decide(index, status, max(columns.partner[operation], operation))

    def _update(self, operation: int, row: int) -> None:
        columns = self._log.columns
        kind, is_ours = columns.kind[row], columns.direction[row] == Direction.OUT
        if kind in (RecordKind.REQUEST, RecordKind.BATCH) and is_ours:
            self._update_request(operation, row)
        elif kind in (RecordKind.RESULT, RecordKind.ERROR) and not is_ours and columns.partner[row] >= 0:
            self._update_request(operation, columns.partner[row])
        else:
            self._extend_to(operation, self._axis.position(row))

    def _update_request(self, operation: int, request: int) -> None:
        columns = self._log.columns
        status, response = columns.status[request], columns.partner[request]
        start = self._axis.position(request)
        if request != operation and columns.method[request] == columns.method[operation]:
            self._add_round(operation, start)
        if status == _PENDING:
            self._wait_for(operation, request, start)
            return
        self._extend_to(operation, start + _length(columns.duration[request]))
        self._stop_waiting(request)
        subrow, index = self._find(operation)
        subrow.decide(index, status, max(response, request))

    def _wait_for(self, operation: int, request: int, start: int) -> None:
        end = self._axis.end_of_run(request)
        if end is not None:  # the program ended without recording the outcome
            self._extend_to(operation, max(start, end))
        elif request not in self._pending:
            self._pending[request] = operation
            self._extend_to(operation, start)
            subrow, index = self._find(operation)
            waiting, latest = self._open.get(operation, (0, subrow.ends[index]))
            self._open[operation] = waiting + 1, latest
            self._extend_to(operation, OPEN)
        subrow, index = self._find(operation)
        subrow.decide(index, Status.PENDING, request)

    def _stop_waiting(self, request: int) -> None:
        operation = self._pending.pop(request, None)
        if operation is None:
            return
        waiting, latest = self._open[operation]
        if waiting > 1:
            self._open[operation] = waiting - 1, latest
            return
        del self._open[operation]
        subrow, index = self._find(operation)
        subrow.ends[index] = latest

    def _add_round(self, operation: int, start: int) -> None:
        """Record a wait between rounds: since the last one ended, the user's reply was awaited."""
        subrow, index = self._find(operation)
        rounds = self._rounds.setdefault(operation, [])
        if subrow.ends[index] < start and len(rounds) < _MAX_ROUNDS:
            rounds.append(Wait(subrow.ends[index], start))

    def _extend_to(self, operation: int, end: int) -> None:
        """Extend the bar at least to this time, moving it to another sub-row if one is in the way."""
        subrow, index = self._find(operation)
        if end != OPEN and self._span is not None and end > self._span[1]:
            self._span = self._span[0], end
        if operation in self._open and end != OPEN:
            waiting, latest = self._open[operation]
            self._open[operation] = waiting, max(latest, end)
        if subrow.ends[index] >= end:
            return
        if subrow.can_end(index, end):
            subrow.ends[index] = end
            return
        start, decider, status = subrow.starts[index], subrow.deciders[index], subrow.status(index)
        subrow.remove(index)
        subrow, index = self._put(operation, start, end)
        subrow.decide(index, status, decider)

    def _put(self, operation: int, start: int, end: int) -> tuple[SubRow, int]:
        server = self._log.columns.server[operation]
        lane = self._lanes.get(server) or self._lanes.setdefault(server, Lane())
        subrow, index = lane.place(start, end, operation)
        self._positions[operation - self._first] = server * _SUBROWS + subrow.number + 1
        known = start if end == OPEN else end
        first, last = self._span or (start, known)
        if start < first or known > last or self._span is None:
            self._span = min(first, start), max(last, known)
        return subrow, index

    def _position(self, operation: int) -> int:
        index = operation - self._first
        return self._positions[index] if 0 <= index < len(self._positions) else 0

    def _find(self, operation: int) -> tuple[SubRow, int]:
        server, number = divmod(self._position(operation) - 1, _SUBROWS)
        subrow = self._lanes[server].numbered(number)
        assert subrow is not None
        return subrow, subrow.index(self._axis.position(operation), operation)


def _length(duration: int) -> int:
    """Return a bar length that is visible and ends before OPEN."""
    return min(max(1, duration), MAX_POSITION - 1)


def _pixel(subrows: Iterable[SubRow], t0: int, t1: int, width: int) -> int:
    """Return the length of a pixel, below which bars are merged.

    It covers several pixels if there is too much to paint.
    """
    pieces = crowded = 0
    for subrow in subrows:
        first, last = subrow.between(t0, t1)
        pieces += min(last - first, width)
        crowded += last > first
    together = -(-crowded * width // _MAX_PIECES) if pieces > _MAX_PIECES else 1
    return max(1, -(-(t1 - t0) // width)) * together
