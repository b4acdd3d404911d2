"""Paging of large content, so that the amount on screen is bounded.

A page is a list of display rows. A row is a line, or a part of one that is too long to lay out at once; a
row that continues a line has line number 0. Content is text, bytes or a `Body`, of which only the shown
part is read. Does not use Qt.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import AnyStr, Protocol, runtime_checkable

from inspector.base import units
from inspector.base.errors import UserError
from inspector.base.json.scanner import Reindenter
from inspector.base.plain_text import visible

PAGE_SIZE = 256 * 1024
PAGE_LINES = 3_000
ROW_LENGTH = 512
HEX_PAGE_SIZE = 16 * 1024

# Replacing hidden characters is slow: slices that contain some have this cost factor.
_SLICE = 8 * 1024
_HIDDEN_COST = 12
# JSON is formatted in chunks of this size: each may become as many lines as it has characters.
_JSON_CHUNK = 2 * 1024

# Invalid UTF-8 (surrogate escapes), and characters that `visible` keeps but a QTextDocument interprets:
# line separators would start rows, the two noncharacters are Qt's frame marks.
_MARKS = re.compile("[\udc80-\udcff\u2028\u2029\ufdd0\ufdd1]")


@runtime_checkable
class Body(Protocol):
    """Bytes stored elsewhere, e.g. in a capture on disk."""

    def __len__(self) -> int: ...
    def part(self, start: int, length: int) -> bytes:
        """Read bytes: all that were requested, up to the end. Raises UserError if they cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """Rows to show, and for each the number of the line it starts (0: it continues one)."""

    rows: list[str]
    numbers: list[int]
    starts_in_string: bool = False


class Pager(Protocol):
    """Provides content page by page. `shown` and `total` are both bytes or both characters.

    A copy (`copy.copy`) keeps its position, so that it can be used to return to a page.
    """

    @property
    def shown(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def is_counted(self) -> bool:
        """True if the line numbers are known."""
        ...

    @property
    def can_jump(self) -> bool:
        """True if `go_to_end` works without reading everything before."""
        ...

    def next_page(self) -> Page:
        """Return the next page. Raises UserError if it cannot be read; the position stays."""
        ...

    def go_to_end(self) -> None:
        """Make the last page the next one. Raises UserError."""
        ...

    def size_text(self, count: int) -> str: ...


class TextPager:
    """Text, or UTF-8 bytes decoded on demand; invalid bytes appear as ⟨0xFF⟩."""

    can_jump = True

    def __init__(self, source: str | bytes | Body) -> None:
        self._source = source
        self._counts_bytes = not isinstance(source, str) or source.isascii()
        self._lines = _Lines()
        self.total = len(source)
        self.shown = 0
        self.is_counted = True

    def __copy__(self) -> TextPager:
        other = TextPager.__new__(TextPager)
        other.__dict__.update(self.__dict__, _lines=copy.copy(self._lines))
        return other

    def next_page(self) -> Page:
        return self._lines.page(self._take(), is_last=self.shown >= self.total)

    def go_to_end(self) -> None:
        start = max(0, self.total - PAGE_SIZE)
        source = self._source
        if isinstance(source, str):
            self.shown = start + _tail_start(source[start:], "\n")
        else:
            tail = _part(source, start, self.total - start)
            self.shown = start + (_tail_start(tail, b"\n") or _character_start(tail[:4]))
        self.is_counted = self.shown == 0
        self._lines = _Lines(is_mid_line=self.shown > 0)

    def size_text(self, count: int) -> str:
        """Format a size; in characters where bytes would have to be counted first."""
        return units.size(count) if self._counts_bytes else f"{count:,}"

    def _take(self) -> str:
        """Return the next page's text as shown, limited by the cost of showing it."""
        is_text = isinstance(self._source, str)
        text = _head(_text_of(self._source, self.shown, PAGE_SIZE))
        parts: list[str] = []
        taken = cost = 0
        while taken < len(text) and cost < PAGE_SIZE:
            part = text[taken : taken + _SLICE]
            parts.append(_shown(part))
            taken += len(part)
            cost += len(parts[-1]) * (1 if parts[-1] == part else _HIDDEN_COST)
        text = text[:taken]
        self.shown += taken if is_text else len(text.encode("utf-8", "surrogateescape"))
        return "".join(parts)


class JsonPager:
    """JSON, pretty-printed on demand; only white space changes, also in invalid JSON."""

    is_counted = True
    can_jump = False  # the nesting at the end is only known after reading everything

    def __init__(self, source: str | bytes | Body) -> None:
        self._source = source
        self._lines = _Lines()
        self._layout = Reindenter()
        self.total = len(source)
        self.shown = 0

    def __copy__(self) -> JsonPager:
        other = JsonPager.__new__(JsonPager)
        other.__dict__.update(self.__dict__, _lines=copy.copy(self._lines), _layout=copy.copy(self._layout))
        return other

    def next_page(self) -> Page:
        starts_in_string = self._layout.is_in_string
        parts: list[str] = []
        cost = lines = 0
        for piece in self._pieces():
            parts.append(_shown(piece))
            cost += len(parts[-1]) * (1 if parts[-1] == piece else _HIDDEN_COST)
            lines += piece.count("\n")
            if cost >= PAGE_SIZE or lines >= PAGE_LINES:
                break
        page = self._lines.page("".join(parts), is_last=self.shown >= self.total)
        return Page(page.rows, page.numbers, starts_in_string)

    def go_to_end(self) -> None: ...

    def size_text(self, count: int) -> str:
        return units.size(count)

    def _pieces(self) -> Iterator[str]:
        """Yield the next pretty-printed pieces. `shown` is the end of the last one."""
        start = self.shown
        while self.shown < self.total:
            try:
                text = _text_of(self._source, self.shown, PAGE_SIZE)
            except UserError:
                if self.shown > start:
                    return  # first show what was read
                raise
            for at in range(0, len(text), _JSON_CHUNK):
                chunk = text[at : at + _JSON_CHUNK]
                self.shown += _width(self._source, chunk)
                is_first = self.shown == _width(self._source, chunk)
                piece = self._layout.feed(chunk.removeprefix("\ufeff") if is_first else chunk)
                yield piece + self._layout.finish() if self.shown >= self.total else piece


class HexPager:
    """Bytes as offset, hexadecimal and ASCII."""

    is_counted = False
    can_jump = True

    def __init__(self, source: bytes | Body) -> None:
        self._source = source
        self.total = len(source)
        self.shown = 0

    def next_page(self) -> Page:
        start, end = self.shown, min(self.shown + HEX_PAGE_SIZE, self.total)
        raw = _part(self._source, start, end - start)
        rows = [_hex_row(raw, at, start) for at in range(0, len(raw), 16)]
        self.shown = end
        return Page(rows, [0] * len(rows))

    def go_to_end(self) -> None:
        self.shown = max(0, (self.total - 1) // HEX_PAGE_SIZE * HEX_PAGE_SIZE)

    def size_text(self, count: int) -> str:
        return units.size(count)


class _Lines:
    """Splits text into rows and tracks the line number."""

    def __init__(self, *, is_mid_line: bool = False) -> None:
        self._line = 0
        self._is_mid_line = is_mid_line

    def page(self, text: str, *, is_last: bool) -> Page:
        lines = text.split("\n")
        ends_with_line = lines[-1] == "" and not is_last
        if ends_with_line:
            lines.pop()  # the next page starts a new row
        page = self._rows(lines)
        self._is_mid_line = not ends_with_line
        return page

    def _rows(self, lines: list[str]) -> Page:
        rows: list[str] = []
        numbers: list[int] = []
        for position, line in enumerate(lines):
            continues = position == 0 and self._is_mid_line
            self._line += not continues
            for offset, row in enumerate(_pieces(line)):
                rows.append(row)
                numbers.append(self._line if offset == 0 and not continues else 0)
        return Page(rows, numbers)


def _part(source: bytes | Body, start: int, length: int) -> bytes:
    """Return bytes of the source. Raises UserError, also if there are fewer than its length says."""
    if isinstance(source, bytes):
        return source[start : start + length]
    part = source.part(start, length)
    if len(part) < min(length, len(source) - start):  # or a pager would wait for the rest forever
        raise UserError("The content could not be read: it is shorter than expected.", "Try again.")
    return part


def _text_of(source: str | bytes | Body, start: int, length: int) -> str:
    """Return text from an offset on.

    Of bytes, it does not end inside a UTF-8 sequence (at most three bytes less).
    """
    if isinstance(source, str):
        return source[start : start + length]
    piece = _part(source, start, length + 1)
    if len(piece) > length:
        end = next((length - back for back in range(4) if piece[length - back] & 0xC0 != 0x80), length)
        piece = piece[:end]
    return piece.decode("utf-8", "surrogateescape")


def _width(source: str | bytes | Body, text: str) -> int:
    """Return a text's length in units of the source."""
    return len(text) if isinstance(source, str) else len(text.encode("utf-8", "surrogateescape"))


def _character_start(piece: bytes) -> int:
    """Return where the first whole UTF-8 sequence begins; 0 if there is none."""
    return next((position for position, byte in enumerate(piece) if byte & 0xC0 != 0x80), 0)


def _tail_start(text: AnyStr, line_feed: AnyStr) -> int:
    """Return where the last lines that fit on a page begin; 0 if all do."""
    lines = text.rsplit(line_feed, PAGE_LINES)
    return len(lines[0]) + 1 if len(lines) > PAGE_LINES else 0


def _head(text: str) -> str:
    """Return as many lines as fit on a page."""
    lines = text.split("\n", PAGE_LINES)
    return text[: len(text) - len(lines[-1])] if len(lines) > PAGE_LINES else text


def _shown(text: str) -> str:
    return visible(text if text.isascii() else _MARKS.sub(_mark_token, text))


def _mark_token(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"⟨0x{code - 0xDC00:02X}⟩" if 0xDC80 <= code <= 0xDCFF else f"⟨U+{code:04X}⟩"


def _pieces(line: str) -> Iterator[str]:
    """Split a long line into rows, never between a backslash and the escaped character."""
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


def _hex_row(raw: bytes, at: int, start: int) -> str:
    """Format sixteen bytes from `at`, of a page that begins at `start`."""
    first, second = raw[at : at + 8], raw[at + 8 : at + 16]
    digits = f"{first.hex(' '):<23}  {second.hex(' '):<23}"
    return f"{start + at:08x}  {digits}  {raw[at : at + 16].translate(_PRINTABLE).decode('ascii')}"
