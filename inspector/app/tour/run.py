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
from inspector.app.tour.guide import Guide, StopFailed
from inspector.config.paths import Files
from inspector.qt.theme import Scheme

STOPS: tuple[Callable[[Guide], Awaitable[None]], ...] = (
    server_stops.welcome,
    server_stops.discovered_servers,
    server_stops.add_by_pasting,
    server_stops.connect,
    server_stops.edit_server,
    server_stops.export_servers,
    server_stops.call_a_tool,
    server_stops.fill_a_form,
    server_stops.watch_progress,
    server_stops.tool_error,
    feature_stops.four_states,
    feature_stops.read_a_resource,
    feature_stops.get_a_prompt,
    feature_stops.find_a_template,
    server_stops.many_tools,
    server_stops.over_http,
    server_stops.wire_faults,
    server_stops.crash,
    server_stops.reconnect,
    feature_stops.sampling_request,
    feature_stops.elicitation_form,
    feature_stops.several_rounds,
    debugging_stops.walk_through_a_login,
    debugging_stops.flood,
    debugging_stops.filter_traffic,
    debugging_stops.timeline,
    debugging_stops.statistics,
    debugging_stops.compare_two,
    debugging_stops.save_and_open,
    debugging_stops.run_doctor,
    debugging_stops.rerun_after_an_edit,
    debugging_stops.review_changes,
    debugging_stops.settings,
    server_stops.add_server,
    server_stops.dark_theme,
)


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
        project = server_stops.create_home(home)
        app = build(files, Path(scratch) / "window.ini", Scheme.LIGHT)
        app.window.show()
        QApplication.setActiveWindow(app.window)
        failure = app.loop.run_until_complete(_run_and_close(app, out, project))
        app.loop.close()
    if failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    sys.stdout.write(f"Screenshots saved in {out}.\n")
    return 0


async def _run_and_close(app: App, out: Path, project: Path) -> str:
    try:
        await app.bridge.ask(lambda engine: engine.captures.begin())
        return await _run_stops(Guide(app, out, project))
    finally:
        app.window.close()
        await shut_down(app)


async def _run_stops(guide: Guide) -> str:
    """Run every stop; return the failure, or ""."""
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
