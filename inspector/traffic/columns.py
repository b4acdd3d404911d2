"""Column storage of the log: one array per column, and a string interning table.

With rows as objects, garbage collection would block the window: 0.4 s at a time with 500,000
dictionaries, not noticeable with arrays and bytes. Arrays can also be written to a file and read back as
they are (`pack`, `unpack`).
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping

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
_ROWS_AT_A_TIME = 1024
NO_LENGTHS: Mapping[int, int] = {}


class Columns:
    """Column storage of a log.

    Read by any thread, changed only by the log's one writer, and valid below the log's length. `chunk` and
    `offset` end where storing has got to; some of the others are longer than the log.
    """

    def __init__(self) -> None:
        self.monotonic = array("q")
        self.wall = array("q")
        self.server = array("H")
        self.kind = array("B")
        self.direction = array("B")
        self.status = array("B")
        self.revision = array("B")
        self.id_kind = array("B")
        self.id_value = array("q")
        self.method = array("I")
        self.subject = array("I")
        self.problem = array("I")
        self.partner = array("q")
        self.exchange = array("q")
        self.operation = array("q")
        self.duration = array("q")
        self.http_status = array("H")
        self.size = array("q")
        self.kept = array("I")
        self.chunk = array("I")
        self.offset = array("I")

    def allocate(self) -> int:
        """Append rows with default values to the preallocated columns; return how many there are now."""
        for name, default in _DEFAULTS.items():
            column = getattr(self, name)
            column.extend(array(TYPES[name], [default]) * _ROWS_AT_A_TIME)
        return len(self.status)

    def pack(self, first: int, last: int, lengths: Mapping[int, int] = NO_LENGTHS) -> bytes:
        """Pack rows from `first` up to `last`, column by column, little-endian.

        `lengths` are the sizes of rows whose stored bytes differ in length from the original.
        """
        packed = {name: getattr(self, name)[first:last] for name in TYPES}
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

    def all(self) -> Iterator[array[int]]:
        return (getattr(self, name) for name in TYPES)


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

    def text(self, number: int) -> str:
        return self._texts[number]

    def number_of(self, text: str) -> int | None:
        """Return the index of a text, or None."""
        return self._numbers.get(text)

    def numbers_of(self, matches: Callable[[str], bool], since: int = 0) -> set[int]:
        """Return the indices of the matching texts, from index `since` on."""
        return {number for number in range(since, len(self._texts)) if matches(self._texts[number])}
