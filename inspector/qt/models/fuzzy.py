"""Finding things by a few letters of their name: which fit, how well, and which letters they were."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

_BOUNDARY = re.compile(r"(?:^|(?<=[\W_]))\w|(?<=[a-z0-9])[A-Z]")
_IN_REST = 6  # worse than anywhere in the name
_INITIALS = 2  # `gi` for get_issue
_SCATTERED = 12


@dataclass(frozen=True, slots=True)
class Match:
    """A match; a lower score is better. `places` are the matching letters of the name, in order."""

    score: int
    places: tuple[int, ...]


class Query:
    """A query of words that must all match, in any order: verbatim, or as a subsequence.

    Subsequences are searched in the name only; whole words also in the rest.
    """

    def __init__(self, words: str) -> None:
        self._words = [word for word in words.lower().split() if word][:8]
        self._scattered = [re.compile("[^\n]*?".join(map(re.escape, word))) for word in self._words]

    def __bool__(self) -> bool:
        return bool(self._words)

    def match(self, name: str, haystack: str) -> Match | None:
        """Match a name; `haystack` is the result of `haystack()` for it and the rest."""
        end, score = len(name), 0
        places: list[int] = []
        for word, scattered in zip(self._words, self._scattered, strict=True):
            start = haystack.find(word)
            if start >= 0:
                score += _place_score(haystack, start, end)
                places += range(start, min(start + len(word), end))
            elif scattered.search(haystack, 0, end):
                starts = {start.start() for start in _BOUNDARY.finditer(name)}
                found = _best_letters(word, haystack, starts, end)
                score += _INITIALS if starts.issuperset(found) else _SCATTERED + _gaps(found)
                places += found
            else:
                return None
        return Match(score, tuple(sorted(set(places))))


def haystack(name: str, rest: str) -> str:
    """Return the lower-case search text, with the name's letters at their original positions."""
    lowered = name.lower()
    return f"{lowered if len(lowered) == len(name) else name}\n{rest.lower()}"


def _place_score(text: str, start: int, end: int) -> int:
    if start >= end:
        return _IN_REST
    if start == 0:
        return 0
    return 3 if text[start - 1].isalnum() else 1


def _best_letters(word: str, text: str, starts: set[int], end: int) -> list[int]:
    """Match letters at word beginnings where the rest still matches after, else anywhere."""
    places: list[int] = []
    at = 0
    for place, letter in enumerate(word):
        here = text.find(letter, at)
        if here not in starts and not (places and here == places[-1] + 1):
            better = next((start for start in sorted(starts) if start >= at and text[start] == letter), None)
            if better is not None and _fits(word[place + 1 :], text, better + 1, end):
                here = better
        places.append(here)
        at = here + 1
    return places


def _fits(letters: str, text: str, at: int, end: int) -> bool:
    for letter in letters:
        at = text.find(letter, at, end) + 1
        if not at:
            return False
    return True


def _gaps(places: list[int]) -> int:
    """Score the scatter: the number of runs, and a little for the distance."""
    runs = sum(later != earlier + 1 for earlier, later in pairwise(places))
    return 2 * runs + min((places[-1] - places[0]) // 8, 8)
