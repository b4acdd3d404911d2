"""What a filter says, as a tree of frozen nodes.

Values stay the text that was typed: what `10k` stands for depends on the word before it, and is read when
a matcher is made. `grammar.parse` makes trees, `printing.to_text` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Operator(Enum):
    """The operator between a field and its value."""

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

    word: str
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
    """Free text: found in the body, the method, the subject or the problem of a row."""

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
