"""What the process says when it ends. Scripts rely on these numbers: never change one."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    RESULT = 0
    TOOL_ERROR = 1  # the tool ran and says that it failed (isError)
    FAILED = 2  # no connection, no answer, or an answer that is an error of the protocol
    USAGE = 64  # EX_USAGE of sysexits.h: the command line or a file that it names
    BUG = 70  # EX_SOFTWARE: a mistake of ours
    INTERRUPTED = 130  # 128 + SIGINT, as a shell counts it
    TERMINATED = 143  # 128 + SIGTERM
