"""A file of servers as a value that knows its lines: JSON, JSON with comments, or TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Literal, TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.jsonspan import member_places
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem
from inspector.base.units import size
from inspector.config.formats import jsonc

Syntax: TypeAlias = Literal["json", "toml"]

MOST_BYTES = 16 * 1024 * 1024  # Claude Code stores the history of every project in the same file
MOST_TOML = 1024 * 1024
_DEEPEST = 100
_LONG_KEY = re.compile(rf"(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_DEEPEST}}}")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file; `lines_of` maps a table's members to the line numbers where they begin."""

    value: JSONObject
    lines_of: Callable[[tuple[str, ...]], Mapping[str, list[int]]]


EMPTY = Document({}, lambda path: {})


def read_document(text: str, syntax: Syntax) -> Document:
    """Parse a file. Raises ConfigError with line and column."""
    return _read_toml(text) if syntax == "toml" else _read_json(text)


def _read_json(text: str) -> Document:
    try:
        value, plain = jsonc.read(text)
    except JSONProblem as exc:
        words = str(exc).replace(" at at ", " at ")  # Python's wording for an unterminated string
        raise ConfigError(f"It is not valid JSON: {words}.", "Correct it there.") from exc

    def lines_of(path: tuple[str, ...]) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        line, before = 1, 0
        for name, at in member_places(plain, *path):  # in order, so that no line is counted twice
            line, before = line + plain.count("\n", before, at), at
            found.setdefault(name, []).append(line)
        return found

    return Document(_checked(value, "a JSON object"), lines_of)


def _read_toml(text: str) -> Document:
    if len(text) > MOST_TOML:
        raise ConfigError(f"It is bigger than {size(MOST_TOML)}.", "Keep the servers in a file of their own.")
    if _LONG_KEY.search(text):  # Python's parser is quadratic in the key length
        raise _too_deep()
    try:
        value = _as_json(tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as exc:
        words = str(exc).replace("at end of document", f"at {jsonc.place_of(text, len(text))}")
        raise ConfigError(f"It is not valid TOML: {words}.", "Correct it there.") from exc
    except RecursionError as exc:
        raise _too_deep() from exc
    return Document(_checked(value, "a table"), lambda path: _toml_lines(text, path))


def _toml_lines(text: str, path: tuple[str, ...]) -> Mapping[str, list[int]]:
    """Find lines by table headers; a server written any other way has no line."""
    prefix = r"\s*\.\s*".join(re.escape(name) for name in path)
    header = re.compile(
        rf"[ \t]*\[\s*{prefix}\s*\.\s*(?:\"([^\"\n]+)\"|'([^'\n]+)'|([A-Za-z0-9_-]+))\s*[.\]]"
    )
    found: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := header.match(line):
            name = next(group for group in match.groups() if group is not None)
            found.setdefault(name, [number])
    return found


def _checked(value: JSON, what: str) -> JSONObject:
    if not isinstance(value, dict):
        raise ConfigError(f"It must hold {what}.", "Correct it there.")
    if _is_too_deep(value):
        raise _too_deep()
    return value


def _too_deep() -> ConfigError:
    return ConfigError("It is nested too deeply to be read.", "No list of servers needs that.")


def _is_too_deep(value: JSON) -> bool:
    level: list[JSON] = [value]
    for _ in range(_DEEPEST):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return [child for child in value.values() if isinstance(child, dict | list)]
    return [child for child in value if isinstance(child, dict | list)] if isinstance(value, list) else []


def _as_json(value: object) -> JSON:
    """Convert TOML to JSON: dates and times, which JSON lacks, become text."""
    if isinstance(value, dict):
        return {str(name): _as_json(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_as_json(child) for child in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    assert isinstance(value, bool | int | float | str)
    return value
