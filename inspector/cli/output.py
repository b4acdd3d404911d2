"""Terminal output: exit codes, stdout and stderr, two-column tables, argument errors.

stdout carries results only; everything else goes to stderr. Text from a server is made safe on a terminal
and left unchanged in a pipe or a file. Scripts rely on the exit codes: never change one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import sys
import unicodedata
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn, TextIO

from inspector.base.errors import ConfigError, LensError, RemoteProtocolError, UserError
from inspector.base.json.values import compact, shorten
from inspector.base.plain_text import one_line, visible, visible_json

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_GAP = "  "
_MAX_NAME_WIDTH = 40
_MIN_TEXT_WIDTH = 24


class ExitCode(IntEnum):
    RESULT = 0
    TOOL_ERROR = 1  # the tool ran and reported a failure (isError)
    FAILED = 2  # no connection, no response, or a JSON-RPC error
    INVALID_RESULT = 3  # the result does not match the tool's output schema, or has no content
    USAGE = 64  # EX_USAGE of sysexits.h: the command line, or a file named on it, is invalid
    BUG = 70  # EX_SOFTWARE: a bug in MCP Lens
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it
    TERMINATED = 143  # 128 + SIGTERM


def prepare(*, is_windows: bool = os.name == "nt") -> None:
    """Make the output streams write characters that the locale lacks as escapes.

    On Windows, pipes and files get and are read as UTF-8 instead of the ANSI code page, which lacks most
    characters. PowerShell may begin what it pipes with a byte order mark.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if is_windows else None
            stream.reconfigure(encoding=encoding, errors="backslashreplace")
    if is_windows and isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig")


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def write_text(text: str) -> None:
    """Write text from a server to stdout, made safe if it is a terminal."""
    _write(visible(text) if is_terminal(sys.stdout) else text)


def write_json(text: str) -> None:
    """Write JSON to stdout, in UTF-8 whatever the locale says (RFC 8259, section 8.1).

    On a terminal, control and hidden characters are written as JSON escapes.
    """
    _write_utf8(f"{visible_json(text) if is_terminal(sys.stdout) else text}\n")


def write_file(text: str) -> None:
    """Write file content to stdout in UTF-8, made safe if it is a terminal."""
    _write_utf8(visible(text) if is_terminal(sys.stdout) else text)


def _write_utf8(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _write(text)


def print_error(text: str) -> None:
    """Print an error or a note to stderr."""
    write_stderr(f"mcp-lens: {visible(text).rstrip()}\n")


def write_stderr(text: str) -> None:
    """Write to stderr unchanged. Never fails if stderr is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def error_text(exc: LensError) -> str:
    """Return an error and its next step for stderr."""
    from inspector.protocol.jsonrpc import RpcError  # not needed to open the window

    if isinstance(exc, RpcError):
        data = f" Error data: {shorten(compact(exc.data), 400)}" if exc.data is not None else ""
        return f"The server returned an error: {exc}.{data} {exc.next_step}"
    if isinstance(exc, RemoteProtocolError):
        return f"Protocol violation by the server: {exc}. {exc.next_step}"
    return str(exc)


def finish() -> None:
    """Flush stdout, so that Python has nothing to report at exit."""
    with contextlib.suppress(UserError):
        _write("")


def _write(text: str) -> None:
    """Write and flush. A reader that went away (`| head`) is not an error."""
    if sys.stdout is None:  # closed by the shell: >&-
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as exc:
        _discard_stdout()
        raise UserError(f"Could not write the output: {exc.strerror}.") from exc


def _discard_stdout() -> None:
    """Redirect stdout, including what is still buffered, to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def two_columns(rows: Sequence[tuple[str, str]], width: int | None) -> str:
    """Format rows as two columns. `width` is that of the terminal, or None to cut nothing."""
    return three_columns([("", *row) for row in rows], width)


def three_columns(rows: Sequence[tuple[str, str, str]], width: int | None) -> str:
    """Format rows as two columns with another one before them, unless that is empty."""
    lines: list[str] = []
    clean = [(one_line(group), one_line(name), one_line(text)) for group, name, text in rows]
    group_width = _name_width([group for group, _, _ in clean], width)
    before = group_width + len(_GAP) if group_width else 0
    rest = width - before if width is not None else None
    name_width = _name_width([name for _, name, _ in clean], rest)
    for group, name, text in clean:
        first, *others = _row(name, text, name_width, rest)
        shown = group if width is None else _cut(group, group_width)
        lines += [f"{_padded(shown, before)}{first}", *(f"{' ' * before}{line}" for line in others)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _name_width(names: Sequence[str], width: int | None) -> int:
    """Return the width of a column of names, capped so that one long name does not widen it for all."""
    maximum = _MAX_NAME_WIDTH if width is None else min(_MAX_NAME_WIDTH, width // 2)
    return min(maximum, max((_cells(name) for name in names), default=0))


def _row(name: str, text: str, name_width: int, width: int | None) -> list[str]:
    if width is None:
        return [f"{_padded(name, name_width)}{_GAP}{text}"]
    text_width = width - name_width - len(_GAP)
    if not text:
        return [name]
    if text_width < _MIN_TEXT_WIDTH:  # too narrow for two columns: stack them
        return [name, _cut(f"{_GAP}{text}", width)]
    if _cells(name) > name_width:
        return [name, _cut(f"{' ' * name_width}{_GAP}{text}", width)]
    return [f"{_padded(name, name_width)}{_GAP}{_cut(text, text_width)}"]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _cells(text))


def _cut(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    start, used = "", 0
    for character in text:
        used += _cells(character)
        if used > width - 1:
            break
        start += character
    return f"{start.rstrip()}…"


def _cells(text: str) -> int:
    """Return a text's width in terminal cells: East Asian wide is two, combining is zero."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Parser(argparse.ArgumentParser):
    """Argument parser that raises ConfigError instead of exiting with code 2."""

    def __init__(self, prog: str, description: str, *, epilog: str = "", usage: str | None = None) -> None:
        super().__init__(
            prog,
            usage,
            description,
            epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # abbreviations in scripts would break when an option is added
        )

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # Without a console there are no streams, which Python 3.11.2 does not expect.
        if file is not None or sys.stderr is not None:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split off the server's command after the first `--`. Its arguments are not interpreted."""
    args = list(argv)
    if "--" not in args:
        return args, None
    position = args.index("--")
    return args[:position], args[position + 1 :]


def seconds(text: str) -> float:
    """Parse a time limit in seconds (an argparse `type`)."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds greater than 0")
    return value
