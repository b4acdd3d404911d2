"""The pieces that filters are written in. Which piece may come next is the parser's business."""

from __future__ import annotations

import re

from inspector.traffic.query.tree import Every, Index, Member, Step

SPACE = re.compile(r"\s*")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# Unquoted pieces: free text stops at operators; a value, which comes after one, does not.
BARE_TEXT = re.compile(r'(?:[^\s()":=<>~!]|!(?!=))+')
BARE_VALUE = re.compile(r'[^\s()":=<>~][^\s()"]*')
BARE_ITEM = re.compile(r'[^\s()":=<>~,][^\s()",]*')  # in a list
OPERATOR = re.compile(r"\s*(?P<symbol>!=|>=|<=|==|[:=<>~])|\s+(?P<word>in)(?=\s*\()", re.IGNORECASE)

_STEP = re.compile(
    r"""\.(?P<name>[\w$@/-]+)
    |\.(?P<any>\*)
    |\."(?P<dotted>(?:[^"\\]|\\.)*)"
    |\[\s*"(?P<quoted>(?:[^"\\]|\\.)*)"\s*\]
    |\[\s*(?P<index>-?[0-9]{1,9})\s*\]
    |\[\s*\*?\s*\]""",
    re.VERBOSE | re.DOTALL,
)
_FIRST_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\nrt]')
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def read_steps(text: str, start: int) -> tuple[list[Step], int]:
    """Parse a name and the steps after it; return them and their end. Empty without a name."""
    first = _FIRST_NAME.match(text, start)
    if first is None:
        return [], start
    steps: list[Step] = [Member(first[0])]
    end = first.end()
    while (match := _STEP.match(text, end)) is not None:
        steps.append(_step(match))
        end = match.end()
    return steps, end


def _step(match: re.Match[str]) -> Step:
    if match["name"] is not None:
        return Member(match["name"])
    for group in ("dotted", "quoted"):
        if match[group] is not None:
            return Member(unescape(match[group]))
    return Index(int(match["index"])) if match["index"] is not None else Every()


def unescape(text: str) -> str:
    r"""Resolve escapes in a quoted text.

    A backslash before any other character stays: \d needs no second one.
    """
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] != "u":
        return _SHORT.get(escape[1], escape[1])
    units = bytes.fromhex(escape.replace("\\u", ""))
    return units.decode("utf-16-be", "surrogatepass")  # joins surrogate pairs
