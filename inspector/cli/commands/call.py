"""`mcp-lens call TOOL [key=value …]`: call a tool and print its result."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence

from inspector.base.errors import ConfigError, UserError
from inspector.base.units import plural
from inspector.cli import output
from inspector.cli.arguments import arguments_for, read_assignments, read_object
from inspector.cli.content import as_text, result_in
from inspector.cli.exitcodes import ExitCode
from inspector.cli.headless import run_on_server
from inspector.cli.parser import Parser, seconds
from inspector.cli.progress import ProgressLine
from inspector.cli.target import USAGE, add_server_options
from inspector.engine.engine import Engine
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.types import Tool
from inspector.schema.jsontext import write

_EPILOG = """\
arguments:
  key=value     read with the tool's input schema: a number, true or false, null, a choice, an array or an
                object as JSON where it says so; else text
  key:=json     sent as it is, whatever the schema says: n:=5, tags:='["a"]', note:=null, big:=@file.json
  --json TEXT   a whole object; keys given beside it take the place of its members

JSON is read from a file as @FILE, and from stdin as -.

examples:
  mcp-lens call echo message='Hello, server' -- npx -y some-server
  mcp-lens call search --json @query.json limit=5 --url http://localhost:8000/mcp
"""


def configure(parser: Parser) -> None:
    parser.usage = f"mcp-lens call TOOL [key=value …] [options] {USAGE}"
    parser.epilog = _EPILOG
    parser.add_argument("tool", metavar="TOOL", help="the tool's name")
    parser.add_argument("words", nargs="*", metavar="key=value", help="its arguments; see below")
    parser.add_argument("--json", metavar="TEXT", help="its arguments as a JSON object")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="text, or json for all")
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="give up S seconds after the last sign of life (120)"
    )
    parser.add_argument(
        "--unlisted", action="store_true", help="do not look the tool up first; values are sent as text"
    )
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    given = read_assignments(options.words)
    members = read_object(options.json) if options.json is not None else {}

    async def work(engine: Engine, server: str) -> int:
        tool = None if options.unlisted else find_tool((await engine.list_tools(server)).items, options.tool)
        arguments = arguments_for(tool, given, members)
        progress = ProgressLine()
        try:
            outcome = await engine.call_tool(
                server, options.tool, arguments, timeout=options.timeout, on_progress=progress.show
            )
        finally:
            progress.clear()
        return _report(options.tool, outcome, options.format)

    return run_on_server(options, work)


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """Return the tool of this name. Raises ConfigError, which suggests similar names."""
    for tool in tools:
        if tool.name == name:
            return tool
    close = difflib.get_close_matches(name, [tool.name for tool in tools], n=3)
    meant = f"Did you mean {' or '.join(close)}?" if close else f"It has {plural(len(tools), 'tool')}."
    raise ConfigError(
        f"The server lists no tool {name!r}. {meant}",
        "`mcp-lens list tools` shows them; --unlisted calls it all the same.",
    )


def _report(tool: str, outcome: CallOutcome, style: str) -> int:
    """Print the result of a call. Raises LensError if there is none."""
    if outcome.kind in (OutcomeKind.FAILED, OutcomeKind.CANCELLED):
        raise UserError(outcome.summary, outcome.next_step)
    result = result_in(outcome.answer)
    if style == "json":
        output.write_json(write(result))
    else:
        output.write_text(as_text(result))
    if outcome.kind is OutcomeKind.TOOL_ERROR:
        output.complain(f"The tool {tool!r} reported an error.")
        return ExitCode.TOOL_ERROR
    return ExitCode.RESULT
