"""`python -m inspector.demo NAME`: run one demo server in this process.

Exit codes: 0 when the client hung up, 2 for a wrong command line, a port in use or a missing SDK; `faulty`
also ends with the code its fault chose.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from inspector.demo.faulty.faults import FAULTS
from inspector.demo.servers import SERVERS, Builder

_MISSING_SDK = (
    "The demo server {name!r} needs the official MCP SDK, and its module {module!r} is not installed: "
    "install the demo extra with  pip install 'mcp-lens[demo]'"
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(SERVERS))
        return 0
    if options.name is None:
        parser.error(f"name a server: {', '.join(SERVERS)}")
    if options.fault is not None and options.name != "faulty":
        parser.error("--fault belongs to the server 'faulty'")
    build = SERVERS[options.name].build
    if build is None:
        return _serve_faulty(parser, options)
    return _serve(build, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m inspector.demo", description="Run an embedded MCP demo server."
    )
    parser.add_argument("name", nargs="?", choices=list(SERVERS), help="which server to run")
    parser.add_argument("--list", action="store_true", help="print the names of the servers and exit")
    parser.add_argument(
        "--http", action="store_true", help="serve Streamable HTTP on 127.0.0.1 instead of stdio"
    )
    parser.add_argument(
        "--port", type=int, default=0, help="with --http: the port; 0, the default, takes a free one"
    )
    parser.add_argument("--until-eof", action="store_true", help="with --http: end when stdin closes")
    parser.add_argument(
        "--fault", choices=list(FAULTS), help="with faulty: show this fault without being asked"
    )
    return parser


def _serve_faulty(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.http:
        parser.error("'faulty' breaks the rules of stdio and does not speak HTTP")
    from inspector.demo.faulty.loop import serve

    return serve(options.fault)


def _serve(build: Builder, options: argparse.Namespace) -> int:
    try:
        from inspector.demo.serving import serve_http, serve_stdio

        if options.http:
            return serve_http(build, options.port, until_eof=options.until_eof)
        return serve_stdio(build)
    except ModuleNotFoundError as exc:
        print(_MISSING_SDK.format(name=options.name, module=exc.name), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
