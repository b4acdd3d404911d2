"""HTTP exchanges and server-sent events of one server, as rows of the log."""

from __future__ import annotations

from dataclasses import replace

from inspector.base.redact import masked_url
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import OperationLinker
from inspector.traffic.records import Direction, HttpExchange, RecordKind


class HttpRecorder:
    """Records one row per exchange, written when it begins and completed as it goes on."""

    def __init__(self, log: TrafficLog, server: int, operations: OperationLinker, about: str = "") -> None:
        self._log = log
        self._server = server
        self._operations = operations
        self._about = about
        self._rows: dict[int, int] = {}

    def new_conversation(self) -> None:
        """Reset the exchange numbers."""
        self._rows = {}

    def requested(self, number: int, exchange: HttpExchange, at: int, wall: int, carried: int) -> None:
        """Record a request. `carried` is the row of the frame sent with it; -1 for none."""
        line = f"{exchange.method} {masked_url(exchange.url)}".encode(errors="replace")
        row = self._append(RecordKind.HTTP, Direction.OUT, at, wall, line, exchange.method)
        self._rows[number] = row
        self._log.set_http(row, exchange)
        if carried >= 0:
            self._log.rides_on(carried, row)
            self._operations.exchanged(row, carried)
        self._log.publish()

    def update(self, number: int, **known: object) -> None:
        """Update what is known of an exchange: its status, its end."""
        row = self._rows.get(number)
        exchange = self._log.http(row) if row is not None else None
        if row is not None and exchange is not None:
            self._log.set_http(row, replace(exchange, **known))  # type: ignore[arg-type]
            self._log.publish()

    def event(self, number: int, text: str, at: int, wall: int) -> None:
        """Record a server-sent event or a comment, as text."""
        row = self._append(RecordKind.SSE, Direction.IN, at, wall, text.encode(errors="replace"), "")
        if number in self._rows:
            self._log.rides_on(row, self._rows[number])
            self._operations.exchanged(row, self._rows[number])
        self._log.publish()

    def row_of(self, number: int | None) -> int:
        return self._rows.get(number, -1) if number is not None else -1

    def _append(
        self, kind: RecordKind, direction: Direction, at: int, wall: int, raw: bytes, method: str
    ) -> int:
        return self._log.append(self._server, kind, direction, at, wall, raw, method, self._about)
