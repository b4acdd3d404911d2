"""Resource URI templates (RFC 6570): their variables, and expansion.

Parsing is tolerant: an expression that is not RFC 6570 stays in the URI unchanged and is listed in
`problems`. Expansion is left to `uritemplate`, one expression at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import quote

import uritemplate

from inspector.base.json.values import shorten

# A string, or a list of strings where the template takes several. A missing name is undefined.
Values: TypeAlias = Mapping[str, str | Sequence[str]]

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_OPERATORS = "+#./;?&"
_NAME = r"(?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*"
_VARIABLE = re.compile(rf"({_NAME})(\*|:[1-9]\d{{0,3}})?", re.ASCII)
_RESERVED = ":/?#[]@!$&'()*+,;="
_UNSAFE = re.compile(rf"%(?![0-9A-Fa-f]{{2}})|[^\w\-.~%{re.escape(_RESERVED)}]", re.ASCII)
_PLACES = {"#": "fragment", "/": "path", ";": "parameter", "?": "query", "&": "query"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A template variable. `location` says where in the URI it goes, if the template does."""

    name: str
    takes_list: bool = False
    max_length: int | None = None  # only this many characters of it are used
    location: str = ""


@dataclass(frozen=True, slots=True)
class _Expression:
    text: str  # without its braces
    variables: tuple[Variable, ...]

    @property
    def keeps_reserved(self) -> bool:
        return self.text[0] in "+#"


class UriTemplate:
    """A URI template, from any text; `problems` lists what is not RFC 6570."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts, self.problems = _read(text)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Each variable once, in order of first appearance."""
        found: dict[str, Variable] = {}
        for part in self._parts:
            for variable in part.variables if isinstance(part, _Expression) else ():
                found.setdefault(variable.name, variable)
        return tuple(found.values())

    def expand(self, values: Values) -> str:
        """Expand the template. As in the RFC, undefined variables expand to nothing."""
        return "".join(part if isinstance(part, str) else _expanded(part, values) for part in self._parts)


def _read(text: str) -> tuple[list[str | _Expression], tuple[str, ...]]:
    parts: list[str | _Expression] = []
    problems: list[str] = []
    end = 0
    for match in _EXPRESSION.finditer(text):
        parts.append(_literal(text[end : match.start()], problems))
        expression = _read_expression(match[1])
        if isinstance(expression, str):
            problems.append(expression)
        parts.append(match[0] if isinstance(expression, str) else expression)
        end = match.end()
    parts.append(_literal(text[end:], problems))
    return parts, tuple(dict.fromkeys(problems))


def _literal(text: str, problems: list[str]) -> str:
    if "{" in text or "}" in text:
        problems.append(f"unmatched brace in “{shorten(text, 40)}”")
        return text
    return _UNSAFE.sub(_percent, text)


def _read_expression(text: str) -> _Expression | str:
    """Parse an expression; return a string that says what is wrong if it is invalid."""
    operator = text[:1] if text[:1] in _OPERATORS else ""
    variables: list[Variable] = []
    for word in text.removeprefix(operator).split(","):
        match = _VARIABLE.fullmatch(word)
        if match is None:
            return f"“{{{shorten(text, 40)}}}” is not a valid RFC 6570 expression"
        max_length = int(match[2][1:]) if match[2] and match[2] != "*" else None
        variables.append(Variable(match[1], match[2] == "*", max_length, _PLACES.get(operator, "")))
    return _Expression(text, tuple(variables))


def _expanded(expression: _Expression, values: Values) -> str:
    given: dict[str, Any] = dict(_defined(expression, values))
    return str(uritemplate.URITemplate(f"{{{expression.text}}}").expand(given))


def _defined(expression: _Expression, values: Values) -> Iterator[tuple[str, str | list[str]]]:
    for variable in expression.variables:
        value = values.get(variable.name)
        if isinstance(value, str):
            yield variable.name, _prepared(value, expression)
        elif value:  # "a variable […] that is an empty list is considered undefined"
            yield variable.name, [_prepared(each, expression) for each in value]


def _prepared(value: str, expression: _Expression) -> str:
    """Prepare a value for the library: encodable as UTF-8, and for `{+x}` already escaped.

    Where reserved characters are kept, the library assumes that a value with one escape is fully escaped,
    and would let a space through.
    """
    value = value.encode(errors="replace").decode()
    return _UNSAFE.sub(_percent, value) if expression.keeps_reserved and "%" in value else value


def _percent(match: re.Match[str]) -> str:
    return quote(match[0].encode(errors="replace"), safe="")
