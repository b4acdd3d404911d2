"""JSON text for editing: `read` and `write` round-trip every value without loss.

Unlike `base.json.values`, which accepts what a peer may send, this is for text that the user writes: a
repeated key or NaN is rejected with a clear message, and numbers keep their spelling.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import NoReturn

from inspector.base.json.values import JSON, JSONObject, check_depth, exact_decoder, write_number

# Characters that a text widget would drop, or that would make the text look different.
_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069"
    "\ufdd0-\ufdef\ufeff\ufff9-\ufffc\ufffe\uffff\ud800-\udfff]"
)
_MAX_MARGIN_DEPTH = 40  # otherwise the indentation of a deep value would grow with the square of its depth
_MESSAGES = {
    "Expecting value": "a value is missing",
    "Expecting property name enclosed in double quotes": 'a key in "double quotes" is missing',
    "Illegal trailing comma before end of object": "there is an extra comma",
    "Illegal trailing comma before end of array": "there is an extra comma",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Extra data": "there is more text after the value",
    "Unterminated string starting at": "a string has no closing quote",
    "Invalid control character at": "a line break or tab inside a string must be written as \\n or \\t",
    "Invalid \\escape": "a backslash must be written as \\\\",
}


class JSONTextError(ValueError):
    """The text is not a JSON value; `line` and `column` are 1-based, and 0 if unknown."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        location = f"Line {line}, column {column}: " if line else ""
        super().__init__(f"{location}{problem}" if location else problem[:1].upper() + problem[1:])
        self.problem = problem
        self.line = line
        self.column = column


def read(text: str) -> JSON:
    """Parse one JSON value. Raises JSONTextError."""
    if not text.strip():
        raise JSONTextError("the text is empty", 1, 1)
    try:
        check_depth(text)
        value: JSON = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise JSONTextError(_message(exc.msg), exc.lineno, exc.colno) from exc
    except RecursionError as exc:
        raise JSONTextError("nested too deeply to parse") from exc
    return value


def write(value: JSON, indent: int = 2) -> str:
    """Serialize a value for editing, keys in order; `read` returns the same value.

    Iterative instead of recursive: nesting depth is unlimited.
    """
    pieces: list[str] = []
    pending: list[str | tuple[JSON, int]] = [(value, 0)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif isinstance(item[0], dict | list) and item[0]:
            pending.extend(reversed(_container(item[0], item[1], indent)))
        else:
            pieces.append(_scalar(item[0]))
    return "".join(pieces)


def write_line(value: JSON) -> str:
    """Serialize a value to one line, for a menu or a message."""
    return write(value, indent=0).replace(",\n", ", ").replace("\n", "")


def same(one: JSON, other: JSON) -> bool:
    """True if two values are identical JSON: 1 is not 1.0 or true, and key order counts."""
    return write(one) == write(other)


def _container(value: list[JSON] | JSONObject, level: int, indent: int) -> list[str | tuple[JSON, int]]:
    """Return the pieces of a non-empty container: separators as text, children as work items."""
    margin = "\n" + " " * (indent * min(level, _MAX_MARGIN_DEPTH)) + " " * indent
    pieces: list[str | tuple[JSON, int]] = []
    separator = "[" if isinstance(value, list) else "{"
    for key, child in enumerate(value) if isinstance(value, list) else value.items():
        name = f"{_scalar(key)}: " if isinstance(key, str) else ""
        pieces += [f"{separator}{margin}{name}", (child, level + 1)]
        separator = ","
    pieces.append(margin[: len(margin) - indent] + ("]" if isinstance(value, list) else "}"))
    return pieces


def _scalar(value: JSON) -> str:
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return write_number(value)
    return json.dumps(value)  # null, true, false, [] or {}


def _object(pairs: list[tuple[str, JSON]]) -> JSONObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise JSONTextError(f"duplicate key {_scalar(twice)}")
    return members


def _reject_constant(constant: str) -> NoReturn:
    raise JSONTextError(f"{constant} is not a JSON number")


def _message(decoder_message: str) -> str:
    return _MESSAGES.get(decoder_message, decoder_message[:1].lower() + decoder_message[1:])


_DECODER = exact_decoder(parse_constant=_reject_constant, object_pairs_hook=_object)
