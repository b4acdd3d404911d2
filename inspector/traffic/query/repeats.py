"""Regular expressions that may take forever, known by how they are written.

A group that is repeated many times, and that can take the same text in several ways, is tried in all of
them: twice as many for each further letter. It can when it has a repeat without an end inside, `(a+)+`, or
alternatives of which one may be the beginning of another, `(a|ab)*`. Rather too many are named than too few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations

_TOKEN = re.compile(
    r"""\\.                                        # an escaped character
    |\[\^?\]?(?:\\.|[^\]\\])*\]                    # a set
    |\(\?(?:\#[^)]*|P=\w+|[a-zA-Z-]+)\)            # no group, though it looks like one: a comment, flags
    |\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|<?[=!]|>))?     # a group begins
    |\{[0-9]*,?[0-9]*\}                            # a repeat; without a number behind the comma it has no end
    |.                                             # anything else""",
    re.VERBOSE | re.DOTALL,
)
_ENDLESS = re.compile(r"[*+]|\{[0-9]*,\}")
_MANY = re.compile(r"[*+]|\{[0-9]*,\}|\{[0-9,]*[0-9]{2}\}")  # ten times or more
_MAY_BE_NONE = re.compile(r"[*?]|\{0?,")


@dataclass(slots=True)
class _Group:
    """An open group: the literal prefixes of its alternatives so far."""

    beginnings: list[str] = field(default_factory=lambda: [""])
    is_plain: bool = True  # so far, in the current alternative
    is_ambiguous: bool = False

    def next_alternative(self) -> None:
        self.beginnings.append("")
        self.is_plain = True

    def take(self, part: str) -> None:
        letter = part[1:] if part[0] == "\\" and not part[1:].isalnum() else part
        self.is_plain = self.is_plain and len(letter) == 1 and (letter != part or letter not in ".^$")
        if self.is_plain:
            self.beginnings[-1] += letter

    def repeat(self, part: str) -> None:
        """Handle a quantifier: the last item occurs several times, or not at all."""
        if self.is_plain and _MAY_BE_NONE.match(part):
            self.beginnings[-1] = self.beginnings[-1][:-1]
        self.is_plain = False
        self.is_ambiguous = self.is_ambiguous or _ENDLESS.match(part) is not None

    def has_alike_alternatives(self) -> bool:
        folded = [beginning.casefold() for beginning in self.beginnings]
        return any(one.startswith(two) or two.startswith(one) for one, two in combinations(folded, 2))


def may_take_forever(pattern: str) -> bool:
    """True if a regular expression may take exponential time."""
    groups = [_Group()]
    closed: _Group | None = None  # the group that ended just before
    for match in _TOKEN.finditer(pattern):
        part, before, closed = match[0], closed, None
        if part == ")" and len(groups) > 1:
            closed = groups.pop()
            closed.is_ambiguous = closed.is_ambiguous or closed.has_alike_alternatives()
            groups[-1].is_ambiguous = groups[-1].is_ambiguous or closed.is_ambiguous
            groups[-1].is_plain = False
        elif part[0] == "(" and part[-1] != ")":
            groups.append(_Group())
        elif part == "|":
            groups[-1].next_alternative()
        elif part in ("*", "+", "?") or part[0] == "{":
            if before is not None and before.is_ambiguous and _MANY.match(part):
                return True
            groups[-1].repeat(part)
        else:
            groups[-1].take(part)
    return False
