"""Settings dialog: search, immediate effect, and restored defaults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from inspector.app.backend import open_first_servers
from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.base.search_path import search_path
from inspector.config.preferences.settings import SETTINGS, Kind
from inspector.engine.settings import SettingsStore
from inspector.qt.dialogs.settings import SECTIONS, CommandRow, FileRow, PathEditor, SettingsDialog
from inspector.qt.dialogs.traffic.captures import CapturesDialog
from inspector.qt.forms.schema.plain_editors import PlainNames, PlainNumber, PlainSegments, PlainSwitch
from inspector.qt.link_opener import LinkOpener
from inspector.qt.theme import Scheme
from tests.qt.lens_driver import Lens, visible_text


class Launcher:
    """Opens nothing, and records what it was asked to open."""

    def __init__(self) -> None:
        self.opened: list[QUrl] = []

    def __call__(self, url: QUrl) -> bool:
        self.opened.append(url)
        return True


def open_settings(lens: Lens) -> SettingsDialog:
    lens.do("app.settings")
    dialog = lens.dialog(SettingsDialog)
    row = dialog.rows["files.captures"]
    assert isinstance(row, FileRow)
    lens.until(lambda: row.path.text() and dialog.value_row("connections.connectTimeout").isEnabled())
    return dialog


def saved_settings(lens: Lens) -> dict[str, Any]:
    path = lens.folder / "preferences.json"
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return document


def number(dialog: SettingsDialog, id: str) -> PlainNumber:
    editor = dialog.value_row(id).editor
    assert isinstance(editor, PlainNumber)
    return editor


def type_number(dialog: SettingsDialog, id: str, text: str) -> None:
    box = number(dialog, id).box
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, text)
    QTest.keyClick(box, Qt.Key.Key_Return)


def shown(dialog: SettingsDialog) -> list[str]:
    return [id for id, row in dialog.rows.items() if row.isVisibleTo(dialog)]


def search_for(dialog: SettingsDialog, text: str) -> None:
    dialog.search.setFocus()
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, text)
    dialog.search.settle()


def show_section(dialog: SettingsDialog, name: str) -> None:
    dialog.search.clear()
    dialog.search.settle()
    dialog.sections.setCurrentRow(SECTIONS.index(name))


def test_every_setting_is_in_a_section_with_a_description(lens: Lens) -> None:
    dialog = open_settings(lens)
    seen: list[str] = []
    for section in SECTIONS:
        show_section(dialog, section)
        seen += shown(dialog)
        for id in shown(dialog):
            assert dialog.rows[id].setting.description in visible_text(dialog)
    unused = {"files.baselines", "files.trust"}  # in this run
    assert set(seen) == {setting.id for setting in SETTINGS} - unused
    assert len(seen) == len(set(seen))


def test_search_finds_settings_in_all_sections(lens: Lens) -> None:
    dialog = open_settings(lens)
    search_for(dialog, "history secrets")
    assert shown(dialog) == ["calls.keepSecrets"]
    search_for(dialog, "captures")
    assert {"captures.keepDays", "files.captures"} <= set(shown(dialog))
    search_for(dialog, "no such thing")
    assert not shown(dialog)
    assert dialog.no_matches.isVisibleTo(dialog)
    QTest.keyClick(dialog.search, Qt.Key.Key_Escape)
    assert shown(dialog) == [each.id for each in SETTINGS if each.section == SECTIONS[0]]
    assert dialog.isVisible(), "Escape cleared the search, no more"


def test_clicking_the_previous_section_ends_the_search(lens: Lens) -> None:
    dialog = open_settings(lens)
    search_for(dialog, "captures")
    item = dialog.sections.item(0)
    assert not item.isSelected()
    position = dialog.sections.visualItemRect(item).center()
    QTest.mouseClick(dialog.sections.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert not dialog.search.text()
    assert item.isSelected()
    assert "connections.keepAlive" in shown(dialog)


def test_number_takes_effect_is_saved_and_can_be_reset(lens: Lens) -> None:
    dialog = open_settings(lens)
    row = dialog.value_row("connections.connectTimeout")
    assert not row.reset_button.isVisibleTo(row)
    type_number(dialog, "connections.connectTimeout", "2.5")
    lens.until(lambda: saved_settings(lens) == {"connections": {"connectTimeout": 2.5}})
    lens.until(lambda: row.reset_button.isVisibleTo(row))
    assert lens.app.thread.engine.settings.get("connections.connectTimeout") == 2.5
    assert number(dialog, "connections.connectTimeout").box.text() == "2.5 s"
    row.reset_action.trigger()
    lens.until(lambda: saved_settings(lens) == {})
    lens.until(lambda: not row.reset_button.isVisibleTo(row))
    assert number(dialog, "connections.connectTimeout").box.text() == "15 s"


def test_choice_made_while_values_are_loading_wins(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    dialog = open_settings(lens)
    lens.settle()
    held: list[asyncio.Future[None]] = []
    look_up = SettingsStore.values

    async def values(harness: SettingsStore) -> Mapping[str, JSON]:
        found = look_up(harness)
        if not held:  # the first one takes its time
            held.append(asyncio.get_running_loop().create_future())
            await held[0]
        return found

    monkeypatch.setattr(SettingsStore, "values", values)
    QApplication.sendEvent(dialog, QEvent(QEvent.Type.WindowActivate))
    lens.until(lambda: held)
    type_number(dialog, "connections.connectTimeout", "2.5")
    row = dialog.value_row("connections.connectTimeout")
    lens.until(lambda: row.reset_button.isVisibleTo(row))
    lens.app.thread.call(lambda: held[0].set_result(None))
    lens.settle()
    lens.settle()
    assert number(dialog, "connections.connectTimeout").box.text() == "2.5 s"


def test_out_of_range_number_is_clamped(lens: Lens) -> None:
    dialog = open_settings(lens)
    show_section(dialog, "Traffic and captures")
    type_number(dialog, "captures.keepDays", "0")
    box = number(dialog, "captures.keepDays").box
    assert 1 <= box.value() <= 3650


def test_special_value_is_shown_as_a_word_instead_of_a_misleading_number(lens: Lens) -> None:
    dialog = open_settings(lens)
    show_section(dialog, "Inbox")
    box = number(dialog, "inbox.timeout").box
    assert box.text() == "no limit"
    type_number(dialog, "inbox.timeout", "60")
    lens.until(lambda: saved_settings(lens).get("inbox") == {"timeout": 60})
    type_number(dialog, "inbox.timeout", "0")
    lens.until(lambda: saved_settings(lens) == {})
    assert box.text() == "no limit"


def test_flags_choices_and_names_are_saved(lens: Lens) -> None:
    dialog = open_settings(lens)
    show_section(dialog, "Calls")
    flag = dialog.value_row("calls.keepHistory").editor
    assert isinstance(flag, PlainSwitch)
    flag.box.click()
    lens.until(lambda: saved_settings(lens).get("calls", {}).get("keepHistory") is False)
    names = dialog.value_row("calls.environment").editor
    assert isinstance(names, PlainNames)
    names.line.setFocus()
    QTest.keyClicks(names.line, "HOME; API_URL HOME")
    QTest.keyClick(names.line, Qt.Key.Key_Return)
    lens.until(lambda: saved_settings(lens)["calls"].get("environment") == ["HOME", "API_URL"])
    lens.until(lambda: names.line.text() == "HOME, API_URL")
    show_section(dialog, "Appearance")
    colors = dialog.value_row("look.scheme").editor
    assert isinstance(colors, PlainSegments)
    colors.segments.button(2).click()
    assert lens.app.frontend.theme.scheme is Scheme.DARK
    assert lens.actions["theme.dark"].isChecked()


def test_path_for_servers_is_chosen_or_written(lens: Lens) -> None:
    dialog = open_settings(lens)
    editor = dialog.value_row("connections.serverPath").editor
    assert isinstance(editor, PathEditor)
    assert editor.segments.index() == 0
    assert editor.line.isHidden()
    editor.segments.button(1).click()
    lens.until(lambda: saved_settings(lens).get("connections", {}).get("serverPath") == "as-started")
    editor.segments.button(2).click()
    assert not editor.line.isHidden()
    assert saved_settings(lens)["connections"]["serverPath"] == "as-started", "nothing is written yet"
    QApplication.sendEvent(dialog, QEvent(QEvent.Type.WindowActivate))  # reloads the values
    lens.settle()
    assert not editor.line.isHidden()
    QTest.keyClicks(editor.line, "nowhere")
    QTest.keyClick(editor.line, Qt.Key.Key_Return)
    lens.until(lambda: "absolute folders" in dialog.alert.text("connections.serverPath"))
    lens.until(lambda: editor.segments.index() == 1)
    assert editor.line.isHidden()
    editor.segments.button(2).click()
    editor.line.selectAll()
    QTest.keyClicks(editor.line, "/opt/x:${PATH}")
    QTest.keyClick(editor.line, Qt.Key.Key_Return)
    lens.until(lambda: saved_settings(lens).get("connections", {}).get("serverPath") == "/opt/x:${PATH}")
    lens.until(lambda: search_path().source == "custom, from Settings")
    dialog.value_row("connections.serverPath").reset_action.trigger()
    lens.until(lambda: "serverPath" not in saved_settings(lens).get("connections", {}))
    lens.until(lambda: editor.segments.index() == 0)
    assert editor.line.isHidden()


def test_custom_path_keeps_the_last_choice_until_it_is_written(lens: Lens) -> None:
    dialog = open_settings(lens)
    row = dialog.value_row("connections.serverPath")
    editor = row.editor
    assert isinstance(editor, PathEditor)
    editor.segments.button(1).click()
    editor.segments.button(2).click()  # before the first choice is saved
    assert row.value == "as-started"
    lens.until(lambda: saved_settings(lens).get("connections", {}).get("serverPath") == "as-started")


def test_invalid_value_is_reported_and_reverted(lens: Lens) -> None:
    dialog = open_settings(lens)
    show_section(dialog, "Calls")
    names = dialog.value_row("calls.environment").editor
    assert isinstance(names, PlainNames)
    names.line.setFocus()
    QTest.keyClicks(names.line, "A=B")
    QTest.keyClick(names.line, Qt.Key.Key_Return)
    lens.until(lambda: "a list of environment variable names" in dialog.alert.text("calls.environment"))
    lens.until(lambda: names.line.text() == "")


def test_unwritable_file_is_reported(lens: Lens) -> None:
    dialog = open_settings(lens)
    (lens.folder / "preferences.json").write_text("{")
    type_number(dialog, "connections.mostPages", "7")
    lens.until(lambda: "line 1" in dialog.alert.text("connections.mostPages"))
    lens.until(lambda: number(dialog, "connections.mostPages").box.value() == 10_000)


def test_last_typed_value_applies_when_the_window_closes(lens: Lens) -> None:
    dialog = open_settings(lens)
    box = number(dialog, "connections.mostPages").box
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "77")
    dialog.close()
    lens.until(lambda: saved_settings(lens) == {"connections": {"mostPages": 77}})


def test_the_wheel_scrolls_and_changes_nothing(lens: Lens) -> None:
    dialog = open_settings(lens)
    box = number(dialog, "connections.mostPages").box
    position = QPointF(box.rect().center())
    wheel = QWheelEvent(
        position,
        QPointF(box.mapToGlobal(box.rect().center())),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, wheel)
    assert box.value() == 10_000


def test_settings_with_their_own_window_are_opened_from_here(lens: Lens) -> None:
    dialog = open_settings(lens)
    show_section(dialog, "Traffic and captures")
    row = dialog.rows["window.keptCaptures"]
    assert isinstance(row, CommandRow)
    row.button.click()
    lens.dialog(CapturesDialog)


def test_saved_settings_apply_at_startup_and_invalid_ones_are_reported(lens: Lens) -> None:
    chosen = {"connections": {"connectTimeout": 7, "mostPages": "all"}, "lists": {"askForLists": False}}
    (lens.folder / "preferences.json").write_text(json.dumps(chosen))
    lens.app.thread.call(lens.app.thread.engine.begin)
    lens.run(open_first_servers(lens.app, demo=False))
    settings = lens.app.thread.engine.settings
    chosen_ids = ("connections.connectTimeout", "connections.mostPages", "lists.askForLists")
    assert [settings.get(id) for id in chosen_ids] == [7, 10_000, False]
    lens.until(lambda: "connections.mostPages" in lens.window.notices.text())
    dialog = open_settings(lens)
    assert number(dialog, "connections.connectTimeout").box.text() == "7 s"
    row = dialog.value_row("connections.connectTimeout")
    assert row.reset_button.isVisibleTo(row)


def test_reopening_shows_the_same_window(lens: Lens) -> None:
    dialog = open_settings(lens)
    lens.do("app.settings")
    assert lens.dialogs(SettingsDialog) == [dialog]


def test_files_are_shown_and_their_folder_can_be_opened(lens: Lens) -> None:
    launcher = Launcher()
    dialog = open_settings(lens)
    dialog._opener = LinkOpener(launcher)
    show_section(dialog, "Files")
    row = dialog.rows["files.server_list"]
    assert isinstance(row, FileRow)
    lens.until(lambda: row.path.text() == str(lens.server_list))
    row.open_action.trigger()
    assert [url.toLocalFile() for url in launcher.opened] == [str(lens.folder.resolve())]


def test_every_command_in_the_table_exists_in_the_window(lens: Lens) -> None:
    for setting in SETTINGS:
        if setting.kind is Kind.COMMAND:
            assert lens.actions[setting.target].text()


def test_only_folders_are_opened(tmp_path: Any) -> None:
    launcher = Launcher()
    opener = LinkOpener(launcher)
    program = tmp_path / "program.sh"
    program.touch()
    with pytest.raises(UserError, match="it is a file, not a folder"):
        opener.open_folder(program)
    with pytest.raises(UserError, match="does not exist yet"):
        opener.open_folder(tmp_path / "missing")
    assert not launcher.opened
    opener.open_folder(tmp_path)
    assert launcher.opened[0].isLocalFile()
    with pytest.raises(UserError, match="file manager"):
        LinkOpener(lambda url: False).open_folder(tmp_path)
