"""`mcp-lens` and `mcp-lens --demo`, with no command: open the window."""

from __future__ import annotations

from pathlib import Path

from inspector.cli.qtloading import needs_qt


def open_window(demo: bool, config: Path | None) -> int:
    """Without a `config`, the window finds the person's own catalogue."""
    with needs_qt():
        from inspector.app.main import run_window
    return run_window(demo, config)
