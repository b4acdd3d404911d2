"""The last resort: an error that nobody caught is written to a file, and the person is told where.

What this needs itself is imported when there is something to report: a start does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

Tell = Callable[[str], None]


def report_uncaught(tell: Tell) -> None:
    """From now on, an error that nobody caught ends in a file and in `tell`."""

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # somebody's wish, not an error
            sys.__excepthook__(kind, error, trace)
            return
        tell(_write(_traceback(error)))

    sys.excepthook = on_error


def report_task_errors(tell: Tell) -> None:
    """Likewise for what background tasks log as an error: nobody awaits them."""
    import logging

    class TaskErrors(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            tell(_write(f"{record.getMessage()}\n{_traceback(error) if error else ''}"))

    handler = TaskErrors(logging.ERROR)
    logging.getLogger("inspector").addHandler(handler)
    logging.getLogger("asyncio").addHandler(handler)


def _traceback(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _write(report: str) -> str:
    import tempfile

    data = report.encode(errors="backslashreplace")  # a file name in it may hold what UTF-8 cannot
    with tempfile.NamedTemporaryFile(prefix="mcp-lens-", suffix=".txt", delete=False) as file:
        file.write(data)
    return (
        f"Something went wrong inside MCP Lens. Your servers and traffic are kept. Details: {Path(file.name)}"
    )
