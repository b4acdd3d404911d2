"""Handwritten messages: what bytes mean to the receiver, and edits that change nothing else.

All edits are lexical, on the bytes: unknown members, spacing, repeated keys and number spelling are
preserved, also in invalid JSON, as sending broken bytes is the purpose. `indented` changes only
whitespace between tokens and, unlike `base.json.scanner.reindent`, nothing inside strings; `compacted`
reverses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from inspector.base.json.values import JSONError, compact, parse, shorten, to_wire
from inspector.base.plain_text import one_line
from inspector.protocol.jsonrpc import NOT_A_MESSAGE, Kind, Message, RequestId, read

# An unterminated string extends to the end. Possessive quantifiers: no backtracking on long input.
_STRING = rb'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(_STRING + rb'|[\[\]{},:]|[^ \t\n\r\[\]{},:"]++', re.DOTALL)
_GAP = re.compile(rb"(" + _STRING + rb")|[ \t\n\r]++", re.DOTALL)
_LINE_BREAK = re.compile(rb"[\n\r]")
_STRUCTURE = b"[]{},:"
_OPENING, _CLOSING = (b"[", b"{"), (b"]", b"}")
_MAX_NAME_LENGTH = 80


def is_one_line(raw: bytes) -> bool:
    """True if this can be one stdio message. A lone CR counts: Python's text mode splits there."""
    return _LINE_BREAK.search(raw) is None


def compacted(raw: bytes) -> bytes:
    """Remove whitespace between tokens, keeping a space between adjacent words.

    The result is one line, unless there is a line break inside a string, which JSON forbids.
    """

    def without(gap: re.Match[bytes]) -> bytes:
        if gap[1] is not None:
            return gap[0]
        before, after = raw[gap.start() - 1 : gap.start()], raw[gap.end() : gap.end() + 1]
        # b"" is in there too, for gaps at either end.
        return b"" if before in _STRUCTURE or after in _STRUCTURE else b" "

    return _GAP.sub(without, raw)


_MAX_MARGIN_DEPTH = 60  # otherwise the indentation of a deep value would grow with the square of its depth


def indented(raw: bytes) -> bytes:
    """Put each member and item on a line, two spaces per level. Invalid JSON as far as it goes."""
    return b"".join(_pieces(raw))


def _pieces(raw: bytes) -> Iterator[bytes]:
    level = 0
    before, end = b"", 0
    for match in _TOKEN.finditer(raw):
        token = match[0]
        is_closing, is_empty = token in b"]}", before in (b"[", b"{")
        level = max(level - is_closing, 0)  # there may be surplus closing brackets
        if is_closing or is_empty:
            yield b"" if is_closing and is_empty else _margin(level)
        elif before == b",":
            yield _margin(level)
        elif before == b":" or (match.start() > end and not _need_no_space(before, token)):
            yield b" "
        yield token
        level += token in b"[{"
        before, end = token, match.end()


def _need_no_space(before: bytes, token: bytes) -> bool:
    """True if the tokens need no whitespace between them."""
    return before in _STRUCTURE or token in _STRUCTURE  # b"", i.e. no token at the start, is in there too


def _margin(level: int) -> bytes:
    return b"\n" + b"  " * min(level, _MAX_MARGIN_DEPTH)


def has_id(raw: bytes) -> bool:
    """True if the top-level object has an `id` of any type."""
    return _id_span(raw) is not None


def with_new_id(raw: bytes, id: RequestId) -> bytes:
    """Replace the value of the top-level `id`, changing nothing else.

    Of several ids the last is replaced, as nearly every parser takes that one. Anything without an id, such
    as a notification or a batch, is returned unchanged.
    """
    span = _id_span(raw)
    if span is None:
        return raw
    start, end = span
    return raw[:start] + to_wire(id) + raw[end:]


def _id_span(raw: bytes) -> tuple[int, int] | None:
    """Return the span of the last top-level `id` value."""
    found = None
    key, mark = b"", b""
    for part, start, end in _top_level_tokens(raw):
        if mark == b":" and _is_id(key) and part not in (b",", b":"):
            found = start, end
        key, mark = mark, part
    return found


def _top_level_tokens(raw: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the outermost object's tokens and spans. A bracketed value is one empty token."""
    depth = start = 0
    for match in _TOKEN.finditer(raw):
        token = match[0]
        if token in _OPENING:
            depth += 1
            if depth == 1 and token == b"[":
                return
            start = match.start() if depth == 2 else start
        elif token in _CLOSING:
            depth -= 1
            if depth <= 0:
                return
            if depth == 1:
                yield b"", start, match.end()
        elif depth == 1:
            yield token, match.start(), match.end()


def _is_id(key: bytes) -> bool:
    """True for an `id` key, possibly written with escapes."""
    if b"\\" not in key:
        return key == b'"id"'
    try:
        return parse(key.decode()) == "id"
    except (JSONError, UnicodeDecodeError):
        return False


def describe(raw: bytes) -> str:
    """Describe in one line what these bytes are to the receiver, and what is wrong where."""
    message = read(raw)
    if message.kind in (Kind.INVALID, Kind.TEXT):
        return _describe_non_message(message)
    what = _DESCRIPTIONS[message.kind](message)
    return f"{what} ({message.problem})." if message.problem else f"{what}."


def _describe_non_message(message: Message) -> str:
    """Describe bytes that are no message, including why they are not JSON."""
    if not message.raw.strip():
        return "Empty line." if is_one_line(message.raw) else "Empty lines."
    try:
        text = message.raw.decode()
        parse(text)
    except UnicodeDecodeError as exc:
        return f"Not JSON: not valid UTF-8 at byte {exc.start}."
    except JSONError as exc:
        return f"{'JSON, but' if exc.is_too_deep else 'Not JSON:'} {exc}."
    return f"JSON, but {NOT_A_MESSAGE}: {message.problem.removeprefix(f'{NOT_A_MESSAGE}: ')}."


def _describe_request(request: Message) -> str:
    what = f"Request: {_name(request.method)}"
    return what if request.id is None else f"{what} with id {_id_text(request.id)}"


def _describe_response(response: Message) -> str:
    what = "Response: result" if response.kind is Kind.RESULT else "Response: error"
    return what if response.id is None else f"{what} for id {_id_text(response.id)}"


def _describe_batch(batch: Message) -> str:
    try:
        count = len(batch.items())
    except JSONError:  # an item is nested too deeply
        return "Batch"
    return f"Batch of {count} message{'' if count == 1 else 's'}"


_DESCRIPTIONS: dict[Kind, Callable[[Message], str]] = {
    Kind.REQUEST: _describe_request,
    Kind.NOTIFICATION: lambda notification: f"Notification: {_name(notification.method)}",
    Kind.RESULT: _describe_response,
    Kind.ERROR: _describe_response,
    Kind.BATCH: _describe_batch,
}


def _name(method: str) -> str:
    return shorten(one_line(method), _MAX_NAME_LENGTH) or "no method name"


def _id_text(id: RequestId) -> str:
    """Return the id with its JSON type: 7 is not "7"."""
    return shorten(one_line(compact(id)), _MAX_NAME_LENGTH)
