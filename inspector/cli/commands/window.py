"""`mcp-lens`, `mcp-lens --demo` and `mcp-lens CAPTURE`, with no command: open the window."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from inspector.cli.qtloading import needs_qt
from inspector.config.paths import catalogue_path


def open_window(demo: bool, config: Path | None, files: Sequence[Path] = ()) -> int:
    load_window()
    from inspector.app.main import run_window

    return run_window(demo, config or catalogue_path(), files)


def load_window() -> None:
    """Import what the window needs to be shown. Raises UserError where Qt cannot be loaded."""
    # Nothing that is made while the window is built goes away again: looking for garbage would only delay it.
    gc.disable()
    with needs_qt():
        import inspector.app.main  # noqa: F401
