"""Free-text search in message bodies, on raw bytes: no parsing, whatever the size.

A body that cannot be read matches nothing.

Case-insensitive. JSON can spell a character in several ways (as itself or as an escape), so each
character that is commonly escaped is searched in all its spellings; ASCII letters and digits, which are
not escaped in practice, only as themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, compress, groupby
from operator import le
from typing import TypeAlias

from inspector.traffic.filter.literals import SEARCHED, regular_expression, searches
from inspector.traffic.filter.tree import Operator
from inspector.traffic.log import BodyUnavailable, TrafficLog

BodyTest: TypeAlias = Callable[[TrafficLog, int], bool]
_PART = 1024 * 1024  # bytes of a large body read at a time
_SMALL = 16 * 1024  # bodies up to this size are searched together
_GROUP = 512  # rows searched together

_SHORT_ESCAPES = {"\n": rb"\n", "\r": rb"\r", "\t": rb"\t", "\b": rb"\b", "\f": rb"\f"}
_OFTEN_ESCAPED = frozenset("\"\\/<>&'")  # by JSON itself, by PHP, and by Go and others for HTML safety


def is_in_body(log: TrafficLog, row: int, needle: Needle) -> bool:
    """Search a body in parts, which overlap by the maximum length of the text."""
    kept = log.kept(row)
    if kept <= _PART:
        body = log.readable_raw(row)
        return body is not None and needle.is_in(body)
    length = _PART + needle.max_length
    try:
        return any(needle.is_in(log.part(row, start, length)) for start in range(0, kept, _PART))
    except BodyUnavailable:
        return False


def body_test(operator: Operator, values: Sequence[str]) -> BodyTest:
    """Return the test that a comparison of `text` applies to a body."""
    if operator is Operator.CONTAINS:
        needle = Needle(values[0])
        return lambda log, row: is_in_body(log, row, needle)
    if operator is Operator.MATCHES:
        pattern = regular_expression(values[0])
        return lambda log, row: _finds(pattern, log.readable_raw(row, SEARCHED))
    wanted = frozenset(map(as_bytes, values))
    lengths = frozenset(map(len, wanted))
    return lambda log, row: log.kept(row) in lengths and log.readable_raw(row) in wanted


def _finds(pattern: re.Pattern[str], body: bytes | None) -> bool:
    return body is not None and searches(pattern, body.decode(errors="replace"))


def rows_with(log: TrafficLog, needle: Needle, window: range, alive: bytes) -> bytes:
    """Return a byte per row of the window: 1 if it is alive and its body contains the text."""
    if not needle.max_length:
        return alive
    first = window.start
    found, kept = bytearray(len(window)), log.columns.kept[first : window.stop]
    rows = list(compress(window, alive))
    big = [row for row in rows if kept[row - first] > _SMALL]
    for row in big:
        found[row - first] = is_in_body(log, row, needle)
    small = [row for row in rows if kept[row - first] <= _SMALL] if big else rows
    memory = log.in_memory(first, window.stop)
    for joined in (*_joined_in_memory(small, first, memory), *_joined_in_store(log, small, first, memory)):
        for row in joined.rows_with(needle):
            found[row - first] = 1
    return bytes(found)


@dataclass(frozen=True, slots=True)
class _Joined:
    """Bodies of rows joined: one large search is far cheaper than many small ones."""

    data: bytes
    rows: Sequence[int]
    starts: Sequence[int]  # ascending
    lengths: Sequence[int]

    def rows_with(self, needle: Needle) -> Iterator[int]:
        data, starts = self.data.lower(), self.starts
        position, index = needle.find(data, starts[0]), -1
        while position >= 0:
            index = bisect_right(starts, position, index + 1) - 1
            start = starts[index]
            # The match may extend into the next body, or be in one that was not requested.
            if needle.find(data[start : start + self.lengths[index]], 0) >= 0:
                yield self.rows[index]
            if index + 1 == len(starts):
                return
            position = needle.find(data, starts[index + 1])


def _joined_in_memory(rows: list[int], first: int, memory: list[bytes | None]) -> Iterator[_Joined]:
    for at in range(0, len(rows), _GROUP):
        some = [(row, body) for row in rows[at : at + _GROUP] if (body := memory[row - first]) is not None]
        if some:
            lengths = [len(body) for _, body in some]
            starts = list(accumulate(lengths[:-1], initial=0))
            yield _Joined(b"".join(body for _, body in some), [row for row, _ in some], starts, lengths)


def _joined_in_store(
    log: TrafficLog, rows: list[int], first: int, memory: list[bytes | None]
) -> Iterator[_Joined]:
    """Yield released rows, which are already joined in chunks."""
    columns, last = log.columns, first + len(memory)
    chunks, offsets, kept = (column[first:last] for column in (columns.chunk, columns.offset, columns.kept))
    stored = [row for row in rows if memory[row - first] is None]
    for chunk, members in groupby(stored, lambda row: chunks[row - first]):
        some = list(members)
        starts = [offsets[row - first] for row in some]
        lengths = [kept[row - first] for row in some]
        if all(map(le, starts, starts[1:])):
            with suppress(BodyUnavailable):
                yield _Joined(log.stored_chunk(chunk), some, starts, lengths)
        else:  # a file can hold anything
            bodies = ((row, log.readable_raw(row)) for row in some)
            yield from (_Joined(raw, [row], [0], [len(raw)]) for row, raw in bodies if raw is not None)


class Needle:
    """A text to find.

    `find(data, start)` returns its first position at or after `start`, or -1, in lower-cased data.
    `max_length` is the maximum number of bytes of its spellings.
    """

    def __init__(self, text: str) -> None:
        self.max_length = sum(max(map(len, _spellings(char))) for char in text)
        self.find = _find_plain(text) if all(map(_is_plain, text)) else _find_spelled(text)

    def is_in(self, data: bytes) -> bool:
        return self.find(data.lower(), 0) >= 0


def as_bytes(text: str) -> bytes:
    """Encode a text, including lone surrogates, which UTF-8 cannot represent."""
    return text.encode(errors="surrogatepass")


def _is_plain(char: str) -> bool:
    return " " <= char <= "~" and char not in _OFTEN_ESCAPED


def _find_plain(text: str) -> Callable[[bytes, int], int]:
    wanted = text.lower().encode()
    return lambda data, start: data.find(wanted, start)


def _find_spelled(text: str) -> Callable[[bytes, int], int]:
    search = re.compile(b"".join(map(_pattern, text)), re.DOTALL).search

    def find(data: bytes, start: int) -> int:
        match = search(data, start)
        return match.start() if match is not None else -1

    return find


def _pattern(char: str) -> bytes:
    spellings = _spellings(char)
    alternatives = b"|".join(map(re.escape, spellings))
    return alternatives if len(spellings) == 1 else b"(?:%s)" % alternatives


def _spellings(char: str) -> list[bytes]:
    """Return all spellings of a character, as they appear in data with ASCII lower-cased."""
    if _is_plain(char):
        return [char.lower().encode()]
    found: dict[bytes, None] = {}
    for form in (char, char.lower(), char.upper(), char.casefold()):
        for spelling in (as_bytes(form), _escaped(form), _shortly_escaped(form)):
            found[spelling.lower()] = None
    return list(found)


def _escaped(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    return b"".join(rb"\u%02x%02x" % (units[at], units[at + 1]) for at in range(0, len(units), 2))


def _shortly_escaped(text: str) -> bytes:
    if text in '"\\/':
        return b"\\" + text.encode()
    return _SHORT_ESCAPES.get(text, as_bytes(text))
