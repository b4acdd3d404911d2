"""The command `mcp-lens`, with a mark on its window."""

from __future__ import annotations

import sys
from pathlib import Path

from inspector.cli.commands.window import load_window
from inspector.cli.main import main


def mark_window() -> None:
    """Add the mark to every window that is opened from now on. Loads it as the command does."""
    load_window()
    import inspector.app.main as app_main
    from inspector.app.frontend import Frontend, make_frontend
    from tests.bench.windows.usable import UsableMark

    def make_marked(layout: Path) -> Frontend:
        frontend = make_frontend(layout)
        UsableMark(frontend.window)
        return frontend

    vars(app_main)["make_frontend"] = make_marked


if __name__ == "__main__":
    mark_window()
    sys.exit(main([]))
