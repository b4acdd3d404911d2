"""Client tab: declared capabilities and roots, compared with what is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit

from inspector.base.json.values import JSONObject, compact
from inspector.config.servers.entries import StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.demo.servers import command
from inspector.engine.server_view import ClientSide
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.client_capabilities import ALL, NOTHING
from inspector.protocol.handshake import CLIENT_CAPABILITIES_KEY
from inspector.protocol.revisions import R4, R5
from inspector.qt.panels.client.panel import ClientPanel
from inspector.qt.window.tabs import CLIENT, OVERVIEW
from tests.qt.lens_driver import Lens, scripted, visible_text

LIST_CHANGED = "notifications/roots/list_changed"


def open_panel(lens: Lens, entry: StdioEntry) -> ClientPanel:
    lens.connect(entry)
    lens.workspace.show_tab("client")
    return lens.workspace.panel(CLIENT)


def declare_all() -> StdioEntry:
    program, *args = command("everything")
    return StdioEntry(name="sdk", command=program, args=tuple(args), era=R5.date)


def ours(lens: Lens, name: str = "scripted") -> ClientSide:
    side = lens.view(name).client_side
    assert side is not None
    return side


def click(lens: Lens, panel: ClientPanel, *path: str, server: str = "scripted") -> None:
    """Toggle a capability, and wait until the engine has it."""
    before = ours(lens, server).declared
    QTest.mouseClick(panel.switches.rows[path].box, Qt.MouseButton.LeftButton, pos=_middle(panel, path))
    lens.until(lambda: ours(lens, server).declared != before)


def _middle(panel: ClientPanel, path: tuple[str, ...]) -> Any:
    return panel.switches.rows[path].box.rect().center()


def is_on(panel: ClientPanel, *path: str) -> bool:
    return panel.switches.rows[path].box.isChecked()


def write(panel: ClientPanel, text: str) -> None:
    """Replace all of the JSON, like a user."""
    box = panel.exact.text.box
    box.selectAll()
    box.insertPlainText(text)


def type_in(field: QLineEdit, text: str) -> None:
    field.setText(text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def declared_at(lens: Lens, number: int) -> object:
    lens.until(lambda: len(lens.sent("initialize")) > number)
    return lens.sent("initialize")[number]["capabilities"]


def test_switched_capability_is_sent_in_the_handshake_after_reconnecting(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    assert declared_at(lens, 0) == ALL.capabilities(R4)
    assert is_on(panel, "sampling")
    assert not panel.alert.text("differs")
    click(lens, panel, "sampling")
    lens.until(lambda: panel.alert.text("differs"))
    assert not is_on(panel, "sampling", "tools")
    assert "sampling" not in json.loads(panel.exact.text.text())
    lens.press("Reconnect", panel.alert)
    assert declared_at(lens, 1) == ALL.with_member(("sampling",), None).capabilities(R4)
    reported = "roots (listChanged), elicitation (form, url)"
    lens.until(lambda: reported in visible_text(lens.workspace.panel(OVERVIEW)))
    assert not panel.alert.text("differs")


def test_all_and_none_are_one_click_each(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    assert not panel.declare_all.isEnabled()
    lens.press("Declare none", panel)
    lens.until(lambda: ours(lens).declared == NOTHING)
    lens.until(lambda: not panel.declare_none.isEnabled())
    assert panel.exact.text.text() == "{}"
    assert "the server must not request roots" in visible_text(panel.roots)
    lens.press("Declare all", panel)
    lens.until(lambda: ours(lens).is_default)
    lens.until(lambda: not panel.alert.text("differs"))  # same as declared before
    assert is_on(panel, "sampling")


def test_consecutive_switches_all_take_effect(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    for path in (("sampling",), ("roots",), ("elicitation", "url"), ("tasks", "list")):
        panel.switches.rows[path].box.click()
    lens.until(lambda: not ours(lens).declared.has(("tasks", "list")))
    declared = ours(lens).declared
    assert declared.members == {
        "elicitation": {"form": {}},
        "tasks": {
            "cancel": {},
            "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
        },
    }


def test_an_extension_is_added_switched_off_and_on_with_its_settings(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    type_in(panel.switches.name, "example.com/x")
    path = ("extensions", "example.com/x")
    lens.until(lambda: ours(lens).declared.has(path))
    write(panel, json.dumps({"extensions": {"example.com/x": {"deep": [1]}}}))
    lens.press("Apply", panel)
    lens.until(lambda: ours(lens).declared.is_exact)
    lens.until(lambda: "Settings" in visible_text(panel.switches))
    click(lens, panel, *path)
    assert ours(lens).declared.members == {}
    click(lens, panel, *path)
    assert ours(lens).declared.members == {"extensions": {"example.com/x": {"deep": [1]}}}


def test_stateless_call_sends_new_capabilities_without_reconnecting(lens: Lens) -> None:
    panel = open_panel(lens, declare_all())
    assert "2026-07-28" in visible_text(panel.exact)
    click(lens, panel, "roots", server="sdk")
    assert not panel.alert.text("differs")
    lens.workspace.show_tab("tools")
    outcome = lens.call("list_roots", {})
    assert b"did not declare the roots capability" in outcome.response
    reported: Any = lens.sent("tools/call")[-1]["_meta"]
    assert reported[CLIENT_CAPABILITIES_KEY] == ALL.with_member(("roots",), None).capabilities(R5)


def test_edited_json_is_declared_verbatim(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    odd: JSONObject = {"sampling": True, "x": {"y": [None, 1.5]}}
    write(panel, json.dumps(odd))
    assert not panel.switches.isEnabled()
    assert "before you use the switches" in panel.alert.text("writing")
    text = visible_text(panel.exact)
    assert "“sampling” is not an object" in text
    assert "“x” is not a capability" in text
    lens.press("Apply", panel)
    lens.until(lambda: ours(lens).differs)
    lens.until(panel.switches.isEnabled)
    assert not is_on(panel, "sampling")
    lens.until(lambda: "edited as JSON" in visible_text(panel.exact))
    lens.do("server.reconnect")
    assert declared_at(lens, 1) == odd


@pytest.mark.parametrize(
    ("text", "expected"), [("{", "double quotes"), ("[1]", "Capabilities must be a JSON object")]
)
def test_non_object_json_is_reported_and_not_declared(lens: Lens, text: str, expected: str) -> None:
    panel = open_panel(lens, scripted())
    write(panel, text)
    assert expected in visible_text(panel.exact)
    lens.press("Apply", panel)
    lens.settle()
    assert ours(lens).is_default
    assert panel.exact.is_edited
    lens.press("Discard", panel)
    assert json.loads(panel.exact.text.text()) == ALL.capabilities(R4)
    assert panel.switches.isEnabled()


def test_unsaved_edits_survive_a_reconnect(lens: Lens) -> None:
    panel = open_panel(lens, scripted())
    write(panel, '{"mine": {}}')
    lens.do("server.disconnect")
    lens.wait_for("scripted", ServerStatus.IDLE)
    lens.do("server.connect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    assert panel.exact.text.text() == '{"mine": {}}'


def test_roots_are_added_ordered_and_removed_with_a_notification_each(lens: Lens, tmp_path: Path) -> None:
    panel = open_panel(lens, scripted())
    first, second = str(tmp_path / "one"), "file:///two%20words"
    type_in(panel.roots.path, first)
    type_in(panel.roots.path, second)
    lens.until(lambda: ours(lens).roots == (first, second))
    assert panel.roots.list.currentRow() == 1
    lens.window.activateWindow()
    panel.roots.list.setFocus()
    QTest.keyClick(panel.roots.list, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    lens.until(lambda: ours(lens).roots == (second, first))
    QTest.keyClick(panel.roots.list, Qt.Key.Key_Delete)
    lens.until(lambda: ours(lens).roots == (first,))
    lens.until(lambda: len(lens.sent(LIST_CHANGED)) == 4)
    assert panel.roots.list.count() == 1


@pytest.mark.parametrize(
    ("folder", "text"),
    [("src", "absolute path"), ("/a\u202eb", "invisible characters"), ("/known", "already")],
)
def test_invalid_folder_is_reported_and_stays_editable(lens: Lens, folder: str, text: str) -> None:
    panel = open_panel(lens, scripted())
    type_in(panel.roots.path, "/known")
    lens.until(lambda: ours(lens).roots == ("/known",))
    type_in(panel.roots.path, folder)
    assert text in visible_text(panel.roots)
    assert panel.roots.path.text() == folder
    lens.settle()
    assert ours(lens).roots == ("/known",)


def test_folder_can_be_picked(lens: Lens, tmp_path: Path) -> None:
    panel = open_panel(lens, scripted())
    lens.press("Add folder…", panel)
    dialog = lens.dialog(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path))
    dialog.reject()
    lens.until(lambda: ours(lens).roots == (str(tmp_path),))


def test_choice_is_saved_for_the_next_start_and_a_write_error_is_reported(lens: Lens) -> None:
    lens.ask(lambda engine: engine.servers.save_with_secrets(scripted(), {}))
    lens.until(lambda: lens.window.servers.model.row_of("scripted") is not None)
    lens.choose("scripted")
    lens.workspace.show_tab("client")
    panel = lens.workspace.panel(CLIENT)
    click(lens, panel, "roots")
    (entry,) = ServerListFile(lens.server_list).load().entries
    assert entry.capabilities == ALL.with_member(("roots",), None).members
    lens.server_list.write_text("no JSON")
    panel.switches.rows["sampling",].box.click()
    lens.until(lambda: "is not valid JSON" in visible_text(lens.window))
    lens.until(lambda: is_on(panel, "sampling"))  # as it is, not as it was wished
    write(panel, '{"mine": {}}')
    lens.press("Apply", panel)
    lens.until(lambda: not panel._sending)
    assert panel.exact.text.text() == '{"mine": {}}'  # to be tried again
    assert panel.exact.is_edited
    lens.server_list.unlink()
    lens.press("Apply", panel)
    lens.until(lambda: not panel.exact.is_edited)
    assert ours(lens).declared.members == {"mine": {}}


def test_per_call_capabilities_do_not_carry_over_to_the_next_tool(lens: Lens) -> None:
    panel = lens.connect(declare_all())
    assert panel.choose("list_roots")
    lens.do("call.options")
    options = panel.call_view.drawer.options
    assert options.capabilities.placeholderText() == compact(ALL.capabilities(R5))
    menu = options.switches.menu()
    menu.aboutToShow.emit()
    names = [action.text() for action in menu.actions()]
    assert "roots" in names
    assert "tasks.list" not in names  # not in this revision
    menu.actions()[names.index("roots")].trigger()
    own = ALL.with_member(("roots",), None).capabilities(R5)
    assert json.loads(options.capabilities.text()) == own
    assert "capabilities" in visible_text(panel.call_view)
    assert b"did not declare the roots capability" in lens.call("list_roots").response
    reported: Any = lens.sent("tools/call")[-1]["_meta"]
    assert reported[CLIENT_CAPABILITIES_KEY] == own
    lens.call("echo", {"message": "x"})
    reported = lens.sent("tools/call")[-1]["_meta"]
    assert reported[CLIENT_CAPABILITIES_KEY] == ALL.capabilities(R5)


def test_invalid_per_call_capabilities_are_reported(lens: Lens) -> None:
    panel = lens.connect(scripted())
    assert panel.choose("echo")
    lens.do("call.options")
    options, view = panel.call_view.drawer.options, panel.call_view
    view.arguments.set_arguments({"text": "x"})
    assert not options.switches.isEnabled()
    options.capabilities.setText("[]")
    lens.do("tool.call")
    assert "Capabilities must be a JSON object." in view.alert.text("options")
    options.capabilities.setText("{}")
    assert "declared once, on connect" in visible_text(options)
    outcome = lens.call("echo", {"text": "x"})
    assert "Client tab" in outcome.next_step
    assert lens.sent("tools/call") == []
    options.capabilities.setText("")
    assert lens.call("echo", {"text": "x"}).kind is OutcomeKind.RESULT
