"""Bytes as people read them: a hex dump, and pages of text out of a body that is too big to show whole.

00000010  6c 6f 20 77 6f 72 6c 64  0a                       |lo world.|
"""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 16
_HALF = 8
_HEX_COLUMNS = 3 * WIDTH + 1
_PRINTABLE = bytes(byte if 0x20 <= byte < 0x7F else 0x2E for byte in range(256))


def line_count(size: int) -> int:
    return -(-size // WIDTH)


def lines(data: bytes, start: int, count: int, offset: int = 0) -> list[str]:
    """Return `count` lines from line `start`. `offset` is where `data` begins in the body."""
    first, last = max(0, start), min(line_count(len(data)), start + count)
    return [
        _line(data[number * WIDTH : (number + 1) * WIDTH], offset + number * WIDTH)
        for number in range(first, last)
    ]


def _line(part: bytes, place: int) -> str:
    halves = f"{part[:_HALF].hex(' ')}  {part[_HALF:].hex(' ')}"
    return f"{place:08x}  {halves:<{_HEX_COLUMNS}} |{part.translate(_PRINTABLE).decode('ascii')}|"


@dataclass(frozen=True, slots=True)
class TextPage:
    """Part of a body as text; `start` and `end` may differ from what was requested."""

    text: str
    start: int
    end: int


def text_page(data: bytes, start: int, length: int) -> TextPage:
    r"""Return about `length` bytes from about `start`, without splitting UTF-8 characters.

    Pages that each begin at the requested end of the previous one cover the body without overlap. Bytes
    that are not UTF-8 are shown as \xff.
    """
    first = _boundary(data, max(0, min(start, len(data))))
    last = _boundary(data, max(first, min(start + length, len(data))))
    if last <= first < len(data):
        last = _character_end(data, first)  # a page of less than a character would never end
    return _page(data, first, last)


def line_page(data: bytes, start: int, length: int) -> TextPage:
    """Like `text_page`, but ends after a line break if the page has one.

    The next page begins at `end`; a line longer than a page is split at a character.
    """
    page = text_page(data, start, length)
    newline = data.rfind(b"\n", page.start, page.end)
    if newline < 0 or page.end == len(data):
        return page
    return _page(data, page.start, newline + 1)


def line_page_before(data: bytes, end: int, length: int) -> TextPage:
    """Return the page that ends at `end`, for scrolling back; starts after a line break if any."""
    begin = max(0, end - max(length, 4))
    if begin > 0:
        newline = data.find(b"\n", begin - 1, max(begin, end - 1))
        begin = newline + 1 if newline >= 0 else _boundary(data, begin)
    return _page(data, begin, max(begin, min(end, len(data))))


def _page(data: bytes, start: int, end: int) -> TextPage:
    return TextPage(data[start:end].decode(errors="backslashreplace"), start, end)


def _boundary(data: bytes, place: int) -> int:
    """Return `place`, or the start of the character that it would split."""
    for begin in range(place - 1, max(-1, place - 4), -1):
        if data[begin] & 0xC0 != 0x80:  # not a continuation byte
            return begin if _character_end(data, begin) > place else place
    return place


def _character_end(data: bytes, begin: int) -> int:
    """Return where the character that starts here ends; an invalid byte stands for itself."""
    lead = data[begin]
    length = 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 1
    try:
        data[begin : begin + length].decode()
    except UnicodeDecodeError:
        return begin + 1
    return min(begin + length, len(data))
