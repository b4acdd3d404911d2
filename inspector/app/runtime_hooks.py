"""Interpreter hooks: garbage collection between Qt events, and crash reports.

Python's collector runs wherever the next allocation happens: inside a paint event, or on the engine's
thread. It may free a Qt object there, which crashes the process. So automatic collection is disabled, and
a timer collects on the GUI thread. What survives a full collection is frozen, because scanning it
again takes a tenth of a second with 10,000 tools listed; a complete collection runs when the window is
inactive. Memory that is free but scattered over the heap is returned to the system now and then.

Crash reports: uncaught errors are written to a temporary file that can be sent to others, so secrets and
credentials in use are masked in it. Imports for that are deferred until there is something to report.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication

if TYPE_CHECKING:
    from inspector.traffic.credentials import Credentials

Notify = Callable[[str], None]

_CHECK_MS = 500
# Collect the youngest generation after this many allocations, and an older one after this many collections
# of the one below it.
_MAX_ALLOCATIONS = 5_000
_MAX_COLLECTIONS = 10
_TRIM_MS = 20_000


class GarbageCollector(QObject):
    """Runs the garbage collector, and trims the heap, from timers for as long as it lives."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=_CHECK_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._has_collected = False  # since the heap was trimmed
        self._trim_timer = QTimer(self, interval=_TRIM_MS)
        self._trim_timer.timeout.connect(self.trim)
        self._trim_timer.start()
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._on_state_changed)

    def collect(self) -> None:
        """Collect what Python's collector would have collected by now, youngest generation first."""
        young, middle, old = gc.get_count()
        if old > _MAX_COLLECTIONS:
            gc.collect()
            gc.freeze()
        elif middle > _MAX_COLLECTIONS:
            gc.collect(1)
        elif young > _MAX_ALLOCATIONS:
            gc.collect(0)
        else:
            return
        self._has_collected = True

    def trim(self) -> None:
        """Trim the heap unless nothing has happened since the last time."""
        if self._has_collected:
            self._has_collected = False
            trim_heap()

    def collect_all(self) -> None:
        """Run a full collection that includes frozen objects."""
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        trim_heap()

    def _on_state_changed(self, state: Qt.ApplicationState) -> None:
        if state is not Qt.ApplicationState.ApplicationActive:
            self.collect_all()


def trim_heap() -> None:
    """Return free heap memory to the system: 3 ms for 10 MB.

    glibc returns only what is free at the end of the heap, so that each large message, theme or closed
    window leaves a larger process behind.
    """
    if (malloc_trim := _find_malloc_trim()) is not None:
        malloc_trim(0)


@cache
def _find_malloc_trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None with another C library."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def report_uncaught(notify: Notify, credentials: Credentials | None = None) -> None:
    """Install an exception hook that writes uncaught errors to a file and passes them to `notify`."""

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # the user's request, not an error
            sys.__excepthook__(kind, error, trace)
            return
        notify(_write(_traceback(error), credentials))

    sys.excepthook = on_error


def report_task_errors(notify: Notify, credentials: Credentials | None = None) -> None:
    """Report errors logged by background tasks the same way: nothing awaits those tasks."""
    import logging

    class TaskErrors(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            notify(_write(f"{record.getMessage()}\n{_traceback(error) if error else ''}", credentials))

    handler = TaskErrors(logging.ERROR)
    logging.getLogger("inspector").addHandler(handler)
    logging.getLogger("asyncio").addHandler(handler)


def _traceback(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))


def _write(report: str, credentials: Credentials | None) -> str:
    import tempfile

    from inspector.traffic.masking.at_rest import without_secrets

    data = report.encode(errors="backslashreplace")  # file names in the report may not be encodable as UTF-8
    data = without_secrets(data, credentials)
    with tempfile.NamedTemporaryFile(prefix="mcp-lens-", suffix=".txt", delete=False) as file:
        file.write(data)
    return (
        f"MCP Lens hit an internal error. Your servers and traffic are unaffected. Details: {Path(file.name)}"
    )
