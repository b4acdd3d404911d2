"""How each tool writes its servers: in which table they stand, and what else its file says about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.config.finding import InputSpec
from inspector.config.formats.document import Syntax

TablePath: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """A file format; `table` is where the tool keeps its servers.

    A dedicated file contains only servers: there the tables of other tools are accepted too, and servers
    without any table. `holds` says what we read: servers, servers per folder, only which servers are
    disabled, or a registry card.
    """

    table: TablePath
    syntax: Syntax = "json"
    is_dedicated: bool = True
    holds: Literal["servers", "folders", "switches", "card"] = "servers"


FORMS: dict[str, Form] = {
    "mcp.json": Form(("mcpServers",)),
    "claude-user": Form(("mcpServers",), is_dedicated=False),
    "claude-folder": Form(("projects",), is_dedicated=False, holds="folders"),
    "claude-settings": Form((), is_dedicated=False, holds="switches"),
    "claude-desktop": Form(("mcpServers",), is_dedicated=False),
    "vscode": Form(("servers",)),
    "vscode-settings": Form(("mcp", "servers"), is_dedicated=False),
    "zed": Form(("context_servers",), is_dedicated=False),
    "codex": Form(("mcp_servers",), syntax="toml", is_dedicated=False),
    "gemini": Form(("mcpServers",), is_dedicated=False),
    "registry": Form((), holds="card"),
}

_TABLES: tuple[TablePath, ...] = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("context_servers",),
    ("mcp_servers",),
)
_ADDRESSES = ("command", "url", "serverUrl", "httpUrl")


def tables_of(value: JSONObject, form: Form, folder: Path | None) -> list[TablePath]:
    """Return the paths of the server tables in this document; empty if there are none."""
    if form.holds == "folders":
        return [("projects", key, "mcpServers") for key in _folder_keys(value, folder)]
    if table_at(value, form.table) is not None:
        return [form.table]
    if not form.is_dedicated:
        return []
    others = [path for path in _TABLES if table_at(value, path) is not None]
    if others:
        return others[:1]
    return [()] if is_flat(value) else []


def table_at(value: JSONObject, path: TablePath) -> JSON:
    """Return the value at a path, None if absent."""
    found: JSON = value
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def is_flat(value: JSONObject) -> bool:
    """True for servers by name without an enclosing table."""
    return any(isinstance(item, dict) and is_server(item) for item in value.values())


def is_server(value: JSON) -> bool:
    """True if the value looks like a server."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), str) or (name == "command" and name in value) for name in _ADDRESSES
    )


def _folder_keys(value: JSONObject, folder: Path | None) -> Iterator[str]:
    """Yield Claude Code's project keys for a folder; they use slashes on Windows too."""
    projects = value.get("projects")
    if folder is None or not isinstance(projects, dict):
        return
    for each in (folder, *folder.parents):
        for key in {str(each): None, each.as_posix(): None}:
            if table_at(value, ("projects", key, "mcpServers")):
                yield key


def switched_off(value: JSONObject, form: Form, folder: Path | None) -> Iterator[str]:
    """Yield the names of disabled servers (Claude Code, Gemini CLI)."""
    if form.holds == "switches":
        yield from _texts(value.get("disabledMcpjsonServers"))
    if form.holds == "folders" and folder is not None:
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
