"""Time that a person took, which is no fault of the server."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import ASKS_A_PERSON
from inspector.traffic.records import Direction, RecordKind

# Per request; no user is asked that often.
_MOST_QUESTIONS = 256


class HumanWaits:
    """Server requests that a user answers (sampling, elicitation), by operation.

    Covers the whole log, whatever the filter, and reads each row once.
    """

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = 0
        self._words: set[int] = set()
        self._rows = array("q")

    def is_question(self, request: int) -> bool:
        self._look()
        return self._log.columns.method[request] in self._words

    def questions(self, operation: int, first: int, last: int) -> list[int]:
        """Return the rows of an operation's requests between `first` and `last`."""
        self._look()
        if not self._rows:
            return []
        start = bisect_left(self._rows, first)
        rows = self._rows[start : start + _MOST_QUESTIONS]
        return [row for row in rows if row < last and self._log.columns.operation[row] == operation]

    def during(self, request: int) -> int:
        """Return how much of a request's duration was spent waiting for the user.

        All of it if it is such a server request itself.
        """
        self._look()
        if not self._rows:
            return 0
        columns = self._log.columns
        answer = columns.partner[request]
        if columns.method[request] in self._words:
            return max(0, columns.duration[request])
        if answer <= request:
            return 0
        end, waited, until = columns.monotonic[answer], 0, columns.monotonic[request]
        for row in self.questions(columns.operation[request], request, answer):
            duration = columns.duration[row]
            over = end if duration < 0 else min(columns.monotonic[row] + duration, end)
            waited += max(0, over - max(columns.monotonic[row], until))  # two may be pending at a time
            until = max(until, over)
        return waited

    def _look(self) -> None:
        """Read the new rows."""
        first, last = self._seen, len(self._log)
        if first == last:
            return
        self._seen = last
        columns, found = self._log.columns, []
        for method in ASKS_A_PERSON:
            word = self._log.words.number_of(method)
            if word is not None:
                self._words.add(word)
                found += find_rows(columns.method, word, first, last)
        self._rows.extend(
            row
            for row in sorted(found)
            if columns.kind[row] == RecordKind.REQUEST and columns.direction[row] == Direction.IN
        )


def find_rows(column: array[int], value: int, first: int, last: int, most: int = 1 << 62) -> list[int]:
    """Return the rows from `first` up to `last` with a value in a column, without a Python loop."""
    rows: list[int] = []
    try:
        while len(rows) < most:
            rows.append(column.index(value, first, last))
            first = rows[-1] + 1
    except ValueError:
        pass
    return rows
