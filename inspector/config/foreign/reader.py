"""Reader of other tools' configuration files, with size limits and per-server errors.

Each server is parsed separately, so that an invalid one does not affect the others. A server that another
file of the same tool disables is marked as disabled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.foreign.discovery import ConfigLocation, FoundFile, FoundServer, InputSpec, Source
from inspector.config.foreign.entry_import import to_entry
from inspector.config.foreign.formats import (
    EMPTY,
    FORMS,
    MAX_BYTES,
    Document,
    Form,
    Syntax,
    TablePath,
    inputs_of,
    read_document,
    switched_off,
    table_at,
    tables_of,
)
from inspector.config.foreign.server_json import is_server_json, servers_from_server_json
from inspector.config.json_file import read_text


@dataclass(frozen=True, slots=True)
class _Read:
    """A file, and the servers that it disables, in whichever file they are defined."""

    file: FoundFile
    off: frozenset[str] = frozenset()
    is_worth_showing: bool = True


def read_locations(locations: Sequence[ConfigLocation]) -> tuple[FoundFile, ...]:
    """Read all existing files, in the order of `locations`."""
    documents = _Documents()
    read = [each for location in locations if (each := _read_location(location, documents)) is not None]
    files = [_switched(each.file, read) for each in read if each.is_worth_showing]
    return tuple(files)


class _Documents:
    """Cache of parsed files: Claude Code keeps project and user servers in the same one."""

    def __init__(self) -> None:
        self._read: dict[Path, Document | ConfigError | None] = {}

    def at(self, path: Path, syntax: Syntax) -> Document | None:
        """Return the document, None if the file does not exist. Raises ConfigError."""
        if path not in self._read:
            self._read[path] = self._document(path, syntax)
        found = self._read[path]
        if isinstance(found, ConfigError):
            raise found
        return found

    def _document(self, path: Path, syntax: Syntax) -> Document | ConfigError | None:
        try:
            text = _text_of(path)
            if text is None:
                return None
            return read_document(text, syntax) if text.strip() else EMPTY
        except ConfigError as exc:
            return exc


def read_config_text(path: Path) -> str:
    """Read a file that the user chose: a regular file within the size limit. Raises ConfigError."""
    text = _text_of(path)
    if text is None:
        raise ConfigError("File not found.", "It may have been moved.")
    return text


def _read_location(location: ConfigLocation, documents: _Documents) -> _Read | None:
    source = Source(location.tool, location.scope, location.path, location.folder)
    form = FORMS[location.form]
    try:
        document = documents.at(location.path, form.syntax)
    except ConfigError as exc:
        is_ours = form.holds != "card"  # an unrelated `server.json` is not an error
        return _Read(FoundFile(source, problem=str(exc)), is_worth_showing=is_ours)
    if document is None:
        return None
    if form.holds == "card":
        return _read_card(document, source)
    return _read_servers(document, location, form, source)


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


def _read_card(document: Document, source: Source) -> _Read:
    if not is_server_json(document.value):
        return _Read(FoundFile(source), is_worth_showing=False)
    return _Read(FoundFile(source, servers_from_server_json(document.value, source)))


def _read_servers(document: Document, location: ConfigLocation, form: Form, source: Source) -> _Read:
    value = document.value
    off = frozenset(switched_off(value, form, location.folder))
    servers: list[FoundServer] = []
    warnings: list[str] = []
    paths = [] if form.holds == "switches" else tables_of(value, form, location.folder)
    for path in paths:
        folder = Path(path[1]) if form.holds == "folders" else location.folder
        found, notes = servers_at(document, path, replace(source, folder=folder))
        servers += _first_of_each_name(found, servers)
        warnings += notes
        warnings += _other_words(path, form, location)
    if form.holds == "switches" and off:
        warnings.append(f"It disables: {', '.join(sorted(map(one_line, off)))}.")
    if not paths and form.is_dedicated and value:
        warnings.append(f"It has no “{'.'.join(form.table)}”.")
    return _Read(
        FoundFile(source, tuple(servers), notes=tuple(warnings)),
        off,
        bool(paths or off or form.is_dedicated),
    )


def _first_of_each_name(found: Sequence[FoundServer], before: Sequence[FoundServer]) -> list[FoundServer]:
    """Drop duplicate names: within one file, the nearer folder comes first."""
    names = {server.name for server in before}
    return [server for server in found if server.name not in names]


def _other_words(path: tuple[str, ...], form: Form, location: ConfigLocation) -> list[str]:
    if form.holds == "folders" or path == form.table:
        return []
    theirs = ".".join(form.table)
    if not path:
        return [f"Its servers are not inside “{theirs}”; not every tool accepts that."]
    return [f"Its servers are under “{'.'.join(path)}”, but {location.tool} reads “{theirs}”."]


def _switched(file: FoundFile, read: Sequence[_Read]) -> FoundFile:
    """Return the file with those servers disabled that another file of its tool disables."""
    who = {
        name: each.file.source
        for each in reversed(read)
        if each.file.source.tool == file.source.tool
        for name in each.off
    }
    if not any(server.name in who for server in file.servers):
        return file
    return replace(file, servers=tuple(_off(server, who.get(server.name)) for server in file.servers))


def _off(server: FoundServer, source: Source | None) -> FoundServer:
    if source is None:
        return server
    note = f"Disabled by {source.tool} in {one_line(str(source.path))}."
    entry = None if server.entry is None else replace(server.entry, enabled=False)
    return replace(server, entry=entry, notes=(*server.notes, note))


def servers_of(value: JSONObject, document: Document, source: Source) -> tuple[FoundServer, ...]:
    """Return the servers of a document of unknown origin, in whichever table they are."""
    if is_server_json(value):
        return servers_from_server_json(value, source)
    paths = tables_of(value, FORMS["mcp.json"], None)
    return tuple(server for path in paths for server in servers_at(document, path, source)[0])


MAX_SERVERS = 1000
_MAX_LINES = 8  # shown at most
_INPUT = re.compile(r"\$\{input:([^}]+)\}")
_NO_LINES: Mapping[str, list[int]] = {}
_Placed: TypeAlias = tuple[int, InputSpec]  # position in the file, and the input


def servers_at(
    document: Document, path: TablePath, source: Source
) -> tuple[tuple[FoundServer, ...], tuple[str, ...]]:
    """Return the servers of a table, and remarks about it."""
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
) -> FoundServer:
    entry, problem, warnings = to_entry(name, raw, source.tool)
    if len(lines) > 1:
        locations = ", ".join(map(str, lines[:_MAX_LINES])) + (", …" if len(lines) > _MAX_LINES else "")
        warnings = (
            f"Its name appears {len(lines)} times (lines {locations}); the last one is used.",
            *warnings,
        )
    return FoundServer(
        name=name,
        source=source,
        raw=raw if isinstance(raw, dict) else {},
        entry=entry,
        problem=problem,
        notes=warnings,
        inputs=_in_order([inputs[id] for id in inputs_named(raw) & inputs.keys()]),
        line=lines[-1] if lines else 0,
    )


def _in_order(inputs: list[_Placed]) -> tuple[InputSpec, ...]:
    return tuple(spec for _, spec in sorted(inputs, key=lambda each: each[0]))


def inputs_named(value: JSON) -> set[str]:
    """Return the ids of all `${input:…}` in a value."""
    if isinstance(value, str):
        return set(_INPUT.findall(value))
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for child in children for name in inputs_named(child)}


def as_found(name: str, raw: JSONObject, source: Source) -> FoundServer:
    """Return a single server that is not part of a table."""
    return _server(name, raw, source, (), {})
