"""`server.json` of the MCP registry: import and export.

Import gives one server per package and per remote; values that the document leaves open (a key, a port,
a tenant name) become `${input:…}`, which the user is asked for. The document names packages and URLs, not
commands, so only servers started by npx, uvx, docker or dnx, or reached by URL, can be exported; the
author has to correct names and version.

https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/server-json/generic-server-json.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inspector.base.command_line import pasted_command
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.config.foreign.discovery import DiscoveredServer, InputSpec, Source
from inspector.config.foreign.entry_import import to_entry
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry

_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_REGISTRIES = {"npx": "npm", "uvx": "pypi", "docker": "oci", "dnx": "nuget"}
_RUNNER_FLAGS = frozenset({"-y", "--yes", "-i", "--rm", "-it", "-q", "--quiet"})
_VERSION = re.compile(r"(?<=.)(?:@|==)([0-9][\w.+-]*)$")
_REFERENCE = re.compile(r"\$\{(?:env:|input:)?([A-Za-z_][\w.-]*)(?::-[^{}]*)?\}")
_MAX_SERVERS = 50
_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
_TEMPLATE = re.compile(r"\{([A-Za-z_][\w.-]*)\}")


def is_server_json(value: JSONObject) -> bool:
    """True for a document of the registry, as opposed to another file of that name."""
    document = _document(value)
    schema = document.get("$schema")
    is_named = isinstance(document.get("name"), str)
    has_addresses = any(isinstance(document.get(member), list) for member in ("packages", "remotes"))
    return is_named and (has_addresses or (isinstance(schema, str) and "server.schema.json" in schema))


def servers_from_server_json(value: JSONObject, source: Source) -> tuple[DiscoveredServer, ...]:
    """Return one server per package and per remote, packages first."""
    document = _document(value)
    options = [
        *(("package", item) for item in _items(document.get("packages"))),
        *(("remote", item) for item in _items(document.get("remotes"))),
    ][:_MAX_SERVERS]
    name = str(document["name"]).rpartition("/")[2] or "server"
    names = _names(name, options)
    return tuple(
        _server(unique, kind, item, document, source)
        for unique, (kind, item) in zip(names, options, strict=True)
    )


def _document(value: JSONObject) -> JSONObject:
    """Return the document itself; the registry API wraps it in `server`."""
    inner = value.get("server")
    return inner if isinstance(inner, dict) and "name" in inner else value


def _names(name: str, options: list[tuple[str, JSONObject]]) -> Iterator[str]:
    seen: set[str] = set()
    for kind, item in options:
        registry = _text(item, "registryType", "registry_type", "registry_name") if kind == "package" else ""
        suffix = registry or _text(item, "type", "transport_type") or kind
        base = name if len(options) == 1 else f"{name}-{suffix}"
        number = 1
        unique = base
        while unique in seen:
            number += 1
            unique = f"{base}-{number}"
        seen.add(unique)
        yield unique


@dataclass(slots=True)
class _Inputs:
    """Collects the inputs that a server requires."""

    specs: dict[str, InputSpec] = field(default_factory=dict)

    def value_of(self, item: JSONObject, id: str) -> str | None:
        """Return the value of an argument, variable or header; None if optional and absent."""
        value = _text(item, "value")
        if value:
            return self.fill(value, item.get("variables"))
        is_required = item.get("isRequired", item.get("is_required")) is True
        if not is_required:
            return _text(item, "default") or None
        return self._add(id, item)

    def fill(self, text: str, variables: JSON) -> str:
        """Fill in a template such as `https://{tenant}.example/mcp`."""
        known = variables if isinstance(variables, dict) else {}

        def value(match: re.Match[str]) -> str:
            variable = known.get(match[1])
            if not isinstance(variable, dict):
                return match[0]
            return _text(variable, "value") or self._add(match[1], variable)

        return _TEMPLATE.sub(value, text)

    def _add(self, id: str, item: JSONObject) -> str:
        self.specs[id] = InputSpec(
            id=id,
            description=_text(item, "description"),
            is_password=item.get("isSecret", item.get("is_secret")) is True,
            default=_text(item, "default"),
            options=tuple(choice for choice in _list(item.get("choices")) if isinstance(choice, str)),
        )
        return f"${{input:{id}}}"


def _server(name: str, kind: str, item: JSONObject, document: JSONObject, source: Source) -> DiscoveredServer:
    inputs = _Inputs()
    notes: tuple[str, ...] = ()
    try:
        if kind == "remote":
            raw = _import_remote(item, inputs)
        else:
            raw, notes = _import_package(item, inputs)
    except ConfigError as exc:
        return DiscoveredServer(name, source, item, None, str(exc))
    if description := _text(document, "description"):
        raw["notes"] = description
    entry, problem, entry_notes = to_entry(name, raw, source.tool)
    return DiscoveredServer(
        name, source, item, entry, problem, (*notes, *entry_notes), tuple(inputs.specs.values())
    )


def _import_remote(item: JSONObject, inputs: _Inputs) -> JSONObject:
    type = _text(item, "type", "transport_type")
    url = inputs.fill(_text(item, "url"), item.get("variables"))
    headers: JSONObject = {}
    for header in _items(item.get("headers")):
        name = _text(header, "name")
        if name and (value := inputs.value_of(header, name)) is not None:
            headers[name] = value
    return {"type": "sse" if type == "sse" else "http", "url": url, "headers": headers}


def _import_package(item: JSONObject, inputs: _Inputs) -> tuple[JSONObject, tuple[str, ...]]:
    registry = _text(item, "registryType", "registry_type", "registry_name")
    identifier = _text(item, "identifier", "name")
    if registry == "mcpb":
        raise ConfigError(
            "It is a bundle (.mcpb), which must be unpacked first.", "Add its command manually."
        )
    command = _text(item, "runtimeHint", "runtime_hint") or _RUNNERS.get(registry, "")
    if not command or not identifier:
        raise ConfigError(f"Unknown package type {registry!r}.", "Add its command manually.")
    env: JSONObject = {}
    for variable in _items(item.get("environmentVariables", item.get("environment_variables"))):
        name = _text(variable, "name")
        if name and (value := inputs.value_of(variable, name)) is not None:
            env[name] = value
    before = _arguments(item.get("runtimeArguments", item.get("runtime_arguments")), inputs)
    after = _arguments(item.get("packageArguments", item.get("package_arguments")), inputs)
    args = [*_runner_arguments(command, before, env), _versioned(registry, identifier, item), *after]
    transport = item.get("transport")
    url = _text(transport, "url") if isinstance(transport, dict) else ""
    if url and isinstance(transport, dict) and _text(transport, "type") != "stdio":
        line = pasted_command([one_line(word) for word in (command, *args)])
        how = f": {line}" if line is not None else "; a shell would interpret parts of its command."
        return _import_remote(transport, inputs), (f"Start it yourself first{how}",)
    return {"command": command, "args": list(args), "env": env}, ()


def _runner_arguments(command: str, args: list[str], env: JSONObject) -> list[str]:
    """Add what the runner needs to run without prompting and to pass on stdin and variables."""
    if command == "docker":
        passed = [word for name in env for word in ("-e", name) if not _is_passed(name, args)]
        own = args if args[:1] == ["run"] else ["run", "-i", "--rm", *args]
        return [*own, *passed]
    yes = {"npx": "-y", "dnx": "--yes"}.get(command)
    return [yes, *args] if yes is not None and yes not in args else args


def _is_passed(name: str, args: list[str]) -> bool:
    return any(word == name or word.startswith(f"{name}=") for word in args)


def _versioned(registry: str, identifier: str, item: JSONObject) -> str:
    version = _text(item, "version")
    if registry == "oci":
        has_tag = "@" in identifier or ":" in identifier.rpartition("/")[2]
        return identifier if has_tag or not version else f"{identifier}:{version}"
    return f"{identifier}@{version}" if version and version != "latest" else identifier


def _arguments(value: JSON, inputs: _Inputs) -> list[str]:
    words: list[str] = []
    for item in _items(value):
        name = _text(item, "name")
        hint = _text(item, "valueHint", "value_hint") or name.lstrip("-") or "value"
        is_named = item.get("type") == "named"
        has_value = any(member in item for member in ("value", "default", "valueHint", "choices", "format"))
        content = inputs.value_of(item, hint) if has_value or not is_named else None
        if is_named and name and (content is not None or not has_value):
            words.append(name)
        if content is not None:
            words.append(content)
    return words


def _items(value: JSON) -> list[JSONObject]:
    return [item for item in _list(value) if isinstance(item, dict)]


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _text(item: JSONObject, *names: str) -> str:
    return next((text for name in names if isinstance(text := item.get(name), str) and text), "")


def to_server_json(entry: Entry, secrets: Sequence[str]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the document, and what to correct in it. `secrets` are the names of secret variables.

    Raises ConfigError for a server that it cannot describe.
    """
    slug = re.sub(r"[^a-z0-9._-]+", "-", entry.name.lower()).strip("-.") or "server"
    document: JSONObject = {
        "$schema": _SCHEMA,
        "name": f"com.example/{slug}",
        "description": entry.notes or entry.name,
        "version": "0.0.1",
    }
    if isinstance(entry, StdioEntry):
        document["packages"] = [_export_package(entry, secrets)]
    elif isinstance(entry, HttpEntry):
        document["remotes"] = [_export_remote(entry, secrets)]
    else:
        raise ConfigError(
            "A registry server.json cannot describe a WebSocket server.", "Choose another format."
        )
    return document, (
        "The name (com.example/…) and version are placeholders; replace them before publishing.",
    )


def _export_package(entry: StdioEntry, secrets: Sequence[str]) -> JSONObject:
    runner = re.split(r"[/\\]", entry.command)[-1].removesuffix(".exe").removesuffix(".cmd")
    words = [word for word in entry.args if word not in _RUNNER_FLAGS]
    before, rest = _split_docker_options(words) if runner == "docker" else ([], words)
    if runner not in _REGISTRIES or not rest or rest[0].startswith("-"):
        raise ConfigError(
            "A registry server.json must name a package, but this command does not start one.",
            "Start the server with npx, uvx, docker or dnx, or choose another format.",
        )
    identifier, *arguments = rest
    version = _VERSION.search(identifier) if runner != "docker" else None
    package: JSONObject = {
        "registryType": _REGISTRIES[runner],
        "identifier": identifier if version is None else identifier[: version.start()],
        "transport": {"type": "stdio"},
    }
    if version is not None:
        package["version"] = version[1]
    if before:
        package["runtimeArguments"] = [_export_positional(word, secrets) for word in before]
    if arguments:
        package["packageArguments"] = [_export_positional(word, secrets) for word in arguments]
    if entry.env:
        package["environmentVariables"] = [
            _export_value(name, str(value), secrets) for name, value in entry.env.items()
        ]
    return package


def _split_docker_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the runner's arguments into options before the image and the rest, without `-e`."""
    rest = list(words[1:]) if words[:1] == ["run"] else list(words)
    before: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        value = [rest.pop(0)] if "=" not in option and rest else []
        if option not in ("-e", "--env"):
            before += [option, *value]
    return before, rest


def _export_remote(entry: HttpEntry, secrets: Sequence[str]) -> JSONObject:
    remote: JSONObject = {"type": "sse" if entry.type == "sse" else "streamable-http"}
    remote |= _export_template("url", entry.url, secrets)
    if entry.headers:
        remote["headers"] = [
            _export_value(name, str(value), secrets) for name, value in entry.headers.items()
        ]
    return remote


def _export_positional(word: str, secrets: Sequence[str]) -> JSON:
    return {"type": "positional", **_export_template("value", word, secrets)}


def _export_value(name: str, value: str, secrets: Sequence[str]) -> JSON:
    """Return the description of a variable; a placeholder with the same name is a required input."""
    whole = _REFERENCE.fullmatch(value)
    if whole is not None and whole[1] == name:
        return {"name": name, "isRequired": True, "isSecret": name in secrets}
    return {"name": name, **_export_template("value", value, secrets)}


def _export_template(member: str, text: str, secrets: Sequence[str]) -> JSONObject:
    """Convert `${NAME}` to the registry's `{NAME}`, with the variable described next to it."""
    names = dict.fromkeys(_REFERENCE.findall(text))
    content: JSONObject = {member: _REFERENCE.sub(r"{\1}", text)}
    if names:
        content["variables"] = {name: {"isRequired": True, "isSecret": name in secrets} for name in names}
    return content
