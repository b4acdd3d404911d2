"""Patterns as they are typed: regular expressions after `~`, and `*` in a value after `:`.

A pattern runs in the window's own thread over text that a server sent, so its cost is bounded where that
can be told beforehand: one that on some texts takes longer than anybody waits is refused, and only the
beginning of a value is searched.
"""

from __future__ import annotations

import re
import warnings

from inspector.traffic.query.repeats import may_take_forever

SEARCHED = 64 * 1024  # characters of a value that are searched
_LEADING_DOTS = re.compile(r"(?:\.\*\??)+(?![*+?{])")


class PatternError(ValueError):
    """An invalid regular expression; `position` is where in it."""

    def __init__(self, sentence: str, position: int = 0) -> None:
        super().__init__(sentence)
        self.position = position


def regular_expression(text: str) -> re.Pattern[str]:
    """Compile a regular expression for `searches`. Raises PatternError with a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about sets that a later Python may interpret differently
            re.compile(text)
            pattern = re.compile(_without_leading_dots(text))
    except re.error as exc:
        raise PatternError(f"Not a regular expression: {exc.msg}.", exc.pos or 0) from exc
    except (RecursionError, OverflowError) as exc:
        raise PatternError("The regular expression is too large.") from exc
    if may_take_forever(text):
        raise PatternError(
            "A repeat of what fits in several ways, such as (a+)+ or (a|ab)*, can take forever: "
            "write it with one repeat, or with a set such as [ab]*."
        )
    return pattern


def _without_leading_dots(text: str) -> str:
    """Strip leading `.*`: implied by a search anyway, and it takes seconds per long line."""
    leading = _LEADING_DOTS.match(text)
    return text[leading.end() :] if leading else text


def searches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text, 0, SEARCHED) is not None


def glob(text: str) -> re.Pattern[str]:
    """Compile a glob for `fullmatch` on folded text; `*` matches any characters.

    Case-insensitive. Pieces match at their first occurrence, which for `*` loses nothing and never
    backtracks.
    """
    first, *pieces = (re.escape(piece) for piece in text.casefold().split("*"))
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[:-1])
    return re.compile(f"{first}{middle}.*{pieces[-1]}" if pieces else first, re.DOTALL)
