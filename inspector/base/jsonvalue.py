"""JSON as values: type aliases, reading, writing and shortening.

`parse` accepts what Python's reader accepts, which is a little more than JSON (NaN, Infinity); what
it refuses comes as one exception type, `JSONProblem`, whatever went wrong inside.
"""

from __future__ import annotations

import json
import re
from typing import TypeAlias

from inspector.base.numbers import ExactNumber, write_number

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

_SURROGATE = re.compile("[\ud800-\udfff]")
_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JSONProblem(ValueError):
    """The text is not JSON, or is nested too deeply; the message says where."""

    is_too_deep = False


def parse(text: str) -> JSON:
    """Parse one JSON value. Raises JSONProblem for anything else."""
    try:
        value: JSON = _decode(text)
    except json.JSONDecodeError as exc:
        raise JSONProblem(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        problem = JSONProblem("nested too deeply to be read")
        problem.is_too_deep = True
        raise problem from exc
    except ValueError as exc:  # an integer with more digits than Python converts
        raise JSONProblem(str(exc)) from exc
    return value


def compact(value: JSON) -> str:
    """Serialize a value to one line, as it is sent."""
    return _encode(value)


def pretty(value: JSON) -> str:
    """Serialize a value for display: indented, keys in their original order."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_wire(value: JSON) -> bytes:
    """Serialize a value as UTF-8 bytes, with numbers spelled as they were written.

    A lone surrogate, which UTF-8 cannot encode, is written as an escape. Raises JSONProblem if nested too
    deeply.
    """
    try:
        text = _write_exactly(value) if _holds_exact_number(value) else _encode(value)
    except RecursionError as exc:
        raise JSONProblem("nested too deeply to be written") from exc
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()


def _holds_exact_number(value: JSON) -> bool:
    if not isinstance(value, dict | list):
        return isinstance(value, ExactNumber)
    # An inline loop, without a call per string: this visits every value of every message sent.
    for child in value.values() if isinstance(value, dict) else value:
        if type(child) is not str and _holds_exact_number(child):
            return True
    return False


def _write_exactly(value: JSON) -> str:
    if isinstance(value, dict):
        members = (f"{_encode(name)}:{_write_exactly(child)}" for name, child in value.items())
        return f"{{{','.join(members)}}}"
    if isinstance(value, list):
        return f"[{','.join(_write_exactly(child) for child in value)}]"
    return write_number(value) if isinstance(value, ExactNumber) else _encode(value)


def shorten(text: str, limit: int = 120) -> str:
    """Shorten a text to one line of display."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def excerpt(value: JSON, limit: int = 60) -> str:
    """Return a value as one line of display: a string unchanged, anything else as JSON."""
    try:
        return shorten(value if isinstance(value, str) else compact(value), limit)
    except RecursionError:  # parsing it needed less stack than writing it does
        return "…"
