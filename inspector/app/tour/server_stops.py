"""Tour stops about the server list, connections and tool calls.

Includes how servers get into the list: empty window, discovered servers, pasting and editing. `create_home`
creates the home folder with config files that the tour uses.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from PySide6.QtTest import QTest

from inspector.app.tour.guide import TIMEOUT, Guide, StopFailed
from inspector.base.json.values import JSONObject
from inspector.demo.servers import command
from inspector.engine.servers.views import DiscoveryReport
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from inspector.qt.dialogs.servers.edit_server import EditServerDialog
from inspector.qt.dialogs.servers.export_servers import ExportServersDialog


async def connect(guide: Guide) -> None:
    await guide.press("Start demo servers", guide.window.welcome)
    for name in ("everything", "library", "faulty", "everything (http)"):
        await guide.until(f"{name} to be connected", lambda: guide.status(name) is ServerStatus.CONNECTED)  # noqa: B023
    guide.server("everything")
    guide.do("view.overview")
    await guide.screenshot("overview")


async def call_a_tool(guide: Guide) -> None:
    await guide.tool("forecast")
    guide.type_argument("city", "Lisbon")
    await guide.call(OutcomeKind.RESULT)
    text = guide.tools.call_view.result.content.shown_text()
    if "Lisbon" not in text:
        raise StopFailed(f"the result does not mention Lisbon: {text[:200]}")
    await guide.screenshot("call-a-tool")


async def fill_a_form(guide: Guide) -> None:
    await guide.tool("args_optional")
    guide.type_argument("name", "Ada")
    await guide.call(OutcomeKind.RESULT)
    await guide.screenshot("form")


async def watch_progress(guide: Guide) -> None:
    await guide.tool("slow")
    outcome = guide.outcome()
    guide.do("tool.call")
    log = guide.app.bridge.log
    await guide.until("progress", lambda: log.method(len(log) - 1) == "notifications/progress")
    await guide.screenshot("progress")
    guide.do("tool.cancel")
    if (await asyncio.wait_for(outcome, TIMEOUT)).kind is not OutcomeKind.CANCELLED:
        raise StopFailed("the call was cancelled but did not end as cancelled")
    await guide.until("the cancelled notification", lambda: _has_method(guide, "notifications/cancelled"))
    await guide.screenshot("cancelled")


async def tool_error(guide: Guide) -> None:
    await guide.tool("fail")
    await guide.call(OutcomeKind.TOOL_ERROR)
    await guide.screenshot("tool-error")


async def many_tools(guide: Guide) -> None:
    guide.server("library")
    guide.do("view.tools")
    await guide.until("250 tools", lambda: guide.tools.model.total == 250)
    await guide.screenshot("many-tools")


async def over_http(guide: Guide) -> None:
    guide.server("everything (http)")
    await guide.tool("add_numbers")
    guide.type_argument("a", "20")
    guide.type_argument("b", "22")
    outcome = await guide.call(OutcomeKind.RESULT)
    traffic = guide.window.traffic
    row = outcome.row
    assert row is not None
    await guide.until("the call in Traffic", lambda: traffic.choose(row))
    traffic.detail.tabs.setCurrentWidget(traffic.detail.http)
    await guide.until("its HTTP exchange", lambda: "Mcp-Method" in traffic.detail.http.text.shown_text())
    await guide.screenshot("over-http")
    traffic.detail.tabs.setCurrentIndex(0)


async def wire_faults(guide: Guide) -> None:
    guide.server("faulty")
    for tool in ("stray_stdout", "duplicate_response", "unmatched_response"):
        await guide.tool(tool)
        await guide.call(OutcomeKind.RESULT)
    traffic, log = guide.window.traffic, guide.app.bridge.log
    await guide.until("a finding in Traffic", lambda: _findings(guide))
    await guide.until("its row in the table", lambda: traffic.choose(_findings(guide)[-1]))
    await guide.until("the message in the detail pane", lambda: traffic.detail.message.shown_text())
    await guide.screenshot("wire-faults")
    assert log.problem(_findings(guide)[-1])


async def crash(guide: Guide) -> None:
    before = len(guide.app.bridge.log)
    await guide.tool("exits_mid_call")
    outcome = await guide.call(OutcomeKind.FAILED)
    if "code 9" not in outcome.summary:
        raise StopFailed(f"the error does not include the exit code: {outcome.summary}")
    await guide.until("the server to fail", lambda: guide.status("faulty") is ServerStatus.FAILED)
    guide.do("view.overview")
    await guide.screenshot("server-died")
    guide.do("view.console")
    await guide.screenshot("console")
    if len(guide.app.bridge.log) < before:
        raise StopFailed("the call history got shorter")


async def reconnect(guide: Guide) -> None:
    guide.do("server.reconnect")
    await guide.until("the server to reconnect", lambda: guide.status("faulty") is ServerStatus.CONNECTED)


async def add_server(guide: Guide) -> None:
    guide.do("server.add")
    dialog = next(iter(guide.window.findChildren(AddServerDialog)))
    QTest.keyClicks(dialog.address, "definitely-not-installed --flag")
    await guide.screenshot("add-server", dialog)
    dialog.add_action.trigger()
    name = "definitely-not-installed"
    await guide.until("the connection failure", lambda: guide.status(name) is ServerStatus.FAILED)
    guide.server(name)
    guide.do("view.overview")
    await guide.screenshot("command-not-found")
    guide.do("server.remove")
    await guide.until("the server to be removed", lambda: guide.status(name) is None)


async def dark_theme(guide: Guide) -> None:
    guide.server("everything")
    await guide.tool("forecast")
    result = guide.tools.call_view.result.content
    await guide.until("the earlier forecast", lambda: "Lisbon" in result.shown_text())
    guide.do("theme.dark")
    await guide.screenshot("dark")


def _has_method(guide: Guide, method: str) -> bool:
    log = guide.app.bridge.log
    return any(log.method(number) == method for number in range(len(log)))


def _findings(guide: Guide) -> list[int]:
    log = guide.app.bridge.log
    return [number for number in range(len(log)) if log.problem(number)]


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


def create_home(home: Path) -> Path:
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
    await guide.app.bridge.ask(lambda engine: engine.discovery.scan(guide.project))
    await guide.until("the welcome page", lambda: guide.window.welcome.isVisible())
    found = guide.window.welcome.found_text
    await guide.until("the servers found", lambda: "servers configured in" in found.text())
    await guide.screenshot("welcome")


async def discovered_servers(guide: Guide) -> None:
    """Review what a config file would start, approve one server, then revoke the approval."""
    await guide.press("Review…", guide.window.welcome)
    panel = guide.window.discovered_servers
    await guide.until("the files", lambda: panel.report.files)
    panel.tree.choose(_server_id(panel.report, "forecast"))
    await guide.screenshot("discovered-servers")
    if guide.window.servers.model.rowCount():
        raise StopFailed("a server was added without confirmation")
    panel.tree.choose(_server_id(panel.report, "library"))
    await guide.press("Trust and connect", panel)
    await guide.until("the server to connect", lambda: guide.status("library") is ServerStatus.CONNECTED)
    guide.do("view.overview")
    await guide.screenshot("trusted-server")
    guide.do("app.found")
    await guide.press("Stop trusting", panel)
    await guide.until("the server to be removed", lambda: guide.status("library") is None)


async def add_by_pasting(guide: Guide) -> None:
    """Paste another client's configuration into the welcome page."""
    guide.window.servers.go_back()
    box = guide.window.welcome.box
    await guide.until("the welcome page", box.isVisible)
    box.put(json.dumps(_PASTED, indent=2))
    await guide.press("Add server…", guide.window.welcome)
    dialog = next(iter(guide.window.findChildren(AddServerDialog)))
    await guide.until("three servers", lambda: len(dialog.list.servers) == 3 and dialog.isVisible())
    await guide.screenshot("add-by-pasting", dialog)
    if guide.window.servers.model.rowCount():
        raise StopFailed("a server was added without confirmation")
    dialog.close()


async def edit_server(guide: Guide) -> None:
    guide.server("library")
    guide.do("server.edit")
    await guide.until("the edit dialog", lambda: guide.window.findChildren(EditServerDialog))
    dialog = next(iter(guide.window.findChildren(EditServerDialog)))
    dialog.name.setFocus()
    QTest.keyClicks(dialog.name, " of Babel")
    await guide.screenshot("edit-server", dialog)
    for _ in range(2):  # unsaved text is discarded only after a second confirmation
        dialog.reject()


async def export_servers(guide: Guide) -> None:
    guide.server("everything")
    guide.do("server.export")
    dialog = next(iter(guide.window.findChildren(ExportServersDialog)))
    await guide.until("the exported text", dialog.copy_action.isEnabled)
    await guide.screenshot("export-servers", dialog)
    dialog.close()


def _server_id(report: DiscoveryReport, name: str) -> str:
    view = next((view for view in report.servers if view.name == name), None)
    if view is None:
        raise StopFailed(f"{name!r} was not found")
    return view.id
