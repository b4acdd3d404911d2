"""Add server dialog: accepted and rejected input, and what is saved."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from tests.qt.lens_driver import Lens, scripted, visible_text

SERVER = shlex.join([sys.executable, *scripted().args])


def open_dialog(lens: Lens) -> AddServerDialog:
    lens.do("server.add")
    return lens.dialog(AddServerDialog)


def saved(lens: Lens) -> dict[str, dict[str, object]]:
    servers: dict[str, dict[str, object]] = json.loads(lens.server_list.read_text())["mcpServers"]
    return servers


def test_command_is_added_connected_selected_saved_and_still_there_after_a_restart(
    make_lens: Callable[[], Lens],
) -> None:
    first = make_lens()

    def add() -> None:
        first.add(scripted("already here"))
        dialog = open_dialog(first)
        QTest.keyClicks(dialog.address, SERVER)
        QTest.keyClicks(dialog.name, "mine")
        QTest.keyClick(dialog.name, Qt.Key.Key_Return)
        first.until(lambda: first.window.servers.model.row_of("mine") is not None)
        first.wait_for("mine", ServerStatus.CONNECTED)
        assert first.workspace.view.name == "mine", "the new server comes to the front"
        assert saved(first)["mine"]["command"] == sys.executable

    first.play(add)
    second = make_lens()

    def scan() -> None:
        second.ask(lambda engine: engine.servers.load())
        second.until(lambda: second.window.servers.model.rowCount() == 1)
        assert second.view("mine").status is ServerStatus.IDLE

    second.play(scan)


def test_return_in_the_url_field_adds_the_server_under_a_derived_name(lens: Lens) -> None:
    dialog = open_dialog(lens)
    QTest.keyClicks(dialog.address, "http://127.0.0.1:9/mcp")
    assert "“Add and connect” connects to this URL:" in visible_text(dialog)
    assert [server.name.placeholderText() for server in dialog.list.servers] == ["127.0.0.1:9"]
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    lens.until(lambda: lens.window.servers.model.row_of("127.0.0.1:9") is not None)
    assert saved(lens)["127.0.0.1:9"]["url"] == "http://127.0.0.1:9/mcp"
    assert lens.view("127.0.0.1:9").transport == "http"
    lens.until(lambda: not lens.dialogs(AddServerDialog))


def test_bad_input_keeps_the_dialog_open_with_the_reason(lens: Lens) -> None:
    lens.add(scripted("taken"))
    dialog = open_dialog(lens)
    assert not dialog.add_action.isEnabled(), "there is nothing to add yet"
    for address, name, reason in (
        ("ftp://example.org/mcp", "", "connect to ftp URLs"),
        ("npx 'unclosed", "", "Close the quotes"),
        ("some-server", "taken", "'taken' already"),
    ):
        dialog.address.put(address)
        if name:
            dialog.name.setText(name)
        assert dialog.error_text() == "", "an error goes away with what it was about"
        QTest.keyClick(dialog.address, Qt.Key.Key_Return)
        lens.until(dialog.error_text)
        assert reason in visible_text(dialog)
        assert dialog.isVisible()
    assert lens.window.servers.model.rowCount() == 1
    assert not lens.server_list.exists()
    dialog.close()


def test_unwritable_server_list_is_an_error_in_the_dialog(lens: Lens) -> None:
    lens.server_list.mkdir()
    dialog = open_dialog(lens)
    dialog.address.put("some-server")
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    lens.until(dialog.error_text)
    assert str(lens.server_list) in dialog.error_text()
    assert lens.window.servers.model.rowCount() == 0
    dialog.close()


def test_return_pressed_twice_adds_once(lens: Lens) -> None:
    dialog = open_dialog(lens)
    dialog.address.put("no-such-program-anywhere")
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    lens.until(lambda: not lens.dialogs(AddServerDialog))
    lens.settle()
    assert lens.window.servers.model.rowCount() == 1


def test_escape_closes_the_dialog_and_adds_nothing(lens: Lens) -> None:
    dialog = open_dialog(lens)
    dialog.address.put("some-server")
    QTest.keyClick(dialog.address, Qt.Key.Key_Escape)
    lens.until(lambda: not lens.dialogs(AddServerDialog))
    assert lens.window.servers.model.rowCount() == 0


def test_dialog_closed_during_saving_still_adds_the_server(lens: Lens) -> None:
    dialog = open_dialog(lens)
    dialog.address.put("no-such-program-anywhere")
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    dialog.close()
    lens.until(lambda: lens.window.servers.model.rowCount() == 1)
    lens.settle()
