"""What goes to the terminal, a pipe or a file.

stdout carries results and nothing else; every other word goes to stderr. Text of a server is made harmless
where a person reads it, and left as it came where a program does.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

from inspector.base.errors import UserError
from inspector.base.plaintext import visible


def prepare() -> None:
    """Make the output streams write characters that the locale lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def write_text(text: str) -> None:
    """Write text from a server to stdout, made safe if it is a terminal."""
    _write(visible(text) if is_terminal(sys.stdout) else text)


def write_json(text: str) -> None:
    """Write JSON to stdout, in UTF-8 whatever the locale says (RFC 8259, section 8.1)."""
    _write_utf8(f"{text}\n")


def write_file(text: str) -> None:
    """Write file content to stdout in UTF-8, made safe if it is a terminal."""
    _write_utf8(visible(text) if is_terminal(sys.stdout) else text)


def _write_utf8(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _write(text)


def complain(text: str) -> None:
    """Print an error or a note to stderr."""
    write_stderr(f"mcp-lens: {visible(text).rstrip()}\n")


def write_stderr(text: str) -> None:
    """Write to stderr unchanged. Never fails if stderr is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


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
        raise UserError(f"The output could not be written: {exc.strerror}.") from exc


def _discard_stdout() -> None:
    """Redirect stdout, including what is still buffered, to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
