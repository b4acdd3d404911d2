"""A plausible text for a text field: by its format, its pattern, its lengths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _parser as parser  # type: ignore[attr-defined]  # the one parser of patterns there is
from typing import Any

from inspector.schema.fields import TextField
from inspector.schema.patterns import matches

_LONGEST = 10_000
_LONGEST_PATTERN = 200
_MOST_STEPS = 20_000
_FORMATS = {
    "date": "2026-01-{:02}",
    "date-time": "2026-01-{:02}T12:00:00Z",
    "time": "12:{:02}:00Z",
    "duration": "P{}D",
    "email": "someone{}@example.com",
    "idn-email": "someone{}@example.com",
    "hostname": "host{}.example.com",
    "idn-hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "uri": "https://example.com/{}",
    "url": "https://example.com/{}",
    "iri": "https://example.com/{}",
    "uri-reference": "/path/{}",
    "iri-reference": "/path/{}",
    "uri-template": "/path/{{id}}/{}",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
    "json-pointer": "/path/{}",
    "relative-json-pointer": "{}/path",
    "regex": "^a{{{}}}$",
}
_CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}
_NEGATIVE = {"CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_WORD": "-", "CATEGORY_NOT_SPACE": "a"}


class TextSampler:
    """Creates the texts of one example.

    The total cost of patterns is bounded: they come from the server.
    """

    def __init__(self) -> None:
        self._left = _MOST_STEPS
        self._known: dict[tuple[str, int | None, int | None], str | None] = {}

    def text(self, field: TextField, number: int = 0) -> str:
        """Return a matching text, as far as one can be found; `number` makes texts differ."""
        if field.format in _FORMATS:
            return _FORMATS[field.format].format(number % 28 + 1)
        if field.content_encoding == "base64":
            return "aGVsbG8="
        if field.pattern and (found := self._of_pattern(field)) is not None:
            return found
        plain = "text" if number == 0 else f"text {number + 1}"
        least, most = field.min_length or 0, field.max_length
        padded = plain + "x" * (min(least, _LONGEST) - len(plain))
        return padded if most is None or len(padded) <= most else padded[len(padded) - most :]

    def _of_pattern(self, field: TextField) -> str | None:
        """Return a text for the pattern, cached: many schemas repeat a pattern."""
        key = (field.pattern, field.min_length, field.max_length)
        if key not in self._known:
            self._known[key] = self._find(field)
        return self._known[key]

    def _find(self, field: TextField) -> str | None:
        """Search for a text of the required length that matches the pattern; None if not found."""
        if len(field.pattern) > _LONGEST_PATTERN:
            return None
        least, most = field.min_length or 0, field.max_length if field.max_length is not None else _LONGEST
        for more in (0, 1, least, max(least - 1, 0)):
            try:
                found = "".join(self._walk(parser.parse(field.pattern), min(more, _LONGEST)))
            except (re.error, ValueError, RecursionError, OverflowError):
                return None
            found = found if len(found) >= least or field.pattern.endswith("$") else found.ljust(least, "x")
            if least <= len(found) <= most and matches(field.pattern, found):
                return found
        return None

    def _walk(self, tree: Any, more: int) -> Iterator[str]:
        """Yield the shortest text for each part, with at most `more` repeats where unlimited."""
        for name, what in tree:
            match str(name):
                case "LITERAL":
                    yield chr(what)
                case "NOT_LITERAL":
                    yield "a" if what != ord("a") else "b"
                case "ANY":
                    yield "a"
                case "IN":
                    yield _member(what)
                case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                    least, most, inner = what
                    for _ in range(min(max(least, more), most)):
                        self._step()
                        yield from self._walk(inner, 0)
                case "SUBPATTERN":
                    yield from self._walk(what[3], more)
                case "BRANCH":
                    yield from self._walk(what[1][0], more)
                case "AT":
                    continue
                case _:
                    raise ValueError(str(name))

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError("the patterns ask for too much")


def _member(choices: Any) -> str:
    """Return one character of a set."""
    if str(choices[0][0]) == "NEGATE":
        unwanted = re.compile("|".join(_excluded(choices[1:])))
        return next(letter for letter in "a0-_ b.A!" if not unwanted.fullmatch(letter))
    name, what = choices[0]
    match str(name):
        case "RANGE":
            return chr(what[0])
        case "CATEGORY":
            return _CATEGORIES.get(str(what)) or _NEGATIVE.get(str(what), "a")
    return chr(what)


def _excluded(choices: Any) -> Iterator[str]:
    classes = {"CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w", "CATEGORY_SPACE": r"\s"}
    for name, what in choices:
        match str(name):
            case "RANGE":
                yield f"[{re.escape(chr(what[0]))}-{re.escape(chr(what[1]))}]"
            case "LITERAL":
                yield re.escape(chr(what))
            case "CATEGORY" if str(what) in classes:
                yield classes[str(what)]
            case _:
                raise ValueError(str(name))
