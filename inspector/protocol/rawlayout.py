"""Bytes of a message laid out for editing: only white space between tokens changes.

Unlike `base.jsonpretty`, which is for reading, nothing inside a string is touched: an escape stays an escape.
So `rawedit.compacted` takes back what was done here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A string that is not closed is taken to the end. "+" after "*" takes no step back, however long it is.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^ \t\n\r\[\]{},:"]++', re.DOTALL)
_STRUCTURE = b"[]{},:"
_DEEPEST_MARGIN = 60  # else the margins of a deep value would grow with the square of its depth


def indented(raw: bytes) -> bytes:
    """A line for each member and item, two spaces a level. What is no JSON is laid out as far as it goes."""
    return b"".join(_pieces(raw))


def _pieces(raw: bytes) -> Iterator[bytes]:
    level = 0
    before, end = b"", 0
    for match in _TOKEN.finditer(raw):
        token = match[0]
        is_closing, is_empty = token in b"]}", before in (b"[", b"{")
        level = max(level - is_closing, 0)  # there may be more closing brackets than opening ones
        if is_closing or is_empty:
            yield b"" if is_closing and is_empty else _margin(level)
        elif before == b",":
            yield _margin(level)
        elif before == b":" or (match.start() > end and not _are_apart(before, token)):
            yield b" "
        yield token
        level += token in b"[{"
        before, end = token, match.end()


def _are_apart(before: bytes, token: bytes) -> bool:
    """Without white space between them, too."""
    return before in _STRUCTURE or token in _STRUCTURE  # no token at all, at the start, is in there as well


def _margin(level: int) -> bytes:
    return b"\n" + b"  " * min(level, _DEEPEST_MARGIN)
