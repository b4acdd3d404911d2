"""Arguments editor: a form and a JSON text for one value."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from inspector.base.json.text import write
from inspector.base.json.values import JSON
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.theme import Theme
from inspector.schema.values import FormError

# The offscreen platform says so of raising windows and grabbing keys; it is not about our widgets.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
LEFT = Qt.MouseButton.LeftButton
SCHEMA: JSON = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "any": {"type": "mystery"}},
    "required": ["path"],
}


@pytest.fixture
def editor(qtbot: QtBot) -> ArgumentsEditor:
    editor = ArgumentsEditor(Theme(ICONS))
    qtbot.addWidget(editor)
    editor.set_schema(SCHEMA)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    return editor


def line(editor: ArgumentsEditor, index: int) -> QLineEdit:
    widget = editor.form.rows()[index].slot.editor.widget
    assert isinstance(widget, QLineEdit)
    return widget


def write_json(qtbot: QtBot, editor: ArgumentsEditor, text: str) -> None:
    editor.json_view.box.selectAll()
    editor.json_view.box.setFocus()
    QTest.keyClicks(editor.json_view.box, text)


def pick(qtbot: QtBot, editor: ArgumentsEditor, text: str) -> None:
    button = editor.switch.button(("Form", "JSON").index(text))
    assert button.text() == text
    QTest.mouseClick(button, LEFT)


def test_form_input_appears_in_the_json_and_vice_versa(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    QTest.keyClicks(line(editor, 0), "/tmp")
    pick(qtbot, editor, "JSON")
    assert editor.json_view.text() == '{\n  "path": "/tmp"\n}'
    write_json(qtbot, editor, '{"limit": 12345678901234567890, "path": ""}')
    pick(qtbot, editor, "Form")
    assert line(editor, 1).text() == "12345678901234567890"
    assert list(editor.arguments().items()) == [("limit", 12345678901234567890), ("path", "")]


def test_json_is_unchanged_when_the_form_changed_nothing(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    pick(qtbot, editor, "JSON")
    text = '{ "path":"\\u0041",  "limit": 1e2 }'
    write_json(qtbot, editor, text)
    pick(qtbot, editor, "Form")
    pick(qtbot, editor, "JSON")
    assert editor.json_view.text() == text
    pick(qtbot, editor, "Form")
    QTest.keyClicks(line(editor, 0), "B")
    pick(qtbot, editor, "JSON")
    assert editor.json_view.text() == '{\n  "path": "AB",\n  "limit": 1e2\n}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"path": }', "Line 1, column 10: a value is missing"),
        ("[1]", "Arguments must be a JSON object { }; this is an array."),
        ('{"a": 1, "a": 2}', 'Duplicate key "a"'),
    ],
)
def test_invalid_json_prevents_leaving_the_json_view(
    qtbot: QtBot, editor: ArgumentsEditor, text: str, error: str
) -> None:
    pick(qtbot, editor, "JSON")
    write_json(qtbot, editor, text)
    pick(qtbot, editor, "Form")
    assert editor.is_json_shown()
    assert editor.switch.index() == 1
    assert editor.json_view.text() == text
    assert editor.json_view.error_label.text() == error
    assert [str(error) for error in editor.errors()] == [error]
    with pytest.raises(FormError) as caught:
        editor.arguments(force=True)
    assert str(caught.value) == error


def test_invalid_json_entry_prevents_leaving_the_form(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    box = editor.form.rows()[2].slot.editor.widget
    assert isinstance(box, QPlainTextEdit)
    QTest.keyClicks(box, "{")
    pick(qtbot, editor, "JSON")
    assert not editor.is_json_shown()
    assert editor.switch.index() == 0
    assert box.toPlainText() == "{"


def test_invalid_arguments_are_rejected_with_every_reason_and_sent_on_request(
    qtbot: QtBot, editor: ArgumentsEditor
) -> None:
    QTest.keyClicks(line(editor, 1), "many")
    with pytest.raises(FormError) as caught:
        editor.arguments()
    assert str(caught.value) == "path: is required but not set\nlimit: must be an integer, got 'many'"
    assert editor.form.rows()[0].error_text() == "Is required but not set"
    assert editor.arguments(force=True) == {"limit": "many"}
    pick(qtbot, editor, "JSON")
    with pytest.raises(FormError, match="path: is required"):
        editor.arguments()


def test_invalid_number_survives_the_round_trip_through_json(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    QTest.keyClicks(line(editor, 1), "many")
    pick(qtbot, editor, "JSON")
    pick(qtbot, editor, "Form")
    assert line(editor, 1).text() == "many"


@pytest.mark.parametrize("view", ["Form", "JSON"])
def test_control_return_submits_from_both_views(qtbot: QtBot, editor: ArgumentsEditor, view: str) -> None:
    pick(qtbot, editor, view)
    target = editor.json_view.box if view == "JSON" else line(editor, 0)
    target.setFocus()
    before = editor.arguments(force=True)
    with qtbot.waitSignal(editor.submitted):
        QTest.keyClick(target, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert editor.arguments(force=True) == before


def test_a_schema_that_has_no_form_opens_in_the_json_view(editor: ArgumentsEditor) -> None:
    editor.set_schema([])
    assert editor.is_json_shown()
    shown = [label.text() for label in editor.findChildren(QLabel) if label.isVisible()]
    assert shown == ["The server's schema is an array instead of an object. Enter JSON instead."]
    assert editor.arguments() == {}
    editor.set_schema(SCHEMA)
    assert not editor.is_json_shown()


def test_new_schema_resets_the_editor(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    QTest.keyClicks(line(editor, 0), "/tmp")
    editor.set_schema({"type": "object", "properties": {"path": {"type": "string"}}})
    assert editor.arguments() == {}


def test_arguments_can_be_set_in_either_view(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    given: dict[str, JSON] = {"limit": 2**70, "path": "a", "other": {"k": [None]}}
    editor.set_arguments(given)
    assert write(editor.arguments()) == write(given)
    pick(qtbot, editor, "JSON")
    editor.set_arguments({"path": "b"})
    assert editor.arguments() == {"path": "b"}
    pick(qtbot, editor, "Form")
    assert line(editor, 0).text() == "b"
