"""Our own list of servers: plain JSON in the configuration folder.

The file has the shape that other clients use (`{"mcpServers": {name: {...}}}`), so that it can be read
by eye and copied. Members that we do not know are kept when it is written. A server that cannot be
used is reported by name, and the others still load.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, pretty
from inspector.config.entries import Entry, HttpEntry, StdioEntry, check_url

_STDIO_MEMBERS = ("command", "args", "env", "cwd")
_HTTP_MEMBERS = ("url", "headers")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file gave: the servers, and a sentence for each thing that was wrong."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()


class Catalogue:
    """Reads and writes one file. Writing replaces it whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Loaded:
        """A file that is not there is an empty catalogue. Never raises for what the file holds."""
        try:
            servers = _servers(self._read())
        except ConfigError as exc:
            return Loaded(problems=(str(exc),))
        entries: list[Entry] = []
        problems: list[str] = []
        for name, value in servers.items():
            try:
                entries.append(self._entry(name, value))
            except ConfigError as exc:
                problems.append(str(exc))
        return Loaded(tuple(entries), tuple(problems))

    def find(self, name: str) -> Entry:
        """One server by name. Raises ConfigError, naming those that there are."""
        servers = _servers(self._read())
        if name in servers:
            return self._entry(name, servers[name])
        known = ", ".join(servers) or "none"
        raise ConfigError(f"There is no server {name!r} in {self.path}.", f"Servers there: {known}.")

    def save(self, entry: Entry) -> None:
        """Add a server, or write it anew in its place."""
        document = self._read()
        servers = _servers(document)
        known = servers.get(entry.name)
        servers[entry.name] = _write_entry(entry, known if isinstance(known, dict) else {})
        self._write(document, servers)

    def remove(self, name: str) -> None:
        document = self._read()
        servers = _servers(document)
        if servers.pop(name, None) is not None:
            self._write(document, servers)

    def set_enabled(self, entry: Entry, enabled: bool) -> None:
        self.save(replace(entry, enabled=enabled))

    def _entry(self, name: str, value: JSON) -> Entry:
        try:
            return read_entry(name, value)
        except ConfigError as exc:
            summary = f"{self.path.name}, server {name!r}: {exc.summary}"
            raise ConfigError(summary, exc.next_step) from exc

    def _read(self) -> JSONObject:
        try:
            text = self.path.read_text(encoding="utf-8-sig")
            document = parse(text)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"{self.path} cannot be read: {exc}.", "Check the file.") from exc
        except JSONProblem as exc:
            raise ConfigError(f"{self.path} is not valid JSON: {exc}.", "Correct it there.") from exc
        if not isinstance(document, dict):
            raise ConfigError(f"{self.path} must hold a JSON object.", "Correct it there.")
        return document

    def _write(self, document: JSONObject, servers: JSONObject) -> None:
        path = os.path.realpath(self.path)  # people link to such files: the link is to stay
        try:
            data = (pretty({**document, "mcpServers": servers}) + "\n").encode()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except (OSError, UnicodeEncodeError) as exc:
            raise ConfigError(f"{self.path} cannot be written: {exc}.", "Nothing was changed in it.") from exc


def _replace(path: str, data: bytes) -> None:
    """Write a file anew, whole or not at all. Only its owner can read it: it may hold secrets."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _servers(document: JSONObject) -> JSONObject:
    servers = document.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise ConfigError('"mcpServers" must be an object.', "Correct it in the file.")
    return servers


def read_entry(name: str, value: JSON) -> Entry:
    """One server of a document. Raises ConfigError in the words of the file."""
    from pydantic import TypeAdapter, ValidationError  # costs 55 ms, and a first start has no file to read

    if not isinstance(value, dict):
        raise ConfigError("it must be an object.", 'Give it "command" or "url".')
    kind = HttpEntry if "url" in value else StdioEntry
    known = {key: value[key] for key in kind.__dataclass_fields__ if key in value and key != "name"}
    if "disabled" in value:
        if not isinstance(value["disabled"], bool):
            raise ConfigError("disabled: input should be a valid boolean.", "Write true or false.")
        known["enabled"] = not value["disabled"]
    try:
        entry: Entry = TypeAdapter[Entry](kind).validate_python({**known, "name": name})
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{place}: {first['msg'].lower()}.", 'A server needs "command" or "url".') from exc
    if isinstance(entry, HttpEntry):
        check_url(entry.url)
    return entry


def _write_entry(entry: Entry, known: JSONObject) -> JSONObject:
    """The members of a server; those that are at their default and were not there are left out."""
    others = _HTTP_MEMBERS if isinstance(entry, StdioEntry) else _STDIO_MEMBERS
    value = {member: content for member, content in known.items() if member not in others}
    if isinstance(entry, StdioEntry):
        value |= {"command": entry.command, "args": list(entry.args)}
        _put(value, "env", dict(entry.env))
        _put(value, "cwd", entry.cwd)
    else:
        value["url"] = entry.url
        _put(value, "headers", dict(entry.headers))
    _put(value, "roots", list(entry.roots))
    value.pop("disabled", None)
    if entry.enabled:
        value.pop("enabled", None)
    else:
        value["enabled"] = False
    return value


def _put(value: JSONObject, member: str, content: JSON) -> None:
    if content or member in value:
        value[member] = content
