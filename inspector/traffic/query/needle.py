"""Free text, searched in bytes as they are: no parsing, whatever the size.

Upper and lower case are one. JSON may spell a character in several ways (é, \\u00e9, \\u00E9; / and \\/), so
each character that is commonly escaped is searched in all its spellings; letters and digits of ASCII, which
nobody escapes, only as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_SHORT_ESCAPES = {"\n": rb"\n", "\r": rb"\r", "\t": rb"\t", "\b": rb"\b", "\f": rb"\f"}
_OFTEN_ESCAPED = frozenset("\"\\/<>&'")  # by JSON itself, by PHP, and by Go and others for HTML safety


class Needle:
    """A text to find.

    `find(data, start)` returns its first position at or after `start`, or -1, in lower-cased data.
    `longest` is the maximum number of bytes of its spellings.
    """

    def __init__(self, text: str) -> None:
        self.longest = sum(max(map(len, _spellings(char))) for char in text)
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
