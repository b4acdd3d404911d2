"""Syntax tree of a filter: frozen nodes, their text form, and `FilterError`.

Values stay as typed: what `10k` means depends on the field, and is determined when a matcher is compiled.
`parser.parse` makes trees and `to_text` writes them: `parse(to_text(tree)) == tree`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from inspector.base.errors import UserError


class FilterError(UserError):
    """A filter is invalid. `column` is the 0-based position in its text."""

    def __init__(self, column: int, summary: str, next_step: str = "") -> None:
        super().__init__(summary, next_step)
        self.column = column


class Operator(Enum):
    """The operator between a field and its value."""

    CONTAINS = ":"
    IS = "="
    IS_NOT = "!="
    ABOVE = ">"
    BELOW = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    MATCHES = "~"
    IN = "in"


ORDER = frozenset((Operator.ABOVE, Operator.BELOW, Operator.AT_LEAST, Operator.AT_MOST))


@dataclass(frozen=True, slots=True)
class Member:
    """The object member of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """An array item by 0-based index; negative counts from the end."""

    number: int


@dataclass(frozen=True, slots=True)
class Every:
    """Every item of an array, or every member of an object."""


Step: TypeAlias = Member | Index | Every


@dataclass(frozen=True, slots=True)
class Path:
    """What is compared: a field, and the steps from there into JSON."""

    field: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Compare:
    """A field, an operator and a value; several values only for `in`."""

    path: Path
    operator: Operator
    values: tuple[str, ...]

    @property
    def value(self) -> str:
        return self.values[0]


@dataclass(frozen=True, slots=True)
class Text:
    """Free text: found in the body, the method, the subject or the finding of a row."""

    text: str


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more nodes."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more nodes."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Compare | Text | Not | And | Or

# Narrower than what the parser accepts without quotes, to avoid doubt when reading.
_BARE = re.compile(r"[\w./*+%@-]+")
_BARE_MEMBER = re.compile(r"[\w$@/-]+")
_RESERVED = frozenset(("and", "or", "not", "in"))
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'["\\\n\r\t]')


def to_text(node: Node) -> str:
    """Return the filter in its simplest spelling."""
    match node:
        case Compare():
            return _comparison(node)
        case Text(text):
            return _free_text(text)
        case Not(inner):
            return f"not {_inside(inner, And, Or)}"
        case And(nodes):
            return " and ".join(_inside(inner, And, Or) for inner in nodes)
        case Or(nodes):
            return " or ".join(_inside(inner, Or) for inner in nodes)


def path_text(path: Path) -> str:
    return path.field + "".join(map(_step, path.steps))


def value_text(value: str) -> str:
    """Return a value as written after an operator, where no word is a keyword."""
    return value if _BARE.fullmatch(value) is not None else quoted(value)


def _free_text(text: str) -> str:
    return quoted(text) if text.casefold() in _RESERVED else value_text(text)


def quoted(text: str) -> str:
    escaped = _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)
    return f'"{escaped}"'


def _comparison(node: Compare) -> str:
    path, operator = path_text(node.path), node.operator.value
    if node.operator is Operator.IN:
        return f"{path} in ({', '.join(map(value_text, node.values))})"
    value = value_text(node.value)
    return f"{path} ~ {value}" if node.operator is Operator.MATCHES else f"{path}{operator}{value}"


def _inside(node: Node, *groups: type[Node]) -> str:
    text = to_text(node)
    return f"({text})" if isinstance(node, groups) else text


def _step(step: Member | Index | Every) -> str:
    match step:
        case Member(name):
            return f".{name}" if _BARE_MEMBER.fullmatch(name) else f".{quoted(name)}"
        case Index(number):
            return f"[{number}]"
        case Every():
            return "[*]"
