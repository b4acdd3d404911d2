"""JSON as values: type aliases, reading, writing and shortening.

`parse` accepts what Python's reader accepts, which is a little more than JSON (NaN, Infinity); what
it refuses comes as one exception type, `JSONProblem`, whatever went wrong inside.
"""

from __future__ import annotations

import json
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
JSONObject: TypeAlias = "dict[str, JSON]"

_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JSONProblem(ValueError):
    """The text is not JSON, or nested too deeply to be read; the message says where."""


def parse(text: str) -> JSON:
    """Read one JSON value; raise JSONProblem for anything else."""
    try:
        value: JSON = _decode(text)
    except json.JSONDecodeError as exc:
        raise JSONProblem(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        raise JSONProblem("nested too deeply to be read") from exc
    except ValueError as exc:  # an integer of more digits than Python converts
        raise JSONProblem(str(exc)) from exc
    return value


def compact(value: JSON) -> str:
    """Write a value on one line, as it goes over the wire."""
    return _encode(value)


def pretty(value: JSON) -> str:
    """Write a value for reading: indented, keys in the order they came."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def to_wire(value: JSON) -> bytes:
    """Write a value as UTF-8 bytes; a lone surrogate, which UTF-8 cannot hold, goes as an escape."""
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def shorten(text: str, limit: int = 120) -> str:
    """Cut a text for one line of display."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def excerpt(value: JSON, limit: int = 60) -> str:
    """A value on one line of display: a string as it is, anything else as JSON."""
    try:
        return shorten(value if isinstance(value, str) else compact(value), limit)
    except RecursionError:  # reading it took less of the stack than writing it
        return "…"
