"""`server.json` of the MCP registry: import and export.

Import gives one server per package and per remote; values that the card leaves open (a key, a port, a
tenant name) become `${input:…}`, which the user is asked for. A card names packages and URLs, not
commands, so only servers started by npx, uvx, docker or dnx, or reached by URL, can be exported; the
author has to correct names and version.

https://github.com/modelcontextprotocol/registry/blob/main/docs/reference/server-json/generic-server-json.md
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.config.foreign.discovery import FoundServer, InputSpec, Source
from inspector.config.foreign.entry_import import to_entry
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry

_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_REGISTRIES = {"npx": "npm", "uvx": "pypi", "docker": "oci", "dnx": "nuget"}
_ASKED_FOR_NOTHING = frozenset({"-y", "--yes", "-i", "--rm", "-it", "-q", "--quiet"})
_VERSION = re.compile(r"(?<=.)(?:@|==)([0-9][\w.+-]*)$")
_REFERENCE = re.compile(r"\$\{(?:env:|input:)?([A-Za-z_][\w.-]*)(?::-[^{}]*)?\}")


def server_json_of(entry: Entry, secrets: Sequence[str]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the card, and what to correct in it. `secrets` are the names of secret variables.

    Raises ConfigError for a server that a card cannot describe.
    """
    slug = re.sub(r"[^a-z0-9._-]+", "-", entry.name.lower()).strip("-.") or "server"
    card: JSONObject = {
        "$schema": _SCHEMA,
        "name": f"com.example/{slug}",
        "description": entry.notes or entry.name,
        "version": "0.0.1",
    }
    if isinstance(entry, StdioEntry):
        card["packages"] = [_package(entry, secrets)]
    elif isinstance(entry, HttpEntry):
        card["remotes"] = [_remote(entry, secrets)]
    else:
        raise ConfigError(
            "A registry server.json cannot describe a WebSocket server.", "Choose another format."
        )
    return card, ("The name (com.example/…) and version are placeholders; replace them before publishing.",)


def _package(entry: StdioEntry, secrets: Sequence[str]) -> JSONObject:
    runner = re.split(r"[/\\]", entry.command)[-1].removesuffix(".exe").removesuffix(".cmd")
    words = [word for word in entry.args if word not in _ASKED_FOR_NOTHING]
    before, rest = _split_runner(words) if runner == "docker" else ([], words)
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
        package["runtimeArguments"] = [_positional(word, secrets) for word in before]
    if arguments:
        package["packageArguments"] = [_positional(word, secrets) for word in arguments]
    if entry.env:
        package["environmentVariables"] = [
            _given(name, str(value), secrets) for name, value in entry.env.items()
        ]
    return package


def _split_runner(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the runner's arguments into options before the image and the rest, without `-e`."""
    rest = list(words[1:]) if words[:1] == ["run"] else list(words)
    before: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        value = [rest.pop(0)] if "=" not in option and rest else []
        if option not in ("-e", "--env"):
            before += [option, *value]
    return before, rest


def _remote(entry: HttpEntry, secrets: Sequence[str]) -> JSONObject:
    remote: JSONObject = {"type": "sse" if entry.type == "sse" else "streamable-http"}
    remote |= _template("url", entry.url, secrets)
    if entry.headers:
        remote["headers"] = [_given(name, str(value), secrets) for name, value in entry.headers.items()]
    return remote


def _positional(word: str, secrets: Sequence[str]) -> JSON:
    return {"type": "positional", **_template("value", word, secrets)}


def _given(name: str, value: str, secrets: Sequence[str]) -> JSON:
    """Return the description of a variable; a placeholder of its own name is a required input."""
    whole = _REFERENCE.fullmatch(value)
    if whole is not None and whole[1] == name:
        return {"name": name, "isRequired": True, "isSecret": name in secrets}
    return {"name": name, **_template("value", value, secrets)}


def _template(member: str, text: str, secrets: Sequence[str]) -> JSONObject:
    """Convert `${NAME}` to the card's `{NAME}`, with the variable described next to it."""
    names = dict.fromkeys(_REFERENCE.findall(text))
    content: JSONObject = {member: _REFERENCE.sub(r"{\1}", text)}
    if names:
        content["variables"] = {name: {"isRequired": True, "isSecret": name in secrets} for name in names}
    return content


_MAX_COUNT = 50
_RUNNERS = {"npm": "npx", "pypi": "uvx", "oci": "docker", "nuget": "dnx"}
_TEMPLATE = re.compile(r"\{([A-Za-z_][\w.-]*)\}")


def is_server_json(value: JSONObject) -> bool:
    """True for a registry card, as opposed to another file of that name."""
    card = _card(value)
    schema = card.get("$schema")
    is_named = isinstance(card.get("name"), str)
    has_addresses = any(isinstance(card.get(member), list) for member in ("packages", "remotes"))
    return is_named and (has_addresses or (isinstance(schema, str) and "server.schema.json" in schema))


def servers_from_server_json(value: JSONObject, source: Source) -> tuple[FoundServer, ...]:
    """Return one server per package and per remote, packages first."""
    card = _card(value)
    options = [
        *(("package", item) for item in _items(card.get("packages"))),
        *(("remote", item) for item in _items(card.get("remotes"))),
    ][:_MAX_COUNT]
    name = str(card["name"]).rpartition("/")[2] or "server"
    names = _names(name, options)
    return tuple(
        _server(called, kind, item, card, source) for called, (kind, item) in zip(names, options, strict=True)
    )


def _card(value: JSONObject) -> JSONObject:
    """Return the card itself; the registry API wraps it in `server`."""
    inner = value.get("server")
    return inner if isinstance(inner, dict) and "name" in inner else value


def _names(name: str, options: list[tuple[str, JSONObject]]) -> Iterator[str]:
    seen: set[str] = set()
    for kind, item in options:
        what = _text(item, "registryType", "registry_type", "registry_name") if kind == "package" else ""
        called = (
            name if len(options) == 1 else f"{name}-{what or _text(item, 'type', 'transport_type') or kind}"
        )
        number = 1
        unique = called
        while unique in seen:
            number += 1
            unique = f"{called}-{number}"
        seen.add(unique)
        yield unique


@dataclass(slots=True)
class _Filling:
    """Collects the inputs that a card requires."""

    inputs: dict[str, InputSpec] = field(default_factory=dict)

    def value_of(self, item: JSONObject, id: str) -> str | None:
        """Return the value of an argument, variable or header; None if optional and not given."""
        given = _text(item, "value")
        if given:
            return self.filled(given, item.get("variables"))
        is_needed = item.get("isRequired", item.get("is_required")) is True
        default = _text(item, "default")
        if not is_needed:
            return default or None
        return self._requested(id, item)

    def filled(self, text: str, variables: JSON) -> str:
        """Fill in a template such as `https://{tenant}.example/mcp`."""
        known = variables if isinstance(variables, dict) else {}

        def put(match: re.Match[str]) -> str:
            variable = known.get(match[1])
            if not isinstance(variable, dict):
                return match[0]
            return _text(variable, "value") or self._requested(match[1], variable)

        return _TEMPLATE.sub(put, text)

    def _requested(self, id: str, item: JSONObject) -> str:
        self.inputs[id] = InputSpec(
            id=id,
            description=_text(item, "description"),
            is_password=item.get("isSecret", item.get("is_secret")) is True,
            default=_text(item, "default"),
            options=tuple(choice for choice in _list(item.get("choices")) if isinstance(choice, str)),
        )
        return f"${{input:{id}}}"


def _server(name: str, kind: str, item: JSONObject, card: JSONObject, source: Source) -> FoundServer:
    filling = _Filling()
    notes: tuple[str, ...] = ()
    try:
        if kind == "remote":
            raw = _remote_registrycard(item, filling)
        else:
            raw, notes = _package_registrycard(item, filling)
    except ConfigError as exc:
        return FoundServer(name, source, item, None, str(exc))
    if description := _text(card, "description"):
        raw["notes"] = description
    entry, problem, reported = to_entry(name, raw, source.tool)
    return FoundServer(
        name, source, item, entry, problem, (*notes, *reported), tuple(filling.inputs.values())
    )


def _remote_registrycard(item: JSONObject, filling: _Filling) -> JSONObject:
    type = _text(item, "type", "transport_type")
    url = filling.filled(_text(item, "url"), item.get("variables"))
    headers: JSONObject = {}
    for header in _items(item.get("headers")):
        called = _text(header, "name")
        if called and (value := filling.value_of(header, called)) is not None:
            headers[called] = value
    return {"type": "sse" if type == "sse" else "http", "url": url, "headers": headers}


def _package_registrycard(item: JSONObject, filling: _Filling) -> tuple[JSONObject, tuple[str, ...]]:
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
        called = _text(variable, "name")
        if called and (value := filling.value_of(variable, called)) is not None:
            env[called] = value
    before = _arguments(item.get("runtimeArguments", item.get("runtime_arguments")), filling)
    after = _arguments(item.get("packageArguments", item.get("package_arguments")), filling)
    args = [*_runner_arguments(command, before, env), _versioned(registry, identifier, item), *after]
    transport = item.get("transport")
    url = _text(transport, "url") if isinstance(transport, dict) else ""
    if url and isinstance(transport, dict) and _text(transport, "type") != "stdio":
        words = one_line(shlex.join([command, *args]))
        return _remote_registrycard(transport, filling), (f"Start it yourself first: {words}",)
    return {"command": command, "args": list(args), "env": env}, ()


def _runner_arguments(command: str, given: list[str], env: JSONObject) -> list[str]:
    """Add what the runner needs to run without prompting and to pass on stdin and variables."""
    if command == "docker":
        handed = [word for name in env for word in ("-e", name) if not _is_handed(name, given)]
        own = given if given[:1] == ["run"] else ["run", "-i", "--rm", *given]
        return [*own, *handed]
    yes = {"npx": "-y", "dnx": "--yes"}.get(command)
    return [yes, *given] if yes is not None and yes not in given else given


def _is_handed(name: str, given: list[str]) -> bool:
    return any(word == name or word.startswith(f"{name}=") for word in given)


def _versioned(registry: str, identifier: str, item: JSONObject) -> str:
    version = _text(item, "version")
    if registry == "oci":
        has_tag = "@" in identifier or ":" in identifier.rpartition("/")[2]
        return identifier if has_tag or not version else f"{identifier}:{version}"
    return f"{identifier}@{version}" if version and version != "latest" else identifier


def _arguments(value: JSON, filling: _Filling) -> list[str]:
    words: list[str] = []
    for item in _items(value):
        name = _text(item, "name")
        hint = _text(item, "valueHint", "value_hint") or name.lstrip("-") or "value"
        is_named = item.get("type") == "named"
        has_value = any(member in item for member in ("value", "default", "valueHint", "choices", "format"))
        content = filling.value_of(item, hint) if has_value or not is_named else None
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
