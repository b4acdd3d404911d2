"""Reader of other clients' configuration files, with size limits and per-server errors.

Each server is parsed separately, so that an invalid one does not affect the others. A server that another
file of the same client disables is marked as disabled. Claude Code's settings also contain permission rules.
"""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.foreign.discovery import (
    ConfigLocation,
    DiscoveredFile,
    DiscoveredServer,
    DiscoveredServers,
    InputSpec,
    Source,
)
from inspector.config.foreign.entry_import import to_entry
from inspector.config.foreign.formats import (
    EMPTY,
    FILE_FORMATS,
    MAX_BYTES,
    Document,
    FileFormat,
    Syntax,
    TablePath,
    disabled_servers,
    inputs_of,
    is_server_setting,
    read_document,
    table_at,
    tables_of,
)
from inspector.config.foreign.permissions import (
    PermissionRule,
    has_only_managed_rules,
    rules_in,
    without_unmanaged,
)
from inspector.config.foreign.server_json import is_server_json, servers_from_server_json
from inspector.config.json_file import read_text

_log = logging.getLogger(__name__)

MAX_SERVERS = 1000
_MAX_LINES = 8  # shown at most
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_NO_LINES: Mapping[str, list[int]] = {}
_Placed: TypeAlias = tuple[int, InputSpec]  # position in the file, and the input


def read_locations(locations: Sequence[ConfigLocation]) -> tuple[ReadFile | None, ...]:
    """Read the file of each location, None if it does not exist. Never raises for a file's content."""
    documents = _Documents()
    return tuple(_read_safely(location, documents) for location in locations)


def read_packed(data: bytes) -> tuple[ReadFile | None, ...]:
    """Run `read_locations` in a worker process; `data` are the pickled locations."""
    return read_locations(pickle.loads(data))  # noqa: S301  # pickled by our own process


def discovered(read: Iterable[ReadFile | None]) -> DiscoveredServers:
    """Return the files to show, with those servers disabled that another file disables, and all rules."""
    found = [each for each in read if each is not None]
    files = tuple(_with_disabled(each.file, found) for each in found if each.is_shown)
    rules = tuple(rule for each in found for rule in each.rules)
    managed = next((each.file.source for each in found if each.has_only_managed_rules), None)
    return DiscoveredServers(files, rules if managed is None else without_unmanaged(rules, managed))


def read_config_text(path: Path) -> str:
    """Read a file that the user chose: a regular file within the size limit. Raises ConfigError."""
    text = _text_of(path)
    if text is None:
        raise ConfigError("File not found.", "It may have been moved.")
    return text


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file, the servers that it disables, in whichever file they are defined, and its permission rules."""

    file: DiscoveredFile
    disabled: frozenset[str] = frozenset()
    is_shown: bool = True
    rules: tuple[PermissionRule, ...] = ()
    has_only_managed_rules: bool = False


class _Documents:
    """Cache of parsed files: Claude Code stores project and user servers in the same one."""

    def __init__(self) -> None:
        self._read: dict[Path, Document | ConfigError | None] = {}

    def at(self, path: Path, syntax: Syntax) -> Document | None:
        """Return the document, None if the file does not exist. Raises ConfigError."""
        if path not in self._read:
            self._read[path] = self._document(path, syntax)
        document = self._read[path]
        if isinstance(document, ConfigError):
            raise document
        return document

    def _document(self, path: Path, syntax: Syntax) -> Document | ConfigError | None:
        try:
            text = _text_of(path)
            if text is None:
                return None
            return read_document(text, syntax) if text.strip() else EMPTY
        except ConfigError as exc:
            return exc


def unreadable(location: ConfigLocation, problem: str) -> ReadFile:
    """Return a file that could not be read; the problem is shown with it."""
    is_shown = FILE_FORMATS[location.format].content != "registry"  # an unrelated `server.json` is no error
    return ReadFile(DiscoveredFile(_source_of(location), problem=problem), is_shown=is_shown)


def _source_of(location: ConfigLocation) -> Source:
    return Source(location.tool, location.scope, location.path, location.folder)


def _read_safely(location: ConfigLocation, documents: _Documents) -> ReadFile | None:
    try:
        return _read_location(location, documents)
    except Exception as exc:  # a bug in a parser must not hide the servers of all other files
        _log.exception("could not read %s", location.path)
        reason = one_line(shorten(str(exc), 200)).rstrip(".")
        return unreadable(location, f"MCP Lens could not read it: {type(exc).__name__}: {reason}.")


def _read_location(location: ConfigLocation, documents: _Documents) -> ReadFile | None:
    source = _source_of(location)
    format = FILE_FORMATS[location.format]
    try:
        document = documents.at(location.path, format.syntax)
    except ConfigError as exc:
        return unreadable(location, str(exc))
    if document is None:
        return None
    if format.content == "registry":
        return _read_server_json(document, source)
    return _read_servers(document, location, format, source)


def _text_of(path: Path) -> str | None:
    """Return the file's text, None if it does not exist. Raises ConfigError."""
    try:
        return read_text(path, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError) as exc:
        if path.is_symlink():
            raise ConfigError("It is a broken link.", "Fix or remove the link.") from exc
        return None
    except UnicodeDecodeError as exc:
        line = exc.object[: exc.start].count(b"\n") + 1
        raise ConfigError(f"It is not valid UTF-8 from line {line} on.", "Save it as UTF-8.") from exc
    except (OSError, ValueError) as exc:  # ValueError: NUL in the path
        cause = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ConfigError(
            f"Could not read it: {one_line(cause)}.", "Check the file and its permissions."
        ) from exc


def _read_server_json(document: Document, source: Source) -> ReadFile:
    if not is_server_json(document.value):
        return ReadFile(DiscoveredFile(source), is_shown=False)
    return ReadFile(DiscoveredFile(source, servers_from_server_json(document.value, source)))


def _read_servers(
    document: Document, location: ConfigLocation, format: FileFormat, source: Source
) -> ReadFile:
    value = document.value
    disabled = frozenset(disabled_servers(value, format, location.folder))
    servers: list[DiscoveredServer] = []
    notes: list[str] = []
    paths = tables_of(value, format, location.folder)
    is_settings = format.content == "settings"
    for path in paths:
        folder = Path(path[1]) if format.content == "folders" else location.folder
        found, table_notes = servers_at(document, path, replace(source, folder=folder))
        if is_settings:
            found = tuple(_ignored(each) for each in found if path or is_server_setting(each.name, each.raw))
        servers += _first_of_each_name(found, servers)
        notes += [*table_notes, *_path_notes(path, format, location)]
    if is_settings and disabled:
        notes.append(f"It disables: {', '.join(sorted(map(one_line, disabled)))}.")
    if not paths and format.is_dedicated and value:
        notes.append(f"It has no “{'.'.join(format.table)}”.")
    rules, rule_notes = rules_in(value, source) if location.has_rules else ((), ())
    return ReadFile(
        DiscoveredFile(source, tuple(servers), notes=(*notes, *rule_notes)),
        disabled,
        bool(paths or disabled or rule_notes or format.is_dedicated),
        rules,
        location.scope == "system" and location.has_rules and has_only_managed_rules(value),
    )


def _ignored(server: DiscoveredServer) -> DiscoveredServer:
    """Return a server in Claude Code's settings with a note that it is not used there."""
    name = server.source.path.name if server.source.path is not None else ""
    note = f"Current Claude Code ignores servers in {name}. Use .mcp.json or “claude mcp add” instead."
    return replace(server, notes=(note, *server.notes), is_ignored=True)


def _first_of_each_name(
    found: Sequence[DiscoveredServer], before: Sequence[DiscoveredServer]
) -> list[DiscoveredServer]:
    """Drop duplicate names: within one file, the nearer folder comes first."""
    names = {server.name for server in before}
    return [server for server in found if server.name not in names]


def _path_notes(path: tuple[str, ...], format: FileFormat, location: ConfigLocation) -> list[str]:
    if format.content == "folders" or path == format.table:
        return []
    expected = ".".join(format.table)
    if not path:
        return [f"Its servers are not inside “{expected}”; not every client accepts that."]
    return [f"Its servers are under “{'.'.join(path)}”, but {location.tool} reads “{expected}”."]


def _with_disabled(file: DiscoveredFile, read: Sequence[ReadFile]) -> DiscoveredFile:
    """Return the file with those servers disabled that another file of its client disables."""
    disabled_by = {
        name: each.file.source
        for each in reversed(read)
        if each.file.source.tool == file.source.tool
        for name in each.disabled
    }
    if not any(server.name in disabled_by for server in file.servers):
        return file
    servers = tuple(_disabled(server, disabled_by.get(server.name)) for server in file.servers)
    return replace(file, servers=servers)


def _disabled(server: DiscoveredServer, source: Source | None) -> DiscoveredServer:
    if source is None:
        return server
    note = f"Disabled by {source.tool} in {one_line(str(source.path))}."
    entry = None if server.entry is None else replace(server.entry, enabled=False)
    return replace(server, entry=entry, notes=(*server.notes, note))


def servers_of(value: JSONObject, document: Document, source: Source) -> tuple[DiscoveredServer, ...]:
    """Return the servers of a document of unknown origin, in whichever table they are."""
    if is_server_json(value):
        return servers_from_server_json(value, source)
    paths = tables_of(value, FILE_FORMATS["mcp.json"], None)
    return tuple(server for path in paths for server in servers_at(document, path, source)[0])


def servers_at(
    document: Document, path: TablePath, source: Source
) -> tuple[tuple[DiscoveredServer, ...], tuple[str, ...]]:
    """Return the servers of a table, and notes about it."""
    table = table_at(document.value, path)
    if not isinstance(table, dict):
        return (), (f"“{'.'.join(path)}” must be an object.",)
    try:
        lines = document.lines_of(path)
    except JSONError:  # parsed before, so only pathological text gets here
        lines = _NO_LINES
    specs = inputs_of(document.value, path) if path else ()
    inputs = {spec.id: (location, spec) for location, spec in enumerate(specs)}
    items = [(name, raw) for name, raw in table.items() if path or isinstance(raw, dict)]
    servers = tuple(
        _server(name, raw, source, lines.get(name, ()), inputs) for name, raw in items[:MAX_SERVERS]
    )
    too_many = f"Only the first {plural(MAX_SERVERS, 'server')} of {len(items)} are shown."
    return servers, (too_many,) if len(items) > MAX_SERVERS else ()


def _server(
    name: str, raw: JSON, source: Source, lines: Sequence[int], inputs: Mapping[str, _Placed]
) -> DiscoveredServer:
    entry, problem, notes = to_entry(name, raw, source.tool)
    if len(lines) > 1:
        locations = ", ".join(map(str, lines[:_MAX_LINES])) + (", …" if len(lines) > _MAX_LINES else "")
        notes = (
            f"Its name appears {len(lines)} times (lines {locations}); the last one is used.",
            *notes,
        )
    return DiscoveredServer(
        name=name,
        source=source,
        raw=raw if isinstance(raw, dict) else {},
        entry=entry,
        problem=problem,
        notes=notes,
        inputs=_in_order([inputs[id] for id in input_ids(raw) & inputs.keys()]),
        line=lines[-1] if lines else 0,
    )


def _in_order(inputs: list[_Placed]) -> tuple[InputSpec, ...]:
    return tuple(spec for _, spec in sorted(inputs, key=lambda each: each[0]))


def input_ids(value: JSON) -> set[str]:
    """Return the ids of all `${input:…}` in a value."""
    if isinstance(value, str):
        return set(_INPUT.findall(value))
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for child in children for name in input_ids(child)}


def single_server(name: str, raw: JSONObject, source: Source) -> DiscoveredServer:
    """Return a single server that is not part of a table."""
    return _server(name, raw, source, (), {})
