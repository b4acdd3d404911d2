"""A tree written as text again: `parse(to_text(tree)) == tree`."""

from __future__ import annotations

import re

from inspector.traffic.query.tree import (
    And,
    Compare,
    Every,
    Index,
    Member,
    Node,
    Not,
    Operator,
    Or,
    Path,
    Text,
)

# Narrower than what the parser accepts without quotes, to avoid doubt when reading.
_BARE = re.compile(r"[\w./*+%@-]+")
_BARE_MEMBER = re.compile(r"[\w$@/-]+")
_KEYWORDS = frozenset(("and", "or", "not", "in"))
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
    return path.word + "".join(map(_step, path.steps))


def value_text(value: str) -> str:
    """Return a value as written after an operator, where no word is a keyword."""
    return value if _BARE.fullmatch(value) is not None else quoted(value)


def _free_text(text: str) -> str:
    return quoted(text) if text.casefold() in _KEYWORDS else value_text(text)


def quoted(text: str) -> str:
    escaped = _ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)
    return f'"{escaped}"'


def _comparison(node: Compare) -> str:
    path, operator = path_text(node.path), node.operator.value
    if node.operator is Operator.IN:
        return f"{path} in ({', '.join(map(value_text, node.values))})"
    value = value_text(node.value)
    return f"{path} ~ {value}" if node.operator is Operator.LIKE else f"{path}{operator}{value}"


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
