"""Bytes of a message laid out for editing: only white space between tokens changes.

Unlike `base.jsonpretty`, which is for reading, nothing inside a string is touched: an escape stays an escape.
So `rawedit.compacted` takes back what was done here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# An unterminated string extends to the end. Possessive quantifiers: no backtracking on long input.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^ \t\n\r\[\]{},:"]++', re.DOTALL)
_STRUCTURE = b"[]{},:"
_DEEPEST_MARGIN = 60  # otherwise the indentation of a deep value would grow with the square of its depth


def indented(raw: bytes) -> bytes:
    """Put each member and item on a line, two spaces per level. Invalid JSON as far as it goes."""
    return b"".join(_pieces(raw))


def _pieces(raw: bytes) -> Iterator[bytes]:
    level = 0
    before, end = b"", 0
    for match in _TOKEN.finditer(raw):
        token = match[0]
        is_closing, is_empty = token in b"]}", before in (b"[", b"{")
        level = max(level - is_closing, 0)  # there may be surplus closing brackets
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
    """True if the tokens need no whitespace between them."""
    return before in _STRUCTURE or token in _STRUCTURE  # b"", i.e. no token at the start, is in there too


def _margin(level: int) -> bytes:
    return b"\n" + b"  " * min(level, _DEEPEST_MARGIN)
