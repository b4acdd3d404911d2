"""Options for the server, the tool and its arguments, for benchmarks that accept any server."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import Any

from inspector.config.servers.entries import StdioEntry

ECHO_SERVER = shlex.join([sys.executable, "-m", "tests.bench.echoserver"])
DEMO_SERVER = shlex.join([sys.executable, "-m", "inspector.demo", "everything"])


def add_options(parser: argparse.ArgumentParser, command: str, tool: str, arguments: dict[str, Any]) -> None:
    add_command(parser, command)
    add_tool(parser, tool, arguments)


def add_command(parser: argparse.ArgumentParser, command: str) -> None:
    parser.add_argument("--command", default=command, help="a stdio MCP server (default: %(default)s)")
    add_era(parser)


def add_tool(parser: argparse.ArgumentParser, tool: str, arguments: dict[str, Any]) -> None:
    parser.add_argument("--tool", default=tool, help="the tool to call (default: %(default)s)")
    parser.add_argument("--args", type=json_object, default=arguments, metavar="JSON", help="its arguments")


def add_era(parser: argparse.ArgumentParser) -> None:
    # The raw client shakes hands: ours does too, so that both are given the same work. In the stateless era a
    # server may also keep its log messages to itself, and then there is no flood.
    parser.add_argument("--era", default="legacy-first", help="auto, legacy-first, or a revision's date")


def entry(options: argparse.Namespace) -> StdioEntry:
    program, *args = shlex.split(options.command)
    return StdioEntry(name="bench", command=program, args=tuple(args), era=options.era)


def json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value
