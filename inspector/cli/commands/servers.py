"""`mcp-lens servers`: list, add and export servers; list servers of other MCP clients.

Nothing is started or contacted, except with `--connect`, and no file of another client is written.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError, LensError
from inspector.base.json.values import JSON, JSONObject, pretty
from inspector.base.plain_text import one_line, visible, visible_json
from inspector.base.units import day
from inspector.cli import output
from inspector.cli.output import ExitCode, Parser, two_columns
from inspector.config.foreign.discovery import (
    DiscoveredServer,
    DiscoveredServers,
    find_servers,
    local_locations,
)
from inspector.config.foreign.export import EXPORT_FORMAT_NAMES, Exported, claude_command, export
from inspector.config.foreign.paste import has_link, read_pasted
from inspector.config.paths import baselines_path, server_list_path
from inspector.config.servers.entries import Entry
from inspector.config.servers.entry_diff import masked
from inspector.config.servers.placeholders import plain_secrets_of
from inspector.config.servers.server_list import ServerListFile, write_entry
from inspector.config.servers.trust import warnings_for
from inspector.engine.server_view import FeatureCount, counts_text
from inspector.engine.views import ServerStatus

if TYPE_CHECKING:  # without --connect, no engine is needed
    from inspector.engine.engine import Engine

_CLAUDE = "claude"
_STDIN = "-"
_LISTS = ("tools", "resources", "templates", "prompts")


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
        "--add", metavar="TEXT", help="add a pasted configuration, command, URL or link; - reads stdin"
    )
    mode.add_argument(
        "--connect",
        action="store_true",
        help="connect to the enabled servers and count their tools, resources and prompts",
    )
    parser.add_argument("--yes", action="store_true", help="add the server of a link without a question")
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
        return _add(server_list, options)
    if options.discovered:
        return _write_discovered(find_servers(local_locations(options.folder)), options)
    entries = _chosen(server_list, options.names)
    if options.export_format is not None:
        return _write_exported(entries, options.export_format)
    if options.connect:
        return _write_connected(entries, options.format)
    rows = [_OwnServer(entry, *_baseline_counts(entry)) for entry in entries]
    _write_own(rows, options.format)
    return ExitCode.RESULT


def _chosen(server_list: ServerListFile, names: Sequence[str]) -> list[Entry]:
    if names:
        return [server_list.find(name) for name in names]
    loaded = server_list.load()
    for problem in loaded.problems:
        output.print_error(problem)
    return list(loaded.entries)


@dataclass(frozen=True, slots=True)
class _OwnServer:
    """A configured server, with counts from the baseline (`taken_ns`) or from a connection (`status`)."""

    entry: Entry
    counts: tuple[FeatureCount, ...] = ()
    taken_ns: int = 0
    status: str = ""
    error: str = ""


def _baseline_counts(entry: Entry) -> tuple[tuple[FeatureCount, ...], int]:
    """Return what the server offered when the baseline was accepted; nothing if there is none."""
    from inspector.engine.drift.baseline import baseline_path, identity_of, read_baseline

    try:
        baseline = read_baseline(baseline_path(baselines_path(), entry.name, identity_of(entry)))
    except ConfigError:  # the window reports it
        return (), 0
    if baseline is None:
        return (), 0
    lists = ((kind, baseline.lists.get(kind)) for kind in _LISTS)
    return tuple(FeatureCount(kind, len(items)) for kind, items in lists if items), baseline.taken_ns


def _write_connected(entries: Sequence[Entry], format: str) -> int:
    """Connect to the enabled servers and write what they offer."""
    from inspector.cli.headless import run_on_servers

    async def work(engine: Engine, failures: Mapping[str, LensError | None]) -> int:
        counted = await asyncio.gather(
            *(_counted(engine, entry, failures[entry.name]) for entry in entries if entry.enabled)
        )
        by_name = {server.entry.name: server for server in counted}
        _write_own([by_name.get(entry.name, _OwnServer(entry)) for entry in entries], format)
        return ExitCode.FAILED if any(server.error for server in counted) else ExitCode.RESULT

    return run_on_servers([entry for entry in entries if entry.enabled], work)


async def _counted(engine: Engine, entry: Entry, failure: LensError | None) -> _OwnServer:
    try:
        if failure is not None:
            raise failure
        for kind, list_items in {
            "tools": engine.list_tools,
            "resources": engine.list_resources,
            "prompts": engine.list_prompts,
        }.items():
            if engine.servers.get(entry.name).view.offers(kind):
                await list_items(entry.name)
    except LensError as exc:
        status = (
            engine.servers.get(entry.name).view.status
            if engine.servers.has(entry.name)
            else ServerStatus.FAILED
        )
        return _OwnServer(entry, status=status.value, error=output.error_text(exc))
    view = engine.servers.get(entry.name).view
    return _OwnServer(entry, view.counts, status=view.status.value)


def _write_own(servers: Sequence[_OwnServer], format: str) -> None:
    if format == "json":
        output.write_json(pretty([_own_json(server) for server in servers]))
        return
    if not servers:
        output.print_error(
            "No servers configured. Run “mcp-lens servers --discovered” to list those of other MCP clients."
        )
    _write_rows([(server.entry.name, _own_text(server)) for server in servers])
    for server in servers:
        if server.error:
            output.print_error(f"{one_line(server.entry.name)}: {server.error}")


def _own_text(server: _OwnServer) -> str:
    counts = counts_text(server.counts)
    if server.status:
        counts = " · ".join(filter(None, (server.status, counts)))
    elif counts:
        counts = f"{counts} (baseline of {day(server.taken_ns, time.time_ns())})"
    disabled = "" if server.entry.enabled else "(disabled)"
    return "  ".join(filter(None, (server.entry.address, disabled, counts)))


def _own_json(server: _OwnServer) -> JSON:
    entry = server.entry
    written: JSONObject = {
        "name": entry.name,
        "transport": entry.transport,
        "address": entry.address,
        "enabled": entry.enabled,
    }
    if server.status:
        written |= {"status": server.status, "error": server.error}
    if server.counts:
        written["counts"] = {each.kind: each.count for each in server.counts}
        written["countsFrom"] = "server" if server.status else "baseline"
    return written


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


def _add(server_list: ServerListFile, options: argparse.Namespace) -> int:
    """Show pasted servers and add them to the server list.

    A link needs the user's consent: unlike other text, it does not show the command that it contains.
    """
    text = sys.stdin.read() if options.add == _STDIN else options.add
    chosen = _new_servers(server_list, read_pasted(text), options.names)
    for server in chosen:
        output.write_stderr(_details(server))
    if has_link(text) and not options.yes and not _is_confirmed(can_ask=options.add != _STDIN):
        output.print_error("Nothing was added.")
        return ExitCode.FAILED
    for server in chosen:
        assert server.entry is not None
        server_list.save(server.entry)
        for note in (*server.notes, *_secret_notes(server.entry, server_list.path)):
            output.print_error(f"{one_line(server.name)}: {note}")
    output.write_text(f"Added: {_names(chosen)}.\n")
    return ExitCode.RESULT


def _new_servers(
    server_list: ServerListFile, servers: Sequence[DiscoveredServer], names: Sequence[str]
) -> list[DiscoveredServer]:
    """Return the servers with these names, or all. Raises ConfigError if one of them cannot be added."""
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
    return chosen


def _details(server: DiscoveredServer) -> str:
    """Return the command line or URL, all settings and the warnings of a server, secrets masked."""
    assert server.entry is not None
    settings = visible_json(pretty(masked(write_entry(server.entry))))
    warnings = "".join(f"Warning: {visible(text)}\n" for text in warnings_for(server.entry))
    return f"{one_line(server.name)}: {one_line(server.entry.address)}\n{settings}\n{warnings}"


def _is_confirmed(*, can_ask: bool) -> bool:
    """Ask whether to add what was shown. Raises ConfigError if stdin is not a terminal."""
    if not can_ask or not output.is_terminal(sys.stdin):
        raise ConfigError(
            "Nothing was added: a link needs your consent.",
            "Review the command above, then add the option --yes.",
        )
    output.write_stderr("Add this? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
