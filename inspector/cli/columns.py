"""Two aligned columns that fit the terminal, with server text made harmless and kept on one line."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from inspector.base.plaintext import one_line

_GAP = "  "
_WIDEST_NAMES = 40
_NARROWEST_WORDS = 24


def two_columns(rows: Sequence[tuple[str, str]], width: int | None) -> str:
    """Format rows as two columns. `width` is that of the terminal, or None to cut nothing."""
    lines: list[str] = []
    clean = [(one_line(name), one_line(words)) for name, words in rows]
    names = _names_width(clean, width)
    for name, words in clean:
        lines += _row(name, words, names, width)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _names_width(rows: Sequence[tuple[str, str]], width: int | None) -> int:
    """Return the name column's width, capped so that one long name does not widen it for all."""
    most = _WIDEST_NAMES if width is None else min(_WIDEST_NAMES, width // 2)
    return min(most, max((_cells(name) for name, _ in rows), default=0))


def _row(name: str, words: str, names: int, width: int | None) -> list[str]:
    if width is None:
        return [f"{_padded(name, names)}{_GAP}{words}"]
    room = width - names - len(_GAP)
    if not words:
        return [name]
    if room < _NARROWEST_WORDS:  # too narrow for two columns: stack them
        return [name, _cut(f"{_GAP}{words}", width)]
    if _cells(name) > names:
        return [name, _cut(f"{' ' * names}{_GAP}{words}", width)]
    return [f"{_padded(name, names)}{_GAP}{_cut(words, room)}"]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cut(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _cells(character)
        if used > width - 1:
            break
        kept += character
    return f"{kept.rstrip()}…"


def _cells(text: str) -> int:
    """Return a text's width in terminal cells: East Asian wide is two, combining is zero."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
