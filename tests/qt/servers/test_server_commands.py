"""Servers are edited, duplicated, removed and restored without losing unknown members."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, SecretRef, StdioEntry
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.servers.edit_server import EditServerDialog
from inspector.qt.forms.schema.plain_editors import PlainBox, PlainLine, PlainSeconds, PlainSwitch
from inspector.qt.forms.server.entry_editors import EnvironmentEditor, NameValueEditor
from inspector.qt.forms.server.server_form import ServerForm
from inspector.qt.theme import Theme
from inspector.qt.window.tabs import OVERVIEW
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.login.login_stage import ICONS

REMOTE = HttpEntry(name="remote", url="http://127.0.0.1:9/mcp")


def open_dialog(lens: Lens, name: str) -> EditServerDialog:
    lens.choose(name)
    lens.do("server.edit")
    lens.until(lambda: lens.dialogs(EditServerDialog))
    return lens.dialog(EditServerDialog)


def saved(lens: Lens) -> dict[str, JSONObject]:
    servers: dict[str, JSONObject] = json.loads(lens.server_list.read_text())["mcpServers"]
    return servers


def names(lens: Lens) -> list[str]:
    return [view.name for view in lens.window.servers.model.views()]


def press_save(lens: Lens, dialog: EditServerDialog) -> None:
    closed: list[int] = []
    dialog.finished.connect(closed.append)
    dialog.save_action.trigger()
    lens.until(lambda: closed or dialog.error_text())


def test_edited_command_and_arguments_apply_at_the_next_connection(lens: Lens) -> None:
    lens.keep(scripted("one"))
    lens.choose("one")
    lens.do("server.connect")
    lens.wait_for("one", ServerStatus.CONNECTED)
    dialog = open_dialog(lens, "one")
    args = dialog.form.fields.editor("args", PlainBox)
    assert args.box.toPlainText().splitlines() == list(scripted("one").args)
    args.box.appendPlainText("one more, with spaces")
    press_save(lens, dialog)
    assert saved(lens)["one"]["args"] == [*scripted("one").args, "one more, with spaces"]
    lens.until(lambda: lens.view("one").is_outdated)
    assert lens.view("one").status is ServerStatus.CONNECTED, "it goes on as it was"


def test_unknown_members_are_preserved_and_can_be_edited_as_json(lens: Lens) -> None:
    lens.keep(REMOTE)
    document = json.loads(lens.server_list.read_text())
    document["mcpServers"]["remote"]["x-theirs"] = {"kept": [1, 2]}
    lens.server_list.write_text(json.dumps(document))
    dialog = open_dialog(lens, "remote")
    dialog.form.fields.editor("notes", PlainBox).box.setPlainText("for tests")
    dialog.form.show_page("JSON")
    assert '"x-theirs"' in dialog.form.text.text()
    assert '"notes": "for tests"' in dialog.form.text.text(), "form and JSON are one draft"
    press_save(lens, dialog)
    assert saved(lens)["remote"]["x-theirs"] == {"kept": [1, 2]}
    dialog = open_dialog(lens, "remote")
    dialog.form.show_page("JSON")
    draft = {key: value for key, value in dialog.form.draft.items() if key != "x-theirs"}
    dialog.form.text.set_value(draft)
    dialog.form.text.text_changed.emit()
    press_save(lens, dialog)
    assert "x-theirs" not in saved(lens)["remote"]
    assert saved(lens)["remote"]["notes"] == "for tests"


def test_invalid_value_is_rejected_at_its_field_and_nothing_is_saved(lens: Lens) -> None:
    lens.keep(REMOTE)
    before = lens.server_list.read_text()
    dialog = open_dialog(lens, "remote")
    url = dialog.form.fields.editor("url", PlainLine)
    url.line.clear()
    QTest.keyClicks(url.line, "ftp://host/")
    press_save(lens, dialog)
    assert "ftp" in dialog.error_text()
    assert lens.server_list.read_text() == before
    url.line.clear()
    QTest.keyClicks(url.line, "http://127.0.0.1:9/other")
    assert not dialog.error_text(), "what is corrected is not complained about"
    timeout = dialog.form.fields.editor("timeouts.connect", PlainSeconds).line
    QTest.keyClicks(timeout, "soon")
    press_save(lens, dialog)
    assert "timeouts.connect" in dialog.error_text()
    assert dialog.form.pages.currentItem().text() == "Protocol"
    timeout.clear()
    QTest.keyClicks(timeout, "2.5")
    press_save(lens, dialog)
    assert saved(lens)["remote"]["timeouts"] == {"connect": 2.5}


def test_invalid_json_is_not_saved(lens: Lens) -> None:
    lens.keep(REMOTE)
    before = lens.server_list.read_text()
    dialog = open_dialog(lens, "remote")
    dialog.form.show_page("JSON")
    dialog.form.text.box.setFocus()
    dialog.form.text.box.selectAll()
    QTest.keyClicks(dialog.form.text.box, "[")
    dialog.save_action.trigger()
    assert "Invalid JSON" in dialog.error_text()
    assert lens.server_list.read_text() == before
    dialog.reject()


def test_secret_header_goes_into_the_store_and_only_its_name_into_the_file(lens: Lens) -> None:
    lens.keep(REMOTE)
    dialog = open_dialog(lens, "remote")
    headers = dialog.form.fields.editor("headers", NameValueEditor)
    headers.add_action.trigger()
    row = headers.rows[0]
    QTest.keyClicks(row.name, "X-API-Key")
    assert row.secret_action.isChecked(), "it is called like a secret"
    press_save(lens, dialog)
    assert "without a value: X-API-Key" in dialog.error_text()
    QTest.keyClicks(row.value, "s3cret-marker")
    assert row.value.echoMode() is QLineEdit.EchoMode.Password
    press_save(lens, dialog)
    assert saved(lens)["remote"]["headers"] == {"X-API-Key": {"ref": "header/remote/X-API-Key"}}
    assert "s3cret-marker" not in lens.server_list.read_text()
    stored = lens.ask(lambda engine: engine.secrets.get("header/remote/X-API-Key"))
    assert stored == "s3cret-marker"
    again = open_dialog(lens, "remote")
    shown = again.form.fields.editor("headers", NameValueEditor)
    assert shown.rows[0].value.text() == ""
    assert "in the secret store" in shown.rows[0].value.placeholderText()
    press_save(lens, again)
    assert saved(lens)["remote"]["headers"] == {"X-API-Key": {"ref": "header/remote/X-API-Key"}}


def test_renaming_keeps_the_position_and_the_secrets(lens: Lens) -> None:
    for entry in (scripted("one"), REMOTE, scripted("three")):
        lens.keep(entry)
    dialog = open_dialog(lens, "remote")
    headers = dialog.form.fields.editor("headers", NameValueEditor)
    headers.add_action.trigger()
    QTest.keyClicks(headers.rows[0].name, "Authorization")
    QTest.keyClicks(headers.rows[0].value, "Bearer abc")
    dialog.name.selectAll()
    QTest.keyClicks(dialog.name, "elsewhere")
    press_save(lens, dialog)
    lens.until(lambda: names(lens) == ["one", "elsewhere", "three"])
    assert list(saved(lens)) == ["one", "elsewhere", "three"]
    ref = saved(lens)["elsewhere"]["headers"]
    assert ref == {"Authorization": {"ref": "header/elsewhere/Authorization"}}
    get = lens.app.bridge.ask(lambda engine: engine.secrets.get("header/elsewhere/Authorization"))
    assert lens.run(get) == "Bearer abc"
    lens.until(lambda: lens.workspace.view.name == "elsewhere")


def test_switching_from_command_to_url_and_back_keeps_both(lens: Lens) -> None:
    lens.keep(scripted("one"))
    dialog = open_dialog(lens, "one")
    dialog.form.transport_switch.button(1).click()
    assert "Headers" in [dialog.form.pages.item(row).text() for row in range(dialog.form.pages.count())]
    url = dialog.form.fields.editor("url", PlainLine)
    QTest.keyClicks(url.line, "http://127.0.0.1:9/mcp")
    dialog.form.transport_switch.button(0).click()
    assert dialog.form.draft["args"] == list(scripted("one").args)
    dialog.form.transport_switch.button(1).click()
    assert dialog.form.draft["url"] == "http://127.0.0.1:9/mcp"
    press_save(lens, dialog)
    assert saved(lens)["one"]["url"] == "http://127.0.0.1:9/mcp"
    assert "command" not in saved(lens)["one"]


def test_referenced_variables_are_shown(lens: Lens) -> None:
    lens.keep(REMOTE)
    dialog = open_dialog(lens, "remote")
    url = dialog.form.fields.editor("url", PlainLine)
    url.line.setText("https://${HOST}/mcp")
    assert "${HOST}" in visible_text(dialog)
    dialog.reject()


def test_duplicate_follows_its_original_and_is_not_connected(lens: Lens) -> None:
    lens.keep(scripted("one"))
    lens.keep(scripted("two"))
    lens.choose("one")
    lens.do("server.duplicate")
    lens.until(lambda: len(names(lens)) == 3 and names(lens)[::2] == ["one", "two"])
    copy = names(lens)[1]
    assert saved(lens)[copy]["args"] == saved(lens)["one"]["args"]
    lens.until(lambda: lens.workspace.view.name == copy)
    assert lens.view(copy).status is ServerStatus.IDLE


def test_removed_server_is_restored_in_place_and_reconnected(lens: Lens) -> None:
    for name in ("one", "two", "three"):
        lens.keep(scripted(name))
    lens.choose("two")
    lens.do("server.connect")
    lens.wait_for("two", ServerStatus.CONNECTED)
    before = lens.server_list.read_text()
    lens.do("server.remove")
    lens.until(lambda: "Removed “two”." in visible_text(lens.window))
    lens.until(lambda: names(lens) == ["one", "three"])
    assert "two" not in saved(lens)
    lens.press("Undo", lens.window.strips)
    lens.until(lambda: names(lens) == ["one", "two", "three"])
    lens.wait_for("two", ServerStatus.CONNECTED)
    assert lens.server_list.read_text() == before
    lens.until(lambda: lens.workspace.view.name == "two")
    assert "was removed" not in visible_text(lens.window)


def test_several_removed_servers_are_restored_one_by_one(lens: Lens) -> None:
    for name in ("one", "two", "three"):
        lens.keep(scripted(name))
    before = lens.server_list.read_text()
    lens.choose("one")
    lens.do("server.remove")
    lens.until(lambda: names(lens) == ["two", "three"])
    lens.choose("two")
    lens.do("server.remove")
    lens.until(lambda: "“two”" in visible_text(lens.window.strips))
    assert "Removed “two” and 1 before it." in visible_text(lens.window.strips)
    lens.press("Undo", lens.window.strips)
    lens.until(lambda: names(lens) == ["two", "three"])
    assert "Removed “one”." in visible_text(lens.window.strips)
    lens.press("Undo", lens.window.strips)
    lens.until(lambda: names(lens) == ["one", "two", "three"])
    assert "removed" not in visible_text(lens.window.strips)
    assert lens.server_list.read_text() == before


def test_failed_undo_can_be_retried(lens: Lens) -> None:
    lens.keep(scripted("one"))
    lens.choose("one")
    lens.do("server.remove")
    lens.until(lambda: "Removed “one”." in visible_text(lens.window.strips))
    fine = lens.server_list.read_text()
    lens.server_list.write_text("{")
    lens.press("Undo", lens.window.strips)
    lens.until(lambda: "not valid JSON" in visible_text(lens.window))
    lens.until(lambda: "Removed “one”." in visible_text(lens.window.strips))
    lens.until(lambda: names(lens) == [])
    lens.server_list.write_text(fine)
    lens.press("Undo", lens.window.strips)
    lens.until(lambda: names(lens) == ["one"])


@pytest.mark.parametrize(
    ("command", "starts"), [("server.copy_claude", "claude mcp add"), ("server.copy_fragment", '"remote": {')]
)
def test_server_is_copied_in_the_format_of_other_tools(lens: Lens, command: str, starts: str) -> None:
    lens.keep(REMOTE)
    lens.choose("remote")
    QGuiApplication.clipboard().clear()
    lens.do(command)
    lens.until(lambda: QGuiApplication.clipboard().text() != "")
    assert QGuiApplication.clipboard().text().startswith(starts)
    assert "127.0.0.1:9/mcp" in QGuiApplication.clipboard().text()


def test_tool_name_is_copied_as_clients_show_it(lens: Lens) -> None:
    panel = lens.connect(scripted("my server"))
    assert lens.actions["tool.copy_name"].isEnabled()
    panel.choose("steps")
    lens.do("tool.copy_name")
    assert QGuiApplication.clipboard().text() == "mcp__my_server__steps"


def test_changes_are_discarded_only_after_a_second_confirmation(lens: Lens) -> None:
    lens.keep(REMOTE)
    before = lens.server_list.read_text()
    dialog = open_dialog(lens, "remote")
    QTest.keyClicks(dialog.name, "!")
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert "You have unsaved changes" in dialog.error_text()
    assert dialog.isVisible()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert lens.server_list.read_text() == before


def test_return_in_a_field_saves(lens: Lens) -> None:
    lens.keep(REMOTE)
    dialog = open_dialog(lens, "remote")
    QTest.keyClicks(dialog.name, "!")
    QTest.keyClick(dialog.name, Qt.Key.Key_Return)
    lens.until(lambda: names(lens) == ["remote!"])


def configure(lens: Lens, entry: Entry, secrets: dict[str, str] | None = None) -> None:
    """Configure the server elsewhere in the app."""
    lens.ask(lambda engine: engine.servers.update(entry.name, entry, secrets))


def test_external_changes_during_editing_are_not_overwritten(lens: Lens) -> None:
    lens.keep(StdioEntry(name="one", command="x", env={"KEY": "k3y", "MODE": "fast"}))
    dialog = open_dialog(lens, "one")
    dialog.form.fields.editor("notes", PlainBox).box.setPlainText("mine")
    env: dict[str, str | SecretRef] = {"KEY": SecretRef("env/one/KEY"), "MODE": "fast"}
    configure(lens, StdioEntry(name="one", command="x", env=env), {"env/one/KEY": "k3y"})
    lens.ask(lambda engine: engine.servers.set_enabled("one", False))
    theirs = saved(lens)["one"]
    press_save(lens, dialog)
    assert saved(lens)["one"] == {**theirs, "notes": "mine"}
    assert "k3y" not in lens.server_list.read_text()


def test_conflicting_changes_are_asked_about_once(lens: Lens) -> None:
    lens.keep(StdioEntry(name="one", command="x"))
    dialog = open_dialog(lens, "one")
    command = dialog.form.fields.editor("command", PlainLine)
    QTest.keyClicks(command.line, "-mine")
    configure(lens, StdioEntry(name="one", command="theirs"))
    press_save(lens, dialog)
    assert "Changed elsewhere while you were editing: command." in dialog.error_text()
    assert saved(lens)["one"]["command"] == "theirs"
    press_save(lens, dialog)
    assert saved(lens)["one"]["command"] == "x-mine"


def test_each_server_has_a_single_edit_window(lens: Lens) -> None:
    lens.keep(REMOTE)
    first = open_dialog(lens, "remote")
    assert open_dialog(lens, "remote") is first
    lens.settle()
    assert len(lens.dialogs(EditServerDialog)) == 1
    first.reject()
    lens.until(lambda: not lens.dialogs(EditServerDialog))
    assert open_dialog(lens, "remote").isVisible()


def test_stored_secret_is_not_deleted_needlessly(lens: Lens) -> None:
    lens.keep(REMOTE)
    headers = {"Key": SecretRef("header/remote/Key")}
    configure(lens, HttpEntry(name="remote", url=REMOTE.url, headers=headers), {"header/remote/Key": "k3y"})
    dialog = open_dialog(lens, "remote")
    editor = dialog.form.fields.editor("headers", NameValueEditor)
    editor.rows[0].secret_action.trigger()
    press_save(lens, dialog)
    assert "The stored value of Key would be deleted" in dialog.error_text()
    editor.rows[0].secret_action.trigger()
    press_save(lens, dialog)
    assert saved(lens)["remote"]["headers"] == {"Key": {"ref": "header/remote/Key"}}


def test_invalid_json_is_not_dropped_when_switching_pages(lens: Lens) -> None:
    lens.keep(REMOTE)
    dialog = open_dialog(lens, "remote")
    dialog.form.show_page("JSON")
    dialog.form.text.box.setPlainText('{"url": "http://127.0.0.1:9/other",')
    dialog.form.show_page("Notes")
    press_save(lens, dialog)
    assert "Invalid JSON" in dialog.error_text()
    assert dialog.form.is_json_shown


def test_typing_json_does_not_rebuild_fields_on_every_key(lens: Lens) -> None:
    lens.keep(StdioEntry(name="one", command="x", env={f"V_{number}": "value" for number in range(200)}))
    dialog = open_dialog(lens, "one")
    dialog.form.show_page("JSON")
    editor = dialog.form.fields.editor("env", NameValueEditor)
    rows = list(editor.rows)
    box = dialog.form.text.box
    cursor = box.textCursor()
    cursor.setPosition(box.toPlainText().index("value"))
    box.setTextCursor(cursor)
    QTest.keyClicks(box, "my")
    assert editor.rows == rows
    dialog.form.show_page("Environment")
    assert editor.rows[0].value.text() == "myvalue"
    dialog.form.show_page("JSON")
    QTest.keyClicks(box, "a")
    press_save(lens, dialog)
    assert saved(lens)["one"]["env"]["V_0"] == "myavalue"  # type: ignore[index, call-overload]


def test_edit_server_lists_the_variables_that_are_passed(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pr0xy-password@proxy:3128")
    monkeypatch.setenv("DEPLOY_TOKEN", "dep-12345678")
    lens.keep(StdioEntry(name="one", command="x"))
    dialog = open_dialog(lens, "one")
    dialog.form.show_page("Environment")
    editor = dialog.form.fields.editor("inheritEnvironment", EnvironmentEditor)
    text = visible_text(dialog)
    assert "HTTPS_PROXY" in text
    assert "DEPLOY_TOKEN" not in text
    editor.box.click()
    text = visible_text(dialog)
    assert "DEPLOY_TOKEN" in text
    assert not any(secret in text for secret in ("pr0xy-password", "dep-12345678"))
    press_save(lens, dialog)
    assert saved(lens)["one"]["inheritEnvironment"] is True


def test_one_request_at_a_time_is_switched_on_in_edit_server(lens: Lens) -> None:
    lens.keep(scripted("one"))
    dialog = open_dialog(lens, "one")
    editor = dialog.form.fields.editor("sequential", PlainSwitch)
    editor.box.click()
    press_save(lens, dialog)
    assert saved(lens)["one"]["sequential"] is True
    lens.do("server.connect")
    lens.wait_for("one", ServerStatus.CONNECTED)
    lens.until(lambda: "one at a time" in visible_text(lens.workspace.panel(OVERVIEW)))


def test_enabling_a_server_connects_it(lens: Lens) -> None:
    lens.keep(replace(scripted("one"), enabled=False))
    lens.choose("one")
    lens.wait_for("one", ServerStatus.DISABLED)
    lens.do("server.enable")
    lens.wait_for("one", ServerStatus.CONNECTED)
    lens.do("server.enable")
    lens.wait_for("one", ServerStatus.DISABLED)


def test_theme_can_change_after_the_form_was_closed(qtbot: QtBot) -> None:
    theme = Theme(ICONS)
    form = ServerForm("one", {"command": "x", "color": "red"}, theme)
    form.transport_switch.setParent(form)
    gone: list[object] = []
    form.destroyed.connect(lambda: gone.append(form))
    form.deleteLater()
    qtbot.waitUntil(lambda: bool(gone))
    theme.changed.emit()
