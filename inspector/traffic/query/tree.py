"""What a filter says, as a tree of frozen nodes.

Values stay the text that was typed: what `10k` stands for depends on the word before it, and is read when
a matcher is made. `grammar.parse` makes trees, `printing.to_text` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Operator(Enum):
    """Between a word and its value."""

    FITS = ":"
    IS = "="
    IS_NOT = "!="
    ABOVE = ">"
    BELOW = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    LIKE = "~"
    IN = "in"


ORDER = frozenset((Operator.ABOVE, Operator.BELOW, Operator.AT_LEAST, Operator.AT_MOST))


@dataclass(frozen=True, slots=True)
class Member:
    """The member of an object that has this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """One item of an array, counted from 0, or from the end when negative."""

    number: int


@dataclass(frozen=True, slots=True)
class Every:
    """Each item of an array, each member of an object."""


Step: TypeAlias = Member | Index | Every


@dataclass(frozen=True, slots=True)
class Path:
    """What is looked at: a word of the language, and the way from there into JSON."""

    word: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Compare:
    """A word, an operator and a value; several values only for `in`."""

    path: Path
    operator: Operator
    values: tuple[str, ...]

    @property
    def value(self) -> str:
        return self.values[0]


@dataclass(frozen=True, slots=True)
class Text:
    """Free text: found in the body, the method, the subject or the problem of a row."""

    text: str


@dataclass(frozen=True, slots=True)
class Not:
    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """Two nodes or more."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two nodes or more."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Compare | Text | Not | And | Or
