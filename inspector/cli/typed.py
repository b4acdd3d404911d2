"""A typed word and the JSON value that it stands for, as far as a schema can tell.

    age=41      41 where the schema says integer, "41" where it says string or says nothing
    age=null    null where the schema allows null

The rule: a word that reads as JSON of a type that the schema allows, text aside, is that value; else it is
text, where text is allowed; else it does not fit. Limits and patterns are not looked at: whether the server
keeps its own rules is what a person wants to find out.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.schema import keywords
from inspector.schema.jsontext import JSONTextError, read, same, write_line
from inspector.schema.numbers import is_whole
from inspector.schema.resolve import Resolved, resolve

_MOST_SCHEMAS = 200  # per value; bounds the cost of a hostile union
_MOST_CHOICES_NAMED = 8
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": 'a JSON array such as ["a", "b"]',
    "object": 'a JSON object such as {"a": 1}',
    "null": "null",
}


class Misfit(ValueError):
    """The word is not a valid value for the schema; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a value may be: one of the types or one of the choices; if neither is set, anything."""

    types: frozenset[str] = frozenset()
    choices: tuple[JSON, ...] = ()

    def read(self, word: str) -> JSON:
        """Convert a word to a value. Raises Misfit."""
        if word in self.choices:
            return word
        for value in _as_json(word):
            if any(same(value, choice) for choice in self.choices) or self._allows(value):
                return value
        if "string" in self.types or not (self.types or self.choices):
            return word
        raise Misfit(f"{self.in_words()}, got {shorten(word, 60)!r}")

    def in_words(self) -> str:
        choices = [write_line(choice) for choice in self.choices[:_MOST_CHOICES_NAMED]]
        if len(self.choices) > _MOST_CHOICES_NAMED:
            choices.append("…")
        types = [words for name, words in _WORDS.items() if name in self.types]
        return " or ".join(types + ([f"one of {', '.join(choices)}"] if choices else []))

    def _allows(self, value: JSON) -> bool:
        match value:
            case None:
                return "null" in self.types
            case bool():
                return "boolean" in self.types
            case int() | float():
                return "number" in self.types or ("integer" in self.types and is_whole(value))
            case list():
                return "array" in self.types
            case dict():
                return "object" in self.types
        return False


def expected_by(schema: JSON, root: JSONObject) -> Expected:
    """Return what a part of the schema `root` allows.

    Anything is allowed where that cannot be determined (see `schema.resolve`).
    """
    gathered = _Gathered()
    left: deque[tuple[JSON, tuple[str, ...]]] = deque([(schema, ())])
    for _ in range(_MOST_SCHEMAS):
        if not left:
            return gathered.expected()
        part, trail = left.popleft()
        found = resolve(part, root, trail)
        branches = gathered.take(found)
        if branches is None:
            return Expected()
        left.extend((branch, found.trail) for branch in branches)
    return Expected()


class _Gathered:
    """The combined types and choices of a union's branches."""

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._choices: list[JSON] = []

    def take(self, found: Resolved) -> list[JSON] | None:
        """Add what one schema allows; return its branches, or None if that cannot be determined."""
        schema = found.schema
        names = keywords.types(schema)
        if found.nullable:
            self._types.add("null")
        if found.reason or not _WORDS.keys() >= set(names):
            return None
        if "const" in schema:
            self._choices.append(schema["const"])
        elif isinstance(enum := schema.get("enum"), list):
            self._choices.extend(enum)
        elif branches := keywords.schemas(schema, "anyOf") or keywords.schemas(schema, "oneOf"):
            return branches
        else:
            self._types.update(names)
            return [] if names else None
        return []

    def expected(self) -> Expected:
        return Expected(frozenset(self._types), tuple(self._choices))


def _as_json(word: str) -> list[JSON]:
    """Return the word's value if it is JSON of another type than string."""
    try:
        value = read(word)
    except JSONTextError:
        return []
    return [] if isinstance(value, str) else [value]
