"""The real thing: the command `mcp-lens`, with a mark on its window."""

from __future__ import annotations

import sys
from pathlib import Path

from inspector.cli.main import main


def mark_window() -> None:
    """Whoever builds the app from now on gets it with a mark."""
    import inspector.app.main as app_main
    from tests.bench.windows.usable import UsableMark

    build = app_main.build

    def build_marked(catalogue: Path | None, layout: Path) -> app_main.App:
        app = build(catalogue, layout)
        UsableMark(app.window)
        return app

    app_main.build = build_marked  # type: ignore[assignment]


if __name__ == "__main__":
    mark_window()
    sys.exit(main([]))
