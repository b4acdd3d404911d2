"""All recorded rows of all servers, in arrival order, in columns.

One thread writes, any thread reads: a row is complete before `len` counts it, and never moves. Two
columns of a request's row change later, each in one step: its partner and its status. That is why the
log may be shared across threads as it is.

Columns and plain bytes, because objects per row cost the garbage collector: with 500,000 dictionaries
kept, a window stood still for 0.4 s at a time; with bytes kept, it did not.
"""

from __future__ import annotations

from array import array

from inspector.base.signals import Signal
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.records import Direction, HttpExchange, Record, RecordKind, Status


class TrafficLog:
    """Append-only.

    Signals:
        grew: Rows were added; carries the new length. Once a batch, on the writing thread.
    """

    def __init__(self) -> None:
        self.grew: Signal[int] = Signal()
        self._count = 0
        self._monotonic = array("q")
        self._wall = array("q")
        self._server = array("H")
        self._kind = array("B")
        self._direction = array("B")
        self._status = array("B")
        self._method = array("I")
        self._subject = array("I")
        self._problem = array("I")
        self._partner = array("q")
        self._size = array("q")
        self._exchange = array("q")
        self._http: dict[int, HttpExchange] = {}
        self._ids: list[RequestId | None] = []
        self._raw: list[bytes] = []
        self._words = _Words()
        self._servers: list[str] = []

    def __len__(self) -> int:
        return self._count

    # -------------------------------------------------------------- writing, on one thread

    def add_server(self, name: str) -> int:
        """A number for a server's rows. A server that comes back gets its old one."""
        if name not in self._servers:
            self._servers.append(name)
        return self._servers.index(name)

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
    ) -> int:
        """Add a row and give its number. Readers see it after `publish`."""
        number = len(self._raw)
        word = self._words.number
        self._monotonic.append(monotonic_ns)
        self._wall.append(wall_ns)
        self._server.append(server)
        self._kind.append(kind)
        self._direction.append(direction)
        self._status.append(Status.PENDING if kind == RecordKind.REQUEST else Status.NONE)
        self._method.append(word(method))
        self._subject.append(word(subject) if subject else 0)
        self._problem.append(word(problem) if problem else 0)
        self._partner.append(-1)
        self._size.append(len(raw) if size < 0 else size)
        self._exchange.append(-1)
        self._ids.append(id)
        self._raw.append(raw)
        return number

    def link(self, request: int, answer: int, status: Status) -> None:
        """An answer came for a request: each learns of the other."""
        self._partner[answer] = request
        self._partner[request] = answer
        self._status[request] = status

    def give_up(self, request: int, status: Status = Status.GIVEN_UP) -> None:
        if self._status[request] == Status.PENDING:
            self._status[request] = status

    def rides_on(self, row: int, exchange: int) -> None:
        """A frame came or went on the HTTP exchange of this row."""
        self._exchange[row] = exchange

    def set_http(self, row: int, exchange: HttpExchange) -> None:
        """What is known of an exchange now; frozen, so a reader sees the old or the new, whole."""
        self._http[row] = exchange

    def publish(self) -> None:
        """Show readers what was appended."""
        self._count = len(self._raw)
        self.grew.emit(self._count)

    # -------------------------------------------------------------- reading, on any thread

    def servers(self) -> tuple[str, ...]:
        return tuple(self._servers)

    def server_number(self, name: str) -> int | None:
        return self._servers.index(name) if name in self._servers else None

    def kind(self, number: int) -> int:
        return self._kind[number]

    def server(self, number: int) -> int:
        return self._server[number]

    def server_name(self, number: int) -> str:
        return self._servers[self._server[number]]

    def direction(self, number: int) -> int:
        return self._direction[number]

    def monotonic_ns(self, number: int) -> int:
        return self._monotonic[number]

    def wall_ns(self, number: int) -> int:
        return self._wall[number]

    def method(self, number: int) -> str:
        return self._words.text(self._method[number])

    def subject(self, number: int) -> str:
        return self._words.text(self._subject[number])

    def problem(self, number: int) -> str:
        return self._words.text(self._problem[number])

    def id(self, number: int) -> RequestId | None:
        return self._ids[number]

    def size(self, number: int) -> int:
        return self._size[number]

    def raw(self, number: int) -> bytes:
        return self._raw[number]

    def partner(self, number: int) -> int | None:
        partner = self._partner[number]
        return partner if partner >= 0 else None

    def exchange(self, number: int) -> int | None:
        """The row of the HTTP exchange that a frame rode on."""
        exchange = self._exchange[number]
        return exchange if exchange >= 0 else None

    def http(self, number: int) -> HttpExchange | None:
        """Of an HTTP row, or of a frame that rode on one."""
        return self._http.get(number) or self._http.get(self._exchange[number])

    def status(self, number: int) -> Status:
        """Of a request: how it stands. Of an answer: how it made its request stand."""
        partner = self._partner[number]
        is_answer = self._status[number] == Status.NONE and partner >= 0
        return Status(self._status[partner if is_answer else number])

    def duration_ns(self, number: int) -> int | None:
        """From a request to its answer, on both rows."""
        partner = self._partner[number]
        return None if partner < 0 else abs(self._monotonic[partner] - self._monotonic[number])

    def record(self, number: int) -> Record:
        return Record(
            number=number,
            server=self.server_name(number),
            kind=RecordKind(self._kind[number]),
            direction=Direction(self._direction[number]),
            monotonic_ns=self._monotonic[number],
            wall_ns=self._wall[number],
            method=self.method(number),
            subject=self.subject(number),
            id=self._ids[number],
            status=self.status(number),
            duration_ns=self.duration_ns(number),
            partner=self.partner(number),
            size=self._size[number],
            problem=self.problem(number),
            raw=self._raw[number],
            exchange=self.exchange(number),
        )

    def find(self, server: str, *kinds: RecordKind) -> list[Record]:
        """Every row of a server of these kinds, oldest first."""
        number = self.server_number(server)
        rows = range(self._count)
        return [self.record(row) for row in rows if self._server[row] == number and self._kind[row] in kinds]


class _Words:
    """Each different text once; rows hold its number. Number 0 is the empty text."""

    def __init__(self) -> None:
        self._texts = [""]
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = len(self._texts)
            self._texts.append(text)
            self._numbers[text] = number
        return number

    def text(self, number: int) -> str:
        return self._texts[number]
