"""Pasted, opened and dropped configurations: shown in full, then added as the user chooses."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from inspector.base.json.values import JSONObject
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.settings.test_secrets_dialog import keychain
from tests.qt.widgets.test_hostile_text import HOSTILE, LONG, assert_harmless, assert_visible

__all__ = ["keychain"]  # a fixture

ARGS = list(scripted().args)
TOKEN = "s3cret-Zq9-marker"


def local(**members: object) -> JSONObject:
    return {"command": sys.executable, "args": ARGS, **members}  # type: ignore[dict-item]


def paste(lens: Lens, text: str) -> AddServerDialog:
    dialog = lens.window.add_commands.open(text)
    lens.until(lambda: dialog.list.is_complete)
    return dialog


def saved(lens: Lens) -> dict[str, JSONObject]:
    servers: dict[str, JSONObject] = json.loads(lens.server_list.read_text())["mcpServers"]
    return servers


def names(lens: Lens) -> list[str]:
    return [view.name for view in lens.window.servers.model.views()]


def stored(lens: Lens, name: str) -> str | None:
    return lens.ask(lambda engine: engine.secrets.get(name))


def drop_of(path: Path) -> tuple[QDropEvent, QMimeData]:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    move, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    return QDropEvent(QPointF(5, 5), move, data, button, Qt.KeyboardModifier.NoModifier), data


def link(**config: object) -> str:
    return f"vscode:mcp/install?{quote(json.dumps(config))}"


@pytest.mark.usefixtures("keychain")
def test_checked_servers_of_a_file_are_added_and_connected_under_the_chosen_names(lens: Lens) -> None:
    text = json.dumps(
        {
            "servers": {
                "one": local(env={"KEY": "${input:key}"}),
                "two": local(),
                "not me": local(),
                "broken": {"args": ["x"]},
            },
            "inputs": [{"type": "promptString", "id": "key", "description": "The key", "password": True}],
        }
    )
    dialog = paste(lens, text)
    one, two, other, broken = dialog.list.servers
    assert "4 servers found, 3 selected." in visible_text(dialog)
    assert not broken.check_box.isEnabled()
    assert "command" in visible_text(broken)
    QTest.keyClicks(two.name, "second")
    other.check_box.setChecked(False)
    assert dialog.add_action.text() == "Add 2 and connect"
    dialog.add_action.trigger()
    assert "“one” needs a value: The key." in dialog.error_text()
    assert one.inputs is not None
    field = one.inputs.fields["key"]
    assert isinstance(field, QLineEdit)
    assert field.echoMode() is QLineEdit.EchoMode.Password
    QTest.keyClicks(field, TOKEN)
    dialog.add_action.trigger()
    lens.until(lambda: names(lens) == ["one", "second"])
    for name in ("one", "second"):
        lens.wait_for(name, ServerStatus.CONNECTED)
    lens.until(lambda: lens.workspace.view.name == "one")
    assert TOKEN not in lens.server_list.read_text()
    assert saved(lens)["one"]["env"] == {"KEY": "${input:key}"}
    assert stored(lens, "input/one/key") == TOKEN


def test_parse_error_is_shown_immediately_with_line_and_column(lens: Lens) -> None:
    dialog = paste(lens, '{"mcpServers": {\n  "a": {"command": "x",, "args": []}\n}}')
    assert "line 2, column 24" in dialog.error_text()
    assert not dialog.list.servers
    dialog.put('{"mcpServers": {\n  "a": {"command": "x", "args": []}\n}}')
    assert dialog.error_text() == ""
    assert [server.shown_name() for server in dialog.list.servers] == ["a"]
    dialog.close()


def test_command_of_another_tool_is_added_without_connecting(lens: Lens) -> None:
    command = shlex.join(["claude", "mcp", "add", "mine", "-e", "MODE=fast", "--", sys.executable, *ARGS])
    dialog = paste(lens, command)
    assert "env.MODE" in visible_text(dialog)
    dialog.add_only_action.trigger()
    lens.until(lambda: names(lens) == ["mine"])
    lens.settle()
    assert lens.view("mine").status is ServerStatus.IDLE
    assert saved(lens)["mine"]["env"] == {"MODE": "fast"}


def test_taken_name_is_suggested_with_a_number(lens: Lens) -> None:
    lens.keep(scripted("files"))
    dialog = paste(lens, '"files": {"command": "x"}, "other": {"command": "y"}')
    assert [server.shown_name() for server in dialog.list.servers] == ["files 2", "other"]
    QTest.keyClicks(dialog.list.servers[1].name, "files 2")
    dialog.add_only_action.trigger()
    assert "Two servers are named “files 2”." in dialog.error_text()
    assert list(saved(lens)) == ["files"]
    dialog.close()


def test_typed_name_stays_while_the_command_is_edited(lens: Lens) -> None:
    dialog = paste(lens, "npx server")
    QTest.keyClicks(dialog.name, "mine")
    dialog.put("npx server 'un")
    assert "Close the quotes" not in visible_text(dialog), "it is being typed"
    dialog.put("npx server 'un closed'")
    assert dialog.list.servers[0].shown_name() == "mine"
    dialog.close()


def test_hundreds_of_servers_appear_gradually_before_they_can_be_added(lens: Lens) -> None:
    servers = {f"server {number}": {"command": "x", "args": ["y" * 200]} for number in range(150)}
    dialog = lens.window.add_commands.open(json.dumps({"mcpServers": servers}))
    assert not dialog.add_action.isEnabled(), "it is read beside the window"
    lens.until(lambda: len(dialog.list.servers) == 150)
    lens.until(lambda: dialog.add_action.text() == "Add 150 and connect" and dialog.add_action.isEnabled())
    dialog.close()


def test_link_shows_its_full_command_and_return_does_not_add_it(lens: Lens, tmp_path: Path) -> None:
    """T34: an install link adds a command that the user has not seen in full."""
    marker = tmp_path / "touched"
    args = ["-c", f"touch {shlex.quote(str(marker))}", "x" * 4_000, *(f"word {n}" for n in range(40))]
    dialog = paste(lens, link(name="evil", command="/bin/sh", args=args))
    box = dialog.list.findChild(QPlainTextEdit)
    assert box is not None
    assert box.toPlainText().split("\n") == ["/bin/sh", *args]
    assert "Review it before you add it" in dialog.alert.text("from")
    assert "shell" in visible_text(dialog.list)
    QTest.keyClick(dialog.address, Qt.Key.Key_Return)
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    lens.settle()
    assert dialog.isVisible()
    assert names(lens) == []
    assert not marker.exists()
    dialog.add_action.trigger()
    lens.until(lambda: names(lens) == ["evil"])
    lens.until(marker.exists)


def test_opened_file_is_shown_and_added_by_the_button_only(lens: Lens, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("// mine\n" + json.dumps({"mcpServers": {"one": local()}}))
    dialog = lens.window.add_commands.open()
    dialog.open_file(path)
    lens.until(lambda: dialog.list.servers)
    assert "mcp.json" in dialog.alert.text("from")
    QTest.keyClick(dialog.address, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    lens.settle()
    assert names(lens) == []
    dialog.add_action.trigger()
    lens.until(lambda: names(lens) == ["one"])
    lens.wait_for("one", ServerStatus.CONNECTED)
    assert path.read_text().startswith("// mine"), "the file stays as it is"


def test_unreadable_file_is_named_and_blocks_nothing(lens: Lens, tmp_path: Path) -> None:
    dialog = lens.window.add_commands.open()
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    for path, reason in ((tmp_path / "gone.json", "File not found."), (pipe, "not a regular file")):
        dialog.open_file(path)
        lens.until(lambda: reason in dialog.error_text())  # noqa: B023
        assert path.name in dialog.error_text()
    dialog.close()


def test_dropped_configuration_opens_the_dialog_and_starts_nothing(lens: Lens, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"mcpServers": {"one": local()}}))
    event, _data = drop_of(path)
    lens.window.dropEvent(event)
    dialog = lens.dialog(AddServerDialog)
    lens.until(lambda: dialog.list.servers)
    dialog.address.clear()
    assert not dialog.list.servers
    event, _data = drop_of(path)
    dialog.dropEvent(event)
    lens.until(lambda: dialog.list.servers)
    assert names(lens) == []
    dialog.close()


def test_dropped_file_without_servers_is_opened_as_traffic(lens: Lens, tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "x"}, "entries": []}}))
    event, _data = drop_of(path)
    lens.window.dropEvent(event)
    lens.until(lambda: lens.window.captures.all)
    assert not lens.dialogs(AddServerDialog)


def test_all_settings_are_shown_no_matter_how_many(lens: Lens) -> None:
    env = {f"V{number}": "x" for number in range(300)} | {"LAST": "y" * 3_000}
    dialog = paste(lens, json.dumps({"mcpServers": {"many": {"command": "x", "env": env}}}, indent=1))
    shown = [box.toPlainText() for box in dialog.list.findChildren(QPlainTextEdit)]
    assert any(text.endswith(f"env.LAST = {'y' * 3_000}") for text in shown)
    dialog.close()


def test_unreadable_entry_cannot_be_added(lens: Lens) -> None:
    servers = {"long": {"command": "x", "args": ["y" * 400_000]}, "short": {"command": "x"}}
    dialog = lens.window.add_commands.open(json.dumps({"mcpServers": servers}))
    lens.until(lambda: len(dialog.list.servers) == 2)
    long, short = dialog.list.servers
    assert "too long to review" in visible_text(long)
    assert not long.check_box.isEnabled()
    assert short.is_chosen
    dialog.close()


def test_error_of_an_entry_starts_with_its_line(lens: Lens) -> None:
    text = '{"mcpServers": {\n"one": {"command": "x", "env": {"online": [5]}},\n"two": {"command": "x"}}}'
    dialog = lens.window.add_commands.open(text)
    lens.until(lambda: len(dialog.list.servers) == 2)
    assert "Line 2: env.online" in visible_text(dialog.list.servers[0])
    dialog.close()


def test_hostile_text_stays_plain_and_visible_and_does_not_stretch_the_dialog(
    style_sheet: None, lens: Lens
) -> None:
    text = json.dumps(
        {
            "servers": {
                HOSTILE: {"command": HOSTILE, "args": [HOSTILE, "${input:k}"], "env": {HOSTILE: HOSTILE}},
                LONG: {"url": f"https://example.com/{'x' * 5_000}", "headers": {"X-API-Key": HOSTILE}},
                "broken": {"command": [HOSTILE], "type": HOSTILE},
            },
            "inputs": [{"id": "k", "type": "promptString", "description": LONG}],
        }
    )
    dialog = paste(lens, text)
    lens.until(lambda: len(dialog.list.servers) == 3 and dialog.list.servers[2].isVisible())
    assert_harmless(dialog)
    for box in dialog.list.findChildren(QPlainTextEdit):
        assert_visible(box.toPlainText())
    assert dialog.width() <= 900
    dialog.add_action.trigger()
    assert_visible(dialog.error_text())
    assert len(dialog.error_text()) < 500
    dialog.close()


@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "left there"])
@pytest.mark.usefixtures("keychain")
def test_plain_text_secret_goes_into_the_store_unless_unchecked(lens: Lens, is_moved: bool) -> None:
    dialog = paste(lens, json.dumps({"one": local(env={"API_KEY": TOKEN, "MODE": "fast"})}))
    server = dialog.list.servers[0]
    assert server.store_box is not None
    assert TOKEN not in visible_text(server), "it is not repeated below"
    server.store_box.setChecked(is_moved)
    dialog.add_only_action.trigger()
    lens.until(lambda: names(lens) == ["one"])
    assert (TOKEN in lens.server_list.read_text()) is not is_moved
    assert stored(lens, "env/one/API_KEY") == (TOKEN if is_moved else None)


def test_secret_is_not_moved_to_where_it_would_be_lost(lens: Lens) -> None:
    dialog = paste(lens, json.dumps({"one": local(env={"API_KEY": TOKEN})}))
    dialog.add_only_action.trigger()
    lens.until(dialog.error_text)
    assert "held only in memory" in dialog.error_text()
    assert not lens.server_list.exists()
    assert dialog.add_only_action.isEnabled()
    dialog.close()
