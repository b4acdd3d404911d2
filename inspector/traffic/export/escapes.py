r"""JSON text as it reads once its escapes are resolved, with the way back to where each byte stood.

A secret may be spelled with escapes (`\/`, `\u002B`), or stand in JSON that is a string in JSON. Both are
found by looking at the text again with one level of escapes taken away.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

# One or two escapes at a time: a character beyond U+FFFF is written as two.
_ESCAPE = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)", re.DOTALL
)
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
# Replaces the quotes around strings, so that no match crosses them.
_STRUCTURE = b"\0"
_BLANK = b" \n"


@dataclass(frozen=True, slots=True)
class Unescaped:
    """Unescaped text, with a map back to positions in the original."""

    data: bytes
    _places: list[int] = field(default_factory=lambda: [0])
    _origins: list[int] = field(default_factory=lambda: [0])

    def origin(self, place: int) -> int:
        """Return where this position is in the original text."""
        index = bisect_right(self._places, place) - 1
        return self._origins[index] + place - self._places[index]


def unescape(data: bytes) -> Unescaped:
    """Resolve one level of escapes. Linear time."""
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
    """Replace escaped line ends and tabs with two bytes each: fast, and texts have many of them."""
    if b"\\\\" in data:
        return data  # `\\n` is a backslash and a letter
    for escape in (b"\\n", b"\\r", b"\\t"):
        data = data.replace(escape, _BLANK)
    return data


def with_blanks(value: bytes) -> bytes:
    """Return how a multi-line value may read in the output of `unescape`."""
    return re.sub(rb"[\n\r\t]", _BLANK, value)


def unescaped_string(spelling: bytes) -> bytes:
    """Return the value of a JSON string, from what is between its quotes."""
    return _ESCAPE.sub(_letter, spelling) if b"\\" in spelling else spelling


def _letter(escape: re.Match[bytes]) -> bytes:
    high, low, single = escape.groups()
    if high is not None:
        code = 0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00)
        return chr(code).encode()
    if single is not None:
        return chr(int(single, 16)).encode(errors="replace")  # a lone surrogate, which cannot be encoded
    last = escape[0][1:]
    return _SHORT.get(last, last)
