"""`python -P -m inspector.demo NAME`: run one demo server in this process.

Exit codes: 0 when the client disconnected, 2 for an invalid command line, a port in use or a missing SDK;
`faulty` also exits with the code that its fault defines.
"""

if __name__ == "__main__":  # before anything is imported that a file could shadow
    from inspector.base.safe_path import refuse_working_directory

    refuse_working_directory("inspector.demo")

import argparse
import gc
import io
import os
import sys
from collections.abc import Sequence

from inspector.demo.servers import SERVERS, faults_of

_MISSING_SDK = (
    "Could not start the demo server {name!r}: module {module!r} is not installed. Demo servers need "
    "the official MCP SDK. Install it with: pip install 'mcp-lens[demo]'"
)


def main(argv: Sequence[str] | None = None) -> int:
    if os.name == "nt" and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8")  # instead of the ANSI code page
    parser = _parser()
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(SERVERS))
        return 0
    if options.name is None:
        parser.error(f"server name required (choose from {', '.join(SERVERS)})")
    _check_faults(parser, options)
    if options.name == "faulty":
        return _serve_faulty(parser, options)
    if not options.http and not SERVERS[options.name].supports_stdio:
        parser.error(f"{options.name!r} only supports HTTP, because its login needs a browser: add --http")
    return _serve(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -P -m inspector.demo", description="Run an embedded MCP demo server."
    )
    parser.add_argument("name", nargs="?", choices=list(SERVERS), help="server to run")
    parser.add_argument("--list", action="store_true", help="list the server names and exit")
    parser.add_argument(
        "--http", action="store_true", help="serve Streamable HTTP on 127.0.0.1 instead of stdio"
    )
    parser.add_argument(
        "--port", type=int, default=0, help="with --http: port to listen on; 0 (default) picks a free one"
    )
    parser.add_argument("--until-eof", action="store_true", help="with --http: exit when stdin closes")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME",
        help=(
            "with faulty: show this fault from the start; with login: turn this switch on at start (can be "
            "repeated)"
        ),
    )
    return parser


def _check_faults(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    known = faults_of(options.name)
    if options.fault and not known:
        parser.error("--fault only works with the servers 'faulty' and 'login'")
    for fault in options.fault:
        if fault not in known:
            parser.error(f"argument --fault: invalid choice: {fault!r} (choose from {', '.join(known)})")
    if options.name == "faulty" and len(options.fault) > 1:
        parser.error("'faulty' accepts only one --fault")


def _serve_faulty(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.http:
        parser.error("'faulty' only supports stdio: remove --http")
    from inspector.demo.faulty_server import serve

    return serve(options.fault[0] if options.fault else None)


def _serve(options: argparse.Namespace) -> int:
    build = SERVERS[options.name].build
    gc.disable()  # the SDK's modules create many objects and no garbage: a sixth of the start-up time
    try:
        from inspector.demo.serving import serve_app, serve_http, serve_stdio

        gc.freeze()
        gc.enable()

        if build is None:
            from inspector.demo.login.app import build_app

            return serve_app(
                lambda origin: build_app(origin, options.fault), options.port, until_eof=options.until_eof
            )
        if options.http:
            return serve_http(build, options.port, until_eof=options.until_eof)
        return serve_stdio(build)
    except ModuleNotFoundError as exc:
        print(_MISSING_SDK.format(name=options.name, module=exc.name), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
