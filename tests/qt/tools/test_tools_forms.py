"""Forms of the visited tools: few are alive, what was typed is never lost."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.panels.tools.panel import ToolsPanel
from tests.qt.lens_driver import TIMEOUT, Lens, scripted
from tests.qt.tools.test_tools_call import field, type_into

_COUNT = 12


def _visit(lens: Lens, panel: ToolsPanel, number: int) -> ArgumentsEditor:
    assert panel.choose(f"tool_{number:05}")
    lens.settle()
    return panel.call_view.arguments


def test_few_forms_are_alive_after_many_tools(lens: Lens) -> None:
    panel = lens.connect(scripted(many=_COUNT))
    for number in range(_COUNT):
        _visit(lens, panel, number)
    assert len(panel.findChildren(ArgumentsEditor)) == 5  # that of no tool, and four of tools


def test_typed_arguments_of_every_tool_come_back(lens: Lens) -> None:
    panel = lens.connect(scripted(many=_COUNT))
    lens.window.show_tab("tools")
    for number in range(_COUNT):
        _visit(lens, panel, number)
        type_into(field(panel, "path"), f"/folder/{number}")
    returned: list[JSONObject] = []
    for number in range(_COUNT):
        _visit(lens, panel, number)
        returned.append(panel.call_view.arguments.arguments())
    assert returned == [{"path": f"/folder/{number}"} for number in range(_COUNT)]


def test_unfinished_json_comes_back_as_written(lens: Lens) -> None:
    panel = lens.connect(scripted(many=_COUNT))
    editor = _visit(lens, panel, 0)
    editor.show_json()
    editor.json_view.box.setPlainText('{"path": "unfini')
    for number in range(1, _COUNT):
        _visit(lens, panel, number)
    returned = _visit(lens, panel, 0)
    assert returned is not editor
    assert returned.is_json_shown()
    assert returned.json_view.text() == '{"path": "unfini'


def test_form_entry_that_is_no_number_comes_back(lens: Lens) -> None:
    panel = lens.connect(scripted(many=_COUNT))
    lens.window.show_tab("tools")
    _visit(lens, panel, 0)
    type_into(field(panel, "depth"), "1e")
    for number in range(1, _COUNT):
        _visit(lens, panel, number)
    _visit(lens, panel, 0)
    assert field(panel, "depth").text() == "1e"


def test_json_text_keeps_its_layout_behind_the_form(lens: Lens) -> None:
    panel = lens.connect(scripted(many=_COUNT))
    editor = _visit(lens, panel, 0)
    editor.show_json()
    editor.json_view.box.setPlainText('{"depth":    1.0}')
    editor.show_form()
    for number in range(1, _COUNT):
        _visit(lens, panel, number)
    returned = _visit(lens, panel, 0)
    assert not returned.is_json_shown()
    returned.show_json()
    assert returned.json_view.text() == '{"depth":    1.0}'


_CODES: JSONObject = {
    "type": "object",
    "properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}$"}},
    "anyOf": [{"required": ["code"]}, {"required": ["other"]}],  # not checked immediately
}


def _codes(lens: Lens) -> ToolsPanel:
    panel = lens.connect(scripted(tools=[{"name": "codes", "inputSchema": _CODES}]))
    lens.window.show_tab("tools")
    lens.window.activateWindow()
    return panel


def _submit(panel: ToolsPanel, text: str) -> None:
    """Type a text and press Ctrl+Return at once, before the validation of the text has begun."""
    type_into(field(panel, "code"), text)
    QTest.keyClick(field(panel, "code"), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)


def test_corrected_value_is_sent_although_its_validation_has_not_begun(lens: Lens) -> None:
    panel = _codes(lens)
    type_into(field(panel, "code"), "abc")
    lens.until(panel.call_view.arguments.all_errors)
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        _submit(panel, "AB")
    assert [call["arguments"] for call in lens.sent("tools/call")] == [{"code": "AB"}]


def test_invalid_value_is_not_sent_although_its_validation_has_not_begun(lens: Lens) -> None:
    panel = _codes(lens)
    type_into(field(panel, "code"), "AB")
    _submit(panel, "zzz")
    lens.until(panel.call_view.arguments.all_errors)
    lens.until(lambda: not panel.call_view.is_running)
    assert lens.sent("tools/call") == []
    assert "[A-Z]{2}" in panel.call_view.arguments.form.rows()[0].error_text()


def test_untouched_arguments_are_validated_before_a_call(lens: Lens) -> None:
    panel = _codes(lens)
    lens.do("tool.call")
    lens.until(panel.call_view.arguments.all_errors)
    lens.until(lambda: not panel.call_view.is_running)
    assert lens.sent("tools/call") == []


def test_edit_after_a_call_was_requested_does_not_change_what_is_sent(lens: Lens) -> None:
    panel = _codes(lens)
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        _submit(panel, "AB")
        type_into(field(panel, "code"), "zzz")
    assert [call["arguments"] for call in lens.sent("tools/call")] == [{"code": "AB"}]


@pytest.mark.parametrize(
    ("schema", "kind"), [(True, "true"), (3, "a number"), ([], "an array"), (None, "null")]
)
def test_input_schema_that_is_no_object_is_reported(lens: Lens, schema: JSON, kind: str) -> None:
    panel = lens.connect(scripted(tools=[{"name": "odd", "inputSchema": schema}]))
    editor = panel.call_view.arguments
    assert editor.is_json_shown()
    assert editor.bar.message() == f"The server's schema is {kind} instead of an object. Enter JSON instead."
