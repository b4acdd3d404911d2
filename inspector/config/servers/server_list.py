"""The server list: a plain JSON file in the configuration folder.

It has the shape that other clients use (`{"mcpServers": {name: {...}}}`), so that it can be read and
copied. Unknown members are preserved. An invalid server is reported by name, and the others still load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.json_file import JsonDocument
from inspector.config.secrets.records import is_name
from inspector.config.servers.entries import (
    Entry,
    EntryValue,
    HttpEntry,
    NetworkSettings,
    SecretRef,
    StdioEntry,
    Timeouts,
    WebSocketEntry,
    check_continue_as,
    check_era,
    check_timeouts,
    check_url,
    error_text,
    field_name,
    is_websocket,
    member_name,
    read_auth,
    write_auth,
)
from inspector.config.servers.placeholders import has_placeholders

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class LoadedServerList:
    """Contents of a server list file: the servers, and one sentence per problem."""

    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()  # present but unusable
    names: tuple[str, ...] = ()  # all names, in file order
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class RemovedEntry:
    """A server removed from the file, as it was written there; input of `restore`."""

    name: str
    value: JSON
    position: int


class ServerListFile:
    """The server list file; writes replace it atomically.

    `writes` counts the writes of this object, so that a reader on another thread can tell whether it read
    the file before one of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writes = 0
        self._file = JsonDocument(path)

    def load(self) -> LoadedServerList:
        """Read the file; a missing file is an empty list. Never raises for invalid content."""
        try:
            servers = _servers(self._file.read())
        except ConfigError as exc:
            return LoadedServerList(problems=(str(exc),), is_readable=False)
        entries: list[Entry] = []
        problems: list[str] = []
        broken: list[str] = []
        for name, value in servers.items():
            try:
                entries.append(self._entry(name, value))
            except ConfigError as exc:
                problems.append(str(exc))
                broken.append(name)
        return LoadedServerList(tuple(entries), tuple(problems), tuple(broken), tuple(servers))

    def find(self, name: str) -> Entry:
        """Return one server by name. Raises ConfigError listing the existing names."""
        servers = _servers(self._file.read())
        if name in servers:
            return self._entry(name, servers[name])
        known = ", ".join(servers) or "none"
        raise ConfigError(f"No server named {name!r} in {self.path}.", f"It contains: {known}.")

    def save(self, entry: Entry) -> None:
        """Add a server, or overwrite it in place."""
        self.replace(entry.name, entry)

    def add(self, entry: Entry) -> None:
        """Add a new server. Raises ConfigError if the name exists, even for a broken entry."""
        with self._file.locked():
            if entry.name in _servers(self._file.read()):
                raise ConfigError(
                    f"A server named {entry.name!r} already exists in {self.path}.", "Choose another name."
                )
            self.save(entry)

    def written(self, name: str) -> JSONObject:
        """Return a server's JSON as written; {} if it does not exist. Raises ConfigError."""
        value = _servers(self._file.read()).get(name)
        return value if isinstance(value, dict) else {}

    def replace(self, name: str, entry: Entry, draft: JSONObject | None = None) -> None:
        """Write `entry` in place of the server called `name`, which may differ; otherwise append it.

        Unknown members are taken from `draft`, or else stay as they are in the file.
        """
        with self._file.locked():
            document = self._file.read()
            servers = _servers(document)
            if entry.name != name and entry.name in servers:
                raise ConfigError(
                    f"A server named {entry.name!r} already exists in {self.path}.", "Choose another name."
                )
            written = _write_over(entry, servers.get(name) if draft is None else draft)
            if name in servers:
                items = [(entry.name, written) if each == name else (each, servers[each]) for each in servers]
                servers = dict(items)
            else:
                servers[entry.name] = written
            self._write(document, servers)

    def copy(self, name: str, entry: Entry) -> None:
        """Insert a server after the one called `name`, copying that one's unknown members."""
        with self._file.locked():
            document = self._file.read()
            servers = _servers(document)
            position = list(servers).index(name) + 1 if name in servers else len(servers)
            written = _write_over(entry, servers.get(name))
            self._write(document, _inserted(servers, entry.name, written, position))

    def remove(self, name: str) -> RemovedEntry | None:
        """Remove a server; return None if it does not exist. Raises ConfigError."""
        with self._file.locked():
            document = self._file.read()
            servers = _servers(document)
            if name not in servers:
                return None
            position = list(servers).index(name)
            removed = RemovedEntry(name, servers.pop(name), position)
            self._write(document, servers)
            return removed

    def restore(self, removed: RemovedEntry) -> None:
        """Restore a removed server at its old position. Raises ConfigError if its name is taken."""
        with self._file.locked():
            document = self._file.read()
            servers = _servers(document)
            if removed.name in servers:
                raise ConfigError(
                    f"A server named {removed.name!r} already exists in {self.path}.",
                    "Rename or remove it first.",
                )
            self._write(document, _inserted(servers, removed.name, removed.value, removed.position))

    def set_enabled(self, entry: Entry, enabled: bool) -> None:
        self.save(replace(entry, enabled=enabled))

    def _entry(self, name: str, value: JSON) -> Entry:
        try:
            return read_entry(name, value)
        except ConfigError as exc:
            summary = f"{self.path.name}, server {name!r}: {exc.summary}"
            raise ConfigError(summary, exc.next_step) from exc

    def _write(self, document: JSONObject, servers: JSONObject) -> None:
        self.writes += 1
        self._file.write({**document, "mcpServers": servers})


def _servers(document: JSONObject) -> JSONObject:
    servers = document.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise ConfigError('"mcpServers" must be an object.', "Fix it in the file.")
    return {name: with_current_names(value) for name, value in servers.items()}


def with_current_names(value: JSON) -> JSON:
    """Return a server's JSON with the members that earlier versions wrote under another name."""
    if not isinstance(value, dict) or "colour" not in value:
        return value
    return {"color" if name == "colour" else name: member for name, member in value.items()}


def read_entry(name: str, value: JSON) -> Entry:
    """Parse one server. Raises ConfigError, using the names in the file."""
    from pydantic import ValidationError  # takes 55 ms to import, and a first start has no file to read

    if not isinstance(value, dict):
        raise ConfigError("it must be an object.", 'Add "command" or "url".')
    kind = _entry_class(value)
    known = {field: value[member_name(field)] for field in _fields(kind) if member_name(field) in value}
    if known.get("type") in _HTTP_ALIASES:
        known["type"] = "http"
    if "disabled" in value:
        if not isinstance(value["disabled"], bool):
            raise ConfigError("disabled: must be true or false.", "Fix it in the file.")
        known["enabled"] = not value["disabled"]
    auth = read_auth(known.pop("auth", None))
    values = {member: _read_values(member, known.pop(member)) for member in _VALUE_MEMBERS if member in known}
    try:
        entry = _validator(kind).validate_python({**_snake_cased(known), **values, "name": name})
    except ValidationError as exc:
        first = exc.errors()[0]
        location = ".".join(member_name(str(part)) for part in first["loc"])
        is_address = location in ("command", "url")
        next_step = 'A server needs "command" or "url".' if is_address else "Fix it in the file."
        raise ConfigError(f"{location}: {error_text(first['msg'])}.", next_step) from exc
    if isinstance(entry, HttpEntry):
        entry = replace(entry, auth=auth)
    check_era(entry.era)
    check_continue_as(entry.continue_as)
    check_timeouts(entry.timeouts)
    if not isinstance(entry, StdioEntry) and not has_placeholders(entry.url):
        check_url(entry.url)
    return entry


_validators: dict[type, TypeAdapter[Entry]] = {}


def _validator(kind: type[Entry]) -> TypeAdapter[Entry]:
    """Return a cached validator: building one takes 2 ms, and there may be hundreds of servers."""
    from pydantic import TypeAdapter

    if kind not in _validators:
        _validators[kind] = TypeAdapter(kind)
    return _validators[kind]


def _entry_class(value: JSONObject) -> type[Entry]:
    """Return the entry class, by `type` (as other clients write it) or else by the members."""
    type = value.get("type")
    if type in ("ws", "websocket") or is_websocket(str(value.get("url", ""))):
        return WebSocketEntry
    return HttpEntry if "url" in value else StdioEntry


def _write_over(entry: Entry, before: JSON) -> JSONObject:
    return write_entry(entry, before if isinstance(before, dict) else {})


def _inserted(servers: JSONObject, name: str, value: JSON, position: int) -> JSONObject:
    items = list(servers.items())
    return dict([*items[:position], (name, value), *items[position:]])


def write_entry(entry: Entry, before: JSONObject | None = None) -> JSONObject:
    """Return a server's members, leaving out defaults that were not in the file.

    `before` is the previous content; its unknown members are preserved.
    """
    kind, before = type(entry), before or {}
    others = {member_name(field) for other in _KINDS for field in _fields(other)} - set(
        map(member_name, _fields(kind))
    )
    if _entry_class(before) is kind:
        others.discard("type")
    value = {member: content for member, content in before.items() if member not in {*others, "disabled"}}
    defaults = _defaults(kind)
    for field in _fields(kind):
        if field == "auth":
            content = write_auth(getattr(entry, field), value.get("auth"))
        elif field in _VALUE_MEMBERS:
            content = _write_values(getattr(entry, field), value.get(field))
        else:
            content = _content(getattr(entry, field))
        if field in _NESTED:
            content = _with_unknown(field, content, value.get(member_name(field)))
        if (
            content != defaults.get(field)
            or field in ("command", "args", "url")
            or member_name(field) in value
        ):
            value[member_name(field)] = content
    return value


_HTTP_ALIASES = ("streamable-http", "streamableHttp", "streamable_http")  # as other clients write it
_NESTED = {"network": NetworkSettings, "timeouts": Timeouts}
_VALUE_MEMBERS = ("env", "headers")
_KINDS: tuple[type[Entry], ...] = (StdioEntry, HttpEntry, WebSocketEntry)


def _fields(kind: type[Entry]) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "name"]


def _defaults(kind: type[Entry]) -> JSONObject:
    values: JSONObject = {}
    for field in fields(kind):
        if field.default is not MISSING:
            values[field.name] = _content(field.default)
        elif field.default_factory is not MISSING:
            values[field.name] = _content(field.default_factory())
    return values


def _content(value: object) -> JSON:
    """Return a field as JSON: tuples as arrays, settings as objects of non-default members."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            member_name(field.name): _content(getattr(value, field.name))
            for field in fields(value)
            if getattr(value, field.name) != field.default
        }
    return cast(JSON, list(value) if isinstance(value, tuple) else value)


def _with_unknown(field: str, content: JSON, before: JSON) -> JSON:
    """Return settings as written, keeping the unknown members of `before`."""
    known = {member_name(own.name) for own in fields(_NESTED[field])}
    written = content if isinstance(content, dict) else {}
    members = before if isinstance(before, dict) else {}
    return {**{name: item for name, item in members.items() if name not in known}, **written}


def _read_values(member: str, value: JSON) -> JSON | dict[str, EntryValue]:
    """Parse headers or environment variables, including secret references."""
    if not isinstance(value, dict):
        return value
    return {name: _read_reference(f"{member}.{name}", content) for name, content in value.items()}


def _read_reference(location: str, content: JSON) -> EntryValue:
    if isinstance(content, str):
        return content
    if not isinstance(content, dict):
        raise ConfigError(f"{location}: must be a string.", "Fix it in the file.")
    ref = content.get("ref")
    if not isinstance(ref, str) or not is_name(ref):
        raise ConfigError(
            f"{location}: not a valid secret reference.",
            'Use a string, or reference a stored secret: {"ref": "…"}.',
        )
    return SecretRef(ref)


def _write_values(values: Mapping[str, EntryValue], before: JSON) -> JSON:
    """Return headers or environment variables as JSON; references keep their unknown members."""
    known = before if isinstance(before, dict) else {}
    written: JSONObject = {}
    for name, content in values.items():
        if isinstance(content, SecretRef):
            reference = known.get(name)
            written[name] = {**(reference if isinstance(reference, dict) else {}), "ref": content.ref}
        else:
            written[name] = content
    return written


def _snake_cased(value: JSONObject) -> JSONObject:
    """Convert the member names of `network` and `timeouts` to field names."""
    return {
        name: {field_name(key): item for key, item in content.items()}
        if name in _NESTED and isinstance(content, dict)
        else content
        for name, content in value.items()
    }
