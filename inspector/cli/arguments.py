"""Tool arguments from the command line: `key=value`, `key:=json`, or a JSON object.

The tool's input schema decides what a value means:

    age=41      41 if the schema says integer, "41" if it says string or nothing
    age=null    null if the schema allows null

A value that is JSON of an allowed type other than string is parsed; otherwise it is a string if the
schema allows strings; otherwise it is an error. Limits and patterns are not checked: whether the server
enforces its own rules is what a user wants to find out.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.base.command_line import quote_word
from inspector.base.errors import ConfigError
from inspector.base.json.text import JSONTextError, read, same, write_line
from inspector.base.json.values import JSON, JSONObject, shorten
from inspector.protocol.types import Tool
from inspector.schema import keywords
from inspector.schema.keywords import is_integer
from inspector.schema.references import Resolved, resolve

_MAX_NAMES = 12  # listed in an error
_MAX_CHOICES = 8  # listed in an error
_MAX_SCHEMAS = 200  # per value; bounds the cost of a hostile union
_LABELS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "array": 'a JSON array such as ["a", "b"]',
    "object": 'a JSON object such as {"a": 1}',
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Assignment:
    """One `key=value` argument. With `is_json` it was `key:=json`, and its value is sent as is."""

    key: str
    text: str
    is_json: bool = False


def read_assignments(args: Iterable[str]) -> list[Assignment]:
    """Parse `key=value` arguments. Raises ConfigError for a malformed one or a repeated key."""
    assignments = [_assignment(arg) for arg in args]
    seen: set[str] = set()
    for each in assignments:
        if each.key in seen:
            raise ConfigError(
                f"The argument {each.key!r} was given twice.", 'To pass an array, use key:=\'["a", "b"]\'.'
            )
        seen.add(each.key)
    return assignments


def _assignment(arg: str) -> Assignment:
    key, equals, text = arg.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise ConfigError(
            f"{shorten(arg, 60)!r} is not an argument. Use key=value or key:=json.",
            "Put the command that starts the server last, after --.",
        )
    return Assignment(key, text, is_json)


def read_object(text: str) -> JSONObject:
    """Parse the object given with `--json`. Raises ConfigError."""
    value = _read_json(text, "--json")
    if not isinstance(value, dict):
        raise ConfigError(
            f"--json must be a JSON object, got {keywords.kind_of(value)}.", "Write it as '{\"key\": …}'."
        )
    return value


def arguments_for(tool: Tool | None, assignments: Sequence[Assignment], members: JSONObject) -> JSONObject:
    """Return the arguments of a call: `members`, overridden by `assignments`.

    Values are parsed according to the tool's schema, if there is one. Raises ConfigError, naming the key,
    what was expected and the existing keys.
    """
    schema = _Schema(tool) if tool is not None else None
    arguments = dict(members)
    for each in assignments:
        if each.is_json:
            arguments[each.key] = _read_json(each.text, each.key)
        else:
            arguments[each.key] = schema.read(each) if schema is not None else each.text
    _check_sendable(arguments)
    return arguments


class _Schema:
    """The properties of a tool's input schema."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._root = tool.input_schema
        schema = resolve(self._root, self._root, ("#",)).schema
        self._properties = keywords.named(schema, "properties")
        self._is_closed = schema.get("additionalProperties") is False

    def read(self, assignment: Assignment) -> JSON:
        if assignment.key not in self._properties:
            return self._unknown(assignment)
        try:
            return expected_by(self._properties[assignment.key], self._root).read(assignment.text)
        except TypeMismatch as exc:
            override = f"To send it anyway, use {_override(assignment)}."
            raise ConfigError(
                f"The argument {assignment.key!r} must be {exc}.", f"{override} {self._known()}"
            ) from None

    def _unknown(self, assignment: Assignment) -> str:
        """Return a key that the schema does not name as text, if the schema is open.

        An open schema allows any other key and says nothing about its type. Raises ConfigError if it is
        closed.
        """
        if not self._is_closed:
            return assignment.text
        close = difflib.get_close_matches(assignment.key, self._properties, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise ConfigError(
            f"The tool {self._tool.name!r} has no argument {assignment.key!r}.{meant}", self._known()
        )

    def _known(self) -> str:
        names = list(self._properties)
        more = ", …" if len(names) > _MAX_NAMES else ""
        return f"Its arguments: {', '.join(names[:_MAX_NAMES]) or 'none'}{more}."


def _override(assignment: Assignment) -> str:
    """Return the assignment as `key:=json` text that overrides the schema, quoted for a shell."""
    return quote_word(f"{assignment.key}:={shorten(write_line(assignment.text), 60)}")


def _read_json(text: str, location: str) -> JSON:
    """Read JSON from the text itself, a file (`@FILE`) or stdin (`-`).

    No JSON text begins with either.
    """
    try:
        return read(_content(text))
    except JSONTextError as exc:
        raise ConfigError(
            f"Could not parse the JSON for {location}: {exc}.", "Check the shell quoting."
        ) from None
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(
            f"Could not read the JSON for {location}: {exc}.",
            "Check the path and the file's encoding (UTF-8).",
        ) from None


def _content(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    return Path(text[1:]).read_text(encoding="utf-8-sig") if text.startswith("@") else text


def _check_sendable(arguments: JSONObject) -> None:
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise ConfigError("A number in the arguments is too large to send.", "Pass it as a string.") from None


class TypeMismatch(ValueError):
    """The text is not a valid value for the schema; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a value may be: one of the types or one of the choices; if neither is set, anything."""

    types: frozenset[str] = frozenset()
    choices: tuple[JSON, ...] = ()

    def read(self, text: str) -> JSON:
        """Convert text to a value. Raises TypeMismatch."""
        if text in self.choices:
            return text
        for value in _as_json(text):
            if any(same(value, choice) for choice in self.choices) or self._allows(value):
                return value
        if "string" in self.types or not (self.types or self.choices):
            return text
        raise TypeMismatch(f"{self.as_text()}, got {shorten(text, 60)!r}")

    def as_text(self) -> str:
        choices = [write_line(choice) for choice in self.choices[:_MAX_CHOICES]]
        if len(self.choices) > _MAX_CHOICES:
            choices.append("…")
        types = [label for name, label in _LABELS.items() if name in self.types]
        return " or ".join(types + ([f"one of {', '.join(choices)}"] if choices else []))

    def _allows(self, value: JSON) -> bool:
        match value:
            case None:
                return "null" in self.types
            case bool():
                return "boolean" in self.types
            case int() | float():
                return "number" in self.types or ("integer" in self.types and is_integer(value))
            case list():
                return "array" in self.types
            case dict():
                return "object" in self.types
        return False


def expected_by(schema: JSON, root: JSONObject) -> Expected:
    """Return what a part of the schema `root` allows.

    Anything is allowed where that cannot be determined (see `schema.resolve`).
    """
    allowed = _AllowedValues()
    pending: deque[tuple[JSON, tuple[str, ...]]] = deque([(schema, ())])
    for _ in range(_MAX_SCHEMAS):
        if not pending:
            return allowed.expected()
        part, trail = pending.popleft()
        resolved = resolve(part, root, trail)
        branches = allowed.add(resolved)
        if branches is None:
            return Expected()
        pending.extend((branch, resolved.trail) for branch in branches)
    return Expected()


class _AllowedValues:
    """The combined types and choices of a union's branches."""

    def __init__(self) -> None:
        self._types: set[str] = set()
        self._choices: list[JSON] = []

    def add(self, resolved: Resolved) -> list[JSON] | None:
        """Add what one schema allows; return its branches, or None if that cannot be determined."""
        schema = resolved.schema
        names = keywords.types(schema)
        if resolved.nullable:
            self._types.add("null")
        if resolved.reason or not _LABELS.keys() >= set(names):
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


def _as_json(text: str) -> list[JSON]:
    """Return the text's value if it is JSON of another type than string."""
    try:
        value = read(text)
    except JSONTextError:
        return []
    return [] if isinstance(value, str) else [value]
