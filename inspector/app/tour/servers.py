"""The stops about servers coming into the list: an empty window, what other tools have, pasting, editing."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtTest import QTest

from inspector.app.tour.guide import Guide, StopFailed
from inspector.base.jsonvalue import JSONObject
from inspector.demo.servers import command
from inspector.engine.foundviews import FoundReport
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.addserver import AddServerDialog
from inspector.qt.dialogs.editserver import EditServerDialog
from inspector.qt.dialogs.exportservers import ExportServersDialog

_PASTED: JSONObject = {
    "servers": {
        "github": {
            "type": "http",
            "url": "https://api.githubcopilot.com/mcp/",
            "headers": {"Authorization": "Bearer ${input:token}"},
        },
        "files": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "${userHome}/notes"],
            "env": {"LOG_LEVEL": "debug"},
        },
        "unfinished": {"args": ["--port", "8080"]},
    },
    "inputs": [{"type": "promptString", "id": "token", "description": "GitHub token", "password": True}],
}


def furnish(home: Path) -> Path:
    """Fill a typical home folder with config files, and return the project in it."""
    program, *args = command("library")
    project = home / "weather"
    files: dict[str, JSONObject] = {
        "weather/.mcp.json": {
            "mcpServers": {
                "library": {"command": program, "args": list(args)},
                "forecast": {
                    "command": "npx",
                    "args": ["-y", "@example/forecast-mcp", "--units", "metric"],
                    "env": {"FORECAST_KEY": "${FORECAST_KEY}"},
                },
            }
        },
        ".cursor/mcp.json": {"mcpServers": {"forecast": {"url": "https://forecast.example.com/mcp"}}},
        "weather/.vscode/mcp.json": _PASTED,
    }
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2))
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[mcp_servers.docs]\ncommand = "uvx"\nargs = ["docs-mcp"\n')
    return project


async def welcome(guide: Guide) -> None:
    """The welcome page of an empty server list."""
    await guide.app.bridge.ask_found(lambda found: found.look(guide.project))
    await guide.until("the offers", lambda: guide.window.welcome.isVisible())
    await guide.until("what was found", lambda: "servers in" in guide.window.welcome.found_words.text())
    await guide.picture("welcome")


async def found_servers(guide: Guide) -> None:
    """Review what a config file would start, approve one server, then revoke the approval."""
    await guide.press("Review…", guide.window.welcome)
    panel = guide.window.found
    await guide.until("the files", lambda: panel.report.files)
    panel.tree.choose(_id(panel.report, "forecast"))
    await guide.picture("found-servers")
    if guide.window.servers.model.rowCount():
        raise StopFailed("a server was added before anybody agreed to it")
    panel.tree.choose(_id(panel.report, "library"))
    await guide.press("Trust and connect", panel)
    await guide.until("it to be connected", lambda: guide.status("library") is ServerStatus.CONNECTED)
    guide.do("view.overview")
    await guide.picture("trusted-server")
    guide.do("app.found")
    await guide.press("Stop trusting", panel)
    await guide.until("it to be gone", lambda: guide.status("library") is None)


async def add_by_pasting(guide: Guide) -> None:
    """Paste another tool's configuration into the welcome page."""
    guide.window.servers.go_back()
    box = guide.window.welcome.box
    await guide.until("the offers", box.isVisible)
    box.put(json.dumps(_PASTED, indent=2))
    await guide.press("Continue…", guide.window.welcome)
    dialog = next(iter(guide.window.findChildren(AddServerDialog)))
    await guide.until("three servers", lambda: len(dialog.list.servers) == 3 and dialog.isVisible())
    await guide.picture("add-by-pasting", dialog)
    if guide.window.servers.model.rowCount():
        raise StopFailed("a server was added before anybody agreed to it")
    dialog.close()


async def edit_server(guide: Guide) -> None:
    guide.server("library")
    guide.do("server.edit")
    await guide.until("the dialog", lambda: guide.window.findChildren(EditServerDialog))
    dialog = next(iter(guide.window.findChildren(EditServerDialog)))
    dialog.name.setFocus()
    QTest.keyClicks(dialog.name, " of Babel")
    await guide.picture("edit-server", dialog)
    for _ in range(2):  # unsaved text is discarded only after a second confirmation
        dialog.reject()


async def export_servers(guide: Guide) -> None:
    guide.server("everything")
    guide.do("server.export")
    dialog = next(iter(guide.window.findChildren(ExportServersDialog)))
    await guide.until("the text", dialog.copy_action.isEnabled)
    await guide.picture("export-servers", dialog)
    dialog.close()


def _id(report: FoundReport, name: str) -> str:
    view = next((view for view in report.servers if view.name == name), None)
    if view is None:
        raise StopFailed(f"{name!r} was not found")
    return view.id
