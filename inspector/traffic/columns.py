"""Column storage of the log: one array per column, and a string interning table.

With rows as objects, garbage collection would block the window: 0.4 s at a time with 500,000
dictionaries, not noticeable with arrays and bytes. Arrays can also be written to a file and read back as
they are (`pack`, `unpack`). The oldest rows can be dropped from memory; row numbers never change.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import repeat
from operator import sub
from typing import NamedTuple, overload

# Every column and its type, in the order in which a capture stores them: add new ones at the end only, and
# raise the format's version with them. "q" 8 bytes, "I" 4, "H" 2, "B" 1.
TYPES = {
    "monotonic": "q",  # nanoseconds; comparable within one run only
    "wall": "q",  # nanoseconds since 1970
    "server": "H",
    "kind": "B",
    "direction": "B",
    "status": "B",
    "revision": "B",  # negotiated by then; 0 for none yet
    "id_kind": "B",  # see ID_*
    "id_value": "q",
    "method": "I",  # indices into the string table
    "subject": "I",
    "problem": "I",
    "partner": "q",  # row or -1: the response of a request, the request of a response
    "exchange": "q",  # the HTTP exchange that carried it
    "operation": "q",  # first request of its operation
    "duration": "q",  # nanoseconds, or -1
    "http_status": "H",  # of an HTTP row; 0 for none yet
    "size": "q",  # on the wire
    "kept": "I",  # how many of those bytes were kept
    "chunk": "I",  # where a capture stores these bytes
    "offset": "I",
}
ROW_BYTES = sum(array(kind).itemsize for kind in TYPES.values())

ID_NONE, ID_INTEGER, ID_OTHER = 0, 1, 2

# Columns with a default value. They are allocated for many rows at once and only written where a row
# differs: appending to each column for every row of a flood took a sixth of the engine's time.
_DEFAULTS = {
    "status": 0,
    "revision": 0,
    "id_kind": ID_NONE,
    "id_value": 0,
    "subject": 0,
    "problem": 0,
    "partner": -1,
    "exchange": -1,
    "operation": -1,
    "duration": -1,
    "http_status": 0,
}
_DROPPED_KIND = 19  # RecordKind.LOCAL: neither a message nor part of an exchange
_ROWS_AT_A_TIME = 1024
NO_LENGTHS: Mapping[int, int] = {}


class Column:
    """The values of one column by row number; a row that was dropped reads as `default`.

    Any thread may read while the one writer appends or drops: data and first row are replaced together. A
    pinned row stays readable and writable after it was dropped.
    """

    __slots__ = ("_at", "_pinned", "append", "default")

    def __init__(self, typecode: str, default: int = 0) -> None:
        self.default = default
        self._pinned: dict[int, int] = {}
        self._set(array(typecode), 0)

    def _set(self, data: array[int], first: int) -> None:
        self._at = data, first
        self.append: Callable[[int], None] = data.append

    @property
    def first(self) -> int:
        """The first row that was not dropped."""
        return self._at[1]

    @property
    def typecode(self) -> str:
        return self._at[0].typecode

    @property
    def itemsize(self) -> int:
        return self._at[0].itemsize

    def __len__(self) -> int:
        data, first = self._at
        return first + len(data)

    @overload
    def __getitem__(self, key: int) -> int: ...

    @overload
    def __getitem__(self, key: slice) -> array[int]: ...

    def __getitem__(self, key: int | slice) -> int | array[int]:
        data, first = self._at
        if not first:
            return data[key]
        if isinstance(key, slice):
            return self._slice(data, first, key)
        if key >= first:
            return data[key - first]
        return data[key] if key < 0 else self._pinned.get(key, self.default)

    def _slice(self, data: array[int], first: int, key: slice) -> array[int]:
        start, stop, _ = key.indices(first + len(data))
        found = data[max(start - first, 0) : max(stop - first, 0)]
        missing = min(stop, first) - start
        return found if missing <= 0 else array(data.typecode, [self.default]) * missing + found

    def __setitem__(self, row: int, value: int) -> None:
        data, first = self._at
        if row >= first:
            data[row - first] = value
        elif row in self._pinned:
            self._pinned[row] = value

    def replace_last(self, values: array[int]) -> None:
        """Replace the values of the last rows."""
        data, _ = self._at
        data[len(data) - len(values) :] = values

    def __iter__(self) -> Iterator[int]:
        return iter(self[0 : len(self)])

    def extend(self, values: Iterable[int]) -> None:
        self._at[0].extend(values)

    def frombytes(self, packed: bytes | memoryview) -> None:
        self._at[0].frombytes(packed)

    def truncate(self, length: int) -> None:
        """Remove the rows from `length` on."""
        data, first = self._at
        del data[max(length - first, 0) :]

    def index(self, value: int, first: int, last: int) -> int:
        """Return the first row in a range that has a value, dropped rows excepted. Raises ValueError."""
        data, dropped = self._at
        return data.index(value, max(first - dropped, 0), max(last - dropped, 0)) + dropped

    def is_pinned(self, row: int) -> bool:
        return row in self._pinned

    def drop(self, first: int, pinned: Collection[int]) -> None:
        """Drop the rows before `first` from memory, except for pinned ones."""
        data, old = self._at
        self._pinned = {row: self[row] for row in pinned}
        self._set(data[first - old :], first)  # a copy: readers may still use the old one


class Origin(NamedTuple):
    """The first row and the first chunk of a log that a capture file has."""

    row: int = 0
    chunk: int = 0


_BEGINNING = Origin()
_ROW_LINKS = ("partner", "exchange", "operation")
_POSITIONS = ("chunk", "offset")
_NO_ROW = array("q", [-1]).tobytes()


class Columns:
    """Column storage of a log.

    Read by any thread, changed only by the log's one writer, and valid below the log's length. `chunk` and
    `offset` end where storing has got to, and are changed by the thread that stores; some of the others are
    longer than the log.
    """

    def __init__(self) -> None:
        self.monotonic = Column("q")
        self.wall = Column("q")
        self.server = Column("H")
        self.kind = Column("B", _DROPPED_KIND)
        self.direction = Column("B")
        self.status = Column("B")
        self.revision = Column("B")
        self.id_kind = Column("B")
        self.id_value = Column("q")
        self.method = Column("I")
        self.subject = Column("I")
        self.problem = Column("I")
        self.partner = Column("q", -1)
        self.exchange = Column("q", -1)
        self.operation = Column("q", -1)
        self.duration = Column("q", -1)
        self.http_status = Column("H")
        self.size = Column("q")
        self.kept = Column("I")
        self.chunk = Column("I")
        self.offset = Column("I")

    def allocate(self) -> int:
        """Append rows with default values to the preallocated columns; return how many there are now."""
        for name, default in _DEFAULTS.items():
            column: Column = getattr(self, name)
            column.extend(array(TYPES[name], [default]) * _ROWS_AT_A_TIME)
        return len(self.status)

    def drop(self, first: int, pinned: Collection[int]) -> None:
        """Drop the rows before `first` from memory, except for pinned ones, and their positions."""
        for name in TYPES:
            if name not in _POSITIONS:
                self._column(name).drop(first, pinned)

    def drop_positions(self, pinned: Collection[int]) -> None:
        """Drop where the bytes of dropped rows are stored. For the thread that stores."""
        for name in _POSITIONS:
            self._column(name).drop(self.kind.first, pinned)

    def pack(
        self,
        first: int,
        last: int,
        lengths: Mapping[int, int] = NO_LENGTHS,
        origin: Origin = _BEGINNING,
    ) -> bytes:
        """Pack rows from `first` up to `last`, column by column, little-endian.

        `lengths` are the sizes of rows whose stored bytes differ in length from the original. The packed rows
        and chunks are numbered from `origin`; links to rows before it are left out.
        """
        packed = {name: self._column(name)[first:last] for name in TYPES}
        if origin.row:
            for name in _ROW_LINKS:
                packed[name] = _relative_rows(packed[name], origin.row)
            packed["chunk"] = array("I", map(sub, packed["chunk"], repeat(origin.chunk)))
        for row, length in lengths.items():
            # Nothing was truncated: the stored bytes replace all of it.
            packed["size"][row - first] += length - packed["kept"][row - first]
            packed["kept"][row - first] = length
        return b"".join(_little_endian(column).tobytes() for column in packed.values())

    def unpack(self, packed: bytes, count: int) -> None:
        """Append packed rows. Raises ValueError if the size does not match `count`."""
        if len(packed) != count * ROW_BYTES:
            raise ValueError(f"{len(packed)} bytes do not hold {count} rows")
        start, view = 0, memoryview(packed)
        for column in self.all():
            end = start + count * column.itemsize
            if sys.byteorder == "big":
                column.extend(_little_endian(array(column.typecode, packed[start:end])))
            else:
                column.frombytes(view[start:end])  # copied once
            start = end

    def all(self) -> Iterator[Column]:
        return map(self._column, TYPES)

    def _column(self, name: str) -> Column:
        column: Column = getattr(self, name)
        return column


def _relative_rows(rows: array[int], origin: int) -> array[int]:
    if rows.tobytes() == _NO_ROW * len(rows):  # most columns have no links
        return rows
    return array("q", (row - origin if row >= origin else -1 for row in rows))


def _little_endian(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column.byteswap()
    return column


class StringTable:
    """String interning table; index 0 is the empty string. Append-only, so any thread may read."""

    def __init__(self) -> None:
        self._texts = [""]
        self._numbers = {"": 0}

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        """Return the index of a text, adding it if new."""
        number = self._numbers.get(text)
        if number is None:
            number = len(self._texts)
            self._texts.append(text)
            self._numbers[text] = number
        return number

    def restore(self, texts: list[str]) -> None:
        """Take over the texts of a capture with their indices; index 0 must be the empty string."""
        self._texts = texts
        self._numbers = {text: number for number, text in enumerate(texts)}

    def release(self, used: Collection[int]) -> None:
        """Release the texts with other indices, which then read as empty. No index is used again."""
        for number, text in enumerate(self._texts):
            if text and number not in used:
                del self._numbers[text]
                self._texts[number] = ""

    def text(self, number: int) -> str:
        return self._texts[number]

    def number_of(self, text: str) -> int | None:
        """Return the index of a text, or None."""
        return self._numbers.get(text)

    def numbers_of(self, matches: Callable[[str], bool], since: int = 0) -> set[int]:
        """Return the indices of the matching texts, from index `since` on."""
        return {number for number in range(since, len(self._texts)) if matches(self._texts[number])}
