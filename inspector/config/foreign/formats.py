"""File formats of other clients: JSONC and TOML parsers, and the server table of each client.

A parsed `Document` knows the line of each member. In JSON, comments, trailing commas and a byte order
mark are replaced by spaces, so that every other character keeps its offset and errors name the line and
column of the original file. `FILE_FORMATS` is the table of formats. No I/O.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Literal, TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.scanner import member_locations
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.base.units import size
from inspector.config.foreign.discovery import InputSpec
from inspector.config.json_file import read_exactly

Syntax: TypeAlias = Literal["json", "toml"]
TablePath: TypeAlias = tuple[str, ...]

MAX_BYTES = 16 * 1024 * 1024  # Claude Code stores the history of every project in the same file
MAX_TOML_SIZE = 1024 * 1024
_MAX_INTEGER_BITS = 4096  # written in hexadecimal; Python refuses to write much larger ones in decimal
_MAX_DEPTH = 100
MAX_DIGITS = 1000
_DIGITS = re.compile(r"[0-9][0-9_]*")
# The parts of a dotted TOML key, which is on one line: a bare or quoted name, a dot, or anything else. Each
# character is looked at once.
_KEY_PART = re.compile(
    r"""(?P<name>[\w-]+|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\n]*'?)"""
    r"""|[ \t]+|(?P<dot>\.)|(?P<other>[^\w\-"'. \t]+)"""
)
# Matches anywhere without backtracking. No possessive groups: those with a lookahead inside lose their match
# on Python 3.11.2.
_TOKEN = re.compile(
    r'"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?'  # a string; an unterminated one is left to the JSON parser
    r"|//[^\r\n]*|/\*"  # a line comment, or the start of a block comment
    r"|[\[\]{},:]"
    r"|\s+"
    r'|[^\s"/\[\]{},:]+'
    r"|."
)
_NO_LINE_BREAK = re.compile(r"[^\r\n]")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A file format; `table` is where the client stores its servers.

    A dedicated file contains only servers: there the tables of other clients are accepted too, and servers
    without any table. `content` says what is read: servers, servers per folder, Claude Code's settings
    (servers, also without a table, which of them are disabled, and permission rules), or a `server.json` of
    the registry.
    """

    table: TablePath
    syntax: Syntax = "json"
    is_dedicated: bool = True
    content: Literal["servers", "folders", "settings", "registry"] = "servers"


FILE_FORMATS: dict[str, FileFormat] = {
    "mcp.json": FileFormat(("mcpServers",)),
    "claude-user": FileFormat(("mcpServers",), is_dedicated=False),
    "claude-folder": FileFormat(("projects",), is_dedicated=False, content="folders"),
    "claude-settings": FileFormat(("mcpServers",), is_dedicated=False, content="settings"),
    "claude-desktop": FileFormat(("mcpServers",), is_dedicated=False),
    "vscode": FileFormat(("servers",)),
    "vscode-settings": FileFormat(("mcp", "servers"), is_dedicated=False),
    "zed": FileFormat(("context_servers",), is_dedicated=False),
    "codex": FileFormat(("mcp_servers",), syntax="toml", is_dedicated=False),
    "gemini": FileFormat(("mcpServers",), is_dedicated=False),
    "registry": FileFormat((), content="registry"),
}

_TABLES: tuple[TablePath, ...] = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("context_servers",),
    ("mcp_servers",),
)
# Members of Claude Code's settings that may look like a server; `statusLine` is a command, for example.
_SETTINGS = frozenset(
    {"env", "hooks", "permissions", "sandbox", "statusLine", "subagentStatusLine", "fileSuggestion"}
)
_ADDRESS_MEMBERS = ("command", "url", "serverUrl", "httpUrl")


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
        value, plain = read_jsonc(text)
    except JSONError as exc:
        message = str(exc).replace(" at at ", " at ")  # Python's wording for an unterminated string
        raise ConfigError(f"It is not valid JSON: {message}.", "Fix it in the file.") from exc

    def lines_of(path: tuple[str, ...]) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        line, before = 1, 0
        for name, at in member_locations(plain, *path):  # in order, so that no line is counted twice
            line, before = line + plain.count("\n", before, at), at
            found.setdefault(name, []).append(line)
        return found

    return Document(_require_table(value, "a JSON object"), lines_of)


def _read_toml(text: str) -> Document:
    if len(text) > MAX_TOML_SIZE:
        raise ConfigError(f"It is larger than {size(MAX_TOML_SIZE)}.", "Move the servers to a separate file.")
    if _has_long_key(text):  # Python's parser is quadratic in the key length
        raise _too_deep()
    _check_digits(text)
    try:
        value = _as_json(tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as exc:
        message = str(exc).replace("at end of document", f"at {position_of(text, len(text))}")
        raise ConfigError(f"It is not valid TOML: {message}.", "Fix it in the file.") from exc
    except RecursionError as exc:
        raise _too_deep() from exc
    except ValueError as exc:  # a hexadecimal number, which `_check_digits` does not look for
        raise ConfigError(f"It contains a value that cannot be used: {exc}.", "Fix it in the file.") from exc
    return Document(_require_table(value, "a TOML table"), lambda path: _toml_lines(text, path))


def _has_long_key(text: str) -> bool:
    """True if a key has more than `_MAX_DEPTH` parts."""
    if text.count(".") < _MAX_DEPTH:
        return False
    length, is_after_name = 0, False
    for match in _KEY_PART.finditer(text):
        if match["name"] is not None:
            length = 0 if is_after_name else length
            is_after_name = True
        elif match["dot"] is not None:
            length = length + 1 if is_after_name else 0
            is_after_name = False
        elif match["other"] is not None:
            length, is_after_name = 0, False
        if length >= _MAX_DEPTH:
            return True
    return False


def _check_digits(text: str) -> None:
    """Raise ConfigError for a number that takes Python very long to convert, or that it refuses."""
    for match in _DIGITS.finditer(text):
        if match.end() - match.start() > MAX_DIGITS:
            position = position_of(text, match.start())
            raise ConfigError(
                f"The number at {position} has more than {MAX_DIGITS:,} digits.", "Shorten it in the file."
            )


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


def _require_table(value: JSON, what: str) -> JSONObject:
    if not isinstance(value, dict):
        raise ConfigError(f"It must contain {what}.", "Fix it in the file.")
    if _is_too_deep(value):
        raise _too_deep()
    return value


def _too_deep() -> ConfigError:
    return ConfigError("It is nested too deeply to parse.", "Reduce the nesting.")


def _is_too_deep(value: JSON) -> bool:
    level: list[JSON] = [value]
    for _ in range(_MAX_DEPTH):
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
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        raise ValueError(f"an integer of {value.bit_length():,} bits")
    return value


def tables_of(value: JSONObject, format: FileFormat, folder: Path | None) -> list[TablePath]:
    """Return the paths of the server tables in this document; empty if there are none."""
    if format.content == "folders":
        return [("projects", key, "mcpServers") for key in _folder_keys(value, folder)]
    if table_at(value, format.table) is not None:
        return [format.table]
    if format.content == "settings":
        return [()] if any(is_server_setting(name, item) for name, item in value.items()) else []
    if not format.is_dedicated:
        return []
    others = [path for path in _TABLES if table_at(value, path) is not None]
    if others:
        return others[:1]
    return [()] if _is_flat(value) else []


def table_at(value: JSONObject, path: TablePath) -> JSON:
    """Return the value at a path, None if absent."""
    found: JSON = value
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _is_flat(value: JSONObject) -> bool:
    """True for servers by name without an enclosing table."""
    return any(isinstance(item, dict) and is_server(item) for item in value.values())


def is_server(value: JSON) -> bool:
    """True if the value looks like a server."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), str) or (name == "command" and name in value) for name in _ADDRESS_MEMBERS
    )


def is_server_setting(name: str, value: JSON) -> bool:
    """True if a member of Claude Code's settings looks like a server without an enclosing table."""
    is_setting = name in _SETTINGS or not isinstance(value, dict) or value.get("type") == "command"
    return not is_setting and is_server(value)


def _folder_keys(value: JSONObject, folder: Path | None) -> Iterator[str]:
    """Yield Claude Code's project keys for a folder; they use slashes on Windows too."""
    projects = value.get("projects")
    if folder is None or not isinstance(projects, dict):
        return
    for each in (folder, *folder.parents):
        for key in {str(each): None, each.as_posix(): None}:
            if table_at(value, ("projects", key, "mcpServers")):
                yield key


def disabled_servers(value: JSONObject, format: FileFormat, folder: Path | None) -> Iterator[str]:
    """Yield the names of disabled servers (Claude Code, Gemini CLI)."""
    if format.content == "settings":
        yield from _texts(value.get("disabledMcpjsonServers"))
    if format.content == "folders" and folder is not None:
        for key in {str(folder): None, folder.as_posix(): None}:
            for member in ("disabledMcpServers", "disabledMcpjsonServers"):
                yield from _texts(table_at(value, ("projects", key, member)))
    excluded = table_at(value, ("mcp", "excluded"))  # Gemini CLI
    yield from _texts(excluded)


def inputs_of(value: JSONObject, table: TablePath) -> tuple[InputSpec, ...]:
    """Return VS Code's `inputs`, which are next to the server table."""
    items = table_at(value, (*table[:-1], "inputs"))
    specs = (_input(item) for item in items) if isinstance(items, list) else ()
    return tuple(spec for spec in specs if spec is not None)


def _input(item: JSON) -> InputSpec | None:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return None
    return InputSpec(
        id=str(item["id"]),
        description=_text(item.get("description")),
        is_password=item.get("password") is True,
        default=_text(item.get("default")),
        options=tuple(_options(item.get("options"))),
    )


def _options(value: JSON) -> Iterable[str]:
    for option in value if isinstance(value, list) else ():
        yield _text(option.get("value") if isinstance(option, dict) else option)


def _texts(value: JSON) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def read_jsonc(text: str) -> tuple[JSON, str]:
    """Return the value, and the text as plain JSON with offsets unchanged. Raises JSONError.

    For repeated keys the last one wins; numbers keep their spelling.
    """
    text = text.removeprefix("\ufeff")
    try:
        return read_exactly(text, last_wins=True), text
    except JSONError:
        plain = blank_comments(text)
        return read_exactly(plain, last_wins=True), plain


def blank_comments(text: str) -> str:
    """Replace comments and trailing commas with spaces, keeping newlines. Raises JSONError."""
    pieces: list[str] = []
    comma = -1  # index of a piece that may turn out to be a trailing comma
    last = ""
    for piece in jsonc_tokens(text):
        if piece.startswith(("//", "/*")):
            piece = _NO_LINE_BREAK.sub(" ", piece)
        elif not piece.isspace():
            if piece in ("]", "}") and comma >= 0:
                pieces[comma] = " "
            # `[,]` has no value before its comma: still an error.
            comma = len(pieces) if piece == "," and last not in ("", "[", "{", ",", ":") else -1
            last = piece
        pieces.append(piece)
    return "".join(pieces)


def jsonc_tokens(text: str) -> Iterator[str]:
    """Yield strings, comments, punctuation, white space and everything else; together the whole text."""
    start = 0
    while token := _TOKEN.match(text, start):
        end = token.end()
        if token.group() == "/*":
            end = text.find("*/", end) + 2
            if end < 2:
                raise JSONError(f"Unterminated comment starting at {position_of(text, start)}")
        yield text[start:end]
        start = end


def line_of(text: str, at: int) -> int:
    """Return the line number, counted from 1."""
    return text.count("\n", 0, at) + 1


def position_of(text: str, at: int) -> str:
    """Return line and column, worded like the JSON parser's errors."""
    return f"line {line_of(text, at)}, column {at - text.rfind(chr(10), 0, at)}"
