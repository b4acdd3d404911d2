"""JSON as people write it into settings: with comments, trailing commas and a byte order mark.

What is not JSON becomes spaces, so that every other character stays where it was: an error names the line and
the column of the file, and a member is found again by its place.
"""

from __future__ import annotations

import re

from inspector.base.jsonvalue import JSON, JSONProblem
from inspector.config.exactfile import read_exactly

# Possessive: a text of half a megabyte without a closing quote must not be tried from every place again.
_TOKEN = re.compile(
    r'"(?:[^"\\\r\n]|\\.)*+"?+'  # a string; one that does not end is left to the reader of JSON
    r"|(?P<comment>//[^\r\n]*+|/\*(?:[^*]|\*(?!/))*+(?P<end>\*/)?+)"
    r"|(?P<mark>[\[\]{},:])"
    r"|\s++"
    r'|[^\s"/\[\]{},:]++'
    r"|."
)
_NOT_A_BREAK = re.compile(r"[^\r\n]")


def read(text: str) -> tuple[JSON, str]:
    """The value, and the text as plain JSON with everything in its place. Raises JSONProblem.

    Of repeated keys the last counts; numbers keep their spelling.
    """
    text = text.removeprefix("\ufeff")
    try:
        return read_exactly(text, last_wins=True), text
    except JSONProblem:
        plain = blanked(text)
        return read_exactly(plain, last_wins=True), plain


def blanked(text: str) -> str:
    """The text with spaces for comments and trailing commas; line breaks stay. Raises JSONProblem."""
    pieces: list[str] = []
    comma = -1  # which piece is a comma that may turn out to be a trailing one
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
            # `[,]` has no value before its comma: that is a mistake and stays one.
            comma = len(pieces) if mark == "," and last not in ("", "[", "{", ",", ":") else -1
            last = piece
        pieces.append(piece)
    return "".join(pieces)


def line_of(text: str, at: int) -> int:
    """Counted from 1."""
    return text.count("\n", 0, at) + 1


def place_of(text: str, at: int) -> str:
    """In the words of the reader of JSON."""
    return f"line {line_of(text, at)}, column {at - text.rfind(chr(10), 0, at)}"
