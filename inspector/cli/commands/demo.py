"""`mcp-lens demo NAME`: run an embedded demo server in this process."""

from __future__ import annotations

import argparse

from inspector.base.errors import ConfigError
from inspector.cli.output import Parser
from inspector.demo.servers import SERVERS, faults_of


def configure(parser: Parser) -> None:
    parser.add_argument("name", choices=list(SERVERS), metavar="NAME", help=f"one of {', '.join(SERVERS)}")
    parser.add_argument("--http", action="store_true", help="serve on 127.0.0.1 instead of stdio")
    parser.add_argument("--port", type=int, default=0, help="port for --http (default: any free port)")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help="fault to simulate (faulty and login only; repeatable with login)",
    )


def run(options: argparse.Namespace) -> int:
    _check(options)
    from inspector.demo.__main__ import main as run_demo

    argv = [options.name]
    if options.http:
        argv += ["--http", "--port", str(options.port)]
    for fault in options.fault:
        argv += ["--fault", fault]
    return run_demo(argv)


def _check(options: argparse.Namespace) -> None:
    """Reject invalid options here, so that the exit code is that of `mcp-lens`. Raises ConfigError."""
    if options.http and not SERVERS[options.name].supports_http:
        raise ConfigError(f"The demo server {options.name!r} does not support HTTP.", "Remove --http.")
    if not options.http and not SERVERS[options.name].supports_stdio:
        raise ConfigError(f"The demo server {options.name!r} supports only HTTP.", "Add --http.")
    known = faults_of(options.name)
    if options.fault and not known:
        raise ConfigError("--fault works only with the demo servers 'faulty' and 'login'.", "Remove it.")
    for fault in options.fault:
        if fault not in known:
            raise ConfigError(
                f"Unknown fault {fault!r} for the demo server {options.name!r}.",
                f"Use one of: {', '.join(known)}.",
            )
    if options.name == "faulty" and len(options.fault) > 1:
        raise ConfigError("'faulty' supports one fault at a time.", "Choose one.")
    if not 0 <= options.port <= 65535:
        raise ConfigError(f"{options.port} is not a valid port.", "Use a port from 0 to 65535.")
