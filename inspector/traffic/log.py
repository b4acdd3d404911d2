"""The traffic log: all rows of all servers in arrival order, stored in columns.

One thread writes, any thread reads: a row is complete before `len` counts it, and never moves. Some
columns change later, each in one step: a request's status, partner and duration when it is answered, the
operation, the HTTP exchange and the findings of a row when they are known. So the log may be shared
across threads. Rows that changed after they became visible are in `touched`. Bytes stay in memory until a
recording has written them to disk and releases them; then `raw` reads them from its `BodyStore`. A
recording also drops the oldest rows, once there are very many: rows before `first` are only in its files.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from inspector.base.errors import UserError
from inspector.base.signals import Signal
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.columns import ID_INTEGER, ID_OTHER, Column, Columns, StringTable
from inspector.traffic.credentials import Credentials
from inspector.traffic.records import Direction, HttpExchange, Record, RecordKind, RowNote, Status

if TYPE_CHECKING:
    from inspector.traffic.operations import CallCost

_MAX_INTEGER = 2**63 - 1
NO_ROW_NOTE = RowNote()
_STATUSES = {status.value: status for status in Status}  # five times as fast as `Status(value)`
_UNREADABLE_PREVIEW = b"(could not be read)"
_MAX_PINNED = 10_000
_MANY_STRINGS = 50_000


class TrafficLog:
    """Append-only log of all recorded rows.

    Signals:
        grew: Rows were added or changed (`touched`); carries the length. Once per batch, on the writing
            thread.
        noted: A row was marked or commented on; carries its number. On the thread that called `set_note`.
    """

    def __init__(self) -> None:
        self.grew: Signal[int] = Signal()
        self.noted: Signal[int] = Signal()
        self.columns = Columns()
        self.strings = StringTable()
        self.revisions = [""]  # negotiated versions, in order of first occurrence
        self.touched = Column("q", -1)
        self.notes_changed: deque[int] = deque()
        self.credentials = Credentials()  # in use: rows may contain them, files must not
        self._count = 0
        self._allocated = 0  # number of rows that fit into all columns
        self._first = 0
        self._raw: list[bytes | None] = []  # from row `_first` on
        self._bodies = self._raw, 0  # the same, for readers on other threads
        self._release_lock = threading.Lock()
        self._drop_requested = (0, 0)  # rows, entries of `touched`
        self._pinned: frozenset[int] = frozenset()
        self._other_ids: dict[int, RequestId] = {}
        self._http: dict[int, HttpExchange] = {}
        self._http_lock = threading.Lock()
        self._notes: dict[int, RowNote] = {}
        self._resent: dict[int, int] = {}
        self._costs: dict[int, CallCost] = {}
        self._servers: list[str] = []
        self._body_store: BodyStore | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def first(self) -> int:
        """The first row in memory. Earlier ones are in the files of the recording, and read as empty."""
        return self._first

    @property
    def pinned(self) -> frozenset[int]:
        """Rows before `first` that are still complete: pending requests, HTTP exchanges in progress."""
        return self._pinned

    def add_server(self, name: str) -> int:
        """Return the number of a server, adding it if new. A returning server keeps its number."""
        if name not in self._servers:
            self._servers.append(name)
        return self._servers.index(name)

    def add_revision(self, revision: str) -> int:
        if revision not in self.revisions:
            self.revisions.append(revision)
        return self.revisions.index(revision)

    def append(
        self,
        server: int,
        kind: int,
        direction: int,
        monotonic_ns: int,
        wall_ns: int,
        raw: bytes,
        method: str = "",
        subject: str = "",
        id: RequestId | None = None,
        problem: str = "",
        size: int = -1,
        revision: int = 0,
    ) -> int:
        """Add a row and return its number. Readers see it after `publish`."""
        columns, intern = self.columns, self.strings.number
        number, kept = self._first + len(self._raw), len(raw)
        if number >= self._allocated:
            self._allocated = columns.allocate()
        columns.monotonic.append(monotonic_ns)
        columns.wall.append(wall_ns)
        columns.server.append(server)
        columns.kind.append(kind)
        columns.direction.append(direction)
        columns.method.append(intern(method))
        columns.size.append(kept if size < 0 else size)
        columns.kept.append(kept)
        if kind == 1:  # a pending request: Status.PENDING
            columns.status[number] = 1
        if revision:
            columns.revision[number] = revision
        if id is not None:
            self._set_id(number, id)
        if subject:
            columns.subject[number] = intern(subject)
        if problem:
            columns.problem[number] = intern(problem)
        self._raw.append(raw)
        return number

    def _set_id(self, number: int, id: RequestId) -> None:
        if type(id) is int and -_MAX_INTEGER <= id <= _MAX_INTEGER:
            self.columns.id_kind[number] = ID_INTEGER
            self.columns.id_value[number] = id
        else:
            self.columns.id_kind[number] = ID_OTHER
            self._other_ids[number] = id

    def copy_names(self, request: int, response: int) -> None:
        """Give a response the method and the subject of its request."""
        columns = self.columns
        columns.method[response] = columns.method[request]
        columns.subject[response] = columns.subject[request]

    def link(self, request: int, response: int, status: Status) -> None:
        """Link a request and its response to each other."""
        columns = self.columns
        if request < self._first and request not in self._pinned:
            columns.status[response] = status
            return
        columns.partner[response] = request
        columns.partner[request] = response
        columns.status[response] = columns.status[request] = status
        duration = abs(columns.monotonic[response] - columns.monotonic[request])
        columns.duration[response] = columns.duration[request] = duration
        self._touch(request)

    def set_late(self, response: int) -> None:
        """Mark a response that arrived after its request had ended. The request keeps its status."""
        self.columns.status[response] = Status.LATE

    def end_request(self, request: int, status: Status) -> None:
        """Set the status of a pending request that will get no response."""
        if self.columns.status[request] == Status.PENDING:
            self.columns.status[request] = status
            self._touch(request)

    def add_problem(self, row: int, problem: str) -> None:
        """Add a finding to a row."""
        known = self.problem(row)
        if problem in known:
            return
        self.columns.problem[row] = self.strings.number(f"{known}; {problem}" if known else problem)
        self._touch(row)

    def set_carrier(self, row: int, exchange: int) -> None:
        """Link a frame to the HTTP exchange that carried it."""
        self.columns.exchange[row] = exchange
        self._touch(row)

    def set_operation(self, row: int, operation: int) -> None:
        """Assign a row to the operation that began with the request in row `operation`."""
        self.columns.operation[row] = operation
        self._touch(row)

    def set_http(self, row: int, exchange: HttpExchange) -> None:
        """Set what is known of an exchange.

        It is frozen, so that a reader sees either the old or the new one, whole.
        """
        with self._http_lock:
            self._http[row] = exchange
        self.columns.http_status[row] = max(0, min(exchange.status or 0, 0xFFFF))
        self.columns.duration[row] = -1 if exchange.total_ns is None else exchange.total_ns
        self._touch(row)

    def set_resent_of(self, row: int, old: int) -> None:
        """Record that a request repeats an older one."""
        self._resent[row] = old
        self._touch(row)

    def set_cost(self, operation: int, cost: CallCost) -> None:
        """Set what a call cost the server; kept only while the log is in memory."""
        self._costs[operation] = cost
        self._touch(operation)

    def _touch(self, row: int) -> None:
        if row < self._count:
            self.touched.append(row)

    def publish(self) -> None:
        """Make appended rows visible to readers."""
        self._count = self._first + len(self._raw)
        if self._drop_requested[0] > self._first:
            self._drop(*self._drop_requested)
        self.grew.emit(self._count)

    def request_drop(self, first: int, touched: int) -> None:
        """Drop the rows before `first` from memory with the next `publish`, and old entries of `touched`.

        Only for rows and changes that a recording has stored. From any thread.
        """
        self._drop_requested = first, touched

    def _drop(self, first: int, touched: int) -> None:
        pinned = self._rows_in_progress(first)
        self._pinned = frozenset(pinned)
        self.columns.drop(first, pinned)
        self.touched.drop(max(touched, self.touched.first), ())
        with self._release_lock:
            self._raw = self._raw[first - self._first :]
            self._bodies = self._raw, first
        self._first = first
        for row in [*takewhile(lambda row: row < first, self._other_ids)]:  # ascending
            if row not in self._pinned:
                del self._other_ids[row]
        self._costs = {row: cost for row, cost in self._costs.copy().items() if row >= first}
        if len(self.strings) > _MANY_STRINGS:
            self._drop_strings()

    def _rows_in_progress(self, first: int) -> list[int]:
        """Return the rows before `first` that may still change, the newest of very many."""
        statuses = self.columns.status
        found = {row for row in self.http_in_memory() if row < first}
        found.update(row for row in self._pinned if statuses[row] == Status.PENDING)
        dropped = statuses[self._first : first].tobytes()
        at = dropped.find(Status.PENDING)
        while at >= 0:
            found.add(self._first + at)
            at = dropped.find(Status.PENDING, at + 1)
        return sorted(found)[-_MAX_PINNED:]

    def _drop_strings(self) -> None:
        """Release the texts that only dropped rows refer to."""
        columns, used = self.columns, {0}
        for column in (columns.method, columns.subject, columns.problem):
            used.update(column[self._first :], (column[row] for row in self._pinned))
        self.strings.release(used)

    def set_note(self, row: int, note: RowNote) -> None:
        """Set the user's mark or comment on a row. The only write allowed from any thread."""
        if note == NO_ROW_NOTE:
            self._notes.pop(row, None)
        else:
            self._notes[row] = note
        self.notes_changed.append(row)
        self.noted.emit(row)

    def set_body_store(self, body_store: BodyStore) -> None:
        """Set where the bytes of released rows are read from."""
        self._body_store = body_store

    def release_bodies(self, first: int, last: int) -> None:
        """Release the bytes of these rows from memory; the body store has them."""
        with self._release_lock:
            raw, dropped = self._bodies
            first, last = max(first - dropped, 0), max(last - dropped, 0)
            raw[first:last] = [None] * (last - first)

    def release_http(self, row: int, exchange: HttpExchange) -> None:
        """Release an HTTP exchange that is stored, unless it has changed since."""
        with self._http_lock:
            if self._http.get(row) is exchange:
                del self._http[row]

    @property
    def http_count(self) -> int:
        """The number of HTTP exchanges in memory."""
        return len(self._http)

    def http_in_memory(self) -> dict[int, HttpExchange]:
        """Return the exchanges by row that are in memory: those in progress or not stored yet."""
        with self._http_lock:
            return self._http.copy()

    def in_memory(self, first: int, last: int) -> list[bytes | None]:
        """Return the bytes of these rows; None for released and dropped ones."""
        raw, dropped = self._bodies
        missing = max(0, min(last, dropped) - first)
        found = raw[max(first - dropped, 0) : max(last - dropped, 0)]
        return [*([None] * missing), *found] if missing else found

    def stored_chunk(self, chunk: int) -> bytes:
        """Return the joined bytes of the rows in this `chunk`, released or not. Raises BodyUnavailable."""
        return b"" if self._body_store is None else self._body_store.chunk(chunk)

    def restore(
        self,
        servers: list[str],
        other_ids: dict[int, RequestId],
        notes: dict[int, RowNote],
        resent: dict[int, int],
    ) -> None:
        """Restore an empty log from a capture.

        Strings, revisions and columns must be in place already; all bytes are in the body store.
        """
        self._servers = servers
        self._other_ids, self._notes, self._resent = other_ids, notes, resent
        self._raw = [None] * len(self.columns.kind)
        self._bodies = self._raw, 0
        self._allocated = len(self._raw)
        self.publish()

    def restore_notes(self, notes: Mapping[int, RowNote]) -> None:
        """Replace the restored notes of these rows by those that are stored elsewhere."""
        for row, note in notes.items():
            if note == NO_ROW_NOTE:
                self._notes.pop(row, None)
            else:
                self._notes[row] = note

    def servers(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def server_number(self, name: str) -> int | None:
        return self._servers.index(name) if name in self._servers else None

    def kind(self, number: int) -> int:
        return self.columns.kind[number]

    def server(self, number: int) -> int:
        return self.columns.server[number]

    def server_name(self, number: int) -> str:
        return self._servers[self.columns.server[number]]

    def direction(self, number: int) -> int:
        return self.columns.direction[number]

    def monotonic_ns(self, number: int) -> int:
        return self.columns.monotonic[number]

    def wall_ns(self, number: int) -> int:
        return self.columns.wall[number]

    def method(self, number: int) -> str:
        return self.strings.text(self.columns.method[number])

    def subject(self, number: int) -> str:
        return self.strings.text(self.columns.subject[number])

    def problem(self, number: int) -> str:
        return self.strings.text(self.columns.problem[number])

    def revision(self, number: int) -> str:
        """Return the protocol version negotiated when the row was recorded; "" before that."""
        return self.revisions[self.columns.revision[number]]

    def id(self, number: int) -> RequestId | None:
        match self.columns.id_kind[number]:
            case 0:
                return None
            case 1:
                return self.columns.id_value[number]
        return self._other_ids.get(number)

    def size(self, number: int) -> int:
        return self.columns.size[number]

    def kept(self, number: int) -> int:
        """Return the length of `raw`: less than `size` for a frame that was too large to keep."""
        return self.columns.kept[number]

    def raw(self, number: int) -> bytes:
        """Return all bytes of a row. Raises BodyUnavailable."""
        return self.part(number, 0, self.columns.kept[number])

    def preview(self, number: int, length: int) -> bytes:
        """Return the first bytes of a row for a table; a placeholder if they cannot be read."""
        head = self.readable_raw(number, length)
        return _UNREADABLE_PREVIEW if head is None else head

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return some bytes of a row, without reading all of a large one.

        All that were requested, up to the row's end. Raises BodyUnavailable.
        """
        raw = self._body(number)
        if raw is not None:
            return raw if start == 0 and length >= len(raw) else raw[start : start + length]
        length = min(length, max(0, self.columns.kept[number] - start))
        if length <= 0:  # as of a dropped row
            return b""
        assert self._body_store is not None
        return self._body_store.part(number, start, length)

    def _body(self, number: int) -> bytes | None:
        raw, dropped = self._bodies
        return raw[number - dropped] if number >= dropped else None

    def partner(self, number: int) -> int | None:
        partner = self.columns.partner[number]
        return partner if partner >= 0 else None

    def exchange(self, number: int) -> int | None:
        """Return the row of the HTTP exchange that carried a frame."""
        exchange = self.columns.exchange[number]
        return exchange if exchange >= 0 else None

    def operation(self, number: int) -> int | None:
        """Return the row of the first request of a row's operation."""
        operation = self.columns.operation[number]
        return operation if operation >= 0 else None

    def resent_of(self, number: int) -> int | None:
        """Return the row of the request that the user resent as this one."""
        return self._resent.get(number)

    def cost(self, operation: int) -> CallCost | None:
        """Return the cost of a measured call."""
        return self._costs.get(operation)

    def resent(self) -> dict[int, int]:
        return dict(self._resent)

    def http(self, number: int) -> HttpExchange | None:
        """Return the exchange of an HTTP row, or of a frame that it carried. Raises BodyUnavailable."""
        is_own = self.columns.kind[number] == RecordKind.HTTP
        row = number if is_own else self.columns.exchange[number]
        if row < 0:
            return None
        exchange = self._http.get(row)
        return self._body_store.http(row) if exchange is None and self._body_store is not None else exchange

    def readable_http(self, number: int) -> HttpExchange | None:
        """Return the exchange like `http`, or None if it cannot be read."""
        try:
            return self.http(number)
        except BodyUnavailable:
            return None

    def readable_raw(self, number: int, length: int | None = None) -> bytes | None:
        """Return a row's first bytes, or all; None if they cannot be read."""
        try:
            return self.raw(number) if length is None else self.part(number, 0, length)
        except BodyUnavailable:
            return None

    @property
    def read_failure(self) -> BodyUnavailable | None:
        """The last failure to read bytes since `forget_read_failure`."""
        return self._body_store.failure if self._body_store is not None else None

    def forget_read_failure(self) -> None:
        if self._body_store is not None:
            self._body_store.failure = None

    def note(self, number: int) -> RowNote:
        return self._notes.get(number, NO_ROW_NOTE)

    def noted_rows(self) -> list[int]:
        """Return the rows that the user has marked or commented on."""
        return sorted(row for row in self._notes if row >= self._first)

    def status(self, number: int) -> Status:
        """Return the status of a request; for a response, the status that it gave its request."""
        return _STATUSES[self.columns.status[number]]

    def duration_ns(self, number: int) -> int | None:
        """Return the time from request to response, on both rows; for an HTTP exchange, its total."""
        duration = self.columns.duration[number]
        return None if duration < 0 else duration

    def record(self, number: int) -> Record:
        return Record(
            number=number,
            server=self.server_name(number),
            kind=RecordKind(self.columns.kind[number]),
            direction=Direction(self.columns.direction[number]),
            monotonic_ns=self.columns.monotonic[number],
            wall_ns=self.columns.wall[number],
            method=self.method(number),
            subject=self.subject(number),
            id=self.id(number),
            status=self.status(number),
            duration_ns=self.duration_ns(number),
            partner=self.partner(number),
            size=self.columns.size[number],
            problem=self.problem(number),
            raw=self.raw(number),
            exchange=self.exchange(number),
            operation=self.operation(number),
            revision=self.revision(number),
        )

    def find(self, server: str, *kinds: RecordKind) -> list[Record]:
        """Return a server's rows of these kinds, oldest first."""
        number = self.server_number(server)
        columns = self.columns
        rows: Iterable[int] = range(self._first, self._count)
        return [
            self.record(row) for row in rows if columns.server[row] == number and columns.kind[row] in kinds
        ]


class BodyUnavailable(UserError):
    """The bytes of a row cannot be read: its capture is gone, or damaged there."""


class BodyStore(Protocol):
    """Storage of rows that were released from memory. Thread-safe; every method raises BodyUnavailable."""

    failure: BodyUnavailable | None  # the last one raised

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return exactly `length` bytes of a row's body."""
        ...

    def chunk(self, number: int) -> bytes:
        """Return the joined bytes of the rows in this `chunk`."""
        ...

    def http(self, number: int) -> HttpExchange | None: ...
