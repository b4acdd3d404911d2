"""Where a member of an object stands in a JSON text: for showing it as it was written, to the last digit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from inspector.base.jsonvalue import JSONProblem

_WHITE = re.compile(r"[ \t\n\r]*")
_value_at = json.JSONDecoder().raw_decode


def member_text(text: str, *names: str) -> str:
    """Return the source text of the member at this path. For repeated names, the last one wins.

    Raises JSONProblem if there is no such member, or the text up to it is invalid or nested too deeply.
    """
    start, end = _after_white(text, 1 if text.startswith("\ufeff") else 0), len(text)
    for name in names:
        spans = [(first, last) for found, first, last in _members(text, start) if found == name]
        if not spans:
            raise JSONProblem(f"it has no member {name!r}")
        start, end = spans[-1]
    return text[start:end]


def member_places(text: str, *names: str) -> list[tuple[str, int]]:
    """Return each member of the object at this path, with the offset of its value.

    Repeated names are listed as often as they occur. Raises JSONProblem as `member_text` does.
    """
    start = _after_white(text, 1 if text.startswith("\ufeff") else 0)
    for name in names:
        starts = [first for found, first, _ in _members(text, start) if found == name]
        if not starts:
            raise JSONProblem(f"it has no member {name!r}")
        start = starts[-1]
    return [(name, first) for name, first, _ in _members(text, start)]


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name, start and end of each member of the object at this offset."""
    try:
        at = _expect(text, at, "{")
        while text[at : at + 1] != "}":
            _expect(text, at, '"')
            name, at = _value_at(text, at)
            start = _expect(text, _after_white(text, at), ":")
            _, end = _value_at(text, start)
            yield name, start, end
            at = _after_white(text, end)
            if text[at : at + 1] != "}":
                at = _expect(text, at, ",")
    except json.JSONDecodeError as exc:
        raise JSONProblem(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        raise JSONProblem("nested too deeply to be read") from exc
    except ValueError as exc:  # an integer with more digits than Python converts
        raise JSONProblem(str(exc)) from exc


def _expect(text: str, at: int, mark: str) -> int:
    """Return the offset after a mark and the white space that follows it."""
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark!r}", text, at)
    return _after_white(text, at + 1)


def _after_white(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found is not None else at
