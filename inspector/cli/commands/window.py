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
    """Import what is needed to show the window. Raises UserError if Qt cannot be loaded."""
    # Everything created while the window is built stays alive: garbage collection would only delay it.
    gc.disable()
    with needs_qt():
        import inspector.app.main  # noqa: F401
