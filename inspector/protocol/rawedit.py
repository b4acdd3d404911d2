"""Messages that a person writes: what the bytes would be, and edits that touch nothing but what they are for.

All edits are lexical, on the bytes: unknown members, spacing, repeated keys and the spelling of numbers stay,
also in what is no valid JSON. Sending broken bytes is what this is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from inspector.base.jsonvalue import JSONProblem, compact, parse, shorten, to_wire
from inspector.base.plaintext import one_line
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read

# A string that is not closed is taken to the end. "+" after "*" takes no step back, however long it is.
_STRING = rb'"(?:[^"\\]++|\\.)*+"?'
_TOKEN = re.compile(_STRING + rb'|[\[\]{},:]|[^ \t\n\r\[\]{},:"]++', re.DOTALL)
_GAP = re.compile(rb"(" + _STRING + rb")|[ \t\n\r]++", re.DOTALL)
_BREAK = re.compile(rb"[\n\r]")
_STRUCTURE = b"[]{},:"
_OPENING, _CLOSING = (b"[", b"{"), (b"]", b"}")
_LONGEST_NAME = 80


def is_one_line(raw: bytes) -> bool:
    """Can this be one frame of stdio? A lone carriage return counts: Python's text mode ends a line there."""
    return _BREAK.search(raw) is None


def compacted(raw: bytes) -> bytes:
    """Without the white space between tokens; words that only white space kept apart stay apart.

    That is one line, unless a line break stands inside a string, where JSON allows none.
    """

    def without(gap: re.Match[bytes]) -> bytes:
        if gap[1] is not None:
            return gap[0]
        before, behind = raw[gap.start() - 1 : gap.start()], raw[gap.end() : gap.end() + 1]
        # An empty one, at either end of the text, is in there too.
        return b"" if before in _STRUCTURE or behind in _STRUCTURE else b" "

    return _GAP.sub(without, raw)


def has_id(raw: bytes) -> bool:
    """Does the top-level object have an `id`, of whatever type?"""
    return _id_span(raw) is not None


def with_new_id(raw: bytes, id: RequestId) -> bytes:
    """The same bytes with another value for the top-level `id`.

    Of several ids the last is replaced: that is the one which nearly every reader takes. What has no id,
    such as a notification or a batch, comes back as it is.
    """
    span = _id_span(raw)
    if span is None:
        return raw
    start, end = span
    return raw[:start] + to_wire(id) + raw[end:]


def _id_span(raw: bytes) -> tuple[int, int] | None:
    """Where the value of the last top-level `id` stands."""
    found = None
    key, mark = b"", b""
    for part, start, end in _parts(raw):
        if mark == b":" and _is_id(key) and part not in (b",", b":"):
            found = start, end
        key, mark = mark, part
    return found


def _parts(raw: bytes) -> Iterator[tuple[bytes, int, int]]:
    """The outermost object token by token, and where each stands. A value in brackets is one, of no text."""
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
    """Keys may be written with escapes."""
    if b"\\" not in key:
        return key == b'"id"'
    try:
        return parse(key.decode()) == "id"
    except (JSONProblem, UnicodeDecodeError):
        return False


# ------------------------------------------------------------------ in words


def describe(raw: bytes) -> str:
    """What these bytes would be to the other side, in one line; what is wrong with them, and where."""
    message = read(raw)
    if message.kind in (Kind.INVALID, Kind.TEXT):
        return _describe_nothing(message)
    what = _DESCRIPTIONS[message.kind](message)
    return f"{what} ({message.problem})." if message.problem else f"{what}."


def _describe_nothing(message: Message) -> str:
    """Bytes that are no message. The reader does not say why text is no JSON; here that is the question."""
    if not message.raw.strip():
        return "Nothing: an empty line." if is_one_line(message.raw) else "Nothing: empty lines."
    try:
        text = message.raw.decode()
        parse(text)
    except UnicodeDecodeError as exc:
        return f"Not JSON: not valid UTF-8 at byte {exc.start}."
    except JSONProblem as exc:
        return f"{'JSON, but' if exc.is_too_deep else 'Not JSON:'} {exc}."
    return f"JSON, but no message: {message.problem.removeprefix('not a JSON-RPC message: ')}."


def _describe_request(request: Message) -> str:
    what = f"A request: {_name(request.method)}"
    return what if request.id is None else f"{what} with the id {_spelled(request.id)}"


def _describe_answer(answer: Message) -> str:
    what = "An answer: the result" if answer.kind is Kind.RESULT else "An answer: an error"
    return what if answer.id is None else f"{what} for the id {_spelled(answer.id)}"


def _describe_batch(batch: Message) -> str:
    try:
        count = len(batch.items())
    except JSONProblem:  # one of them is nested too deeply to be looked at
        return "A batch"
    return f"A batch of {count} message{'' if count == 1 else 's'}"


_DESCRIPTIONS: dict[Kind, Callable[[Message], str]] = {
    Kind.REQUEST: _describe_request,
    Kind.NOTIFICATION: lambda notification: f"A notification: {_name(notification.method)}",
    Kind.RESULT: _describe_answer,
    Kind.ERROR: _describe_answer,
    Kind.BATCH: _describe_batch,
}


def _name(method: str) -> str:
    return shorten(one_line(method), _LONGEST_NAME) or "without a name"


def _spelled(id: RequestId) -> str:
    """With its JSON type: 7 is not "7"."""
    return shorten(one_line(compact(id)), _LONGEST_NAME)
