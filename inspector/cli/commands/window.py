"""`mcp-lens` and `mcp-lens --demo`, with no command: open the window."""

from __future__ import annotations

from pathlib import Path

from inspector.cli.qtloading import needs_qt
from inspector.config.paths import catalogue_path


def open_window(demo: bool, config: Path | None) -> int:
    with needs_qt():
        from inspector.app.main import run_window
    return run_window(demo, config or catalogue_path())
