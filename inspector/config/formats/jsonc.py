"""JSON as people write it into settings: with comments, trailing commas and a byte order mark.

What is not JSON becomes spaces, so that every other character stays where it was: an error names the line and
the column of the file, and a member is found again by its place.
"""

from __future__ import annotations

import re

from inspector.base.jsonvalue import JSON, JSONProblem
from inspector.config.exactfile import read_exactly

# Possessive: half a megabyte without a closing quote must not cause backtracking.
_TOKEN = re.compile(
    r'"(?:[^"\\\r\n]|\\.)*+"?+'  # a string; an unterminated one is left to the JSON parser
    r"|(?P<comment>//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?P<end>\*/)?+)"
    r"|(?P<mark>[\[\]{},:])"
    r"|\s++"
    r'|[^\s"/\[\]{},:]++'
    r"|."
)
_NOT_A_BREAK = re.compile(r"[^\r\n]")


def read(text: str) -> tuple[JSON, str]:
    """Return the value, and the text as plain JSON with offsets unchanged. Raises JSONProblem.

    For repeated keys the last one wins; numbers keep their spelling.
    """
    text = text.removeprefix("\ufeff")
    try:
        return read_exactly(text, last_wins=True), text
    except JSONProblem:
        plain = blanked(text)
        return read_exactly(plain, last_wins=True), plain


def blanked(text: str) -> str:
    """Replace comments and trailing commas with spaces, keeping newlines. Raises JSONProblem."""
    pieces: list[str] = []
    comma = -1  # index of a piece that may turn out to be a trailing comma
    last = ""
    for token in _TOKEN.finditer(text):
        piece = token.group()
        mark = token["mark"]
        if token["comment"] is not None:
            if piece.startswith("/*") and token["end"] is None:
                raise JSONProblem(f"The comment does not end at {place_of(text, token.start())}")
            piece = _NOT_A_BREAK.sub(" ", piece)
        elif not piece.isspace():
            if mark in ("]", "}") and comma >= 0:
                pieces[comma] = " "
            # `[,]` has no value before its comma: still an error.
            comma = len(pieces) if mark == "," and last not in ("", "[", "{", ",", ":") else -1
            last = piece
        pieces.append(piece)
    return "".join(pieces)


def line_of(text: str, at: int) -> int:
    """Return the line number, counted from 1."""
    return text.count("\n", 0, at) + 1


def place_of(text: str, at: int) -> str:
    """Return line and column, worded like the JSON parser's errors."""
    return f"line {line_of(text, at)}, column {at - text.rfind(chr(10), 0, at)}"
