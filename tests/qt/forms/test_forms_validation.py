"""Full validation of arguments while they are typed, and navigation between errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.theme import Theme
from inspector.schema.validation import ValidationResult, validate
from inspector.schema.values import FieldError, FormError
from tests.qt.forms.form_driver import ICONS, LEFT, shown_texts

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
        "day": {"type": "string", "format": "date"},
        "n": {"type": "integer"},
    },
    "required": ["n"],
}


@dataclass
class FakeValidator:
    """A fake validator that holds its requests until `finish` is called."""

    requests: list[tuple[JSONObject, Callable[[ValidationResult], None]]] = field(default_factory=list)

    def __call__(self, schema: JSON, value: JSONObject, done: Callable[[ValidationResult], None]) -> None:
        assert schema == SCHEMA
        self.requests.append((value, done))

    def finish(self, position: int = -1) -> None:
        value, done = self.requests[position]
        done(validate(SCHEMA, value))


@pytest.fixture
def validator() -> FakeValidator:
    return FakeValidator()


@pytest.fixture
def editor(qtbot: QtBot, validator: FakeValidator) -> ArgumentsEditor:
    editor = ArgumentsEditor(Theme(ICONS), validate=validator)
    qtbot.addWidget(editor)
    editor.set_schema(SCHEMA)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    return editor


def type_text(editor: ArgumentsEditor, position: int, text: str) -> None:
    line = editor.form.rows()[position].slot.editor
    widget = getattr(line, "line", None)
    assert isinstance(widget, QLineEdit)
    widget.selectAll()
    QTest.keyClicks(widget, text)


def type_and_wait(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator, position: int, text: str
) -> None:
    before = len(validator.requests)
    type_text(editor, position, text)
    qtbot.waitUntil(lambda: len(validator.requests) > before)


def test_error_of_the_full_validation_is_shown_at_its_field(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_text(editor, 2, "1")
    type_and_wait(qtbot, editor, validator, 0, "abc")
    assert editor.form.rows()[0].error_text() == ""
    validator.finish()
    assert "[A-Z]{2}" in editor.form.rows()[0].error_text()
    assert editor.bar.errors_button.text() == "1 error"
    with pytest.raises(FormError):
        editor.arguments()
    assert editor.arguments(force=True) == {"code": "abc", "n": 1}
    type_and_wait(qtbot, editor, validator, 0, "AB")
    validator.finish()
    assert editor.form.rows()[0].error_text() == ""
    assert not editor.bar.errors_button.isVisible()
    assert editor.arguments() == {"code": "AB", "n": 1}


def test_check_result_for_outdated_input_is_dropped(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 0, "abc")
    type_and_wait(qtbot, editor, validator, 0, "AB")
    validator.finish(0)
    assert editor.form.rows()[0].error_text() == ""
    type_text(editor, 0, "x")
    validator.finish(1)
    assert editor.form.rows()[0].error_text() == ""


def test_many_keystrokes_cause_one_check(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 0, "many keys in a row")
    assert [value for value, _ in validator.requests] == [{"code": "many keys in a row"}]


def test_errors_can_be_stepped_through(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 0, "abc")
    validator.finish()
    assert editor.bar.errors_button.text() == "1 error"  # missing values are not counted yet
    seen = []
    for _ in range(3):
        QTest.mouseClick(editor.bar.errors_button, LEFT)
        seen += [
            position
            for position, row in enumerate(editor.form.rows())
            if row.isAncestorOf(row.window().focusWidget())
        ]
    assert sorted(seen[:2]) == [0, 2]
    assert seen[2] == seen[0]
    assert editor.bar.errors_button.text() == "2 errors"
    assert editor.form.rows()[2].error_text() == "Is required but not set"


def test_keyboard_steps_to_the_next_error_too(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    type_text(editor, 2, "x")
    editor.form.rows()[0].slot.editor.widget.setFocus()
    QTest.keyClick(editor.window().focusWidget(), Qt.Key.Key_F8)
    assert editor.form.rows()[2].slot.editor.widget.hasFocus()


def test_unchecked_parts_are_reported(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 0, "AB")
    validator.requests[-1][1](ValidationResult(unchecked="Not checked: the check took more than 2 s."))
    assert editor.bar.message() == "Not checked: the check took more than 2 s."


def test_errors_of_the_full_validation_are_marked_in_the_json_too(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    editor.set_arguments({"n": 1, "day": "tomorrow"})
    editor.show_json()
    qtbot.waitUntil(lambda: bool(validator.requests))
    validator.finish()
    assert list(editor.json_view.box.gutter.marks()) == [2]
    editor.show_form()
    assert editor.form.rows()[1].error_text() != ""


def test_check_result_after_the_editor_is_gone_is_harmless(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 0, "abc")
    late = validator.requests[-1][1]
    editor.set_schema({"type": "object"})
    late(ValidationResult((FieldError("/code", "is wrong"),)))
    assert editor.all_errors() == []


def test_all_fields_are_filled_with_examples_and_cleared(editor: ArgumentsEditor) -> None:
    editor.fill_with_example()
    value = editor.arguments()
    assert value.keys() == {"code", "day", "n"}
    assert validate(SCHEMA, value) == ValidationResult()
    editor.clear()
    assert editor.arguments(force=True) == {}


def test_error_of_the_whole_object_is_shown_above_the_fields(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    type_and_wait(qtbot, editor, validator, 2, "1")
    _, done = validator.requests[-1]
    done(ValidationResult((FieldError("", "requires one of: code; day"),)))
    assert editor.form.error_text() == "Requires one of: code; day"
    type_text(editor, 2, "2")
    assert editor.form.error_text() == ""


def test_error_of_an_unknown_key_is_shown_at_the_key(qtbot: QtBot) -> None:
    closed: JSON = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    editor = ArgumentsEditor(Theme(ICONS))
    qtbot.addWidget(editor)
    editor.set_schema(closed)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    editor.set_arguments({"b": 1})
    assert "b is not allowed by the schema" in shown_texts(editor.form)
    editor.go_to_next_error()
    assert editor.form.members is not None
    assert editor.window().focusWidget() is editor.form.members.remove_button
    QTest.keyClick(editor.form.members.remove_button, Qt.Key.Key_Space)
    assert editor.all_errors() == []
    assert "b is not allowed by the schema" not in shown_texts(editor.form)


def test_errors_elsewhere_stay_visible_while_a_value_is_edited(
    qtbot: QtBot, editor: ArgumentsEditor, validator: FakeValidator
) -> None:
    editor.set_arguments({"n": 1, "code": "abc", "day": "tomorrow"})
    qtbot.waitUntil(lambda: bool(validator.requests))
    validator.finish()
    type_text(editor, 0, "AB")
    assert [row.error_text() != "" for row in editor.form.rows()] == [False, True, False]
