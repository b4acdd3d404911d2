"""Finds any of many byte strings in a text, in one pass.

An alternation of a thousand whole secrets would be tried branch by branch at nearly every byte. So only
where one may begin is searched for: with a regular expression made of their first bytes as long as they are
few, which takes 10 ns a byte, and by looking each place up in a set when they are many: 100 ns a byte,
however many they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SHORTEST = 8  # shorter ones occur by chance too often
_FEW = 40


class Literals:
    """A set of byte strings to find, with their meanings. Those below SHORTEST are ignored."""

    def __init__(self, meanings: Mapping[bytes, str]) -> None:
        self._meanings = {text: meaning for text, meaning in meanings.items() if len(text) >= SHORTEST}
        self._lengths: dict[bytes, list[int]] = {}
        for text in sorted(self._meanings, key=len, reverse=True):
            lengths = self._lengths.setdefault(text[:SHORTEST], [])
            if len(text) not in lengths:
                lengths.append(len(text))
        beginnings = b"|".join(map(re.escape, self._lengths))
        self._begins = re.compile(beginnings) if len(self._lengths) <= _FEW else None

    def spans(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and meaning of matches from `start` up to `stop`, longest per position."""
        for at in self._places(data, start, stop) if self._lengths else ():
            length = self._length_at(data, at)
            if length:
                yield at, at + length, self._meanings[data[at : at + length]]

    def _places(self, data: bytes, start: int, stop: int) -> Iterator[int]:
        if self._begins is None:
            lengths = self._lengths
            yield from [
                at for at in range(start, min(stop, len(data))) if data[at : at + SHORTEST] in lengths
            ]
            return
        end = min(len(data), stop + SHORTEST - 1)
        while match := self._begins.search(data, start, end):
            yield match.start()
            start = match.start() + 1

    def _length_at(self, data: bytes, at: int) -> int:
        lengths = self._lengths[data[at : at + SHORTEST]]
        return next((length for length in lengths if data[at : at + length] in self._meanings), 0)
