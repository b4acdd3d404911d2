"""What the process says when it ends. Scripts rely on these numbers: never change one."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    RESULT = 0
    TOOL_ERROR = 1  # the tool ran and reported a failure (isError)
    FAILED = 2  # no connection, no response, or a JSON-RPC error
    USAGE = 64  # EX_USAGE of sysexits.h: the command line, or a file named on it, is invalid
    BUG = 70  # EX_SOFTWARE: a bug in MCP Lens
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it
    TERMINATED = 143  # 128 + SIGTERM
