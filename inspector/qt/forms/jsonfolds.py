"""Which lines of JSON text can be folded, and which brackets belong together. Works on a line at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
_OPENS = re.compile(r"[{\[]\s*$")
_PAIRS = {"{": "}", "[": "]"}


def without_strings(line: str) -> str:
    """Blank out the strings of a line, so that only real brackets are left."""
    return _STRING.sub(lambda match: " " * len(match[0]), line) if '"' in line else line


def opens(line: str) -> bool:
    """Return whether a list or object begins at the end of the line."""
    return _OPENS.search(line) is not None and _OPENS.search(without_strings(line)) is not None


def brackets(line: str) -> Iterator[tuple[int, str]]:
    """Yield the brackets of a line with their columns."""
    plain = without_strings(line)
    yield from ((match.start(), match[0]) for match in re.finditer(r"[{}\[\]]", plain))


def closing_line(lines: Iterable[str]) -> int | None:
    """Return the index of the line that closes the first line's last bracket, None if none does."""
    depth = 0
    for number, line in enumerate(lines):
        found = [bracket for _, bracket in brackets(line)]
        if number == 0:
            depth = 1
            continue
        for bracket in found:
            depth += 1 if bracket in _PAIRS else -1
            if depth == 0:
                return number
    return None


def mate(line: str, column: int, others: Iterable[str], *, forward: bool) -> tuple[int, int] | None:
    """Find the partner of a bracket: the number of lines onward (or back), and its column.

    `others` are the lines after this one, or before it, nearest first.
    """
    depth = 0
    for number, part in enumerate(_chain(line, others)):
        found = list(brackets(part))
        if number == 0:
            found = [one for one in found if (one[0] >= column if forward else one[0] <= column)]
        for at, bracket in found if forward else reversed(found):
            depth += 1 if (bracket in _PAIRS) == forward else -1
            if depth == 0:
                return number, at
    return None


def _chain(first: str, others: Iterable[str]) -> Iterator[str]:
    yield first
    yield from others
