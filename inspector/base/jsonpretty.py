"""JSON text made readable without being read: only white space changes.

Numbers keep their spelling (1.10, 1e400, 2**70), repeated keys stay, depth does not matter: what is shown
is what was sent. The one exception is comfort: a letter that was written as an escape is shown as the
letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+|"', re.DOTALL)
_DEEPEST_MARGIN = 60  # else the margins of a deep value would grow with the square of its depth


def reindent(text: str, limit: int | None = None) -> str:
    """Lay a JSON text out in lines, two spaces a level; stop soon after `limit` characters."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(text):
        pieces.append(piece)
        size += len(piece)
        if limit is not None and size > limit:
            break
    return "".join(pieces)


def _pieces(text: str) -> Iterator[str]:
    level = 0
    is_opened = False  # right after a bracket: an empty container stays on one line
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
            yield _readable(piece) if "\\u" in piece else piece


def _margin(level: int) -> str:
    return "\n" + "  " * min(max(level, 0), _DEEPEST_MARGIN)


def _readable(piece: str) -> str:
    """A string whose letters were escaped. Control characters and half pairs stay escapes."""
    try:
        shown = json.dumps(json.loads(piece), ensure_ascii=False)
        shown.encode()
    except (ValueError, UnicodeEncodeError):
        return piece
    return shown
