"""Search for many byte strings at once: secrets in all their spellings.

Up to a few dozen are searched one by one. For thousands, the data is compared in blocks of 8 bytes: wherever
a long enough literal occurs, one of its last eight 8-byte windows is such a block. That takes 4 ns per byte,
however many literals there are; short literals take another 8 ns with blocks of 4. The last ones are compared
because tokens often begin alike: all JWTs of an issuer have the same header.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping

MIN_LENGTH = 8  # shorter ones occur by chance too often
_MAX_ALTERNATIVES = 40
_MANY = 64


class Literals:
    """A set of byte strings to find, with their meanings. Those shorter than MIN_LENGTH are ignored."""

    def __init__(self, meanings: Mapping[bytes, str]) -> None:
        self._meanings = {text: meaning for text, meaning in meanings.items() if len(text) >= MIN_LENGTH}
        self._index = _BlockIndex(self._meanings) if len(self._meanings) > _MANY else None
        self._lengths: dict[bytes, list[int]] = {}
        for text in sorted(self._meanings, key=len, reverse=True):
            lengths = self._lengths.setdefault(text[:MIN_LENGTH], [])
            if len(text) not in lengths:
                lengths.append(len(text))
        self._max_length = max(map(len, self._meanings), default=0)
        self._begins: re.Pattern[bytes] | None = None
        if len(self._lengths) <= _MAX_ALTERNATIVES:
            self._begins = re.compile(b"|".join(map(re.escape, self._lengths)))

    def found_in(self, data: bytes) -> list[bytes]:
        """Return those that occur in the data."""
        texts: Iterable[bytes] = self._meanings if self._index is None else self._index.candidates(data)
        return [text for text in texts if text in data]

    def spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and meaning of matches from `start` up to `stop`, longest per position."""
        if self._index is not None:
            found = self.found_in(data[start : stop + self._max_length])
            if len(found) <= _MANY:
                few = Literals({text: self._meanings[text] for text in found})
                yield from few.spans(data, start, stop)
                return
        for at in self._positions(data, start, stop) if self._lengths else ():
            length = self._length_at(data, at)
            if length:
                yield at, at + length, self._meanings[data[at : at + length]]

    def _positions(self, data: bytes, start: int, stop: int) -> Iterator[int]:
        if self._begins is None:
            lengths = self._lengths
            yield from [
                at for at in range(start, min(stop, len(data))) if data[at : at + MIN_LENGTH] in lengths
            ]
            return
        end = min(len(data), stop + MIN_LENGTH - 1)
        while match := self._begins.search(data, start, end):
            yield match.start()
            start = match.start() + 1

    def _length_at(self, data: bytes, at: int) -> int:
        lengths = self._lengths[data[at : at + MIN_LENGTH]]
        return next((length for length in lengths if data[at : at + length] in self._meanings), 0)


class _BlockIndex:
    """Finds which of many texts may occur in data, by blocks of the data's bytes."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._long: dict[int, list[bytes]] = {}
        self._short: dict[int, list[bytes]] = {}
        for text in texts:
            # With blocks of n bytes, a text needs 2n - 1 to be certain to have a whole one.
            size, blocks = (8, self._long) if len(text) >= 15 else (4, self._short)
            for start in range(len(text) - 2 * size + 1, len(text) - size + 1):
                number = int.from_bytes(text[start : start + size], sys.byteorder)
                blocks.setdefault(number, []).append(text)

    def candidates(self, data: bytes) -> dict[bytes, None]:
        """Return the texts that may occur in the data, each once, and with it all that do."""
        found: dict[bytes, None] = {}
        for typecode, size, blocks in (("Q", 8, self._long), ("I", 4, self._short)):
            if not blocks:
                continue
            numbers = array(typecode, data[: len(data) // size * size])
            if not blocks.keys().isdisjoint(numbers):  # no Python loop, unless there is one
                for number in blocks.keys() & numbers:
                    found.update(dict.fromkeys(blocks[number]))
        return found
