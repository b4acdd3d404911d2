"""Window titles, texts and files never contain the secrets of a server."""

from __future__ import annotations

from collections.abc import Callable

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.views import ServerStatus
from tests.helpers.atrest import positions_of
from tests.qt.lens_driver import Lens, visible_text

SECRET = "M4rk3r/window+Zq9"
# No server listens on port 1.
URL = HttpEntry(
    name="away",
    url=f"http://127.0.0.1:1/mcp?api_key={SECRET.replace('+', '%2B')}",
    headers={"Authorization": f"Bearer {SECRET}"},
)
PROGRAM = StdioEntry(name="program", command="no-such-program", args=("--token", SECRET))


def test_window_titles_texts_and_files_contain_no_secret(make_lens: Callable[[], Lens]) -> None:
    """T32: secrets appear in titles, texts, logs or files."""
    lens = make_lens()

    def inspect() -> None:
        for entry in (URL, PROGRAM):
            lens.add(entry)
            lens.choose(entry.name)
            lens.do("server.connect")
            lens.wait_for(entry.name, ServerStatus.FAILED)
            assert lens.window.windowTitle() == f"{entry.name} — MCP Lens"
            assert SECRET not in visible_text(lens.window)

    lens.play(inspect)
    assert positions_of(SECRET, lens.folder, but=("vault.json",)) == []
    assert (lens.folder / "layout.ini").exists()
