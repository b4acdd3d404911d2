"""`mcp-lens list tools|resources|prompts`: list the features of one server or of all servers."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from inspector.base.errors import CapabilityMissing, ConfigError, LensError
from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.cli import output
from inspector.cli.headless import USAGE, add_server_options, all_entries, run_on_server, run_on_servers
from inspector.cli.output import ExitCode, Parser, seconds, three_columns, two_columns
from inspector.engine.engine import Engine
from inspector.protocol.types import Listing, Malformed, Prompt, Resource, Tool
from inspector.schema.tool_definitions import FORMATS, tool_definitions, tools_text
from inspector.schema.tool_names import tool_findings

if TYPE_CHECKING:
    from inspector.config.foreign.permissions import PermissionRule

Item: TypeAlias = Tool | Resource | Prompt
AnyListing: TypeAlias = Listing[Tool] | Listing[Resource] | Listing[Prompt]

_MAX_REASONS = 3
_MAX_FINDINGS = 10


@dataclass(frozen=True, slots=True)
class _Listed:
    """The list of one server, or why there is none. `name` is that in qualified tool names."""

    server: str
    name: str = ""
    listing: AnyListing | None = None
    error: str = ""


def configure(parser: Parser) -> None:
    parser.usage = f"mcp-lens list {{tools,resources,prompts}} [options] (--all | {USAGE[1:]}"
    parser.add_argument("kind", choices=["tools", "resources", "prompts"], help="what to list")
    parser.add_argument(
        "--all", action="store_true", help="list those of all enabled servers in the server list"
    )
    parser.add_argument(
        "--as",
        dest="definitions",
        choices=list(FORMATS),
        help="print tool definitions as this API takes them, named mcp__SERVER__TOOL",
    )
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="output format (default: text); json prints everything",
    )
    parser.add_argument(
        "--permissions",
        action="store_true",
        help="show below each tool what Claude Code's permission rules in this folder say about it",
    )
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="request timeout in seconds (default: 120)"
    )
    add_server_options(parser)
    parser.epilog = (
        "exit codes: 0 all items listed, 2 no connection, no list, or an incomplete list (what arrived is "
        "printed; stderr says why the rest is missing)."
    )


def run(options: argparse.Namespace) -> int:
    if options.definitions and options.kind != "tools":
        raise ConfigError(f"--as applies only to tools, not to {options.kind}.", "Remove it.")
    if options.permissions and (options.kind != "tools" or options.format != "text" or options.definitions):
        raise ConfigError("--permissions applies only to “list tools” as text.", "Remove it.")
    if options.all:
        return _run_on_all(options)

    async def work(engine: Engine, server: str) -> int:
        listing = await _listing(engine, server, options.kind)
        return _write([_Listed(server, _host_name(engine, server, options), listing)], options)

    return run_on_server(options, work, options.timeout)


def _host_name(engine: Engine, server: str, options: argparse.Namespace) -> str:
    """Return the server's name in qualified names: a URL or a command has the name it reports."""
    negotiated = engine.servers.get(server).view.negotiated
    return server if options.server or negotiated is None else negotiated.server.name or server


def _run_on_all(options: argparse.Namespace) -> int:
    if options.url or options.server or options.server_command is not None:
        raise ConfigError("More than one server specified.", "Use either --all or a server.")
    if options.header or options.header_env or options.header_file or options.env or options.continue_as:
        raise ConfigError(
            "Headers, variables and --continue-as apply only to a single server.", "Remove them or --all."
        )

    async def work(engine: Engine, failures: Mapping[str, LensError | None]) -> int:
        tasks = (_listed(engine, name, failure, options.kind) for name, failure in failures.items())
        return _write(await asyncio.gather(*tasks), options)

    entries = all_entries(options.config)
    if not entries:
        output.print_error("No servers configured, or all are disabled.")
    return run_on_servers(
        entries,
        work,
        connect_timeout=options.connect_timeout,
        request_timeout=options.timeout,
        show_stderr=options.stderr,
    )


async def _listed(engine: Engine, server: str, failure: LensError | None, kind: str) -> _Listed:
    try:
        if failure is not None:
            raise failure
        return _Listed(server, server, await _listing(engine, server, kind))
    except CapabilityMissing:  # the server does not offer any
        nothing: Listing[Tool] = Listing()
        return _Listed(server, server, nothing)
    except LensError as exc:
        return _Listed(server, error=output.error_text(exc))


async def _listing(engine: Engine, server: str, kind: str) -> AnyListing:
    match kind:
        case "tools":
            return await engine.list_tools(server)
        case "resources":
            return await engine.list_resources(server)
    return await engine.list_prompts(server)


def _write(lists: Sequence[_Listed], options: argparse.Namespace) -> int:
    """Print the lists; return the exit code."""
    tools = [
        (each.name, item)
        for each in lists
        if each.listing is not None
        for item in each.listing.items
        if isinstance(item, Tool)
    ]
    if options.definitions:
        _write_definitions(tools, options.definitions)
    elif options.format == "json":
        output.write_json(
            write([_json(each, options.kind) for each in lists] if options.all else _sources(lists[0]))
        )
    else:
        _write_table(lists, options)
    _report_findings(tools)
    return max((_report(each, options) for each in lists), default=ExitCode.RESULT)


def _sources(listed: _Listed) -> list[JSON]:
    return [item.source for item in listed.listing.items] if listed.listing is not None else []


def _json(listed: _Listed, kind: str) -> JSONObject:
    if listed.error:
        return {"server": listed.server, "error": listed.error}
    return {"server": listed.server, kind: _sources(listed)}


def _write_definitions(tools: Sequence[tuple[str, Tool]], format: str) -> None:
    definitions = list(tool_definitions(tools, format))
    output.write_json(tools_text([write(each.value) for each in definitions], format))
    for definition in definitions:
        for note in definition.notes:
            output.print_error(note)


def _write_table(lists: Sequence[_Listed], options: argparse.Namespace) -> None:
    rules = _permission_rules() if options.permissions else ()
    rows = [
        (each.server, *row)
        for each in lists
        if each.listing is not None
        for item in each.listing.items
        for row in (_row(item), *_permission_rows(rules, each.name, item))
    ]
    width = shutil.get_terminal_size().columns if output.is_terminal(sys.stdout) else None
    if not rows and not any(each.error for each in lists):
        output.print_error(f"The server{'s have' if options.all else ' has'} no {options.kind}.")
    table = three_columns(rows, width) if options.all else two_columns([row[1:] for row in rows], width)
    output.write_text(table)


def _permission_rules() -> tuple[PermissionRule, ...]:
    """Read Claude Code's rules for this folder; files with errors are reported."""
    from inspector.config.foreign.discovery import find_servers, local_locations

    found = find_servers([location for location in local_locations() if location.has_rules])
    for file in found.files:
        for text in filter(None, (file.problem, *file.notes)):
            output.print_error(f"{one_line(str(file.source.path))}: {text}")
    return found.rules


def _permission_rows(rules: Sequence[PermissionRule], server: str, item: Item) -> list[tuple[str, str]]:
    if not rules or not isinstance(item, Tool):
        return []
    from inspector.config.foreign.permissions import permission_for

    permission = permission_for(rules, server, item.name)
    return [("", line) for line in permission.details] if permission is not None else []


def _row(item: Item) -> tuple[str, str]:
    line = next(iter(item.description.strip().splitlines()), "")
    if isinstance(item, Resource):
        parts = (item.title or item.name, item.mime_type, line)
        return item.uri, " — ".join(filter(None, parts))
    return item.name, " — ".join(filter(None, (item.title, line)))


def _report(listed: _Listed, options: argparse.Namespace) -> ExitCode:
    """Print what is wrong with a list; return the exit code for it."""
    server = f"{one_line(listed.server)}: " if options.all else ""
    listing = listed.listing
    if listing is None:
        output.print_error(f"{server}{listed.error}")
        return ExitCode.FAILED
    _report_malformed(server, listing.malformed)
    if not listing.incomplete:
        return ExitCode.RESULT
    what = f"{server}The list of {options.kind} is incomplete: {listing.incomplete}"
    output.print_error(f"{what} {listing.next_step}".strip())
    return ExitCode.FAILED


def _report_malformed(server: str, malformed: Sequence[Malformed]) -> None:
    if malformed:
        reasons = "; ".join(item.reason for item in malformed[:_MAX_REASONS])
        more = "; …" if len(malformed) > _MAX_REASONS else ""
        output.print_error(f"{server}Skipped {plural(len(malformed), 'item')} with errors: {reasons}{more}.")


def _report_findings(tools: Sequence[tuple[str, Tool]]) -> None:
    found = [
        f"{one_line(tool.name)}: {finding}"
        for (_, tool), findings in zip(tools, tool_findings(tools), strict=True)
        for finding in findings
    ]
    for text in found[:_MAX_FINDINGS]:
        output.print_error(text)
    if len(found) > _MAX_FINDINGS:
        output.print_error(f"{plural(len(found) - _MAX_FINDINGS, 'more finding')} about the tools.")
