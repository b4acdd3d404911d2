r"""JSON text as it reads once its escapes are resolved, with the way back to where each byte stood.

A secret may be spelled with escapes (`\/`, `\u002B`), or stand in JSON that is a string in JSON. Both are
found by looking at the text again with one level of escapes taken away.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

# One or two escapes at a time: a letter beyond U+FFFF is written as two.
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)", re.DOTALL
)
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
# Stands for a quote that begins or ends a string, so that nothing is found that reaches across it.
_STRUCTURE = b"\0"
_BLANK = b" \n"


@dataclass(frozen=True, slots=True)
class Unescaped:
    """The text, and after each escape the place in it and in the text that it was made of."""

    data: bytes
    _places: list[int] = field(default_factory=lambda: [0])
    _origins: list[int] = field(default_factory=lambda: [0])

    def origin(self, place: int) -> int:
        """Where this place is in the text with escapes."""
        index = bisect_right(self._places, place) - 1
        return self._origins[index] + place - self._places[index]


def unescape(data: bytes) -> Unescaped:
    """Resolve one level of escapes. Work grows with the length of the text."""
    data = _without_blanks(data)
    pieces: list[bytes] = []
    places, origins = [0], [0]
    place = end = 0
    for escape in _ESCAPE.finditer(data):
        before = data[end : escape.start()].replace(b'"', _STRUCTURE)
        letter = _letter(escape)
        pieces += (before, letter)
        place += len(before) + len(letter)
        end = escape.end()
        places.append(place)
        origins.append(end)
    pieces.append(data[end:].replace(b'"', _STRUCTURE))
    return Unescaped(b"".join(pieces), places, origins)


def _without_blanks(data: bytes) -> bytes:
    """Line ends and tabs as two bytes for two, which takes no time; texts of many lines are full of them."""
    if b"\\\\" in data:
        return data  # `\\n` is a backslash and a letter
    for escape in (b"\\n", b"\\r", b"\\t"):
        data = data.replace(escape, _BLANK)
    return data


def with_blanks(value: bytes) -> bytes:
    """How a value of several lines may read in what `unescape` gives."""
    return re.sub(rb"[\n\r\t]", _BLANK, value)


def unescaped_string(spelling: bytes) -> bytes:
    """The value of a JSON string, from what stands between its quotes."""
    return _ESCAPE.sub(_letter, spelling) if b"\\" in spelling else spelling


def _letter(escape: re.Match[bytes]) -> bytes:
    high, low, single = escape.groups()
    if high is not None:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
        return chr(code).encode()
    if single is not None:
        return chr(int(single, 16)).encode(errors="replace")  # half a letter, which no text can hold
    last = escape[0][1:]
    return _SHORT.get(last, last)
