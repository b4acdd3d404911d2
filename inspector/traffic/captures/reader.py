"""Reads capture files: columns into a log when opened, message bodies on demand.

The file is untrusted: values out of range are corrected, what cannot be read is left out, and `Damage`
says so. Checking each of a dozen columns of a million numbers takes 22 ns per number; `is_within` first
checks whole byte positions in C, at half a nanosecond each, which halves the time to open a file.
`FileBodyStore` reads the bodies of rows that were released from memory, on any thread.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar, cast

from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.protocol.jsonrpc import RequestId
from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import (
    OWN_CHUNK_BYTES,
    SEGMENT_ROWS,
    UNREADABLE,
    connect_to_read,
    json_value,
)
from inspector.traffic.columns import ROW_BYTES, Column, Columns, Origin
from inspector.traffic.log import BodyUnavailable, TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, RowNote, Status

_MAX_COMMENT_LENGTH = 100_000
_UNKNOWN_SERVER = "(unknown)"
LOST = "this message could not be read from the damaged file"
_DAMAGED = "the file is damaged there"

_CACHED_BYTES = 8 * 1024 * 1024
_MAX_CACHED_SIZE = 1024 * 1024
_CACHED_EXCHANGES = 1000

_MAX_VALUES = {"B": 2**8 - 1, "H": 2**16 - 1, "I": 2**32 - 1, "q": 2**63 - 1}
_HIGH_BYTE = 7 if sys.byteorder == "little" else 0
_MAX_BOUND = 2**55  # used for any larger one: its highest byte is not the one with the sign

T = TypeVar("T")


@dataclass(slots=True)
class Damage:
    """What of a file was unreadable or invalid."""

    unreadable: int = 0  # database rows
    lost: int = 0  # rows of the log
    corrected: int = 0  # values

    def problems(self) -> tuple[str, ...]:
        found = []
        if self.lost:
            found.append(f"{plural(self.lost, 'row')} could not be read: the file is damaged there.")
        elif self.unreadable:
            found.append("Some messages could not be read: the file is damaged.")
        if self.corrected:
            found.append(f"{plural(self.corrected, 'value')} were invalid and ignored.")
        return tuple(found)


@dataclass(slots=True)
class CaptureReader:
    """Reads one file, once. `on_step` gets the number of rows read and the total; it may raise."""

    connection: sqlite3.Connection
    file_size: int
    on_step: Callable[[int, int], None]
    damage: Damage = field(default_factory=Damage)

    def read_into(self, log: TrafficLog) -> None:
        """Read the file into an empty log."""
        strings, revisions = self._texts("word", 1), self._texts("revision", 1)
        servers = self._texts("server", 0)
        log.strings.restore(strings)
        log.revisions[:] = revisions[:256]
        plan = self._plan()
        total = sum(count for _, count in plan)
        if total and not servers:
            servers = [_UNKNOWN_SERVER]
        check = _RangeCheck(len(servers), len(strings), len(log.revisions), total, self.file_size)
        for number, count in plan:
            if self._segment(log.columns, number, count):
                self.damage.corrected += check.correct_last_rows(log.columns, count)
            else:
                _fill(log.columns, count, log.strings.number(LOST))
                self.damage.lost += count
            self.on_step(len(log.columns.kind), total)
        log.restore(servers, self._other_ids(total), self._notes(total), self._resent(total))

    def _texts(self, table: str, empty: int) -> list[str]:
        texts = [""] * empty
        for first, value in self._rows(f"SELECT first, texts FROM {table} ORDER BY first"):  # noqa: S608
            some = json_value(value)
            if first != len(texts) or not isinstance(some, list):
                self.damage.unreadable += 1
                continue
            self.damage.corrected += sum(not isinstance(text, str) for text in some)
            texts.extend(text if isinstance(text, str) else "" for text in some)
        return texts

    def _plan(self) -> list[tuple[int, int]]:
        """Return the segments with their expected row counts: all but the last are full."""
        # Row counts that exceed the file's size are not believed.
        maximum = self.file_size // (SEGMENT_ROWS * ROW_BYTES) + 1
        known = {}
        for number, count in self._rows("SELECT number, count FROM segment ORDER BY number"):
            if not (isinstance(count, int) and number >= 0) or number >= maximum:
                self.damage.unreadable += 1
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

    def _notes(self, total: int) -> dict[int, RowNote]:
        notes = {}
        for row, value in self._rows("SELECT row, value FROM remark"):
            match json_value(value):
                case [bool() as is_marked, str() as comment] if 0 <= row < total and (is_marked or comment):
                    notes[row] = RowNote(is_marked, comment[:_MAX_COMMENT_LENGTH])
        return notes

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
            self.damage.unreadable += 1


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
    lost.wall.default, lost.kind.default, lost.problem.default = wall, RecordKind.LOCAL, problem
    for column in lost.all():
        column.extend(array(column.typecode, [column.default]) * count)
    columns.unpack(lost.pack(0, count), count)


class _RangeCheck:
    """Range checks for each column, so that readers need none. Bytes are checked when read."""

    def __init__(self, servers: int, strings: int, revisions: int, rows: int, file_size: int) -> None:
        top = 2**63 - 1
        # column: minimum, maximum, replacement for anything else
        self._bounds = {
            "wall": (0, top, 0),
            "server": (0, servers - 1, 0),
            "direction": (0, max(Direction), 0),
            "status": (0, max(Status), 0),
            "revision": (0, revisions - 1, 0),
            "id_kind": (0, 2, 0),
            "method": (0, strings - 1, 0),
            "subject": (0, strings - 1, 0),
            "problem": (0, strings - 1, 0),
            "partner": (-1, rows - 1, -1),
            "exchange": (-1, rows - 1, -1),
            "operation": (-1, rows - 1, -1),
            "duration": (-1, top, -1),
            "size": (0, top, 0),
            "kept": (0, min(file_size, 2**32 - 1), 0),  # or a search would never end, and find nothing
        }
        self._unknown_kinds = bytes(set(range(256)) - {*RecordKind})

    def correct_last_rows(self, columns: Columns, count: int) -> int:
        """Correct invalid values in the last rows; return how many there were."""
        corrected = 0
        for name, (low, high, replacement) in self._bounds.items():
            column: Column = getattr(columns, name)
            last = column[len(column) - count :]
            if not is_within(last, low, high):
                valid = array(column.typecode, (v if low <= v <= high else replacement for v in last))
                corrected += sum(map(int.__ne__, last, valid))
                column.replace_last(valid)
        return corrected + self._correct_kinds(columns, count)

    def _correct_kinds(self, columns: Columns, count: int) -> int:
        """Correct unknown kinds: valid values have gaps between them."""
        kinds = columns.kind[len(columns.kind) - count :].tobytes()
        unknown = len(kinds) - len(kinds.translate(None, self._unknown_kinds))
        if unknown:
            table = bytes(RecordKind.INVALID if kind in self._unknown_kinds else kind for kind in range(256))
            columns.kind.replace_last(array("B", kinds.translate(table)))
        return unknown


def is_within(column: array[int], low: int, high: int) -> bool:
    """True if `low <= number <= high` for all. `low` is 0, or -1 where that means none."""
    if not column:
        return True
    packed, width = column.tobytes(), column.itemsize
    if packed == packed[:width] * len(column):  # a single value throughout, as in most columns
        return low <= column[0] <= high
    is_signed, is_bounded = column.typecode == "q", high < _MAX_VALUES[column.typecode]
    # The top byte of every number is below 128: none is negative.
    if not is_bounded and (not is_signed or packed[_HIGH_BYTE::8].isascii()):
        return True
    minimum = low if is_signed else 0
    return _is_within_by_bytes(packed, width, minimum, min(high, _MAX_BOUND)) or (
        min(column) >= low and max(column) <= high
    )


def _is_within_by_bytes(packed: bytes, width: int, low: int, high: int) -> bool:
    """Check single bytes only.

    Also False if they cannot decide: for numbers that share their highest byte with `high`.
    """
    top = max(high.bit_length() - 1, 0) // 8  # the highest byte that is not the same in all of them
    limit = (high >> 8 * top) + (top == 0)  # exclusive limit of that byte
    if sys.byteorder != "little" or high < 0 or limit > 0xFF:
        return False
    planes = [packed[at::width] for at in range(width)]
    # Required value of the bytes above: 0, or 255 in every byte of a -1.
    signs = planes[-1] if low < 0 else bytes(len(planes[0]))
    if signs.translate(None, b"\0\xff") or any(plane != signs for plane in planes[top + 1 :]):
        return False
    judged = bytes(limit) + b"\1" * (0xFF - limit) + (b"\xff" if low < 0 else b"\1")
    if planes[top].translate(judged) != signs:
        return False
    negative = int.from_bytes(signs, "little")
    return all(int.from_bytes(plane, "little") & negative == negative for plane in planes[:top])


class FileBodyStore:
    """Reads released rows back from the capture file.

    Any thread may read without waiting for another: each read has its own connection. What cannot be read
    (a moved or damaged file, a lost disk) raises BodyUnavailable.
    """

    def __init__(
        self,
        path: Path,
        columns: Columns,
        restore: Callable[[HttpExchange], HttpExchange] | None = None,
        connect: Callable[[Path], sqlite3.Connection] = connect_to_read,
        origin: Origin = Origin(),  # noqa: B008
    ) -> None:
        """Create a reader; `restore` returns an exchange as it was before it was masked, if known."""
        self.failure: BodyUnavailable | None = None
        self.origin = origin
        self._connect = connect
        self._restore = restore
        self._path = path
        self._columns = columns
        self._idle: deque[sqlite3.Connection] = deque()
        weakref.finalize(self, _close_all, self._idle)
        self._chunks: _LruCache[bytes] = _LruCache(_CACHED_BYTES)
        self._exchanges: _LruCache[HttpExchange] = _LruCache(_CACHED_EXCHANGES)

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return some bytes of a row's body, without reading a large one whole."""
        try:
            chunk, first = self._columns.chunk[number], self._columns.offset[number] + start
        except IndexError:
            raise self._unavailable("it was not stored") from None
        if self._columns.kept[number] > OWN_CHUNK_BYTES:
            found = self._part_of_chunk(chunk, first, length)
        else:
            found = self.chunk(chunk)[first : first + length]
        if len(found) < length:
            raise self._unavailable(_DAMAGED)
        return found

    def chunk(self, number: int) -> bytes:
        found = self._chunks.get(number)
        if found is None:
            stored = number - self.origin.chunk
            found = _bytes(self._one("SELECT bytes FROM chunk WHERE number = ?", stored))
            if not found:
                raise self._unavailable(_DAMAGED)
            if len(found) <= _MAX_CACHED_SIZE:
                self._chunks.put(number, found, len(found))
        return found

    def http(self, number: int) -> HttpExchange | None:
        found = self._exchanges.get(number)
        if found is None:
            row = number - self.origin.row
            value = json_value(self._one("SELECT value FROM http WHERE row = ?", row))
            body = _bytes(self._one("SELECT bytes FROM http_body WHERE row = ?", row))
            found = file_format.exchange_from_json(value, body)
            if found is not None and self._restore is not None:
                found = self._restore(found)
            if found is not None and found.is_over:  # unfinished ones may change in the file
                self._exchanges.put(number, found, 1)
        return found

    def forget_http(self, number: int) -> None:
        """Drop the cached exchange: the file has a newer version."""
        self._exchanges.drop(number)

    def close_idle(self) -> None:
        """Close idle connections; the next read opens a new one."""
        _close_all(self._idle)

    def _one(self, statement: str, number: int) -> object:
        try:
            with self._connection() as connection:
                row = connection.execute(statement, (number,)).fetchone()
        except UNREADABLE as exc:
            raise self._unavailable(_reason(exc)) from exc
        return row[0] if row is not None else None

    def _part_of_chunk(self, number: int, start: int, length: int) -> bytes:
        try:
            with (
                self._connection() as connection,
                connection.blobopen("chunk", "bytes", number - self.origin.chunk, readonly=True) as blob,
            ):
                start = min(start, len(blob))
                blob.seek(start)
                return blob.read(min(length, len(blob) - start))
        except UNREADABLE as exc:
            raise self._unavailable(_reason(exc)) from exc

    def _unavailable(self, reason: str) -> BodyUnavailable:
        self.failure = self._error(reason)
        return self.failure

    def _error(self, reason: str) -> BodyUnavailable:
        if not os.path.exists(self._path):  # Path.exists would raise if the disk fails
            return BodyUnavailable(
                f"This message could not be read: {self._path} was moved or deleted, or its disk is gone.",
                "Put the file back and select the message again.",
            )
        return BodyUnavailable(
            f"This message could not be read from {self._path}: {reason}.",
            "Other messages may still be readable. Open another copy of the file, if you have one.",
        )

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect(self._path)
        try:
            yield connection
        except UNREADABLE:
            connection.close()  # the next read gets a new one, which may work
            raise
        self._idle.append(connection)


class BodyStores:
    """Body stores of a recording that continued in new files, oldest first. Thread-safe."""

    def __init__(self, store: FileBodyStore) -> None:
        self.failure: BodyUnavailable | None = None
        self._stores: tuple[FileBodyStore, ...] = (store,)

    def add(self, store: FileBodyStore) -> None:
        self._stores = (*self._stores, store)

    def remove(self, store: FileBodyStore) -> None:
        self._stores = tuple(each for each in self._stores if each is not store)
        store.close_idle()

    def part(self, number: int, start: int, length: int) -> bytes:
        return self._read(
            lambda origin: origin.row <= number, lambda store: store.part(number, start, length)
        )

    def chunk(self, number: int) -> bytes:
        return self._read(lambda origin: origin.chunk <= number, lambda store: store.chunk(number))

    def http(self, number: int) -> HttpExchange | None:
        return self._read(lambda origin: origin.row <= number, lambda store: store.http(number))

    def _read(self, is_before: Callable[[Origin], bool], read: Callable[[FileBodyStore], T]) -> T:
        """Read from the newest store that begins before; there are only a few."""
        try:
            for store in reversed(self._stores):
                if is_before(store.origin):
                    return read(store)
            raise BodyUnavailable(
                "This message is no longer in memory.", "Open the capture that has it in Manage captures."
            )
        except BodyUnavailable as exc:
            self.failure = exc
            raise


def _close_all(connections: deque[sqlite3.Connection]) -> None:
    while connections:
        connections.popleft().close()


class _LruCache(Generic[T]):
    """LRU cache with a limit on total weight."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._weight = 0
        self._values: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: int) -> T | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: int, value: T, weight: int) -> None:
        with self._lock:
            self._remove(key)
            self._values[key] = (value, weight)
            self._weight += weight
            while self._weight > self._limit:
                self._remove(next(iter(self._values)))

    def drop(self, key: int) -> None:
        with self._lock:
            self._remove(key)

    def _remove(self, key: int) -> None:
        _, weight = self._values.pop(key, (None, 0))
        self._weight -= weight


def _reason(exc: Exception) -> str:
    """Return why a read failed. Only messages of SQLite are shown: others may contain bytes of the file."""
    is_shown = isinstance(exc, sqlite3.Error) and "no such rowid" not in str(exc)
    return str(exc) if is_shown else _DAMAGED


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
