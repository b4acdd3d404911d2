"""Reads a capture's file into a log. Nothing in the file is believed: what is out of range is put right, what
cannot be read is left out, and a sentence says so."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from inspector.base.jsonvalue import JSON
from inspector.base.units import plural
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.bounds import is_within
from inspector.traffic.capturefile import SEGMENT_ROWS, UNREADABLE, json_value
from inspector.traffic.columns import ROW_BYTES, Columns
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Remark, Status

_MOST_COMMENT = 100_000
_UNKNOWN_SERVER = "(unknown)"
LOST = "this row could not be read from the damaged file"


@dataclass(slots=True)
class Loading:
    """Damage statistics of a loaded file."""

    damaged: int = 0  # places that were unreadable
    lost: int = 0  # rows
    corrected: int = 0  # values

    def problems(self) -> tuple[str, ...]:
        found = []
        if self.lost:
            found.append(f"{plural(self.lost, 'row')} could not be read: the file is damaged there.")
        elif self.damaged:
            found.append("Some of it could not be read: the file is damaged.")
        if self.corrected:
            found.append(f"{plural(self.corrected, 'value')} made no sense and were left out.")
        return tuple(found)


@dataclass(slots=True)
class CaptureReader:
    """Reads one file, once. `on_step` gets the number of rows read and the total; it may raise."""

    connection: sqlite3.Connection
    file_size: int
    on_step: Callable[[int, int], None]
    loading: Loading = field(default_factory=Loading)

    def into(self, log: TrafficLog) -> None:
        """Read the file into an empty log."""
        words, revisions = self._texts("word", 1), self._texts("revision", 1)
        servers = self._texts("server", 0)
        log.words.restore(words)
        log.revisions[:] = revisions[:256]
        plan = self._plan()
        total = sum(count for _, count in plan)
        if total and not servers:
            servers = [_UNKNOWN_SERVER]
        check = _Check(len(servers), len(words), len(log.revisions), total, self.file_size)
        for number, count in plan:
            if self._segment(log.columns, number, count):
                self.loading.corrected += check.last_rows(log.columns, count)
            else:
                _fill(log.columns, count, log.words.number(LOST))
                self.loading.lost += count
            self.on_step(len(log.columns.kind), total)
        log.restore(servers, self._other_ids(total), self._remarks(total), self._resent(total))

    # --------------------------------------------------------------

    def _texts(self, table: str, empty: int) -> list[str]:
        texts = [""] * empty
        for first, value in self._rows(f"SELECT first, texts FROM {table} ORDER BY first"):  # noqa: S608
            some = json_value(value)
            if first != len(texts) or not isinstance(some, list):
                self.loading.damaged += 1
                continue
            texts.extend(text if isinstance(text, str) else "" for text in some)
        return texts

    def _plan(self) -> list[tuple[int, int]]:
        """Return the segments with their expected row counts: all but the last are full."""
        # Row counts that exceed the file's size are not believed.
        most = self.file_size // (SEGMENT_ROWS * ROW_BYTES) + 1
        known = {}
        for number, count in self._rows("SELECT number, count FROM segment ORDER BY number"):
            if not (isinstance(count, int) and number >= 0) or number >= most:
                self.loading.damaged += 1
                continue
            known[number] = max(0, min(count, SEGMENT_ROWS))
        last = max(known, default=-1)
        return [(number, known[last] if number == last else SEGMENT_ROWS) for number in range(last + 1)]

    def _segment(self, columns: Columns, number: int, count: int) -> bool:
        statement = "SELECT columns FROM segment WHERE number = ?"
        try:
            row = self.connection.execute(statement, (number,)).fetchone()
            if row is None or not isinstance(row[0], bytes):
                return False
            columns.unpack(row[0], count)
        except UNREADABLE:
            return False
        return True

    def _other_ids(self, total: int) -> dict[int, RequestId]:
        ids: dict[int, RequestId] = {}
        for _, value in self._rows("SELECT first, ids FROM other_id"):
            ids.update(_ids_by_row(json_value(value), total))
        return ids

    def _remarks(self, total: int) -> dict[int, Remark]:
        remarks = {}
        for row, value in self._rows("SELECT row, value FROM remark"):
            match json_value(value):
                case [bool() as is_marked, str() as comment] if 0 <= row < total and (is_marked or comment):
                    remarks[row] = Remark(is_marked, comment[:_MOST_COMMENT])
        return remarks

    def _resent(self, total: int) -> dict[int, int]:
        resent = {}
        for row, value in self._rows("SELECT row, value FROM resent"):
            match json_value(value):
                case [int() as old] if 0 <= row < total and 0 <= old < total:
                    resent[row] = old
        return resent

    def _rows(self, statement: str) -> Iterator[tuple[int, object]]:
        """Yield rows up to the first that cannot be read."""
        try:
            yield from self.connection.execute(statement)
        except UNREADABLE:
            self.loading.damaged += 1


def _ids_by_row(value: JSON, total: int) -> Iterable[tuple[int, RequestId]]:
    """Return the ids by row, or none if any is invalid.

    There may be one per row, so this avoids Python loops.
    """
    match value:
        case [list() as rows, list() as ids] if len(rows) == len(ids):
            is_typed = set(map(type, rows)) == {int} and set(map(type, ids)) <= {int, str}
            if is_typed and rows == sorted(cast("list[int]", rows)) and rows[0] >= 0 and rows[-1] < total:
                return cast("Iterable[tuple[int, RequestId]]", zip(rows, ids, strict=True))
    return ()


def _fill(columns: Columns, count: int, problem: int) -> None:
    """Append placeholders for lost rows, so that the others keep their numbers."""
    wall = columns.wall[-1] if columns.wall else 0
    lost = Columns()
    for column in lost.all():
        column.extend(array(column.typecode, bytes(count * column.itemsize)))
    lost.wall = array("q", [wall]) * count
    lost.kind = array("B", [RecordKind.LOCAL]) * count
    lost.problem = array("I", [problem]) * count
    for name in ("partner", "exchange", "operation", "duration"):
        setattr(lost, name, array("q", [-1]) * count)
    columns.unpack(lost.pack(0, count), count)


class _Check:
    """Range checks for each column, so that readers need none. Bytes are checked when read."""

    def __init__(self, servers: int, words: int, revisions: int, rows: int, file_size: int) -> None:
        top = 2**63 - 1
        # column: minimum, maximum, replacement for anything else
        self._bounds = {
            "wall": (0, top, 0),
            "server": (0, servers - 1, 0),
            "direction": (0, max(Direction), 0),
            "status": (0, max(Status), 0),
            "revision": (0, revisions - 1, 0),
            "id_kind": (0, 2, 0),
            "method": (0, words - 1, 0),
            "subject": (0, words - 1, 0),
            "problem": (0, words - 1, 0),
            "partner": (-1, rows - 1, -1),
            "exchange": (-1, rows - 1, -1),
            "operation": (-1, rows - 1, -1),
            "duration": (-1, top, -1),
            "size": (0, top, 0),
            "kept": (0, min(file_size, 2**32 - 1), 0),  # or a search would never end, and find nothing
        }
        self._no_kinds = bytes(set(range(256)) - {*RecordKind})

    def last_rows(self, columns: Columns, count: int) -> int:
        """Correct invalid values in the last rows; return how many there were."""
        corrected = 0
        for name, (low, high, instead) in self._bounds.items():
            column: array[int] = getattr(columns, name)
            last = column[len(column) - count :]
            if not is_within(last, low, high):
                right = array(column.typecode, (v if low <= v <= high else instead for v in last))
                corrected += sum(map(int.__ne__, last, right))
                column[len(column) - count :] = right
        return corrected + self._kinds(columns, count)

    def _kinds(self, columns: Columns, count: int) -> int:
        """Correct unknown kinds: valid values have gaps between them."""
        kinds = columns.kind[len(columns.kind) - count :].tobytes()
        unknown = len(kinds) - len(kinds.translate(None, self._no_kinds))
        if unknown:
            table = bytes(RecordKind.INVALID if kind in self._no_kinds else kind for kind in range(256))
            columns.kind[len(columns.kind) - count :] = array("B", kinds.translate(table))
        return unknown
