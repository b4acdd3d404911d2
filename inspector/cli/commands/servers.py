"""`mcp-lens servers`: list, add and export servers; list servers of other MCP clients.

Nothing is started or contacted, and no file of another client is written.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject, pretty
from inspector.base.plain_text import one_line
from inspector.cli import output
from inspector.cli.output import ExitCode, Parser, two_columns
from inspector.config.foreign.discovery import (
    DiscoveredServer,
    DiscoveredServers,
    find_servers,
    local_locations,
)
from inspector.config.foreign.export import EXPORT_FORMAT_NAMES, Exported, claude_command, export
from inspector.config.foreign.paste import read_pasted
from inspector.config.paths import server_list_path
from inspector.config.servers.entries import Entry
from inspector.config.servers.placeholders import plain_secrets_of
from inspector.config.servers.server_list import ServerListFile

_CLAUDE = "claude"
_STDIN = "-"


def configure(parser: Parser) -> None:
    parser.usage = "mcp-lens servers [options] [NAME …]"
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers (default: all)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--discovered",
        "--found",
        action="store_true",
        help="list the servers of other MCP clients and of this folder",
    )
    mode.add_argument(
        "--as",
        dest="export_format",
        choices=[*EXPORT_FORMAT_NAMES, _CLAUDE],
        metavar="FORMAT",
        help=(
            f"export in another format: {', '.join(EXPORT_FORMAT_NAMES)}, or “{_CLAUDE}” for claude mcp add "
            "commands"
        ),
    )
    mode.add_argument(
        "--add", metavar="TEXT", help="add a pasted configuration, command or URL; - reads stdin"
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="folder to search from (default: the current one)"
    )
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="output format (default: text); json prints everything",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="server list file to use")


def run(options: argparse.Namespace) -> int:
    server_list = ServerListFile(options.config or server_list_path())
    if options.add is not None:
        return _add(server_list, options.add, options.names)
    if options.discovered:
        return _write_discovered(find_servers(local_locations(options.folder)), options)
    entries = _chosen(server_list, options.names)
    if options.export_format is not None:
        return _write_exported(entries, options.export_format)
    _write_own(entries, options.format)
    return ExitCode.RESULT


def _chosen(server_list: ServerListFile, names: Sequence[str]) -> list[Entry]:
    if names:
        return [server_list.find(name) for name in names]
    loaded = server_list.load()
    for problem in loaded.problems:
        output.print_error(problem)
    return list(loaded.entries)


def _write_own(entries: Sequence[Entry], format: str) -> None:
    if format == "json":
        output.write_json(pretty([_own_json(entry) for entry in entries]))
        return
    if not entries:
        output.print_error(
            "No servers configured. Run “mcp-lens servers --discovered” to list those of other MCP clients."
        )
    _write_rows(
        [(entry.name, f"{entry.address}{'' if entry.enabled else '  (disabled)'}") for entry in entries]
    )


def _own_json(entry: Entry) -> JSON:
    return {
        "name": entry.name,
        "transport": entry.transport,
        "address": entry.address,
        "enabled": entry.enabled,
    }


def _write_exported(entries: Sequence[Entry], format: str) -> int:
    if format == _CLAUDE:
        commands = [claude_command(entry) for entry in entries]
        text = "".join(f"{command.text}\n" for command in commands)
        exported = Exported(text, tuple(note for command in commands for note in command.notes))
    else:
        exported = export(entries, format)
    output.write_file(exported.text)
    for note in exported.notes:
        output.print_error(note)
    return ExitCode.RESULT


def _add(server_list: ServerListFile, text: str, names: Sequence[str]) -> int:
    """Add pasted servers to the server list.

    No approval is needed: the user pasted them into their own command line.
    """
    servers = read_pasted(sys.stdin.read() if text == _STDIN else text)
    known = {entry.name for entry in server_list.load().entries}
    chosen = [server for server in servers if not names or server.name in names]
    if not chosen:
        raise ConfigError("The pasted text has no server with that name.", f"It contains: {_names(servers)}.")
    for server in chosen:
        if server.entry is None:
            raise ConfigError(f"{one_line(server.name)}: {server.problem}", "Nothing was added.")
        if server.name in known:
            raise ConfigError(
                f"A server named {server.name!r} already exists in {server_list.path}.",
                "Remove it first. Nothing was added.",
            )
    for server in chosen:
        assert server.entry is not None
        server_list.save(server.entry)
        for note in (*server.notes, *_secret_notes(server.entry, server_list.path)):
            output.print_error(f"{one_line(server.name)}: {note}")
    output.write_text(f"Added: {_names(chosen)}.\n")
    return ExitCode.RESULT


def _secret_notes(entry: Entry, path: Path) -> list[str]:
    names = ", ".join(map(one_line, plain_secrets_of(entry)))
    return (
        [f"{names}: stored as plain text in {path}. Open MCP Lens to move it to the secret store."]
        if names
        else []
    )


def _names(servers: Sequence[DiscoveredServer]) -> str:
    return ", ".join(one_line(server.name) for server in servers)


def _write_discovered(found: DiscoveredServers, options: argparse.Namespace) -> int:
    for file in found.files:
        if file.problem:
            output.print_error(f"{one_line(str(file.source.path))}: {file.problem}")
        for note in file.notes:
            output.print_error(f"{one_line(str(file.source.path))}: {note}")
    names = {
        name: chain for name, chain in found.by_name().items() if not options.names or name in options.names
    }
    if options.format == "json":
        output.write_json(
            pretty([_discovered_json(chain, at) for chain in names.values() for at in range(len(chain))])
        )
        return ExitCode.RESULT
    if not names:
        output.print_error("No servers found.")
    rows = [
        row for chain in names.values() for at in range(len(chain)) for row in _discovered_rows(chain, at)
    ]
    _write_rows(rows)
    return ExitCode.RESULT


def _discovered_rows(chain: Sequence[DiscoveredServer], at: int) -> list[tuple[str, str]]:
    """Return a row for the server, and one below it for each detail."""
    server = chain[at]
    note = " (overridden)" if _is_overridden(chain, at) else " (same name)" if at else ""
    address = server.entry.address if server.entry is not None else server.problem
    rows = [(f"{server.name}{note}", address), ("", _where(server))]
    return rows + [("", text) for text in server.notes]


def _is_overridden(chain: Sequence[DiscoveredServer], at: int) -> bool:
    """True if the same client has an entry of this name with a higher precedence.

    A client overrides only its own servers; those of other clients just share the name.
    """
    return any(each.source.tool == chain[at].source.tool for each in chain[:at])


def _where(server: DiscoveredServer) -> str:
    source = server.source
    line = f":{server.line}" if server.line else ""
    return f"{source.tool}, {source.scope}: {source.path}{line}"


def _discovered_json(chain: Sequence[DiscoveredServer], at: int) -> JSONObject:
    server, source = chain[at], chain[at].source
    return {
        "name": server.name,
        "tool": source.tool,
        "scope": source.scope,
        "path": str(source.path),
        "line": server.line,
        "isOverridden": _is_overridden(chain, at),
        "address": server.entry.address if server.entry is not None else None,
        "problem": server.problem,
        "remarks": list(server.notes),
    }


def _write_rows(rows: Sequence[tuple[str, str]]) -> None:
    width = shutil.get_terminal_size().columns if output.is_terminal(sys.stdout) else None
    output.write_text(two_columns(rows, width))
