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
    """One `key=value`; with `is_json` it was `key:=json`, and is sent as it is."""

    key: str
    text: str
    is_json: bool = False


def read_assignments(words: Iterable[str]) -> list[Assignment]:
    """Raises ConfigError for a word that is none, and for a key that is there twice."""
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
    """The object that `--json` gives. Raises ConfigError."""
    value = _read_json(text, "--json")
    if not isinstance(value, dict):
        raise ConfigError(
            f"--json must be a JSON object, got {keywords.kind_of(value)}.", "Write '{\"key\": …}'."
        )
    return value


def arguments_for(tool: Tool | None, given: Sequence[Assignment], members: JSONObject) -> JSONObject:
    """The members, with what was given over them; values are read with the tool's schema, if there is one.

    Raises ConfigError, naming the key, what was expected, and the keys that there are.
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
    """The properties of one tool's input."""

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
        """An open schema may have any other key, and nothing is known of it: text."""
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
    """The same as text, whatever the schema says, as it is typed in a shell."""
    return shlex.quote(f"{one.key}:={shorten(write_line(one.text), 60)}")


def _read_json(text: str, place: str) -> JSON:
    """JSON in the word itself, in a file (`@FILE`) or on stdin (`-`). No JSON begins with either."""
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
