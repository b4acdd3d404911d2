"""Command table: each command has a slot, a menu, a text and unique shortcuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from PySide6.QtCore import SIGNAL
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QMenu

from inspector.qt.actions import COMMANDS, native_keys
from tests.qt.lens_driver import Lens, scripted


def menu_actions(lens: Lens) -> dict[str, list[QAction]]:
    """Return the actions of each menu, including submenus."""
    menus = [action.menu() for action in lens.window.menuBar().actions()]
    return {menu.title(): list(within(menu)) for menu in menus if isinstance(menu, QMenu)}


def within(menu: QMenu) -> Iterator[QAction]:
    for action in menu.actions():
        if isinstance(inner := action.menu(), QMenu):
            yield from within(inner)
        else:
            yield action


def shortcuts(lens: Lens) -> Iterator[str]:
    for command in COMMANDS:
        for keys in lens.actions[command.id].shortcuts():
            yield keys.toString()


def test_every_command_has_an_effect_a_menu_and_a_description(lens: Lens) -> None:
    menus = menu_actions(lens)
    for command in COMMANDS:
        action = lens.actions[command.id]
        slots = action.receivers(SIGNAL("triggered(bool)")) + action.receivers(SIGNAL("toggled(bool)"))
        assert slots > 0, f"{command.id} does nothing"
        assert action in menus[command.menu], f"{command.id} is in no menu"
        assert action.text()
        assert action.toolTip()
        assert all(not keys.isEmpty() for keys in action.shortcuts()), f"{command.id}: {command.key}"
    assert list(menus) == list(dict.fromkeys(command.menu for command in COMMANDS))


def test_no_menu_is_too_long(lens: Lens) -> None:
    for entry in lens.window.menuBar().actions():
        menu = entry.menu()
        assert isinstance(menu, QMenu)
        assert sum(not action.isSeparator() for action in menu.actions()) <= 22, entry.text()


def test_shortcuts_and_ids_are_unique(lens: Lens) -> None:
    for counted in (Counter(shortcuts(lens)), Counter(command.id for command in COMMANDS)):
        assert [item for item, count in counted.items() if count > 1] == []


def test_text_editing_shortcuts_are_not_taken(lens: Lens) -> None:
    standard = QKeySequence.StandardKey
    for key in (standard.Copy, standard.Paste, standard.Cut, standard.Undo, standard.SelectAll):
        for keys in QKeySequence.keyBindings(key):
            assert keys.toString() not in set(shortcuts(lens))


def test_without_a_server_only_applicable_commands_are_enabled(lens: Lens) -> None:
    usable = {command.id for command in COMMANDS if lens.actions[command.id].isEnabled()}
    needs_server = {id for id in usable if id.startswith(("server.", "tool."))}
    assert needs_server == {"server.add", "server.open_file", "server.demo", "server.connect_all"}


_ONCE = ("app.quit", "server.remove", "server.duplicate", "server.demo")


def test_commands_never_fail_whenever_they_are_triggered(lens: Lens) -> None:
    commands = [command.id for command in COMMANDS if command.id not in _ONCE]
    for servers in range(2):
        for id in commands:
            lens.actions[id].trigger()
        lens.settle()
        lens.add(scripted(f"server {servers}"))
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.rowCount() == 1)
    for dialog in lens.dialogs(QDialog):
        dialog.close()


def test_no_command_uses_a_shortcut_of_macos() -> None:
    used = {command.shortcut("darwin") for command in COMMANDS}
    assert used.isdisjoint({"Ctrl+H", "Ctrl+M", "Ctrl+Space"})
    keys = [command.shortcut("darwin") for command in COMMANDS if command.key]
    assert len(keys) == len(set(keys))
    assert {command.shortcut("linux") for command in COMMANDS} >= {"Ctrl+H", "Ctrl+M"}


def test_only_three_commands_move_to_the_application_menu_of_macos(lens: Lens) -> None:
    roles = {command.id: lens.actions[command.id].menuRole() for command in COMMANDS}
    assert {id: role for id, role in roles.items() if role is not QAction.MenuRole.NoRole} == {
        "app.quit": QAction.MenuRole.QuitRole,
        "app.settings": QAction.MenuRole.PreferencesRole,
        "help.about": QAction.MenuRole.AboutRole,
    }


def test_keys_in_texts_are_written_as_on_the_platform() -> None:
    symbols = {"Ctrl+Return": "⌘↩", "Ctrl+Shift+Return": "⇧⌘↩", "Ctrl+,": "⌘,"}
    text = "Send (Ctrl+Return), anyway (Ctrl+Shift+Return), Ctrl+, or Ctrl+wheel"
    native = native_keys(text, lambda keys: symbols.get(keys, ""), "darwin")
    assert native == "Send (⌘↩), anyway (⇧⌘↩), ⌘, or ⌘wheel"
    assert native_keys("Send (Ctrl+Return), Ctrl+wheel") == "Send (Ctrl+Return), Ctrl+wheel"


def test_macos_has_a_window_menu_before_help(lens: Lens) -> None:
    window = lens.window
    window.menuBar().clear()
    window._make_menus("darwin")
    titles = [action.text() for action in window.menuBar().actions()]
    assert titles[-2:] == ["Window", "Help"]
    actions = menu_actions(lens)["Window"]
    assert [action.text() for action in actions] == ["Minimize", "Zoom", "", "Bring All to Front"]
    assert actions[0].shortcut() == QKeySequence("Ctrl+M")
    actions[1].trigger()
    assert window.isMaximized()
    actions[1].trigger()
    assert not window.isMaximized()
