"""The list of tour stops, and the command that runs them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from inspector.app.backend import App, shut_down
from inspector.app.main import build
from inspector.app.tour import debugging_stops, feature_stops, server_stops
from inspector.app.tour import debugging_stops as login
from inspector.app.tour import debugging_stops as traffic
from inspector.app.tour import feature_stops as offered
from inspector.app.tour import server_stops as servers
from inspector.app.tour.guide import Guide, StopFailed
from inspector.config.paths import Files
from inspector.qt.theme import Scheme

STOPS: tuple[Callable[[Guide], Awaitable[None]], ...] = (
    servers.welcome,
    servers.found_servers,
    servers.add_by_pasting,
    server_stops.connect,
    servers.edit_server,
    servers.export_servers,
    server_stops.call_a_tool,
    server_stops.fill_a_form,
    server_stops.watch_progress,
    server_stops.tool_error,
    offered.four_states,
    offered.read_a_resource,
    offered.get_a_prompt,
    offered.reach_a_template,
    server_stops.many_tools,
    server_stops.over_http,
    server_stops.wire_faults,
    server_stops.crash,
    server_stops.reconnect,
    feature_stops.sampling_card,
    feature_stops.elicitation_form,
    feature_stops.several_rounds,
    login.walk_through_a_login,
    traffic.flood,
    traffic.filter_traffic,
    traffic.timeline,
    traffic.statistics,
    traffic.compare_two,
    traffic.save_and_open,
    debugging_stops.examine_a_connection,
    debugging_stops.edit_and_see,
    debugging_stops.what_changed,
    debugging_stops.settings,
    server_stops.add_server,
    server_stops.in_the_dark,
)


async def _walk(guide: Guide) -> str:
    """Run every stop; return what went wrong, or ""."""
    for stop in STOPS:
        name = stop.__name__.replace("_", " ")
        try:
            await stop(guide)
        except (StopFailed, TimeoutError) as exc:
            return f"The tour stopped at “{name}”: {str(exc) or 'it took too long'}"
        sys.stdout.write(f"{name}: ok\n")
        sys.stdout.flush()
    return ""


def _print_qt_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """Print Qt's messages, except the offscreen platform's warnings of unsupported features."""
    if not text.startswith("This plugin does not support"):
        sys.stderr.write(f"{text}\n")


def run_tour(out: Path) -> int:
    """Run the tour and save its screenshots to a folder. Return 0 when every stop worked."""
    out.mkdir(parents=True, exist_ok=True)
    qInstallMessageHandler(_print_qt_message)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        files = Files(
            preferences=Path(scratch, "preferences.json"),
            captures=Path(scratch, "captures"),
            calls=Path(scratch, "calls"),
            baselines=Path(scratch, "baselines"),
            trust=Path(scratch, "trust.json"),
            home=home,
        )
        project = servers.furnish(home)
        app = build(files, Path(scratch) / "window.ini", Scheme.LIGHT)
        app.window.show()
        QApplication.setActiveWindow(app.window)
        failure = app.loop.run_until_complete(_walk_and_leave(app, out, project))
        app.loop.close()
    if failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    sys.stdout.write(f"Screenshots saved in {out}.\n")
    return 0


async def _walk_and_leave(app: App, out: Path, project: Path) -> str:
    try:
        await app.bridge.ask_captures(lambda captures: captures.begin())
        return await _walk(Guide(app, out, project))
    finally:
        app.window.close()
        await shut_down(app)
