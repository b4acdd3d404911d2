"""Completion of a filter at the cursor: fields, operators, values and paths.

The text before the cursor may be an invalid filter. Values and paths come from the latest rows of the
log, with bounded work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeAlias

from inspector.base.json.values import JSON, JSONError, JSONObject, parse, write_number
from inspector.base.units import plural
from inspector.protocol.jsonrpc import ERROR_NAMES
from inspector.traffic.columns import Column
from inspector.traffic.filter.fields import FIELDS, Field, ServerColumn, Special, TextColumn, resolve
from inspector.traffic.filter.parser import (
    BARE_ITEM,
    BARE_TEXT,
    BARE_VALUE,
    KEYWORDS,
    OPERATOR,
    QUOTED,
    SPACE,
    read_steps,
    unescape,
)
from inspector.traffic.filter.predicates import Type
from inspector.traffic.filter.row_values import ROOTS, values_at
from inspector.traffic.filter.tree import (
    ORDER,
    Every,
    Member,
    Operator,
    Path,
    Step,
    path_text,
    quoted,
    value_text,
)
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

_MAX_COMPLETIONS = 50
_OPERATORS = {
    Operator.CONTAINS: "contains; * matches any characters",
    Operator.IS: "is exactly",
    Operator.IS_NOT: "is not",
    Operator.ABOVE: "is greater than",
    Operator.BELOW: "is less than",
    Operator.AT_LEAST: "is at least",
    Operator.AT_MOST: "is at most",
    Operator.MATCHES: "matches a regular expression",
    Operator.IN: "is one of a list",
}
_KEYWORD_MEANINGS = {"and": "both must match", "or": "one must match", "not": "the next must not match"}
_DURATION_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "us": "microseconds", "h": "hours"}
_SIZE_UNITS = {"k": "1,000 bytes", "M": "1,000,000 bytes", "KiB": "1,024 bytes", "MiB": "1,048,576 bytes"}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*[A-Za-z]*")
_HEADERS = ("content-type", "authorization", "mcp-session-id", "mcp-protocol-version", "www-authenticate")

_LATEST_ROWS = 20_000  # rows whose columns are searched
_LATEST_BODIES, _ROWS_FOR_BODIES = 40, 400
_MAX_BODY_SIZE = 64 * 1024
_MAX_DEPTH, _MAX_PATHS, _MAX_ITEMS = 6, 2_000, 3
MAX_VALUE_LENGTH = 80

_OPEN_MEMBER = re.compile(r'\."(?:[^"\\]|\\.)*\Z|\.\Z|\[[^\]"]*\Z|\["(?:[^"\\]|\\.)*"?\Z', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Completion:
    """A text to insert as it is, and what it means."""

    text: str
    description: str


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions that replace the filter's text from `start` up to `end`."""

    start: int
    end: int
    items: tuple[Completion, ...] = ()


def complete(text: str, cursor: int, log: TrafficLog) -> Completions:
    """Return completions for the text at the cursor, best first; none where anything is allowed."""
    cursor = max(0, min(cursor, len(text)))
    typing = unfinished_piece(text[:cursor])
    if isinstance(typing, TypingWord):
        end = _end_of_word(text, cursor)
        options = _word_options(typing, log, has_operator=OPERATOR.match(text, end) is not None)
        return Completions(typing.start, end, _chosen(options, typing.typed))
    if isinstance(typing, TypingValue):
        return Completions(typing.start, _end_of_value(text, cursor, typing), _values(typing, log))
    return Completions(cursor, cursor)


def _word_options(typing: TypingWord, log: TrafficLog, *, has_operator: bool) -> Iterator[Completion]:
    if typing.compared is not None:
        yield from _operators(FIELDS[typing.compared.field], "", is_glued=False)
    steps, end = read_steps(typing.typed, 0)
    path = path_of(steps) if end == len(typing.typed) else None
    if path is None or path.steps:
        yield from _paths(typing.typed, log)
    if path is not None and not has_operator:
        yield from _operators(FIELDS[path.field], typing.typed, is_glued=True)
    keywords = _KEYWORD_MEANINGS if typing.is_after_term else {"not": _KEYWORD_MEANINGS["not"]}
    yield from (Completion(word, meaning) for word, meaning in keywords.items())
    yield from (Completion(field.name, field.description) for field in FIELDS.values())
    if path is not None and not path.steps:
        yield from _paths(typing.typed, log)


def _operators(field: Field, word: str, *, is_glued: bool) -> Iterator[Completion]:
    for operator in field.operators:
        text = "in (" if operator is Operator.IN else operator.value
        space = " " if is_glued and operator is Operator.IN else ""
        yield Completion(f"{word}{space}{text}", _OPERATORS[operator])


def _paths(typed: str, log: TrafficLog) -> Iterator[Completion]:
    root = re.split(r"[.\[]", typed, maxsplit=1)[0].lower()
    if root in ROOTS:
        yield from (Completion(path_text(path), "seen recently") for path in paths(log, root))
    elif typed.lower().startswith("http.header"):
        yield from (Completion(f"http.header.{name}", "header") for name in _HEADERS)


def _end_of_word(text: str, cursor: int) -> int:
    match = BARE_TEXT.match(text, cursor)
    return match.end() if match is not None else cursor


def _values(typing: TypingValue, log: TrafficLog) -> tuple[Completion, ...]:
    if typing.operator is Operator.MATCHES:
        return ()
    write = quoted if typing.is_quoted else value_text
    field, options = FIELDS[typing.path.field], []
    for value, description in _value_options(typing, FIELDS[typing.path.field], log):
        if typing.typed.casefold() in value.casefold() and _is_valid(field, typing.operator, value):
            options.append((not value.casefold().startswith(typing.typed.casefold()), value, description))
    options.sort(key=lambda option: option[0])
    return tuple(
        Completion(write(value), description) for _, value, description in options[:_MAX_COMPLETIONS]
    )


def _value_options(typing: TypingValue, field: Field, log: TrafficLog) -> Iterable[tuple[str, str]]:
    match field.type, field.where:
        case Type.DURATION, _:
            return _amounts(typing.typed, _DURATION_UNITS, ("100ms", "500ms", "1s", "10s"))
        case Type.SIZE, _:
            return _amounts(typing.typed, _SIZE_UNITS, ("1k", "10k", "100k", "1M"))
        case Type.TIME, _:
            return _times(typing.operator, log)
        case Type.JSON, _:
            return ((value, "seen recently") for value in values(log, typing.path))
        case _, ServerColumn():
            return ((name, "server") for name in log.servers() if name)
        case _, TextColumn():
            return suggestions(log, field)
        case _, Special.HTTP_STATUS:
            return http_statuses(log)
    if field.name == "code":
        return ((str(code), name) for code, name in ERROR_NAMES.items())
    return ((choice, "") for choice in field.choices)


def _amounts(typed: str, units: dict[str, str], samples: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    match = _AMOUNT.fullmatch(typed)
    if match is None:
        yield from ((sample, "") for sample in samples)
    else:
        yield from ((f"{match[1]}{unit}", meaning) for unit, meaning in units.items())


def _times(operator: Operator, log: TrafficLog) -> Iterator[tuple[str, str]]:
    if operator in ORDER:
        yield from (("-1m", "a minute ago"), ("-5m", "five minutes ago"), ("-1h", "an hour ago"))
    if len(log):
        try:
            latest = datetime.fromtimestamp(log.wall_ns(len(log) - 1) // 1_000_000_000)
        except (OverflowError, OSError, ValueError):
            return
        yield f"{latest:%H:%M}", "time of the latest message"
        yield f"{latest:%Y-%m-%d}", "day of the latest message"


def _is_valid(field: Field, operator: Operator, value: str) -> bool:
    try:
        field.test(Operator.IS if operator is Operator.IS_NOT else operator, (value,))
    except ValueError:
        return False
    return True


def _end_of_value(text: str, cursor: int, typing: TypingValue) -> int:
    if typing.is_quoted:
        whole = QUOTED.match(text, typing.start)
        return whole.end() if whole is not None else cursor
    stops = r'[^\s()",]*' if typing.operator is Operator.IN else r'[^\s()"]*'
    rest = re.compile(stops).match(text, cursor)
    return rest.end() if rest is not None else cursor


def _chosen(options: Iterable[Completion], typed: str) -> tuple[Completion, ...]:
    """Return the options that start with the typed text, then those that contain it."""
    folded = typed.casefold()
    chosen: dict[str, Completion] = {}
    later: dict[str, Completion] = {}
    for option in options:
        text = option.text.casefold()
        if text == folded:
            continue
        if text.startswith(folded):
            chosen.setdefault(option.text, option)
        elif folded in text:
            later.setdefault(option.text, option)
    return tuple((chosen | later).values())[:_MAX_COMPLETIONS]


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


def unfinished_piece(head: str) -> Typing:
    """Return the piece that is unfinished at the end of `head`."""
    return _Scan(head).run()


def path_of(steps: list[Step]) -> Path | None:
    """Return the path of the steps, if they begin with a field."""
    names = []
    for step in steps:
        if not isinstance(step, Member):
            break
        names.append(step.name)
    found = resolve(names)
    return Path(found[0].name, tuple(steps[found[1] :])) if found is not None else None


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
        self._is_after_term = word not in KEYWORDS
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


def suggestions(log: TrafficLog, field: Field) -> Iterator[tuple[str, str]]:
    """Yield a word column's texts, most frequent first, each with its count."""
    where = field.where
    assert isinstance(where, TextColumn)
    first = max(log.first, len(log) - _LATEST_ROWS)
    column: Column = getattr(log.columns, where.column)
    if where.methods is None:
        counts = Counter(column[first : len(log)])
    else:
        methods = {log.strings.number_of(method) for method in where.methods}
        pairs = zip(column[first : len(log)], log.columns.method[first : len(log)], strict=True)
        counts = Counter(word for word, method in pairs if method in methods)
    for number, count in counts.most_common():
        text = log.strings.text(number)
        if text and len(text) <= MAX_VALUE_LENGTH:
            yield text, plural(count, "row")


def http_statuses(log: TrafficLog) -> Iterator[tuple[str, str]]:
    first = max(log.first, len(log) - _LATEST_ROWS)
    counts = Counter(log.columns.http_status[first : len(log)])
    return ((str(code), plural(count, "exchange")) for code, count in counts.most_common() if code)


def paths(log: TrafficLog, root: str) -> list[Path]:
    """Return the paths under a root that exist in the latest messages."""
    options = (
        steps
        for message in _messages(log)
        for value in values_at(message, ROOTS[root])
        for steps in _paths_in(value, ())
    )
    return [Path(root, steps) for steps in dict.fromkeys(islice(options, _MAX_PATHS)) if steps]


def values(log: TrafficLog, path: Path) -> list[str]:
    """Return the simple values at a path in the latest messages, each once."""
    found: dict[str, None] = {}
    for message in _messages(log):
        for value in values_at(message, ROOTS[path.field] + path.steps):
            text = _simple(value)
            if text and len(text) <= MAX_VALUE_LENGTH:
                found[text] = None
    return list(found)


def _messages(log: TrafficLog) -> Iterator[JSONObject]:
    left = _LATEST_BODIES
    for row in range(len(log) - 1, max(-1, len(log) - 1 - _ROWS_FOR_BODIES), -1):
        if log.kind(row) >= RecordKind.TEXT or log.kept(row) > _MAX_BODY_SIZE:
            continue
        try:
            body = parse((log.readable_raw(row) or b"").decode(errors="replace"))
        except JSONError:
            continue
        for message in body if isinstance(body, list) else [body]:
            if isinstance(message, dict):
                yield message
        left -= 1
        if not left:
            return


def _paths_in(value: JSON, steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    yield steps
    if len(steps) >= _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, child in value.items():
            if len(name) <= MAX_VALUE_LENGTH:
                yield from _paths_in(child, (*steps, Member(name)))
    elif isinstance(value, list):
        for child in value[:_MAX_ITEMS]:
            yield from _paths_in(child, (*steps, Every()))


def _simple(value: JSON) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return write_number(value)
        case None:
            return "null"
    return ""
