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
    """Let no character stop the output: what the locale cannot write is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def write_text(text: str) -> None:
    """Write what a tool or a list says to stdout."""
    _write(visible(text) if is_terminal(sys.stdout) else text)


def write_json(text: str) -> None:
    """Write JSON to stdout, in UTF-8 whatever the locale says (RFC 8259, section 8.1)."""
    _write_utf8(f"{text}\n")


def write_file(text: str) -> None:
    """Write a part of what would be a file to stdout, in UTF-8; for a person, made harmless."""
    _write_utf8(visible(text) if is_terminal(sys.stdout) else text)


def _write_utf8(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    _write(text)


def complain(text: str) -> None:
    """Say on stderr what went wrong, or what is worth knowing."""
    write_stderr(f"mcp-lens: {visible(text).rstrip()}\n")


def write_stderr(text: str) -> None:
    """Write to stderr as it is. That nobody reads it is no reason to fail."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def finish() -> None:
    """Write what is still held back, so that Python has nothing to complain about when it exits."""
    with contextlib.suppress(UserError):
        _write("")


def _write(text: str) -> None:
    """Write and flush. A reader that has gone away (`| head`) has seen enough, and is no error."""
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
    """Send what is still buffered, and all that follows, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
