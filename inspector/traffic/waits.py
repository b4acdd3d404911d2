"""Time that a person took, which is no fault of the server."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import ASKS_A_PERSON
from inspector.traffic.records import Direction, RecordKind

# Of the questions during one request; nobody is asked so often.
_MOST_QUESTIONS = 256


class HumanWaits:
    """Questions of servers that a person answers (sampling, elicitation), by the operation that they are of.

    Knows the whole log, whatever the filter, and looks at each row once.
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
        """Their rows, of those from `first` up to `last`."""
        self._look()
        if not self._rows:
            return []
        start = bisect_left(self._rows, first)
        rows = self._rows[start : start + _MOST_QUESTIONS]
        return [row for row in rows if row < last and self._log.columns.operation[row] == operation]

    def during(self, request: int) -> int:
        """How much of a request's time from being sent to being answered was spent waiting for a person; all
        of it when it is a question itself."""
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
            waited += max(0, over - max(columns.monotonic[row], until))  # two may be open at a time
            until = max(until, over)
        return waited

    def _look(self) -> None:
        """Look at the rows that are new."""
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
    """The rows from `first` up to `last` that have a value in a column; searched without a loop of ours."""
    rows: list[int] = []
    try:
        while len(rows) < most:
            rows.append(column.index(value, first, last))
            first = rows[-1] + 1
    except ValueError:
        pass
    return rows
