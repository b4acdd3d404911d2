"""The last resort: an error that nobody caught is written to a file, and the person is told where.

The file is made to be sent to somebody: what looks like a secret is masked in it, and credentials in use are.

What this needs itself is imported when there is something to report: a start does not wait for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.traffic.credentials import Credentials

Tell = Callable[[str], None]


def report_uncaught(tell: Tell, credentials: Credentials | None = None) -> None:
    """Install an exception hook that writes uncaught errors to a file and passes them to `tell`."""

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # the user's request, not an error
            sys.__excepthook__(kind, error, trace)
            return
        tell(_write(_traceback(error), credentials))

    sys.excepthook = on_error


def report_task_errors(tell: Tell, credentials: Credentials | None = None) -> None:
    """Report errors logged by background tasks the same way: nothing awaits those tasks."""
    import logging

    class TaskErrors(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            tell(_write(f"{record.getMessage()}\n{_traceback(error) if error else ''}", credentials))

    handler = TaskErrors(logging.ERROR)
    logging.getLogger("inspector").addHandler(handler)
    logging.getLogger("asyncio").addHandler(handler)


def _traceback(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _write(report: str, credentials: Credentials | None) -> str:
    import tempfile

    from inspector.traffic.atrest import without_secrets

    data = report.encode(errors="backslashreplace")  # file names in the report may not be encodable as UTF-8
    data = without_secrets(data, credentials)
    with tempfile.NamedTemporaryFile(prefix="mcp-lens-", suffix=".txt", delete=False) as file:
        file.write(data)
    return (
        f"Something went wrong inside MCP Lens. Your servers and traffic are kept. Details: {Path(file.name)}"
    )
