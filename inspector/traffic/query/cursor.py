"""What is being typed: the unfinished piece of a filter before the cursor. Wrong filters are no obstacle."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from inspector.traffic.query.fields import resolve
from inspector.traffic.query.lexing import (
    BARE_ITEM,
    BARE_TEXT,
    BARE_VALUE,
    OPERATOR,
    QUOTED,
    SPACE,
    read_steps,
    unescape,
)
from inspector.traffic.query.tree import Member, Operator, Path, Step

_OPEN_MEMBER = re.compile(r'\."(?:[^"\\]|\\.)*\Z|\.\Z|\[[^\]"]*\Z|\["(?:[^"\\]|\\.)*"?\Z', re.DOTALL)
_KEYWORDS = frozenset(("and", "or", "not"))


@dataclass(frozen=True, slots=True)
class TypingWord:
    """A word, path, keyword or free text that starts at `start`."""

    start: int
    typed: str
    is_after_term: bool  # so `and` and `or` may follow
    compared: Path | None  # directly before, and may get an operator


@dataclass(frozen=True, slots=True)
class TypingValue:
    """A value of `path` that starts at `start`, including its opening quote if any."""

    start: int
    typed: str
    path: Path
    operator: Operator
    is_quoted: bool


Typing: TypeAlias = TypingWord | TypingValue | None  # None: nothing to complete


def typing_at(head: str) -> Typing:
    """What is unfinished at the end of `head`."""
    return _Scan(head).run()


def path_of(steps: list[Step]) -> Path | None:
    """Return the path of the steps, if they begin with a field."""
    names = []
    for step in steps:
        if not isinstance(step, Member):
            break
        names.append(step.name)
    found = resolve(names)
    return Path(found[0].word, tuple(steps[found[1] :])) if found is not None else None


class _Scan:
    """Scans the finished pieces and returns the one that reaches the end."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._at = 0
        self._is_after_term = False
        self._compared: Path | None = None

    def run(self) -> Typing:
        while True:
            had_space = self._skip_space()
            if self._at >= len(self._head):
                is_apart = had_space or not self._head or self._head[-1] == "("
                return self._word("") if is_apart else None
            char = self._head[self._at]
            if char in "()":
                self._step_over(char)
            elif char == '"':
                match = QUOTED.match(self._head, self._at)
                if match is None:
                    return None
                self._finish(match.end())
            else:
                typing = self._term()
                if typing is not None or self._at >= len(self._head):
                    return typing

    def _step_over(self, paren: str) -> None:
        self._at += 1
        self._is_after_term, self._compared = paren == ")", None

    def _term(self) -> Typing:
        start = self._at
        steps, end = read_steps(self._head, start)
        path = path_of(steps)
        operator = OPERATOR.match(self._head, end) if steps else None
        if operator is not None:
            return self._comparison(path, operator)
        if steps and _OPEN_MEMBER.match(self._head, end):
            return self._word(self._head[start:])
        bare = BARE_TEXT.match(self._head, start)
        end = max(end, bare.end() if bare is not None else start + 1)
        if end >= len(self._head):
            return self._word(self._head[start:])
        word = self._head[start:end].lower()
        self._finish(end)
        self._is_after_term = word not in _KEYWORDS
        self._compared = path if bare is not None and self._is_after_term else None
        return None

    def _comparison(self, path: Path | None, match: re.Match[str]) -> Typing:
        symbol = match[0].strip().lower()
        operator = Operator("=" if symbol == "==" else symbol)
        self._at = match.end()
        if operator is not Operator.IN:
            return self._value(path, operator)
        self._skip_space()
        while self._at < len(self._head) and self._head[self._at] in "(,":
            self._at += 1
            typing = self._value(path, operator)
            if typing is not None or self._at >= len(self._head):
                return typing
            self._skip_space()
        if self._at < len(self._head):
            self._finish(self._at + (self._head[self._at] == ")"))
        return None

    def _value(self, path: Path | None, operator: Operator) -> Typing:
        """Return the value that reaches the end; None if it does not, or its field is unknown."""
        self._skip_space()
        start = self._at
        is_quoted = self._head.startswith('"', start)
        pattern = QUOTED if is_quoted else (BARE_ITEM if operator is Operator.IN else BARE_VALUE)
        match = pattern.match(self._head, start)
        if match is not None and (is_quoted or match.end() < len(self._head)):
            self._finish(match.end())
            return None
        if match is None and start < len(self._head) and not is_quoted:
            self._finish(
                start if self._head[start] in "()" else start + 1
            )  # no value at all: continue after it
            return None
        self._at = len(self._head)
        typed = unescape(self._head[start + is_quoted :])
        return TypingValue(start, typed, path, operator, is_quoted) if path is not None else None

    def _word(self, typed: str) -> TypingWord:
        start = len(self._head) - len(typed)
        return TypingWord(start, typed, self._is_after_term, self._compared)

    def _finish(self, end: int) -> None:
        self._at, self._is_after_term, self._compared = end, True, None

    def _skip_space(self) -> bool:
        match = SPACE.match(self._head, self._at)
        assert match is not None
        self._at = match.end()
        return bool(match[0])
