"""Entry point: command line parsing, dispatch to one command, exit codes.

Imports of commands are deferred, so that each start loads one command only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from inspector import __version__
from inspector.base.errors import ConfigError, LensError
from inspector.cli import output
from inspector.cli.output import ExitCode

if TYPE_CHECKING:  # importing argparse takes 15 ms, which would delay the window
    import argparse

    from inspector.cli.output import Parser


class CommandModule(Protocol):
    """Interface of a module in `commands/`."""

    def configure(self, parser: Parser) -> None: ...

    def run(self, options: argparse.Namespace) -> int: ...


class Command(NamedTuple):
    """A command as listed in the help. `takes_server`: a server's command may follow after `--`."""

    summary: str
    takes_server: bool = False


COMMANDS = {
    "list": Command("list the tools, resources or prompts of a server", takes_server=True),
    "call": Command("call a tool and print its result", takes_server=True),
    "servers": Command("list your servers and those of other MCP clients; add and export servers"),
    "doctor": Command("diagnose why a server does not connect, step by step", takes_server=True),
    "export": Command("export messages from a capture as JSON Lines, HAR or Markdown"),
    "demo": Command("run an embedded demo server in this process"),
    "associate": Command("register MCP Lens as the default app for .mcpcap files (Linux)"),
    "tour": Command("run an automated tour of the app and save screenshots"),
}

_DESCRIPTION = """\
Inspect and debug MCP servers. Without a command, opens the app window and any capture files given."""

_EPILOG = "commands:\n" + "".join(f"  {name:<10} {command.summary}\n" for name, command in COMMANDS.items())

_EXIT_CODES = """
exit codes: 0 success, 1 tool error, 2 connection failed or protocol error, 3 the result does not match the
output schema or has no content, 64 invalid command line, 70 internal error, 130 interrupted,
143 terminated. Set MCP_LENS_DEBUG=1 to see tracebacks.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code. Never raises, except with MCP_LENS_DEBUG set."""
    output.prepare()
    try:
        return _dispatch(sys.argv[1:] if argv is None else argv)
    except SystemExit as exc:  # raised by argparse after --help and --version
        return exc.code if isinstance(exc.code, int) else ExitCode.RESULT
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except LensError as exc:
        output.print_error(output.error_text(exc))
        return ExitCode.USAGE if isinstance(exc, ConfigError) else ExitCode.FAILED
    except Exception as exc:
        if os.environ.get("MCP_LENS_DEBUG"):
            raise
        output.print_error(
            f"Internal error: {type(exc).__name__}: {exc}\nSet MCP_LENS_DEBUG=1 to see the traceback."
        )
        return ExitCode.BUG
    finally:
        output.finish()


def _dispatch(argv: Sequence[str]) -> int:
    if list(argv) in ([], ["--demo"]):
        return _open_window(demo=bool(argv), config=None)
    from inspector.cli.output import split_command

    own_argv, server_command = split_command(argv)
    options = _parser().parse_args(own_argv)
    name = options.command
    if server_command is not None and (name not in COMMANDS or not COMMANDS[name].takes_server):
        raise ConfigError(
            "A server command after -- works only with list, call or doctor.", "See mcp-lens --help."
        )
    if name is None or name not in COMMANDS:
        files = [] if name is None else _files(name, options.rest)
        return _open_window(options.demo, options.config, files)
    module = cast(CommandModule, import_module(f"inspector.cli.commands.{name}"))
    return module.run(_command_options(name, module, options, server_command))


def _files(first: str, rest: Sequence[str]) -> list[Path]:
    """Return the captures to open, if the first argument is not a command.

    Raises ConfigError for arguments that cannot be captures.
    """
    paths = [Path(each) for each in (first, *rest)]
    for path in paths:
        if not path.exists():
            is_command = path is paths[0] and len(path.parts) == 1 and not path.suffix
            summary = (
                f"{first!r} is neither a command nor a file." if is_command else f"File not found: {path}."
            )
            raise ConfigError(summary, "See mcp-lens --help.")
    return [path.absolute() for path in paths]


def _open_window(demo: bool, config: Path | None, files: Sequence[Path] = ()) -> int:
    from inspector.cli.commands.window import open_window

    return open_window(demo, config, files)


def _command_options(
    name: str, module: CommandModule, options: argparse.Namespace, server_command: list[str] | None
) -> argparse.Namespace:
    if options.demo:
        raise ConfigError(
            "--demo opens the app window and cannot be combined with a command.", "See mcp-lens --help."
        )
    from inspector.cli.output import Parser

    summary = COMMANDS[name].summary
    parser = Parser(f"mcp-lens {name}", f"{summary[:1].upper()}{summary[1:]}.")
    parser.set_defaults(config=options.config, server_command=server_command)
    module.configure(parser)
    # Intermixed: options may appear between the arguments of a tool.
    return parser.parse_intermixed_args(options.rest)


def _parser() -> Parser:
    import argparse

    from inspector.cli.output import Parser

    usage = "mcp-lens [--demo] [--config FILE] [CAPTURE ...]\n       mcp-lens COMMAND [options]"
    parser = Parser("mcp-lens", _DESCRIPTION, epilog=_EPILOG + _EXIT_CODES, usage=usage)
    parser.add_argument("--version", action="version", version=f"mcp-lens {__version__}")
    parser.add_argument(
        "--demo", action="store_true", help="open the app window with the embedded demo servers"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="server list file to use")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
