"""The traffic log: all rows of all servers in arrival order, stored in columns.

One thread writes, any thread reads: a row is complete before `len` counts it, and never moves. Some
columns change later, each in one step: a request's status, partner and duration when it is answered, the
operation and the HTTP exchange of a row when they are known. So the log may be shared across threads.
Rows that changed after they became visible are in `touched`. Bytes stay in memory until a recording has
written them to disk and releases them; then `raw` reads them from its `BodyStore`.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from inspector.base.signals import Signal
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.columns import ID_INTEGER, ID_OTHER, Columns, StringTable
from inspector.traffic.credentials import Credentials
from inspector.traffic.records import Direction, HttpExchange, Record, RecordKind, RowNote, Status

if TYPE_CHECKING:
    from inspector.traffic.operations import CallCost

_MAX_INTEGER = 2**63 - 1
NO_ROW_NOTE = RowNote()


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
        self.touched = array("q")
        self.notes_changed: deque[int] = deque()
        self.credentials = Credentials()  # in use: rows may contain them, files must not
        self._count = 0
        self._allocated = 0  # number of rows that fit into all columns
        self._raw: list[bytes | None] = []
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
        number, kept = len(self._raw), len(raw)
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

    def link(self, request: int, response: int, status: Status) -> None:
        """Link a request and its response to each other."""
        columns = self.columns
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
        self._count = len(self._raw)
        self.grew.emit(self._count)

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
        self._raw[first:last] = [None] * (last - first)

    def release_http(self, row: int, exchange: HttpExchange) -> None:
        """Release an HTTP exchange that is stored, unless it has changed since."""
        with self._http_lock:
            if self._http.get(row) is exchange:
                del self._http[row]

    def http_in_memory(self) -> dict[int, HttpExchange]:
        """Return the exchanges by row that are in memory: those in progress or not stored yet."""
        with self._http_lock:
            return self._http.copy()

    def in_memory(self, first: int, last: int) -> list[bytes | None]:
        """Return the bytes of these rows; None for released ones."""
        return self._raw[first:last]

    def stored_chunk(self, chunk: int) -> bytes:
        """Return the joined bytes of the rows in this `chunk`, released or not."""
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
        self._allocated = len(self._raw)
        self.publish()

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
        return self.part(number, 0, self.columns.kept[number])

    def head(self, number: int, length: int) -> bytes:
        return self.part(number, 0, length)

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return some bytes of a row, without reading all of a large one."""
        raw = self._raw[number]
        if raw is not None:
            return raw if start == 0 and length >= len(raw) else raw[start : start + length]
        assert self._body_store is not None
        return self._body_store.part(number, start, min(length, max(0, self.columns.kept[number] - start)))

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
        """Return the exchange of an HTTP row, or of a frame that it carried."""
        is_own = self.columns.kind[number] == RecordKind.HTTP
        row = number if is_own else self.columns.exchange[number]
        if row < 0:
            return None
        exchange = self._http.get(row)
        return self._body_store.http(row) if exchange is None and self._body_store is not None else exchange

    def note(self, number: int) -> RowNote:
        return self._notes.get(number, NO_ROW_NOTE)

    def noted_rows(self) -> list[int]:
        """Return the rows that the user has marked or commented on."""
        return sorted(self._notes)

    def status(self, number: int) -> Status:
        """Return the status of a request; for a response, the status that it gave its request."""
        return Status(self.columns.status[number])

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
        rows: Iterable[int] = range(self._count)
        return [
            self.record(row) for row in rows if columns.server[row] == number and columns.kind[row] in kinds
        ]


class BodyStore(Protocol):
    """Storage of rows that were released from memory. Thread-safe."""

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return some bytes of a row's body."""
        ...

    def chunk(self, number: int) -> bytes:
        """Return the joined bytes of the rows in this `chunk`; b"" if they cannot be read."""
        ...

    def http(self, number: int) -> HttpExchange | None: ...
