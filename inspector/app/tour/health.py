"""The stops about servers that one is working on: examined, edited, watched, compared with before."""

from __future__ import annotations

import sys
from pathlib import Path

from inspector.app.tour.guide import Guide
from inspector.config.entries import HttpEntry, StdioEntry
from inspector.config.savedcalls import SavedCall
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.drift import DriftDialog
from inspector.qt.dialogs.settings import SettingsDialog

_GREETER = '''"""A server that one is writing."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")


@server.tool()
def greet(name: str) -> str:
    """Greet somebody by name."""
    return f"{word}, {{name}}!"


@server.tool()
def {other}(text: str) -> int:
    """How many words a text has."""
    return len(text.split())


server.run()
'''


def _write(path: Path, word: str, other: str) -> None:
    path.write_text(_GREETER.format(word=word, other=other))


async def examine_a_connection(guide: Guide) -> None:
    """Connect to a port where nothing listens: the Doctor shows which step fails, and why."""
    await guide.app.bridge.add_server(HttpEntry(name="tickets", url="http://127.0.0.1:9/mcp"))
    await guide.until("the server", lambda: guide.status("tickets") is not None)
    guide.server("tickets")
    guide.do("server.connect")
    await guide.until("it to fail", lambda: guide.status("tickets") is ServerStatus.FAILED)
    guide.do("server.doctor")
    workspace = guide.window.workspace()
    assert workspace is not None
    panel = workspace.doctor

    def is_over() -> bool:
        seen = panel.examination
        return seen is not None and not seen.is_running and seen.failure is not None

    await guide.until("the verdict", is_over)
    await guide.picture("doctor")


async def edit_and_see(guide: Guide) -> None:
    """Edit the server, save, see red or green."""
    source = guide.project / "greeter.py"
    _write(source, "Hello", "count_words")
    entry = StdioEntry(
        name="greeter",
        command=sys.executable,
        args=("-P", str(source)),
        cwd=str(guide.project),
        watch=("*.py",),
        colour="teal",
    )
    for name in ("Ada", "Grace"):
        call = SavedCall(f"Greet {name}", "greet", "greeter", {"name": name}, watch=True)
        await guide.app.bridge.ask_calls(lambda calls, call=call: calls.save(call))  # type: ignore[misc]
    await guide.app.bridge.add_server(entry)
    await guide.until("the server", lambda: guide.status("greeter") is not None)
    guide.server("greeter")
    guide.do("server.connect")
    await guide.until("it to be connected", lambda: guide.status("greeter") is ServerStatus.CONNECTED)
    guide.do("view.process")
    workspace = guide.window.workspace()
    assert workspace is not None
    reruns = workspace.process.reruns
    await guide.until("the calls", lambda: reruns.model.rowCount() == 2)
    reruns.run_now()
    await guide.until("their results", reruns.accept_all.isEnabled)
    reruns.accept_all.trigger()
    await guide.until("them to be accepted", lambda: "as expected" in workspace.reruns_badge.text)
    _write(source, "Goodbye", "number_of_words")
    await guide.until("red", lambda: "not as expected" in workspace.reruns_badge.text)
    await guide.picture("edit-save-red")


async def what_changed(guide: Guide) -> None:
    """A tool was renamed since the last connection."""
    workspace = guide.window.workspace()
    assert workspace is not None
    await guide.until("the news", lambda: workspace.strips.text("drift"))
    guide.do("server.drift")
    dialog = next(iter(guide.window.findChildren(DriftDialog)))
    await guide.until("the changes", lambda: dialog.model.rowCount() > 0)
    await guide.picture("what-changed", dialog)
    dialog.close()


async def settings(guide: Guide) -> None:
    guide.do("app.settings")
    dialog = next(iter(guide.window.findChildren(SettingsDialog)))
    await guide.until("the settings", dialog.isVisible)
    await guide.picture("settings", dialog)
    dialog.close()
