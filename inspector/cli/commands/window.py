"""`mcp-lens`, `mcp-lens --demo` and `mcp-lens CAPTURE`: open the window.

Loads Qt, and reports it clearly if that fails (`needs_qt`).
"""

from __future__ import annotations

import builtins
import contextlib
import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

from inspector.config.paths import server_list_path


def open_window(demo: bool, config: Path | None, files: Sequence[Path] = ()) -> int:
    load_window()
    from inspector.app.main import run_window

    return run_window(demo, config or server_list_path(), files)


def load_window() -> None:
    """Import what is needed to show the window. Raises UserError if Qt cannot be loaded."""
    # Everything created while the window is built stays alive: garbage collection would only delay it.
    gc.disable()
    with needs_qt():
        import inspector.app.main  # noqa: F401


@contextlib.contextmanager
def needs_qt() -> Iterator[None]:
    """Wrap an import of the window.

    Missing system libraries raise ImportError; name them in the message.
    """
    try:
        _load_qt()
        yield
    except ImportError as exc:
        from inspector.app.qt_failures import import_failure

        raise import_failure(exc) from exc


def _load_qt() -> None:
    """Import Qt and restore Python's `__import__`.

    PySide6 replaces it with a version that reads and keeps the source of every module imported afterwards,
    to look for a switch (`__feature__`) that is not used here.
    """
    original = builtins.__import__
    import PySide6.QtCore  # noqa: F401

    builtins.__import__ = original
