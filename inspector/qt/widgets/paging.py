"""Large content in pages, so that what is put on screen never grows with what was received.

A page is a list of display rows. A row is a line, or a piece of one too long to lay out in one go; a piece
that continues a line has the line number 0. Knows no Qt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from inspector.base import units
from inspector.base.plaintext import visible

PAGE_SIZE = 256 * 1024
PAGE_LINES = 4_000
ROW_LENGTH = 512
HEX_PAGE_SIZE = 16 * 1024

# Showing a hidden character as a token costs a call each: slices that have some count this much more.
_SLICE = 8 * 1024
_HIDDEN_COST = 12

# Bytes that are no UTF-8 (surrogate escapes), and what `visible` leaves alone but a text document takes for
# its own: the line separators would start rows, the two noncharacters are Qt's frame marks.
_MARKS = re.compile("[\udc80-\udcff\u2028\u2029\ufdd0\ufdd1]")


@dataclass(frozen=True, slots=True)
class Page:
    """Rows to show, and for each the number of the line it starts (0: it continues one)."""

    rows: list[str]
    numbers: list[int]


class Pager(Protocol):
    """Content given out page by page. `shown` and `total` count bytes, or characters, alike."""

    @property
    def shown(self) -> int: ...
    @property
    def total(self) -> int: ...
    def next_page(self) -> Page: ...
    def progress(self) -> str: ...


class TextPager:
    """Text, or UTF-8 bytes decoded as they are shown; bytes that are not UTF-8 appear as ⟨0xFF⟩."""

    def __init__(self, source: str | bytes) -> None:
        self._source = source
        self._counts_bytes = isinstance(source, bytes) or source.isascii()
        self.total = len(source)
        self.shown = 0
        self._line = 0
        self._is_mid_line = False

    def next_page(self) -> Page:
        lines = self._take().split("\n")
        ends_with_line = lines[-1] == "" and self.shown < self.total
        if ends_with_line:
            lines.pop()  # the next page starts a row of its own
        page = self._rows(lines)
        self._is_mid_line = not ends_with_line
        return page

    def progress(self) -> str:
        """`Showing 256 KiB of 50 MiB`; in characters where bytes would have to be counted first."""
        if self._counts_bytes:
            return f"Showing {units.size(self.shown)} of {units.size(self.total)}"
        return f"Showing {self.shown:,} of {units.plural(self.total, 'character')}"

    def _take(self) -> str:
        """The next page's text as it is shown; as much of it as is cheap to show."""
        piece = self._source[self.shown : self._page_end(self.shown)]
        text = _head(piece if isinstance(piece, str) else piece.decode("utf-8", "surrogateescape"))
        parts: list[str] = []
        taken = cost = 0
        while taken < len(text) and cost < PAGE_SIZE:
            part = text[taken : taken + _SLICE]
            parts.append(_shown(part))
            taken += len(part)
            cost += len(parts[-1]) * (1 if parts[-1] == part else _HIDDEN_COST)
        text = text[:taken]
        self.shown += taken if isinstance(piece, str) else len(text.encode("utf-8", "surrogateescape"))
        return "".join(parts)

    def _page_end(self, start: int) -> int:
        """Where the page may end at most: not inside a UTF-8 sequence (three bytes back at most)."""
        end = min(start + PAGE_SIZE, self.total)
        source = self._source
        if isinstance(source, bytes) and end < self.total:
            for back in range(4):
                if source[end - back] & 0xC0 != 0x80:
                    return end - back
        return end

    def _rows(self, lines: list[str]) -> Page:
        rows: list[str] = []
        numbers: list[int] = []
        for place, line in enumerate(lines):
            continues = place == 0 and self._is_mid_line
            self._line += not continues
            for offset, row in enumerate(_pieces(line)):
                rows.append(row)
                numbers.append(self._line if offset == 0 and not continues else 0)
        return Page(rows, numbers)


class HexPager:
    """Bytes as offset, hexadecimal and ASCII."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.total = len(raw)
        self.shown = 0

    def next_page(self) -> Page:
        end = min(self.shown + HEX_PAGE_SIZE, self.total)
        rows = [_hex_row(self._raw, at, min(at + 16, end)) for at in range(self.shown, end, 16)]
        self.shown = end
        return Page(rows, [0] * len(rows))

    def progress(self) -> str:
        return f"Showing {units.size(self.shown)} of {units.size(self.total)}"


def _head(text: str) -> str:
    """As many lines as fit a page."""
    lines = text.split("\n", PAGE_LINES)
    return text[: len(text) - len(lines[-1])] if len(lines) > PAGE_LINES else text


def _shown(text: str) -> str:
    return visible(text if text.isascii() else _MARKS.sub(_mark_token, text))


def _mark_token(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"⟨0x{code - 0xDC00:02X}⟩" if 0xDC80 <= code <= 0xDCFF else f"⟨U+{code:04X}⟩"


def _pieces(line: str) -> Iterator[str]:
    """Cut a long line into rows, never between a backslash and what it escapes."""
    if len(line) <= ROW_LENGTH:
        yield line
        return
    start = 0
    while start < len(line):
        end = min(start + ROW_LENGTH, len(line))
        if end < len(line) and _ends_in_escape(line, start, end):
            end += 1
        yield line[start:end]
        start = end


def _ends_in_escape(line: str, start: int, end: int) -> bool:
    run = end - start - len(line[start:end].rstrip("\\"))
    return run % 2 == 1


_PRINTABLE = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256))


def _hex_row(raw: bytes, start: int, end: int) -> str:
    half = min(start + 8, end)
    digits = f"{raw[start:half].hex(' '):<23}  {raw[half:end].hex(' '):<23}"
    return f"{start:08x}  {digits}  {raw[start:end].translate(_PRINTABLE).decode('ascii')}"
