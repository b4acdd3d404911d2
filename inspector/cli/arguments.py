"""The arguments of a call, from the words of a command line: `key=value`, `key:=json`, a JSON object."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.cli.typed import Misfit, expected_by
from inspector.protocol.types import Tool
from inspector.schema import keywords
from inspector.schema.jsontext import JSONTextError, read, write_line
from inspector.schema.resolve import resolve

_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Assignment:
    """One `key=value` argument. With `is_json` it was `key:=json`, and its value is sent as is."""

    key: str
    text: str
    is_json: bool = False


def read_assignments(words: Iterable[str]) -> list[Assignment]:
    """Parse `key=value` words. Raises ConfigError for a malformed word or a repeated key."""
    assignments = [_assignment(word) for word in words]
    seen: set[str] = set()
    for one in assignments:
        if one.key in seen:
            raise ConfigError(
                f"The argument {one.key!r} is given twice.", 'For a list, write key:=\'["a", "b"]\'.'
            )
        seen.add(one.key)
    return assignments


def _assignment(word: str) -> Assignment:
    key, equals, text = word.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    if not equals or not key:
        raise ConfigError(
            f"{shorten(word, 60)!r} is no argument: write key=value or key:=json.",
            "The command that starts a server comes last, after --.",
        )
    return Assignment(key, text, is_json)


def read_object(text: str) -> JSONObject:
    """Parse the object given with `--json`. Raises ConfigError."""
    value = _read_json(text, "--json")
    if not isinstance(value, dict):
        raise ConfigError(
            f"--json must be a JSON object, got {keywords.kind_of(value)}.", "Write '{\"key\": …}'."
        )
    return value


def arguments_for(tool: Tool | None, given: Sequence[Assignment], members: JSONObject) -> JSONObject:
    """Return the arguments of a call: `members`, overridden by `given`.

    Values are parsed according to the tool's schema, if there is one. Raises ConfigError, naming the key,
    what was expected and the existing keys.
    """
    schema = _Schema(tool) if tool is not None else None
    arguments = dict(members)
    for one in given:
        if one.is_json:
            arguments[one.key] = _read_json(one.text, one.key)
        else:
            arguments[one.key] = schema.read(one) if schema is not None else one.text
    _refuse_unsendable(arguments)
    return arguments


class _Schema:
    """The properties of a tool's input schema."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._root = tool.input_schema
        schema = resolve(self._root, self._root, ("#",)).schema
        self._properties = keywords.named(schema, "properties")
        self._is_closed = schema.get("additionalProperties") is False

    def read(self, one: Assignment) -> JSON:
        if one.key not in self._properties:
            return self._unknown(one)
        try:
            return expected_by(self._properties[one.key], self._root).read(one.text)
        except Misfit as exc:
            forced = f"To send it all the same, write {_forced(one)}."
            raise ConfigError(
                f"The argument {one.key!r} must be {exc}.", f"{forced} {self._known()}"
            ) from None

    def _unknown(self, one: Assignment) -> str:
        """Return a key that the schema does not name as text, if the schema is open.

        An open schema allows any other key and says nothing about its type. Raises ConfigError if it is
        closed.
        """
        if not self._is_closed:
            return one.text
        close = difflib.get_close_matches(one.key, self._properties, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise ConfigError(
            f"The tool {self._tool.name!r} takes no argument {one.key!r}.{meant}", self._known()
        )

    def _known(self) -> str:
        names = list(self._properties)
        more = ", …" if len(names) > _MOST_NAMED else ""
        return f"Its arguments: {', '.join(names[:_MOST_NAMED]) or 'none'}{more}."


def _forced(one: Assignment) -> str:
    """Return the assignment as `key:=json` text that overrides the schema, quoted for a shell."""
    return shlex.quote(f"{one.key}:={shorten(write_line(one.text), 60)}")


def _read_json(text: str, place: str) -> JSON:
    """Read JSON from the word itself, a file (`@FILE`) or stdin (`-`).

    No JSON text begins with either.
    """
    try:
        return read(_content(text))
    except JSONTextError as exc:
        raise ConfigError(f"The JSON of {place} cannot be read: {exc}.", "Mind the shell's quotes.") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"The JSON of {place} cannot be read: {exc}.", "Check the file.") from None


def _content(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    return Path(text[1:]).read_text(encoding="utf-8-sig") if text.startswith("@") else text


def _refuse_unsendable(arguments: JSONObject) -> None:
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise ConfigError("A number in the arguments is too large to be sent.", "Give it as text.") from None
