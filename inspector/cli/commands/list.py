"""`mcp-lens list tools|resources|prompts`: list the features of a server."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import TypeAlias

from inspector.base.json.text import write
from inspector.base.json.values import JSON
from inspector.base.units import plural
from inspector.cli import output
from inspector.cli.headless import USAGE, add_server_options, run_on_server
from inspector.cli.output import ExitCode, Parser, seconds, two_columns
from inspector.engine.engine import Engine
from inspector.protocol.types import Listing, Malformed, Prompt, Resource, Tool

Item: TypeAlias = Tool | Resource | Prompt

_MAX_REASONS = 3


def configure(parser: Parser) -> None:
    parser.usage = f"mcp-lens list {{tools,resources,prompts}} [options] {USAGE}"
    parser.add_argument("kind", choices=["tools", "resources", "prompts"], help="what to list")
    parser.add_argument(
        "--format",
        choices=["text", "json"],
        default="text",
        help="output format (default: text); json prints everything",
    )
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="request timeout in seconds (default: 120)"
    )
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    async def work(engine: Engine, server: str) -> int:
        listing = await _listing(engine, server, options.kind)
        if options.format == "json":
            sources: list[JSON] = [item.source for item in listing.items]
            output.write_json(write(sources))
        else:
            _write_table(options.kind, listing.items)
        _report_malformed(listing.malformed)
        return ExitCode.RESULT

    return run_on_server(options, work, options.timeout)


async def _listing(
    engine: Engine, server: str, kind: str
) -> Listing[Tool] | Listing[Resource] | Listing[Prompt]:
    match kind:
        case "tools":
            return await engine.list_tools(server)
        case "resources":
            return await engine.list_resources(server)
    return await engine.list_prompts(server)


def _write_table(kind: str, items: Sequence[Item]) -> None:
    if not items:
        output.print_error(f"The server has no {kind}.")
    width = shutil.get_terminal_size().columns if output.is_terminal(sys.stdout) else None
    output.write_text(two_columns([_row(item) for item in items], width))


def _row(item: Item) -> tuple[str, str]:
    line = next(iter(item.description.strip().splitlines()), "")
    if isinstance(item, Resource):
        parts = (item.title or item.name, item.mime_type, line)
        return item.uri, " — ".join(filter(None, parts))
    return item.name, " — ".join(filter(None, (item.title, line)))


def _report_malformed(malformed: Sequence[Malformed]) -> None:
    if malformed:
        reasons = "; ".join(item.reason for item in malformed[:_MAX_REASONS])
        more = "; …" if len(malformed) > _MAX_REASONS else ""
        output.print_error(f"Skipped {plural(len(malformed), 'item')} with errors: {reasons}{more}.")
