"""Patterns as they are typed: regular expressions after `~`, and `*` in a value after `:`.

A pattern runs in the window's own thread over text that a server sent, so its cost is bounded where that
can be told beforehand: a repeat inside a repeat, which on some texts takes longer than anybody waits, is
refused, and only the beginning of a value is searched.
"""

from __future__ import annotations

import re
import warnings

SEARCHED = 64 * 1024  # characters of a value that a regular expression looks at
_TOKEN = re.compile(
    r"""\\.                       # an escaped character
    |\[\^?\]?(?:\\.|[^\]\\])*\]   # a set
    |\((?:\?\#[^)]*\))?           # a group begins; a comment is one token
    |\)
    |[*+]|\{[0-9]*,\}             # a repeat without an end""",
    re.VERBOSE | re.DOTALL,
)


class PatternError(ValueError):
    """Not a regular expression; `position` is where in it."""

    def __init__(self, sentence: str, position: int = 0) -> None:
        super().__init__(sentence)
        self.position = position


def regular_expression(text: str) -> re.Pattern[str]:
    """Compile, or raise PatternError with a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets that a later Python may read otherwise
            pattern = re.compile(text)
    except re.error as exc:
        raise PatternError(f"Not a regular expression: {exc.msg}.", exc.pos or 0) from exc
    except (RecursionError, OverflowError) as exc:
        raise PatternError("The regular expression is too large.") from exc
    if _repeats_a_repeat(text):
        raise PatternError(
            "A repeat inside a repeat, such as (a+)+, can take forever: write the pattern with one repeat."
        )
    return pattern


def searches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text, 0, SEARCHED) is not None


def glob(text: str) -> re.Pattern[str]:
    """`*` stands for any run of characters; upper and lower case are one. For `fullmatch` on folded text.

    Pieces are matched first come, first served, which for `*` loses nothing and never backtracks.
    """
    first, *pieces = (re.escape(piece) for piece in text.casefold().split("*"))
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[:-1])
    return re.compile(f"{first}{middle}.*{pieces[-1]}" if pieces else first, re.DOTALL)


def _repeats_a_repeat(text: str) -> bool:
    """Does `*`, `+` or `{n,}` follow a group that has one of them inside?"""
    groups = [False]  # of each open group: is there a repeat in it?
    was_repeating_group = False
    for match in _TOKEN.finditer(text):
        symbol = match[0][0]
        is_after_group = was_repeating_group and text[match.start() - 1] == ")"
        was_repeating_group = False
        if match[0] == "(":
            groups.append(False)
        elif symbol == ")" and len(groups) > 1:
            was_repeating_group = groups.pop()
            groups[-1] = groups[-1] or was_repeating_group
        elif symbol in "*+{":
            if is_after_group:
                return True
            groups[-1] = True
    return False
