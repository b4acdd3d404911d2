"""Welcome page: paste box, discovered servers, and the demo servers."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from inspector.qt.panels.welcome import WelcomePanel
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.window.test_window import CONTROLS, is_part, spoken


def scan(lens: Lens) -> WelcomePanel:
    """Search for servers, as at the end of the startup."""
    lens.ask(lambda engine: engine.discovery.scan())
    lens.until(lambda: "welcome" in vars(lens.window))
    panel = lens.window.welcome
    lens.until(lambda: panel.isVisible() and panel.report is not None)
    return panel


def test_window_without_servers_says_where_it_searched_and_can_search_again(
    project: Path, lens: Lens
) -> None:
    panel = scan(lens)
    lens.until(lambda: ".mcp.json" in panel.found_text.text())
    assert "VS Code" in panel.found_text.text()
    assert "Review…" not in visible_text(panel)
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"url": "y"}}}))
    lens.press("Search again", panel)
    lens.until(lambda: "2 servers configured in Claude Code" in panel.found_text.text())
    lens.press("Review…", panel)
    assert lens.window.discovered_servers.isVisible()
    lens.until(lambda: lens.window.discovered_servers.report.files)


def test_pasted_text_opens_the_dialog_and_starts_nothing(project: Path, lens: Lens) -> None:
    panel = scan(lens)
    marker = project / "touched"
    assert not panel.go_action.isEnabled()
    panel.box.setFocus()
    QTest.keyClicks(panel.box, f"touch {marker}")
    QTest.keyClick(panel.box, Qt.Key.Key_Return)
    dialog = lens.dialog(AddServerDialog)
    assert dialog.address.text() == f"touch {marker}"
    assert lens.window.servers.model.rowCount() == 0
    dialog.close()
    assert not marker.exists()


def test_demo_servers_are_started_for_this_session_and_not_saved(project: Path, lens: Lens) -> None:
    panel = scan(lens)
    lens.press("Start demo servers", panel)
    lens.do("server.demo")  # once more, while they start
    model = lens.window.servers.model
    lens.until(lambda: model.row_of("everything") is not None)
    lens.wait_for("everything", ServerStatus.CONNECTED)
    lens.bot.waitUntil(lambda: model.row_of("login") is not None, timeout=60_000)
    assert not panel.isVisible()
    assert not lens.server_list.exists()
    names = [view.name for view in model.views()]
    assert len(names) == len(set(names)) == 5
    assert lens.window.notices.isHidden()


def test_tab_reaches_the_options_in_reading_order(project: Path, style_sheet: None, lens: Lens) -> None:
    panel = scan(lens)
    lens.until(lambda: ".mcp.json" in panel.found_text.text())
    panel.box.setFocus()
    QTest.keyClicks(panel.box, "x")
    reached: list[str] = []
    while len(reached) < 4:
        QTest.keyClick(lens.window.windowHandle(), Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        assert isinstance(focused, QAbstractButton)
        reached.append(focused.text())
    assert reached == ["Add server…", "Import servers from file…", "Search again", "Start demo servers"]


def test_every_control_of_the_welcome_page_has_a_name(project: Path, lens: Lens) -> None:
    panel = scan(lens)
    controls = [each for each in panel.findChildren(QWidget) if isinstance(each, CONTROLS)]
    assert len(controls) > 4
    assert [each for each in controls if not is_part(each) and not spoken(each)] == []


def test_removing_the_last_server_brings_the_welcome_page_back(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.choose("one")
    lens.do("server.remove")
    lens.until(lambda: lens.window.workspace() is None)
    assert lens.window.welcome.isVisible()
    assert lens.window.welcome.box.text() == ""


def test_window_with_servers_has_no_welcome_page(project: Path, lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.ask(lambda engine: engine.discovery.scan())
    lens.settle()
    assert "welcome" not in vars(lens.window)
    assert lens.workspace.view.name == "one"
