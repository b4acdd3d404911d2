"""Files of other tools: opened with care, read in the form of their tool, and set against one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject
from inspector.base.plaintext import one_line
from inspector.config.exactfile import read_text
from inspector.config.finding import FoundFile, FoundServer, Source
from inspector.config.formats.document import EMPTY, MOST_BYTES, Document, Syntax, read_document
from inspector.config.formats.forms import FORMS, Form, switched_off, tables_of
from inspector.config.formats.registrycard import is_card, servers_of_card
from inspector.config.formats.servertables import servers_at
from inspector.config.places import Place


@dataclass(frozen=True, slots=True)
class _Read:
    """A file, and the servers that it disables, in whichever file they are defined."""

    file: FoundFile
    off: frozenset[str] = frozenset()
    is_worth_showing: bool = True


def read_places(places: Sequence[Place]) -> tuple[FoundFile, ...]:
    """Read all existing files, in the order of `places`."""
    documents = _Documents()
    read = [each for place in places if (each := _read_place(place, documents)) is not None]
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
        raise ConfigError("There is no such file.", "It may have been moved.")
    return text


def _read_place(place: Place, documents: _Documents) -> _Read | None:
    source = Source(place.tool, place.scope, place.path, place.folder)
    form = FORMS[place.form]
    try:
        document = documents.at(place.path, form.syntax)
    except ConfigError as exc:
        is_ours = form.holds != "card"  # an unrelated `server.json` is not an error
        return _Read(FoundFile(source, problem=str(exc)), is_worth_showing=is_ours)
    if document is None:
        return None
    if form.holds == "card":
        return _read_card(document, source)
    return _read_servers(document, place, form, source)


def _text_of(path: Path) -> str | None:
    """Return the file's text, None if it does not exist. Raises ConfigError."""
    try:
        return read_text(path, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError) as exc:
        if path.is_symlink():
            raise ConfigError("It is a link that leads nowhere.", "Correct or remove the link.") from exc
        return None
    except UnicodeDecodeError as exc:
        line = exc.object[: exc.start].count(b"\n") + 1
        raise ConfigError(f"It is not UTF-8 text, from line {line} on.", "Save it as UTF-8.") from exc
    except (OSError, ValueError) as exc:  # ValueError: NUL in the path
        cause = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ConfigError(f"It cannot be read: {one_line(cause)}.", "Check the file and its rights.") from exc


def _read_card(document: Document, source: Source) -> _Read:
    if not is_card(document.value):
        return _Read(FoundFile(source), is_worth_showing=False)
    return _Read(FoundFile(source, servers_of_card(document.value, source)))


def _read_servers(document: Document, place: Place, form: Form, source: Source) -> _Read:
    value = document.value
    off = frozenset(switched_off(value, form, place.folder))
    servers: list[FoundServer] = []
    remarks: list[str] = []
    paths = [] if form.holds == "switches" else tables_of(value, form, place.folder)
    for path in paths:
        folder = Path(path[1]) if form.holds == "folders" else place.folder
        found, said = servers_at(document, path, replace(source, folder=folder))
        servers += _first_of_each_name(found, servers)
        remarks += said
        remarks += _other_words(path, form, place)
    if form.holds == "switches" and off:
        remarks.append(f"It switches off: {', '.join(sorted(map(one_line, off)))}.")
    if not paths and form.is_dedicated and value:
        remarks.append(f"It has no “{'.'.join(form.table)}”.")
    return _Read(
        FoundFile(source, tuple(servers), remarks=tuple(remarks)),
        off,
        bool(paths or off or form.is_dedicated),
    )


def _first_of_each_name(found: Sequence[FoundServer], before: Sequence[FoundServer]) -> list[FoundServer]:
    """Drop duplicate names: within one file, the nearer folder comes first."""
    names = {server.name for server in before}
    return [server for server in found if server.name not in names]


def _other_words(path: tuple[str, ...], form: Form, place: Place) -> list[str]:
    if form.holds == "folders" or path == form.table:
        return []
    theirs = ".".join(form.table)
    if not path:
        return [f"Its servers stand without “{theirs}” around them: not every tool reads that."]
    return [f"Its servers stand under “{'.'.join(path)}”, but {place.tool} reads “{theirs}”."]


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
    remark = f"{source.tool} was told not to use it, in {one_line(str(source.path))}."
    entry = None if server.entry is None else replace(server.entry, enabled=False)
    return replace(server, entry=entry, remarks=(*server.remarks, remark))


def servers_of(value: JSONObject, document: Document, source: Source) -> tuple[FoundServer, ...]:
    """Return the servers of a document of unknown origin, in whichever table they are."""
    if is_card(value):
        return servers_of_card(value, source)
    paths = tables_of(value, FORMS["mcp.json"], None)
    return tuple(server for path in paths for server in servers_at(document, path, source)[0])
