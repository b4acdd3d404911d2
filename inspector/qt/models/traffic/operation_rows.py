"""The requests of each operation, for tables that show an operation as one row.

That row is the one of its first request. Operations with more requests (multi round-trip retries, task
polls) are noted as the log is read.
"""

from __future__ import annotations

from itertools import compress
from operator import ne

from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

_IS_REQUEST = bytes(kind == RecordKind.REQUEST for kind in range(256))
_IS_OUT = bytes(direction == Direction.OUT for direction in range(256))


class OperationRows:
    """The requests of each operation, read from the log.

    Each row is read once, up to the length given to `update`; changed rows can be noted again.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = 0
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
