"""Saved calls: files in folders; open, rename, describe and delete them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.config.calls.saved_calls import SavedCall
from inspector.qt.dialogs.saved_calls import SavedCallsDialog
from inspector.qt.dialogs.variables import VariablesDialog
from inspector.qt.models.palette import NoteRole
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text
from tests.qt.tools.test_tools_call_runner import opened, put, rows, tool


def own(lens: Lens) -> Path:
    return lens.folder / "calls"


def files(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def saved(lens: Lens, name: str, folder: Path | None = None, **more: Any) -> SavedCall:
    call = SavedCall(name, "echo", "scripted", {"text": name}, **more)
    return lens.ask(lambda engine: engine.calls.save(call, folder))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project folder."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def managed(lens: Lens) -> SavedCallsDialog:
    lens.do("call.manage")
    dialog = lens.dialog(SavedCallsDialog)
    lens.until(lambda: dialog.tree.topLevelItemCount())
    return dialog


def added(lens: Lens, folder: Path) -> SavedCallsDialog:
    dialog = managed(lens)
    dialog.add_folder(folder)
    lens.until(lambda: dialog.tree.topLevelItemCount() == 2)
    return dialog


def shown(dialog: SavedCallsDialog) -> dict[str, list[str]]:
    """Return the names of the shown calls by folder."""
    found: dict[str, list[str]] = {}
    for row in range(dialog.tree.topLevelItemCount()):
        top = dialog.tree.topLevelItem(row)
        assert top is not None
        inside = (top.child(each) for each in range(top.childCount()))
        found[top.text(0)] = [item.text(0) for item in inside if item is not None]
    return found


def choose(dialog: SavedCallsDialog, name: str) -> None:
    [item] = dialog.tree.findItems(name, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive)
    dialog.tree.setCurrentItem(item)


def test_call_is_saved_to_a_file_and_restored_with_its_options(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[tool("echo"), tool("other")]))
    view = put(lens, "saved for good")
    view.drawer.options.timeout.setValue(7)
    view.drawer.options.total.setValue(70)
    view.drawer.options.capabilities.setText('{"sampling": {}}')
    view.save_as("Yesterday's log")
    lens.until(lambda: "Saved as" in view.alert.text("saved"))
    (path,) = own(lens).glob("*.json")
    assert str(path) in view.alert.text("saved")
    saved_call = json.loads(path.read_text())
    assert saved_call["arguments"] == {"text": "saved for good"}
    put(lens, "something else")
    view.drawer.options.timeout.setValue(0)
    view.drawer.options.total.setValue(0)
    view.drawer.options.capabilities.clear()
    panel.choose("other")
    popup = opened(lens, "call.saved")
    assert rows(popup) == ["Yesterday's log"]
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert view.tool is not None
    assert view.tool.name == "echo"
    assert view.arguments_stack.typed() == {"text": "saved for good"}
    assert view.drawer.options.timeout.value() == 7
    assert view.drawer.options.total.value() == 70
    assert view.drawer.options.options().read_capabilities() == {"sampling": {}}


def test_saving_under_the_same_name_overwrites_the_file(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = put(lens, "one")
    view.save_as("Mine")
    lens.until(lambda: list(own(lens).glob("*.json")))
    lens.until(lambda: view.alert.text("saved"))
    put(lens, "two").save_as("Mine")
    files = own(lens)
    lens.until(
        lambda: [json.loads(p.read_text())["arguments"] for p in files.glob("*.json")] == [{"text": "two"}]
    )


def test_saving_asks_for_name_description_and_folder_if_there_are_several(lens: Lens, project: Path) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = put(lens, "one")
    lens.do("call.save")
    lens.until(lambda: view.saver.popup)
    first = view.saver.popup
    assert first is not None
    assert not first.folder.isVisible(), "there is only one folder"
    first.close()
    added(lens, project).close()
    lens.until(lambda: view.saver.popup is None)
    lens.do("call.save")
    lens.until(lambda: view.saver.popup)
    popup = view.saver.popup
    assert popup is not None
    assert [popup.folder.itemText(row) for row in range(popup.folder.count())] == ["My calls", "checkout"]
    popup.name.setText("Shared")
    popup.folder.setCurrentIndex(1)
    QTest.keyClicks(popup.description, "for all of us")
    QTest.keyClick(popup.description, Qt.Key.Key_Return)
    lens.until(lambda: files(project))
    assert files(project)[0]["description"] == "for all of us"
    assert files(own(lens)) == []
    found = opened(lens, "call.saved")
    assert rows(found) == ["Shared"]
    note = str(found.list.model().index(0, 0).data(NoteRole))
    assert note == "scripted · saved call · echo · checkout · for all of us"


def test_externally_changed_file_is_overwritten_only_after_confirmation(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    view = put(lens, "one")
    view.save_as("Mine")
    lens.until(lambda: "Saved as" in view.alert.text("saved"))
    [path] = own(lens).glob("*.json")
    path.write_text('{"tool": "echo", "arguments": {"text": "theirs"}, "kept": 1}')
    put(lens, "two").save_as("Mine")
    lens.until(lambda: "was changed outside MCP Lens" in view.alert.text("saved"))
    assert files(own(lens))[0]["arguments"] == {"text": "theirs"}
    lens.press("Overwrite", view.alert)
    lens.until(lambda: files(own(lens))[0]["arguments"] == {"text": "two"})
    assert files(own(lens))[0]["kept"] == 1, "unknown members stay"


def test_ctrl_z_restores_a_deleted_call(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    for name in ("A", "B"):
        saved(lens, name)
    before = files(own(lens))
    popup = opened(lens, "call.saved")
    for left in (["B"], []):
        QTest.keyClick(popup.line, Qt.Key.Key_Delete)
        lens.until(lambda: rows(popup) == left)  # noqa: B023
        lens.until(lambda: "Ctrl+Z to undo" in popup.text())
    assert files(own(lens)) == []
    for back in (["B"], ["A", "B"]):
        QTest.keyClick(popup.line, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        lens.until(lambda: rows(popup) == back)  # noqa: B023
    assert files(own(lens)) == before


def test_calls_are_renamed_described_deleted_and_restored(lens: Lens) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    saved(lens, "First")
    dialog = managed(lens)
    lens.until(lambda: shown(dialog) == {"My calls": ["First"]})
    choose(dialog, "First")
    dialog.name.selectAll()
    QTest.keyClicks(dialog.name, "Better name")
    QTest.keyClicks(dialog.description, "what it is for")
    QTest.keyClick(dialog.description, Qt.Key.Key_Return)
    lens.until(lambda: shown(dialog) == {"My calls": ["Better name"]})
    lens.until(lambda: not dialog.change_action.isEnabled())
    [path] = own(lens).glob("*.json")
    assert path.name == "Better-name.json"
    assert files(own(lens))[0]["description"] == "what it is for"
    QTest.keyClick(dialog.tree, Qt.Key.Key_Delete)
    lens.until(lambda: shown(dialog) == {"My calls": []})
    assert not path.exists()
    lens.press("Undo", dialog.alert)
    lens.until(lambda: shown(dialog) == {"My calls": ["Better name"]})
    assert path.exists()


def test_project_folder_survives_a_restart_and_its_files_survive_its_removal(
    lens: Lens, project: Path
) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    (project / "shared.json").write_text('{"tool": "echo", "server": "scripted", "arguments": {"text": "x"}}')
    (project / "broken.json").write_text('{"tool": ')
    dialog = added(lens, project)
    problem, *others = shown(dialog)["checkout"]
    assert problem.startswith("Skipped: broken.json is not valid JSON")
    assert others == ["shared"]
    prefs = json.loads((lens.folder / "preferences.json").read_text())
    assert prefs["calls"]["folders"] == [str(project)]
    choose(dialog, "My calls")
    assert not dialog.remove_folder_action.isEnabled(), "the default folder cannot be removed"
    choose(dialog, "checkout")
    dialog.remove_folder_action.trigger()
    lens.until(lambda: shown(dialog) == {"My calls": []})
    assert sorted(path.name for path in project.iterdir()) == ["broken.json", "shared.json"]


def test_external_file_changes_are_shown_and_typed_input_is_kept(lens: Lens, project: Path) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    saved(lens, "Mine")
    dialog = added(lens, project)
    choose(dialog, "Mine")
    QTest.keyClicks(dialog.description, "half a sen")
    (project / "pulled.json").write_text('{"tool": "echo"}')
    lens.until(lambda: shown(dialog) == {"My calls": ["Mine"], "checkout": ["pulled"]})
    assert dialog.description.text() == "half a sen"
    assert isinstance(dialog.selected(), SavedCall)
    (project / "pulled.json").write_text('{"tool": "echo", "name": "Edited by hand"}')
    lens.until(lambda: shown(dialog)["checkout"] == ["Edited by hand"])
    (project / "pulled.json").unlink()
    lens.until(lambda: shown(dialog)["checkout"] == [])


def test_call_is_opened_from_the_list_with_the_variables_of_its_folder(lens: Lens, project: Path) -> None:
    panel = lens.connect(scripted(tools=[tool("echo"), tool("other")]))
    panel.choose("other")
    (project / "shared.json").write_text('{"tool": "echo", "arguments": {"text": "${where}"}}')
    (project / "variables.json").write_text('{"where": "in the project"}')
    dialog = added(lens, project)
    choose(dialog, "shared")
    dialog.open_action.trigger()
    view = panel.call_view
    lens.until(lambda: view.variables_bar.text() == "${where} = in the project")
    lens.do("call.variables")
    variables = lens.dialog(VariablesDialog)
    lens.until(lambda: variables.save_action.isEnabled())
    assert variables.folder.currentText() == "checkout"
    assert [row.name.text() for row in variables.rows] == ["where"]
    variables.rows[0].value.setText("elsewhere")
    variables.folder.setCurrentIndex(0)
    assert variables.folder.currentText() == "checkout", "unsaved input is not lost"
    assert "unsaved changes" in variables.error_text()
    with lens.bot.waitSignal(variables.saved, timeout=TIMEOUT):
        variables.save_action.trigger()
    assert json.loads((project / "variables.json").read_text()) == {"where": "elsewhere"}
    lens.until(lambda: view.variables_bar.text() == "${where} = elsewhere")


def test_invalid_folder_is_reported(lens: Lens, tmp_path: Path) -> None:
    lens.connect(scripted(tools=[tool("echo")]))
    dialog = managed(lens)
    dialog.add_folder(tmp_path / "nothing")
    lens.until(lambda: "is not a folder." in visible_text(dialog.alert))
