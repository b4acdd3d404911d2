"""Where to colour JSON, a row at a time. It reads what is there, valid or not."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["key", "string", "number", "literal"]

_STRING_REST = r'[^"\\]*(?:\\.[^"\\]*)*'
_TOKEN = re.compile(
    rf'(?P<string>"{_STRING_REST}(?P<end>"|\\?$))(?P<colon>\s*:)?'
    r"|(?P<number>-?\d[\d.eE+-]*)"
    r"|(?P<literal>\b(?:true|false|null|NaN|-?Infinity)\b)"
)
_CONTINUED = re.compile(rf'{_STRING_REST}(?P<end>"|\\?$)')
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Span(NamedTuple):
    """A colored span of a row, in Python characters."""

    start: int
    length: int
    kind: Kind


def scan(row: str, in_string: bool = False) -> tuple[list[Span], bool]:
    """Return the row's colored spans, and whether a string continues in the next row.

    `in_string`: this row continues a string from the previous one.
    """
    spans: list[Span] = []
    at = 0
    if in_string:
        rest = _CONTINUED.match(row)
        if rest is None:
            return [Span(0, len(row), "string")], True
        spans.append(Span(0, rest.end(), "string"))
        if rest["end"] != '"':
            return spans, True
        at = rest.end()
    open_string = False
    for match in _TOKEN.finditer(row, at):
        if match["string"] is not None:
            spans.append(_string_span(match))
            open_string = match["end"] != '"'
        else:
            kind: Kind = "number" if match["number"] is not None else "literal"
            spans.append(Span(match.start(), match.end() - match.start(), kind))
    return spans, open_string


def ends_in_string(row: str, in_string: bool) -> bool:
    """Return what `scan` would say of the row's end, without spans, for rows out of sight."""
    quotes = row.replace("\\\\", "").replace('\\"', "").count('"')
    return in_string ^ (quotes % 2 == 1)


def _string_span(match: re.Match[str]) -> Span:
    kind: Kind = "key" if match["colon"] else "string"
    return Span(match.start("string"), match.end("string") - match.start("string"), kind)


def qt_column(row: str, column: int) -> int:
    """Convert a Python column to Qt's: UTF-16 units, so non-BMP characters count twice."""
    if row.isascii():
        return column
    return column + sum(1 for _ in _ASTRAL.finditer(row, 0, column))
