"""Parser of the filter language: text in, syntax tree out. `manual.py` describes the language for users."""

from __future__ import annotations

import difflib
import re

from inspector.base.json.values import shorten
from inspector.traffic.filter.fields import FIELDS, Field, path_error, resolve
from inspector.traffic.filter.literals import PatternError
from inspector.traffic.filter.tree import (
    And,
    Compare,
    Every,
    FilterError,
    Index,
    Member,
    Node,
    Not,
    Operator,
    Or,
    Path,
    Step,
    Text,
)

_MAX_DEPTH = 60
KEYWORDS = frozenset(("and", "or", "not"))

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


def parse(text: str) -> Node | None:
    """Parse a filter; None for an empty one. Raises FilterError, and nothing else."""
    return _Parser(text).parse()


def read_path(text: str) -> Path:
    """Parse a single field or path. Raises FilterError."""
    return _Parser(text).path_alone()


class _Parser:
    """Left-to-right parser; `_at` is the current position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def parse(self) -> Node | None:
        self._skip_space()
        if self._is_at_end():
            return None
        node = self._alternatives()
        if not self._is_at_end():
            raise FilterError(self._at, "This ) has no matching (.", "Remove it, or add a ( before it.")
        return node

    def path_alone(self) -> Path:
        steps, end = read_steps(self._text, 0)
        if not steps or end < len(self._text):
            raise FilterError(end, "Expected a field such as method, or a path such as params.name.")
        return self._path(steps, 0)

    def _alternatives(self) -> Node:
        nodes = [self._conjunction()]
        while self._take_keyword("or"):
            nodes.append(self._conjunction())
        return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))

    def _conjunction(self) -> Node:
        nodes = [self._negation()]
        while not self._is_at_end() and self._text[self._at] != ")" and self._keyword() != "or":
            self._take_keyword("and")
            nodes.append(self._negation())
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def _negation(self) -> Node:
        start = self._at
        if self._take_keyword("not"):
            self._go_deeper(start)
            node: Node = Not(self._negation())
            self._depth -= 1
            return node
        return self._group() if self._next_is("(") else self._term()

    def _group(self) -> Node:
        start = self._at
        self._go_deeper(start)
        self._advance(start + 1)
        if self._next_is(")"):
            raise FilterError(self._at, "The parentheses are empty.", "Expected a term.")
        node = self._alternatives()
        if self._is_at_end():
            raise FilterError(start, "This ( is not closed.", "Expected a ) after it.")
        self._depth -= 1
        self._advance(self._at + 1)
        return node

    def _go_deeper(self, column: int) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FilterError(
                column, f"The filter is nested more than {_MAX_DEPTH} levels deep.", "Simplify it."
            )

    def _term(self) -> Node:
        start, keyword = self._at, self._keyword()
        if self._is_at_end():
            raise FilterError(
                start, "The filter is incomplete.", "Expected a term such as method:tools/call."
            )
        if keyword:
            raise FilterError(
                start, f"Expected a term before “{keyword}”.", "To search for it, put it in quotes."
            )
        if self._next_is('"'):
            return self._quoted_term()
        steps, end = read_steps(self._text, start)
        operator = OPERATOR.match(self._text, end) if steps else None
        if operator is not None:
            path = self._path(steps, start)
            return self._comparison(
                path, operator.start() + _blanks(operator[0]), operator[0].strip(), operator.end()
            )
        return self._bare_term()

    def _quoted_term(self) -> Text:
        start, text = self._at, self._quoted()
        operator = OPERATOR.match(self._text, self._at)
        if operator is not None and operator["symbol"]:
            raise FilterError(
                start, "Text in quotes cannot be compared.", "Expected a field such as method here."
            )
        if not text:
            raise FilterError(start, "The quotes are empty.", "Expected text to search for.")
        self._end_piece(self._at)
        return Text(text)

    def _bare_term(self) -> Text:
        start = self._at
        bare = BARE_TEXT.match(self._text, start)
        if bare is None:
            symbol = self._text[start]
            if symbol == ")":
                raise FilterError(start, "Expected a term before this ).")
            raise FilterError(start, f"Expected a field such as method before {symbol}.")
        operator = OPERATOR.match(self._text, bare.end())
        if operator is not None and operator["symbol"]:
            raise _unknown(bare[0], start)
        self._end_piece(bare.end())
        return Text(bare[0])

    def _path(self, steps: list[Step], start: int) -> Path:
        names = []
        for step in steps:
            if not isinstance(step, Member):
                break
            names.append(step.name)
        found = resolve(names)
        if found is None:
            raise _unknown(".".join(names), start)
        path = Path(found[0].name, tuple(steps[found[1] :]))
        problem = path_error(path)
        if problem:
            raise FilterError(start, problem)
        return path

    def _comparison(self, path: Path, column: int, symbol: str, end: int) -> Compare:
        field = FIELDS[path.field]
        operator = Operator(symbol.lower() if symbol != "==" else "=")
        if operator not in field.operators:
            allowed = " ".join(allowed.value for allowed in field.operators)
            raise FilterError(
                column, f"{field.name} does not support {symbol}.", f"Expected one of {allowed}"
            )
        self._advance(end)
        if operator is Operator.IN:
            return Compare(path, operator, self._list(field))
        value = self._value(field, operator)
        return Compare(path, operator, (value,))

    def _list(self, field: Field) -> tuple[str, ...]:
        opened = self._at
        self._advance(opened + 1)
        values = []
        while True:
            values.append(self._value(field, Operator.IN))
            if self._next_is(")"):
                break
            if not self._next_is(","):
                raise FilterError(
                    self._at if not self._is_at_end() else opened, "Expected , or ) in the list."
                )
            self._advance(self._at + 1)
        self._advance(self._at + 1)
        return tuple(values)

    def _value(self, field: Field, operator: Operator) -> str:
        start = self._at
        if self._next_is('"'):
            value = self._quoted()
        else:
            bare = (BARE_ITEM if operator is Operator.IN else BARE_VALUE).match(self._text, start)
            if bare is None:
                raise FilterError(
                    start, f"Expected a value for {field.name}.", f"For example: {field.example}"
                )
            value = bare[0]
            self._at = bare.end()
        self._check(field, operator, value, start)
        self._end_piece(self._at, ")," if operator is Operator.IN else ")")
        return value

    def _check(self, field: Field, operator: Operator, value: str, start: int) -> None:
        try:
            field.test(Operator.IS if operator is Operator.IS_NOT else operator, (value,))
        except PatternError as exc:
            is_quoted = self._text[start] == '"'
            is_verbatim = self._text[start + is_quoted : start + is_quoted + len(value)] == value
            raise FilterError(start + is_quoted + (exc.position if is_verbatim else 0), str(exc)) from exc
        except ValueError as exc:
            raise FilterError(start, str(exc)) from exc

    def _quoted(self) -> str:
        match = QUOTED.match(self._text, self._at)
        if match is None:
            raise FilterError(self._at, "The quote is not closed.", 'Expected another " after the text.')
        self._at = match.end()
        return unescape(match[0][1:-1])

    def _end_piece(self, end: int, stops: str = ")") -> None:
        """Advance past a text or value, which must not run into a quote, group or another text."""
        if end < len(self._text) and not self._text[end].isspace() and self._text[end] not in stops:
            raise FilterError(end, "Expected a space here.", "Or put the whole text in quotes.")
        self._advance(end)

    def _advance(self, to: int) -> None:
        self._at = to
        self._skip_space()

    def _skip_space(self) -> None:
        match = SPACE.match(self._text, self._at)
        assert match is not None
        self._at = match.end()

    def _is_at_end(self) -> bool:
        return self._at >= len(self._text)

    def _next_is(self, char: str) -> bool:
        return self._text.startswith(char, self._at)

    def _keyword(self) -> str:
        """Return the next keyword, or "". One before an operator is treated as an unknown field."""
        match = BARE_TEXT.match(self._text, self._at)
        word = match[0].lower() if match is not None else ""
        return word if word in KEYWORDS else ""

    def _take_keyword(self, keyword: str) -> bool:
        if self._keyword() != keyword:
            return False
        self._advance(self._at + len(keyword))
        return True


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


def _unknown(word: str, column: int) -> FilterError:
    close = difflib.get_close_matches(word.lower(), FIELDS, n=1)
    hint = f"Did you mean {close[0]}? " if close else ""
    return FilterError(
        column,
        f"“{shorten(word, 40)}” is not a filter field.",
        f"{hint}To search for the text, put it in quotes.",
    )


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
