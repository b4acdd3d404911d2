"""Where a value stands in a JSON document, in words, and patterns for such places.

A path is written as in JavaScript: `result.content[0].text`, with `["…"]` around names that are not plain
words. A pattern may also say `*` (any member), `[*]` (any item) and `**` (anything, at any depth).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSONProblem, compact, parse

Key: TypeAlias = "str | int"
Path: TypeAlias = "tuple[Key, ...]"

_PLAIN = re.compile(r"[^\W\d][\w$-]*")
_STEP = re.compile(
    r"""\.?(?:(?P<deep>\*\*)|(?P<any>\*)|(?P<name>[^\s.\[\]"*]+))"""
    r"""|\.?\[\s*(?:(?P<item>\*)|(?P<index>[0-9]{1,9})|(?P<quoted>"(?:[^"\\]++|\\.)*+"))\s*\]"""
)


class Wild(Enum):
    MEMBER = "*"
    ITEM = "[*]"
    DEEP = "**"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path pattern, as steps."""

    steps: tuple[Key | Wild, ...]


def path_text(path: Path) -> str:
    """Format a path: `result.content[0].text`; the whole document is ""."""
    text = "".join(map(_step_text, path))
    return text.removeprefix(".")


def _step_text(key: Key) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{compact(key)}]"


def read_pattern(text: str) -> Pattern:
    """Parse a pattern. Raises UserError with the column of the error."""
    steps: list[Key | Wild] = []
    at, end = 0, len(text)
    while at < end:
        match = _STEP.match(text, at)
        if match is None or (at == 0 and text[0] == ".") or not _is_apart(text, at):
            raise _unreadable(text, at)
        steps.append(_step(match, text))
        at = match.end()
    if not steps:
        raise UserError("A path to ignore is empty.", "Write one such as result.content[*].text.")
    return Pattern(tuple(steps))


def _is_apart(text: str, at: int) -> bool:
    """True if a step is separated from the previous one: a name needs a dot."""
    return at == 0 or text[at] in ".["


def _step(match: re.Match[str], text: str) -> Key | Wild:
    if match["deep"]:
        return Wild.DEEP
    if match["any"]:
        return Wild.MEMBER
    if match["item"]:
        return Wild.ITEM
    if match["index"]:
        return int(match["index"])
    if match["quoted"]:
        return _unquoted(match, text)
    return match["name"]


def _unquoted(match: re.Match[str], text: str) -> str:
    try:
        return str(parse(match["quoted"]))
    except JSONProblem as exc:
        raise _unreadable(text, match.start("quoted")) from exc


def _unreadable(text: str, at: int) -> UserError:
    return UserError(
        f"The path {text!r} cannot be read at column {at + 1}.",
        'Write it like result.content[*].text, with ["…"] around unusual names.',
    )


class Places:
    """Matches patterns along a walk through a document, with a state per place.

    A state says how far each pattern has matched; None means that none can match any more.
    """

    State: TypeAlias = "frozenset[tuple[int, int]] | None"

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._patterns = patterns

    def start(self) -> State:
        return self._with_deep({(number, 0) for number in range(len(self._patterns))})

    def step(self, state: State, key: Key) -> State:
        if state is None:
            return None
        met: set[tuple[int, int]] = set()
        for number, at in state:
            steps = self._patterns[number].steps
            if at == len(steps):
                continue
            if steps[at] is Wild.DEEP:
                met.add((number, at))
            elif _meets(steps[at], key):
                met.add((number, at + 1))
        return self._with_deep(met)

    def is_met(self, state: State) -> bool:
        return state is not None and any(at == len(self._patterns[number].steps) for number, at in state)

    def _with_deep(self, states: set[tuple[int, int]]) -> State:
        """Add the states in which `**` matches no step at all."""
        waiting = list(states)
        while waiting:
            number, at = waiting.pop()
            steps = self._patterns[number].steps
            if at < len(steps) and steps[at] is Wild.DEEP and (number, at + 1) not in states:
                states.add((number, at + 1))
                waiting.append((number, at + 1))
        return frozenset(states) or None


def _meets(step: Key | Wild, key: Key) -> bool:
    if step is Wild.MEMBER:
        return isinstance(key, str)
    if step is Wild.ITEM:
        return isinstance(key, int)
    return step == key
