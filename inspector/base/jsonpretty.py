"""JSON text made readable without being read: only white space changes.

Numbers keep their spelling (1.10, 1e400, 2**70), repeated keys stay, depth does not matter: what is shown
is what was sent. The one exception is comfort: a letter that was written as an escape is shown as the
letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# "+" after a "*" takes no step back: remembering the steps through megabytes of text costs gigabytes.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+|"', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\."
)
_LONGEST_ESCAPE = len(r"\ud83d\ude00")  # of one letter
_DEEPEST_MARGIN = 60  # else the margins of a deep value would grow with the square of its depth


def reindent(text: str, limit: int | None = None) -> str:
    """Lay a JSON text out in lines, two spaces a level; stop soon after `limit` characters."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(text, len(text) if limit is None else limit):
        pieces.append(piece)
        size += len(piece)
        if limit is not None and size > limit:
            break
    return "".join(pieces)


def _pieces(text: str, limit: int) -> Iterator[str]:
    """A piece that is longer than the limit may be cut behind it."""
    level = 0
    is_opened = False  # right after a bracket: an empty container stays on one line
    value_end = -1  # of a word or a string: where no comma follows, the white space is kept
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if piece in "]}":
            level -= 1
            yield piece if is_opened else _margin(level) + piece
            is_opened = False
            continue
        if is_opened:
            yield _margin(level)
            is_opened = False
        if piece in "[{":
            level += 1
            is_opened = True
            yield piece
        elif piece == ",":
            yield "," + _margin(level)
        elif piece == ":":
            yield ": "
        else:
            if 0 <= value_end < match.start() and text[value_end : match.start()].isspace():
                yield " "
            value_end = match.end()
            yield _readable(piece[: (limit + 1) * _LONGEST_ESCAPE]) if "\\u" in piece else piece


def _margin(level: int) -> str:
    return "\n" + "  " * min(max(level, 0), _DEEPEST_MARGIN)


def _readable(piece: str) -> str:
    """A string with its letters for their escapes. What could not be seen as a letter stays an escape."""
    return _ESCAPE.sub(_letter, piece)


def _letter(escape: re.Match[str]) -> str:
    high, low, single = escape.groups()
    if high is not None:
        letter = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    elif single is not None:
        letter = chr(int(single, 16))
    else:
        return escape[0]
    return letter if letter.isprintable() and letter not in '"\\' else escape[0]
