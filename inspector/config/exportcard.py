"""A server as a `server.json` of the MCP registry: what its author would publish.

A card names packages and addresses, not commands: only what npx, uvx, docker and dnx start can be told in
its words. Names and the version are for the author to correct.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.entries import Entry, HttpEntry, StdioEntry

_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_REGISTRIES = {"npx": "npm", "uvx": "pypi", "docker": "oci", "dnx": "nuget"}
_ASKED_FOR_NOTHING = frozenset({"-y", "--yes", "-i", "--rm", "-it", "-q", "--quiet"})
_VERSION = re.compile(r"(?<=.)(?:@|==)([0-9][\w.+-]*)$")
_REFERENCE = re.compile(r"\$\{(?:env:|input:)?([A-Za-z_][\w.-]*)(?::-[^{}]*)?\}")


def card_of(entry: Entry, secrets: Sequence[str]) -> tuple[JSONObject, tuple[str, ...]]:
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
        raise ConfigError("A card of the registry has no WebSocket servers.", "Choose another form.")
    return card, (
        "The name (com.example/…) and the version are made up: correct them before you publish it.",
    )


def _package(entry: StdioEntry, secrets: Sequence[str]) -> JSONObject:
    runner = re.split(r"[/\\]", entry.command)[-1].removesuffix(".exe").removesuffix(".cmd")
    words = [word for word in entry.args if word not in _ASKED_FOR_NOTHING]
    before, rest = _split_runner(words) if runner == "docker" else ([], words)
    if runner not in _REGISTRIES or not rest or rest[0].startswith("-"):
        raise ConfigError(
            "A card of the registry names a package, and this command starts none.",
            "Start the server with npx, uvx, docker or dnx, or choose another form.",
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
