"""The last resort: an error that nobody caught is written to a file, and the person is told where."""

from __future__ import annotations

import logging
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType


def install_crash_report(tell: Callable[[str], None]) -> None:
    """From now on, an uncaught error and an error of a background task end in a file and in `tell`."""

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # somebody's wish, not an error
            sys.__excepthook__(kind, error, trace)
            return
        tell(_write("".join(traceback.format_exception(kind, error, trace))))

    sys.excepthook = on_error
    handler = _TaskErrors(tell)
    logging.getLogger("inspector").addHandler(handler)
    logging.getLogger("asyncio").addHandler(handler)


class _TaskErrors(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        trace = "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""
        self._tell(_write(f"{record.getMessage()}\n{trace}"))


def _write(report: str) -> str:
    data = report.encode(errors="backslashreplace")  # a file name in it may hold what UTF-8 cannot
    with tempfile.NamedTemporaryFile(prefix="mcp-lens-", suffix=".txt", delete=False) as file:
        file.write(data)
    return (
        f"Something went wrong inside MCP Lens. Your servers and traffic are kept. Details: {Path(file.name)}"
    )
