"""All recorded rows of all servers, in arrival order, in columns.

One thread writes, any thread reads: a row is complete before `len` counts it, and never moves. Some
columns change later, each in one step: a request's status, partner and duration when it is answered, the
operation and the HTTP exchange of a row when they are known. That is why the log may be shared across
threads as it is. Rows that changed after they could be seen are in `touched`.

Bytes are kept in memory until a recording has them on disk (`shelve`); then `raw` reads them from there.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from inspector.base.signals import Signal
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.columns import ID_INTEGER, ID_OTHER, Columns
from inspector.traffic.credentials import Credentials
from inspector.traffic.records import Direction, HttpExchange, Record, RecordKind, Remark, Status
from inspector.traffic.words import Words

if TYPE_CHECKING:
    from inspector.traffic.callcost import CallCost

_BIGGEST = 2**63 - 1
NO_REMARK = Remark()


class Shelf(Protocol):
    """Where rows are that were let go from memory. Any thread may ask."""

    def part(self, number: int, start: int, length: int) -> bytes:
        """Some bytes of a row's body."""
        ...

    def chunk(self, number: int) -> bytes:
        """The joined bytes of the rows with this number in column `chunk`; b"" when they cannot be read."""
        ...

    def http(self, number: int) -> HttpExchange | None: ...


class TrafficLog:
    """Append-only.

    Signals:
        grew: Rows were added or changed (`touched`); carries the length. Once a batch, where it is written.
        noted: The person marked a row, or commented on it; carries its number. Where `set_remark` was called.
    """

    def __init__(self) -> None:
        self.grew: Signal[int] = Signal()
        self.noted: Signal[int] = Signal()
        self.columns = Columns()
        self.words = Words()
        self.revisions = [""]  # those that were agreed on, in the order in which they turned up
        self.touched = array("q")
        self.remarks_changed: deque[int] = deque()
        self.credentials = Credentials()  # in use: rows may hold them, files may not
        self._count = 0
        self._room = 0  # rows that all columns have place for
        self._raw: list[bytes | None] = []
        self._other_ids: dict[int, RequestId] = {}
        self._http: dict[int, HttpExchange] = {}
        self._http_lock = threading.Lock()
        self._remarks: dict[int, Remark] = {}
        self._resent: dict[int, int] = {}
        self._costs: dict[int, CallCost] = {}
        self._servers: list[str] = []
        self._shelf: Shelf | None = None

    def __len__(self) -> int:
        return self._count

    # -------------------------------------------------------------- writing, on one thread

    def add_server(self, name: str) -> int:
        """A number for a server's rows. A server that comes back gets its old one."""
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
        """Add a row and give its number. Readers see it after `publish`."""
        columns, word = self.columns, self.words.number
        number, kept = len(self._raw), len(raw)
        if number >= self._room:
            self._room = columns.make_room()
        columns.monotonic.append(monotonic_ns)
        columns.wall.append(wall_ns)
        columns.server.append(server)
        columns.kind.append(kind)
        columns.direction.append(direction)
        columns.method.append(word(method))
        columns.size.append(kept if size < 0 else size)
        columns.kept.append(kept)
        if kind == 1:  # a request waits: Status.PENDING
            columns.status[number] = 1
        if revision:
            columns.revision[number] = revision
        if id is not None:
            self._set_id(number, id)
        if subject:
            columns.subject[number] = word(subject)
        if problem:
            columns.problem[number] = word(problem)
        self._raw.append(raw)
        return number

    def _set_id(self, number: int, id: RequestId) -> None:
        if type(id) is int and -_BIGGEST <= id <= _BIGGEST:
            self.columns.id_kind[number] = ID_INTEGER
            self.columns.id_value[number] = id
        else:
            self.columns.id_kind[number] = ID_OTHER
            self._other_ids[number] = id

    def link(self, request: int, answer: int, status: Status) -> None:
        """An answer came for a request: each learns of the other."""
        columns = self.columns
        columns.partner[answer] = request
        columns.partner[request] = answer
        columns.status[answer] = columns.status[request] = status
        duration = abs(columns.monotonic[answer] - columns.monotonic[request])
        columns.duration[answer] = columns.duration[request] = duration
        self._touch(request)

    def give_up(self, request: int, status: Status = Status.GIVEN_UP) -> None:
        if self.columns.status[request] == Status.PENDING:
            self.columns.status[request] = status
            self._touch(request)

    def rides_on(self, row: int, exchange: int) -> None:
        """A frame came or went on the HTTP exchange of this row."""
        self.columns.exchange[row] = exchange
        self._touch(row)

    def belongs_to(self, row: int, operation: int) -> None:
        """A row is part of the operation that began with the request of row `operation`."""
        self.columns.operation[row] = operation
        self._touch(row)

    def set_http(self, row: int, exchange: HttpExchange) -> None:
        """What is known of an exchange now; frozen, so a reader sees the old or the new, whole."""
        with self._http_lock:
            self._http[row] = exchange
        self.columns.http_status[row] = max(0, min(exchange.status or 0, 0xFFFF))
        self.columns.duration[row] = -1 if exchange.total_ns is None else exchange.total_ns
        self._touch(row)

    def set_resent_of(self, row: int, old: int) -> None:
        """A request is an older one, sent again."""
        self._resent[row] = old
        self._touch(row)

    def set_cost(self, operation: int, cost: CallCost) -> None:
        """What the call that began with this row cost the server; kept while the log is in memory."""
        self._costs[operation] = cost
        self._touch(operation)

    def _touch(self, row: int) -> None:
        if row < self._count:
            self.touched.append(row)

    def publish(self) -> None:
        """Show readers what was appended."""
        self._count = len(self._raw)
        self.grew.emit(self._count)

    def set_remark(self, row: int, remark: Remark) -> None:
        """What the person notes about a row. From any thread, unlike all else here that writes."""
        if remark == NO_REMARK:
            self._remarks.pop(row, None)
        else:
            self._remarks[row] = remark
        self.remarks_changed.append(row)
        self.noted.emit(row)

    # -------------------------------------------------------------- storing

    def shelve(self, shelf: Shelf) -> None:
        """From now on rows may be let go: `shelf` has them."""
        self._shelf = shelf

    def let_go(self, first: int, last: int) -> None:
        """Forget the bytes of these rows: the shelf has them."""
        self._raw[first:last] = [None] * (last - first)

    def let_go_http(self, row: int, exchange: HttpExchange) -> None:
        """Forget what is known of an HTTP exchange, unless more is known by now: the shelf has this."""
        with self._http_lock:
            if self._http.get(row) is exchange:
                del self._http[row]

    def http_in_memory(self) -> dict[int, HttpExchange]:
        """The exchanges by row that were not let go: those that go on, and those that are not stored yet."""
        with self._http_lock:
            return self._http.copy()

    def in_memory(self, first: int, last: int) -> list[bytes | None]:
        """The bytes of these rows; None for those that were let go."""
        return self._raw[first:last]

    def stored(self, chunk: int) -> bytes:
        """The joined bytes of the rows with this number in column `chunk`; they may be let go or not."""
        return b"" if self._shelf is None else self._shelf.chunk(chunk)

    def restore(
        self,
        servers: list[str],
        other_ids: dict[int, RequestId],
        remarks: dict[int, Remark],
        resent: dict[int, int],
    ) -> None:
        """Take over what a capture holds, after its words, revisions and columns were put in: all bytes are
        on the shelf. For a log that is empty."""
        self._servers = servers
        self._other_ids, self._remarks, self._resent = other_ids, remarks, resent
        self._raw = [None] * len(self.columns.kind)
        self._room = len(self._raw)
        self.publish()

    # -------------------------------------------------------------- reading, on any thread

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
        return self.words.text(self.columns.method[number])

    def subject(self, number: int) -> str:
        return self.words.text(self.columns.subject[number])

    def problem(self, number: int) -> str:
        return self.words.text(self.columns.problem[number])

    def revision(self, number: int) -> str:
        """The protocol revision that was agreed on when the row came; "" before that."""
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
        """How many bytes `raw` has: less than `size` for a frame that was too big to keep."""
        return self.columns.kept[number]

    def raw(self, number: int) -> bytes:
        return self.part(number, 0, self.columns.kept[number])

    def head(self, number: int, length: int) -> bytes:
        return self.part(number, 0, length)

    def part(self, number: int, start: int, length: int) -> bytes:
        """Some bytes of a row, without reading all of a big one."""
        raw = self._raw[number]
        if raw is not None:
            return raw if start == 0 and length >= len(raw) else raw[start : start + length]
        assert self._shelf is not None
        return self._shelf.part(number, start, min(length, max(0, self.columns.kept[number] - start)))

    def partner(self, number: int) -> int | None:
        partner = self.columns.partner[number]
        return partner if partner >= 0 else None

    def exchange(self, number: int) -> int | None:
        """The row of the HTTP exchange that a frame rode on."""
        exchange = self.columns.exchange[number]
        return exchange if exchange >= 0 else None

    def operation(self, number: int) -> int | None:
        """The row of the first request of the operation that a row belongs to."""
        operation = self.columns.operation[number]
        return operation if operation >= 0 else None

    def resent_of(self, number: int) -> int | None:
        """The row of the request that this one repeats, by the person's wish."""
        return self._resent.get(number)

    def cost(self, operation: int) -> CallCost | None:
        """Of a call that was measured."""
        return self._costs.get(operation)

    def resent(self) -> dict[int, int]:
        return dict(self._resent)

    def http(self, number: int) -> HttpExchange | None:
        """Of an HTTP row, or of a frame that rode on one."""
        is_own = self.columns.kind[number] == RecordKind.HTTP
        row = number if is_own else self.columns.exchange[number]
        if row < 0:
            return None
        exchange = self._http.get(row)
        return self._shelf.http(row) if exchange is None and self._shelf is not None else exchange

    def remark(self, number: int) -> Remark:
        return self._remarks.get(number, NO_REMARK)

    def remarked(self) -> list[int]:
        """The rows that the person has marked or commented on."""
        return sorted(self._remarks)

    def status(self, number: int) -> Status:
        """Of a request: how it stands. Of an answer: how it made its request stand."""
        return Status(self.columns.status[number])

    def duration_ns(self, number: int) -> int | None:
        """From a request to its answer, on both rows; of an HTTP exchange, all of it."""
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
        """Every row of a server of these kinds, oldest first."""
        number = self.server_number(server)
        columns = self.columns
        rows: Iterable[int] = range(self._count)
        return [
            self.record(row) for row in rows if columns.server[row] == number and columns.kind[row] in kinds
        ]
