"""`mcp-lens demo NAME`: run an embedded demo server in this process."""

from __future__ import annotations

import argparse

from inspector.base.errors import ConfigError
from inspector.cli.parser import Parser
from inspector.demo.faulty.faults import FAULTS
from inspector.demo.servers import SERVERS


def configure(parser: Parser) -> None:
    parser.add_argument("name", choices=list(SERVERS), metavar="NAME", help=f"one of {', '.join(SERVERS)}")
    parser.add_argument("--http", action="store_true", help="serve on 127.0.0.1 instead of stdio")
    parser.add_argument("--port", type=int, default=0, help="with --http: the port (else a free one)")
    parser.add_argument("--fault", choices=list(FAULTS), metavar="NAME", help="with faulty: what to break")


def run(options: argparse.Namespace) -> int:
    _check(options)
    from inspector.demo.__main__ import main as run_demo

    words = [options.name]
    if options.http:
        words += ["--http", "--port", str(options.port)]
    if options.fault is not None:
        words += ["--fault", options.fault]
    return run_demo(words)


def _check(options: argparse.Namespace) -> None:
    """What `python -m inspector.demo` would refuse, in our words and with our exit code."""
    if options.http and not SERVERS[options.name].speaks_http:
        raise ConfigError(f"The demo server {options.name!r} does not speak HTTP.", "Leave --http out.")
    if options.fault is not None and options.name != "faulty":
        raise ConfigError("--fault belongs to the demo server 'faulty'.", "Leave it out.")
    if not 0 <= options.port <= 65535:
        raise ConfigError(f"{options.port} is not a port.", "Give one from 0 to 65535.")
