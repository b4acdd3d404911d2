"""JSON text handled without decoding: indentation, and the position of a member.

`reindent` only changes white space: numbers keep their spelling (1.10, 1e400), repeated keys stay and
depth is unlimited, so that what is shown is what was sent. One exception: escaped printable characters
are shown as the characters. `Reindenter` does the same in chunks, for bodies too large to hold in memory.
`member_text` and `member_locations` find a member of an object in the text, to show it exactly as written.
`item_texts` and `scalar_members` take a value apart that is nested too deeply to be parsed as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from inspector.base.json.values import JSONError, parse

# Possessive quantifiers ("*+", "++"): backtracking state for megabytes of text would take gigabytes.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+|"', re.DOTALL)
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\."
)
_MAX_ESCAPE_LENGTH = len(r"\ud83d\ude00")  # of one character
_MAX_MARGIN_DEPTH = 60  # otherwise the indentation of a deep value would grow with the square of its depth


def reindent(text: str, limit: int | None = None) -> str:
    """Reformat JSON text with two spaces per level; stop soon after `limit` characters."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(text, len(text) if limit is None else limit):
        pieces.append(piece)
        size += len(piece)
        if limit is not None and size > limit:
            break
    return "".join(pieces)


def _pieces(text: str, limit: int) -> Iterator[str]:
    """Yield the pieces of the layout. A piece longer than the limit may be cut after it."""
    level = 0
    is_opened = False  # right after a bracket: an empty container stays on one line
    value_end = -1  # end of a word or string: without a comma after it, white space is kept
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
            yield _readable(piece[: (limit + 1) * _MAX_ESCAPE_LENGTH]) if "\\u" in piece else piece


def _margin(level: int) -> str:
    return "\n" + "  " * min(max(level, 0), _MAX_MARGIN_DEPTH)


def _readable(piece: str) -> str:
    """Replace escapes in a string by their characters, except those that would not be visible."""
    return _ESCAPE.sub(_unescape, piece)


def _unescape(escape: re.Match[str]) -> str:
    high, low, single = escape.groups()
    if high is not None:
        char = chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    elif single is not None:
        char = chr(int(single, 16))
    else:
        return escape[0]
    return char if char.isprintable() and char not in '"\\' else escape[0]


# An unterminated string matches to the end of the chunk; the next chunk continues it.
_STREAM_TOKEN = re.compile(
    r'(?P<closed>"(?:[^"\\]++|\\.)*+")|(?P<open>"(?:[^"\\]++|\\.)*+\\?)|(?P<mark>[\[\]{},:])'
    r'|(?P<word>[^\s\[\]{},:"]++)|(?P<space>\s++)',
    re.DOTALL,
)
_STRING_REST = re.compile(r'(?:[^"\\]++|\\.)*+(?P<end>"?)', re.DOTALL)
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


class Reindenter:
    """Incremental version of `reindent`.

    Copy it (`copy.copy`) to save a position and resume there later.
    """

    def __init__(self) -> None:
        self._level = 0
        self._is_opened = False
        self._is_after_value = False
        self._is_after_space = False
        self.is_in_string = False
        self._held = ""  # start of an escape that continues in the next chunk

    def feed(self, text: str) -> str:
        """Return the layout of the next chunk, minus what depends on the chunk after it."""
        text, self._held = self._held + text, ""
        pieces: list[str] = []
        start = self._continue_string(text, pieces) if self.is_in_string else 0
        for match in _STREAM_TOKEN.finditer(text, start):
            self._add(match, pieces)
        return "".join(pieces)

    def finish(self) -> str:
        """Return what is left at the end of the text."""
        held, self._held = self._held, ""
        return held

    def _add(self, match: re.Match[str], pieces: list[str]) -> None:
        kind, piece = match.lastgroup, match[0]
        if kind == "mark":
            self._add_mark(piece, pieces)
            self._is_after_value = self._is_after_space = False
        elif kind == "space":
            self._is_after_space = True
        else:
            self._open_line(pieces)
            if self._is_after_value and self._is_after_space:
                pieces.append(" ")
            self._is_after_value, self._is_after_space = True, False
            if kind == "open":
                self.is_in_string = True
                self._add_open_string(piece, pieces)
            else:
                pieces.append(_readable(piece) if "\\u" in piece else piece)

    def _add_mark(self, mark: str, pieces: list[str]) -> None:
        if mark in "]}":
            self._level -= 1
            pieces.append(mark if self._is_opened else _margin(self._level) + mark)
            self._is_opened = False
            return
        self._open_line(pieces)
        if mark in "[{":
            self._level += 1
            self._is_opened = True
            pieces.append(mark)
        else:
            pieces.append("," + _margin(self._level) if mark == "," else ": ")

    def _open_line(self, pieces: list[str]) -> None:
        if self._is_opened:
            pieces.append(_margin(self._level))
            self._is_opened = False

    def _continue_string(self, text: str, pieces: list[str]) -> int:
        """Consume the rest of a string begun in an earlier chunk; return where it ends."""
        match = _STRING_REST.match(text)
        assert match is not None
        if match["end"]:
            self.is_in_string = False
            pieces.append(_readable(match[0]))
            return match.end()
        self._add_open_string(text, pieces)
        return len(text)

    def _add_open_string(self, text: str, pieces: list[str]) -> None:
        end = _unfinished_escape(text)
        pieces.append(_readable(text[:end]))
        self._held = text[end:]


def _unfinished_escape(text: str) -> int:
    """Return where an escape begins that may continue after the text, or the text's length."""
    start = text.rfind("\\", max(0, len(text) - _MAX_ESCAPE_LENGTH))
    if start < 0 or (start + 1 - len(text[: start + 1].rstrip("\\"))) % 2 == 0:
        return len(text)
    escape = text[start:]
    if _HIGH_SURROGATE.fullmatch(escape):
        return start
    is_open = len(escape) == 1 or (escape[1] == "u" and len(escape) < len(r"\ud83d"))
    if not is_open:
        return len(text)
    before = start - len(r"\ud83d")
    has_first_half = before >= 0 and _HIGH_SURROGATE.fullmatch(text, before, start) is not None
    return before if has_first_half else start


_SPACE = re.compile(r"[ \t\n\r]*")
_value_at = json.JSONDecoder().raw_decode


def member_text(text: str, *names: str) -> str:
    """Return the source text of the member at this path. For repeated names, the last one wins.

    Raises JSONError if there is no such member, or the text up to it is invalid or nested too deeply.
    """
    start, end = _skip_space(text, 1 if text.startswith("\ufeff") else 0), len(text)
    for name in names:
        spans = [(first, last) for found, first, last in _members(text, start) if found == name]
        if not spans:
            raise JSONError(f"it has no property {name!r}")
        start, end = spans[-1]
    return text[start:end]


def member_locations(text: str, *names: str) -> list[tuple[str, int]]:
    """Return each member of the object at this path, with the offset of its value.

    Repeated names are listed as often as they occur. Raises JSONError as `member_text` does.
    """
    start = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    for name in names:
        starts = [first for found, first, _ in _members(text, start) if found == name]
        if not starts:
            raise JSONError(f"it has no property {name!r}")
        start = starts[-1]
    return [(name, first) for name, first, _ in _members(text, start)]


def item_texts(text: str, *names: str) -> list[str]:
    """Return the source text of each item of the array at this path, nested to any depth.

    Only the text around the items is checked. Raises JSONError if there is no such array.
    """
    at = _expect_array(text, _start_of(text, *names))
    items: list[str] = []
    while text[at : at + 1] != "]":
        end = _skip_value(text, at)
        items.append(text[at:end])
        at = _skip_space(text, end)
        if text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif text[at : at + 1] != "]":
            raise JSONError("the array does not end")
    return items


def scalar_members(text: str, *names: str) -> dict[str, str | int | float | bool | None]:
    """Return the members of the object at this path that are neither arrays nor objects.

    Other members may be nested to any depth. Raises JSONError if there is no such object.
    """
    start = _start_of(text, *names)
    found = {}
    for name, first, last in _members(text, start, _skip_value):
        if text[first] not in "[{":
            found[name] = parse(text[first:last])
    return found  # type: ignore[return-value]


def _start_of(text: str, *names: str) -> int:
    start = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    for name in names:
        starts = [first for found, first, _ in _members(text, start, _skip_value) if found == name]
        if not starts:
            raise JSONError(f"it has no property {name!r}")
        start = starts[-1]
    return start


def _expect_array(text: str, at: int) -> int:
    if text[at : at + 1] != "[":
        raise JSONError("it is not an array")
    return _skip_space(text, at + 1)


_MARK = re.compile(r'["\[\]{}]')
_SCALAR_END = re.compile(r"[\s,\]}]")


def _skip_value(text: str, at: int) -> int:
    """Return the end of the value at this offset, which is not checked. Raises JSONError."""
    if text[at : at + 1] not in ("[", "{", '"'):
        found = _SCALAR_END.search(text, at)
        if found is None or found.start() == at:
            raise JSONError("a value is missing")
        return found.start()
    level = 0
    while found := _MARK.search(text, at):
        mark, at = found[0], found.end()
        if mark == '"':
            at = _string_end(text, at)
        else:
            level += 1 if mark in "[{" else -1
        if level <= 0:
            return at
    raise JSONError("the value does not end")


def _string_end(text: str, at: int) -> int:
    """Return the offset after the closing quote of a string whose content begins at `at`."""
    while (quote := text.find('"', at)) >= 0:
        before = quote
        while before > at and text[before - 1] == "\\":
            before -= 1
        if (quote - before) % 2 == 0:
            return quote + 1
        at = quote + 1
    raise JSONError("a string does not end")


def _value_end(text: str, at: int) -> int:
    return _value_at(text, at)[1]


def _members(
    text: str, at: int, end_of: Callable[[str, int], int] = _value_end
) -> Iterator[tuple[str, int, int]]:
    """Yield the name, start and end of each member of the object at this offset."""
    try:
        at = _expect(text, at, "{")
        while text[at : at + 1] != "}":
            _expect(text, at, '"')
            name, at = _value_at(text, at)
            start = _expect(text, _skip_space(text, at), ":")
            end = end_of(text, start)
            yield name, start, end
            at = _skip_space(text, end)
            if text[at : at + 1] != "}":
                at = _expect(text, at, ",")
    except json.JSONDecodeError as exc:
        raise JSONError(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        raise JSONError("nested too deeply to parse") from exc
    except JSONError:
        raise
    except ValueError as exc:  # an integer with more digits than Python converts
        raise JSONError(str(exc)) from exc


def _expect(text: str, at: int, mark: str) -> int:
    """Return the offset after a mark and the white space that follows it."""
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark!r}", text, at)
    return _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at
