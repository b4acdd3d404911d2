"""The bytes of rows that are in a capture's file and no longer in memory, read when somebody looks."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from inspector.traffic import storedhttp
from inspector.traffic.capturefile import OWN_CHUNK_BYTES, UNREADABLE, connect_to_read, json_value
from inspector.traffic.columns import Columns
from inspector.traffic.records import HttpExchange

_CACHED_BYTES = 8 * 1024 * 1024
_LARGEST_CACHED = 1024 * 1024
_CACHED_EXCHANGES = 1000

T = TypeVar("T")


class FileShelf:
    """Reads released rows back from the capture file.

    Any thread may read without waiting for another: each read has its own connection. What cannot be read
    (a damaged file, a lost disk) is returned as empty; `problem` has the last reason.
    """

    def __init__(
        self, path: Path, columns: Columns, restore: Callable[[HttpExchange], HttpExchange] | None = None
    ) -> None:
        """Create a reader; `restore` returns an exchange as it was before it was masked, if known."""
        self.problem = ""
        self._restore = restore
        self._path = path
        self._columns = columns
        self._idle: deque[sqlite3.Connection] = deque()
        self._chunks: _Recent[bytes] = _Recent(_CACHED_BYTES)
        self._exchanges: _Recent[HttpExchange] = _Recent(_CACHED_EXCHANGES)

    def part(self, number: int, start: int, length: int) -> bytes:
        """Return some bytes of a row's body, without reading a large one whole."""
        try:
            chunk, first = self._columns.chunk[number], self._columns.offset[number] + start
        except IndexError:  # not stored
            return b""
        if self._columns.kept[number] > OWN_CHUNK_BYTES:
            return self._part_of_chunk(chunk, first, length)
        return self.chunk(chunk)[first : first + length]

    def chunk(self, number: int) -> bytes:
        found = self._chunks.get(number)
        if found is None:
            found = _bytes(self._one("SELECT bytes FROM chunk WHERE number = ?", number))
            if found and len(found) <= _LARGEST_CACHED:
                self._chunks.put(number, found, len(found))
        return found

    def http(self, number: int) -> HttpExchange | None:
        found = self._exchanges.get(number)
        if found is None:
            value = json_value(self._one("SELECT value FROM http WHERE row = ?", number))
            body = _bytes(self._one("SELECT bytes FROM http_body WHERE row = ?", number))
            found = storedhttp.from_json(value, body)
            if found is not None and self._restore is not None:
                found = self._restore(found)
            if found is not None and found.is_over:  # unfinished ones may change in the file
                self._exchanges.put(number, found, 1)
        return found

    def forget_http(self, number: int) -> None:
        """Drop the cached exchange: the file has a newer version."""
        self._exchanges.drop(number)

    def rest(self) -> None:
        """Close idle connections; the next read opens a new one."""
        while self._idle:
            self._idle.popleft().close()

    # --------------------------------------------------------------

    def _one(self, statement: str, number: int) -> object:
        try:
            with self._connection() as connection:
                row = connection.execute(statement, (number,)).fetchone()
        except UNREADABLE as exc:
            self.problem = str(exc)
            return None
        return row[0] if row is not None else None

    def _part_of_chunk(self, number: int, start: int, length: int) -> bytes:
        try:
            with (
                self._connection() as connection,
                connection.blobopen("chunk", "bytes", number, readonly=True) as blob,
            ):
                start = min(start, len(blob))
                blob.seek(start)
                return blob.read(min(length, len(blob) - start))
        except UNREADABLE as exc:
            self.problem = str(exc)
            return b""

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect_to_read(self._path)
        try:
            yield connection
        except UNREADABLE:
            connection.close()  # the next read gets a new one, which may work
            raise
        self._idle.append(connection)


class _Recent(Generic[T]):
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


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
