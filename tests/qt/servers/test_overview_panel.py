"""Overview panel: facts of a connected server; cause and next step of a failed one."""

from __future__ import annotations

import json
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from inspector.config.servers.entries import Timeouts
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.qt.window.tabs import OVERVIEW
from tests.qt.lens_driver import Lens, faulty, scripted, visible_text


def press(lens: Lens, text: str) -> None:
    overview = lens.workspace.panel(OVERVIEW)

    def found() -> list[QPushButton]:
        buttons = overview.findChildren(QPushButton)
        return [each for each in buttons if each.isVisible() and each.text() == text]

    lens.until(found)
    QTest.mouseClick(found()[0], Qt.MouseButton.LeftButton)


def test_connected_server_is_described_in_facts(lens: Lens) -> None:
    info = {"name": "books", "title": "The Library", "version": "4.5.6"}
    capabilities = {"tools": {"listChanged": True}, "x-shelf": {"depth": 3}}
    lens.connect(scripted(info=info, capabilities=capabilities, instructions="Ask for a book."))
    text = visible_text(lens.workspace.panel(OVERVIEW))
    for expected in ("books", "The Library", "4.5.6", "2025-11-25", "stdio", "Ask for a book.", "x-shelf"):
        assert expected in text, expected
    assert str(lens.view("scripted").pid) in text
    assert json.dumps({"depth": 3}, separators=(",", ":")) in text
    assert "not declared" in text


def test_source_of_the_path_is_shown_for_a_command(lens: Lens) -> None:
    lens.add(faulty("broken", "exit"))
    lens.choose("broken")
    assert "as MCP Lens was started" in visible_text(lens.workspace.panel(OVERVIEW))
    lens.ask(lambda engine: engine.settings.set("connections.serverPath", "/opt/x"))
    lens.until(lambda: "custom, from Settings" in visible_text(lens.workspace.panel(OVERVIEW)))


def test_handshake_findings_are_listed(lens: Lens) -> None:
    lens.connect(scripted(info={}, capabilities={"tools": {}}))
    negotiated = lens.view("scripted").negotiated
    assert negotiated is not None
    assert negotiated.problems
    assert negotiated.problems[0] in visible_text(lens.workspace.panel(OVERVIEW))


def test_failed_server_shows_cause_next_step_and_a_retry_button(lens: Lens) -> None:
    lens.add(faulty("broken", "exit"))
    press(lens, "Connect")
    view = lens.wait_for("broken", ServerStatus.FAILED)
    text = visible_text(lens.workspace.panel(OVERVIEW))
    assert view.next_step
    assert view.reason in text
    assert view.next_step in text
    assert "API_TOKEN is not set" in text
    attempts = len(lens.sent("initialize")) + _starts(lens)
    press(lens, "Connect")
    lens.until(lambda: len(lens.sent("initialize")) + _starts(lens) > attempts)
    lens.wait_for("broken", ServerStatus.FAILED)


def test_connecting_server_can_be_stopped_from_here(lens: Lens) -> None:
    lens.add(faulty("silent", "silent"))
    lens.do("server.connect")
    lens.until(
        lambda: "Waiting for the response to initialize." in visible_text(lens.workspace.panel(OVERVIEW))
    )
    press(lens, "Disconnect")
    lens.wait_for("silent", ServerStatus.IDLE)
    assert "Not connected" in visible_text(lens.workspace.panel(OVERVIEW))


def _starts(lens: Lens) -> int:
    return sum(b"started" in row.raw for row in lens.records() if row.kind.name == "PROCESS")


def test_configuration_is_shown_before_and_after_connecting(lens: Lens) -> None:
    entry = replace(
        scripted("one"), notes="For tests.\nSecond line.", auto_connect=True, env={"WHERE": "${HOME}/x"}
    )
    lens.keep(entry)
    lens.choose("one")
    overview = lens.workspace.panel(OVERVIEW)
    for status in (ServerStatus.IDLE, ServerStatus.CONNECTED):
        if status is ServerStatus.CONNECTED:
            lens.do("server.connect")
        lens.wait_for("one", status)
        text = visible_text(overview)
        assert text.count("Second line.") == 1
        assert "${HOME}" in text
        assert "connects when MCP Lens starts" in text


def test_changed_configuration_is_announced_until_reconnected(lens: Lens) -> None:
    entry = scripted("one")
    lens.keep(entry)
    lens.choose("one")
    lens.do("server.connect")
    lens.wait_for("one", ServerStatus.CONNECTED)
    overview = lens.workspace.panel(OVERVIEW)
    assert overview.alert.text("outdated") == ""
    changed = replace(entry, env={"NEW": "1"})
    lens.ask(lambda engine: engine.servers.update("one", changed))
    lens.until(lambda: overview.alert.text("outdated"))
    pid = lens.view("one").pid
    lens.do("view.overview")
    press(lens, lens.actions["server.reconnect"].text())
    lens.until(lambda: lens.view("one").pid not in (None, pid))
    lens.wait_for("one", ServerStatus.CONNECTED)
    assert overview.alert.text("outdated") == ""


def test_unsaved_server_says_that_it_is_not_saved(lens: Lens) -> None:
    lens.add(scripted("one"))
    assert "no (until you close MCP Lens)" in visible_text(lens.workspace.panel(OVERVIEW))


def test_slow_server_offers_to_wait_longer(lens: Lens) -> None:
    entry = replace(faulty("slow", "silent"), timeouts=Timeouts(connect=0.2))
    lens.add(entry)
    lens.do("server.connect")
    lens.wait_for("slow", ServerStatus.FAILED)
    assert "Timed out after" in visible_text(lens.workspace.panel(OVERVIEW))
    press(lens, "Wait longer")
    lens.wait_for("slow", ServerStatus.CONNECTING)
    press(lens, "Disconnect")
    lens.wait_for("slow", ServerStatus.IDLE)


def test_connecting_server_shows_what_it_may_be_doing_and_how_to_wait_longer(lens: Lens) -> None:
    view = ServerView(
        "slow",
        "stdio",
        "npx -y slow",
        ServerStatus.CONNECTING,
        next_step="npx may be downloading the package. MCP Lens waits 25 s in total.",
        waits_for="the response to initialize",
        can_wait_longer=True,
    )
    lens.add(scripted("one"))
    overview = lens.workspace.panel(OVERVIEW)
    overview.set_view(view)
    text = visible_text(overview)
    assert "npx may be downloading the package." in text
    buttons = [each.text() for each in overview.findChildren(QPushButton) if each.isVisible()]
    assert buttons == ["Disconnect", "Wait longer"]
