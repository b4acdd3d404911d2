"""Server list: the status of each server, and its actions."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QListView, QMenu

from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.views import ServerStatus
from inspector.qt.models.servers import state_text
from inspector.qt.window.tabs import OVERVIEW
from tests.qt.lens_driver import Lens, faulty, scripted, visible_text

STATES = ServerStatus


@pytest.fixture
def login_url() -> Iterator[str]:
    """The URL of a server that requires login."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Bearer realm="mcp"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


def test_first_server_is_selected_and_shown_as_stopped(lens: Lens) -> None:
    lens.add(scripted())
    view = lens.window.current_view()
    assert view is not None
    assert view.name == "scripted"
    assert state_text(view) == "not connected"
    assert not lens.actions["server.disconnect"].isEnabled()


def test_connecting_says_what_it_waits_for_and_can_be_stopped(lens: Lens) -> None:
    lens.add(faulty("silent", "silent"))
    lens.do("server.connect")
    lens.until(lambda: state_text(lens.view("silent")) == "waiting for the response to initialize")
    assert not lens.actions["server.connect"].isEnabled()
    lens.do("server.disconnect")
    lens.wait_for("silent", STATES.IDLE)


def test_connected_server_shows_its_protocol_version_and_can_be_disconnected(lens: Lens) -> None:
    lens.connect(scripted())
    assert state_text(lens.view("scripted")) == "connected · 2025-11-25"
    lens.do("server.disconnect")
    lens.wait_for("scripted", STATES.IDLE)
    assert lens.actions["server.connect"].isEnabled()


def test_failed_server_says_why(lens: Lens) -> None:
    lens.add(faulty("broken", "exit"))
    lens.do("server.connect")
    view = lens.wait_for("broken", STATES.FAILED)
    assert not state_text(view).startswith("failed")
    assert "3" in view.reason
    assert lens.actions["server.connect"].isEnabled()
    lens.add(StdioEntry(name="missing", command="no-such-program-anywhere"))
    lens.choose("missing")
    lens.do("server.connect")
    missing = lens.wait_for("missing", STATES.FAILED)
    assert "no-such-program-anywhere" in missing.reason
    assert state_text(missing) == "not found on PATH"
    assert "Connection failed" in visible_text(lens.workspace.panel(OVERVIEW))


def test_server_that_answers_401_needs_a_login(lens: Lens, login_url: str) -> None:
    lens.add(HttpEntry(name="private", url=login_url))
    lens.do("server.connect")
    view = lens.wait_for("private", STATES.NEEDS_LOGIN)
    assert state_text(view).startswith("needs login: ")
    assert "Login required" in visible_text(lens.workspace.panel(OVERVIEW))


def test_disabled_server_is_not_connected_until_it_is_enabled(lens: Lens) -> None:
    lens.connect(scripted())
    lens.do("server.enable")
    lens.wait_for("scripted", STATES.DISABLED)
    assert not lens.actions["server.enable"].isChecked()
    assert not lens.actions["server.connect"].isEnabled()
    assert not lens.actions["server.reconnect"].isEnabled()
    lens.do("server.connect_all")
    lens.settle()
    assert lens.view("scripted").status is STATES.DISABLED
    lens.do("server.enable")
    lens.wait_for("scripted", STATES.CONNECTED)
    assert lens.actions["server.enable"].isChecked()


def test_reconnect_starts_another_process(lens: Lens) -> None:
    lens.connect(scripted())
    before = lens.view("scripted").pid
    lens.do("server.reconnect")
    lens.until(lambda: lens.view("scripted").pid not in (before, None))
    lens.wait_for("scripted", STATES.CONNECTED)


def test_several_servers_are_connected_at_once(lens: Lens) -> None:
    for name in ("one", "two", "three"):
        lens.add(scripted(name))
    lens.do("server.connect_all")
    for name in ("one", "two", "three"):
        lens.wait_for(name, STATES.CONNECTED)
    assert len({lens.view(name).pid for name in ("one", "two", "three")}) == 3


def test_removed_server_leaves_the_list_and_its_neighbor_is_selected(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.connect(scripted("two"))
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.rowCount() == 1)
    assert lens.workspace.view.name == "one"
    assert lens.window.windowTitle().startswith("one")
    lens.do("server.remove")
    lens.until(lambda: lens.window.workspace() is None)
    assert "Add a server" in visible_text(lens.window)
    assert lens.window.windowTitle() == "MCP Lens"
    assert not lens.actions["server.remove"].isEnabled()


def test_removing_a_server_in_the_middle_of_a_call_ends_the_call(lens: Lens) -> None:
    lens.add(scripted("one"))
    panel = lens.connect(scripted("two"))
    panel.choose("steps")
    lens.do("tool.call")
    lens.until(lambda: lens.sent("tools/call"))
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.rowCount() == 1)
    lens.settle()
    assert not lens.actions["tool.cancel"].isEnabled()


def test_double_click_connects(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.add(scripted("two"))
    servers = lens.window.servers.list
    _double_click(servers, 1)
    lens.wait_for("two", STATES.CONNECTED)
    assert lens.view("one").status is STATES.IDLE


def test_context_menu_offers_the_available_server_actions(lens: Lens) -> None:
    lens.add(scripted())
    servers = lens.window.servers.list
    at = servers.visualRect(servers.model().index(0, 0)).center()
    servers.customContextMenuRequested.emit(at)
    menu = next(each for each in lens.window.servers.findChildren(QMenu) if each.isVisible())
    assert lens.actions["server.connect"] in menu.actions()
    menu.close()


def test_bar_above_the_tabs_offers_either_connect_or_disconnect(lens: Lens) -> None:
    lens.add(scripted())
    assert "Connect" in visible_text(lens.workspace).splitlines()
    lens.do("server.connect")
    lens.wait_for("scripted", STATES.CONNECTED)
    text = visible_text(lens.workspace).splitlines()
    assert "Disconnect" in text
    assert "Connect" not in text


def _double_click(view: QListView, row: int) -> None:
    at = view.visualRect(view.model().index(row, 0)).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
