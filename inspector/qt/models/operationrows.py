"""What the rows of an operation come to: how many rounds it took, how long in all, how it ended.

An operation is one row of the table, that of its first request; most have no other request of ours. Those
that do (multi round-trip retries, polls of a task) are remembered here as the log is read.
"""

from __future__ import annotations

from itertools import compress
from operator import ne

from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status

_IS_REQUEST = bytes(kind == RecordKind.REQUEST for kind in range(256))
_IS_OUT = bytes(direction == Direction.OUT for direction in range(256))


class OperationRows:
    """Reads the log as far as it is told to, and each row once; rows that changed can be noted again."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = 0
        self._later: dict[int, list[int]] = {}  # further requests, by the row of the first

    def update(self, length: int) -> set[int]:
        """Read on, up to here. Gives the operations that went on, by their first rows."""
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
        """A row changed: it may have got its operation. Gives that operation, or -1."""
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

    # -------------------------------------------------------------- of an operation, by its first row

    def last(self, root: int) -> int:
        """Its newest request of ours."""
        later = self._later.get(root)
        return later[-1] if later else root

    def rounds(self, root: int) -> int:
        """How often the same was asked: 1, and one more for each time that the server wanted to know more."""
        method = self._log.columns.method
        return 1 + sum(method[row] == method[root] for row in self._later.get(root, ()))

    def answer(self, root: int) -> int:
        """The row of its newest answer, or -1 while it waits."""
        return self._log.columns.partner[self.last(root)]

    def status(self, root: int) -> Status:
        """How it stands now: as its newest request."""
        return self._log.status(self.last(root))

    def duration_ns(self, root: int) -> int | None:
        """From the first request to the newest answer, over all rounds."""
        answer, monotonic = self.answer(root), self._log.columns.monotonic
        return None if answer < 0 else abs(monotonic[answer] - monotonic[root])
