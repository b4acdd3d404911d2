"""The full check of arguments while they are written, and the way from one problem to the next."""

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
from inspector.schema.validation import Verdict, validate
from inspector.schema.values import FieldError, FormError
from tests.qt.forms.form_driver import ICONS, LEFT

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
class Checker:
    """Somebody who checks: keeps the questions until told to answer."""

    input_requests: list[tuple[JSONObject, Callable[[Verdict], None]]] = field(default_factory=list)

    def __call__(self, schema: JSON, value: JSONObject, done: Callable[[Verdict], None]) -> None:
        assert schema == SCHEMA
        self.input_requests.append((value, done))

    def response(self, position: int = -1) -> None:
        value, done = self.input_requests[position]
        done(validate(SCHEMA, value))


@pytest.fixture
def checker() -> Checker:
    return Checker()


@pytest.fixture
def editor(qtbot: QtBot, checker: Checker) -> ArgumentsEditor:
    editor = ArgumentsEditor(Theme(ICONS), validate=checker)
    qtbot.addWidget(editor)
    editor.set_schema(SCHEMA)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    return editor


def write(editor: ArgumentsEditor, position: int, text: str) -> None:
    line = editor.form.rows()[position].slot.editor
    widget = getattr(line, "line", None)
    assert isinstance(widget, QLineEdit)
    widget.selectAll()
    QTest.keyClicks(widget, text)


def ask(qtbot: QtBot, editor: ArgumentsEditor, checker: Checker, position: int, text: str) -> None:
    before = len(checker.input_requests)
    write(editor, position, text)
    qtbot.waitUntil(lambda: len(checker.input_requests) > before)


def test_finding_of_the_full_check_is_shown_at_its_field(
    qtbot: QtBot, editor: ArgumentsEditor, checker: Checker
) -> None:
    write(editor, 2, "1")
    ask(qtbot, editor, checker, 0, "abc")
    assert editor.form.rows()[0].problem_text() == ""
    checker.response()
    assert "[A-Z]{2}" in editor.form.rows()[0].problem_text()
    assert editor.bar.problems_button.text() == "1 problem"
    with pytest.raises(FormError):
        editor.arguments()
    assert editor.arguments(force=True) == {"code": "abc", "n": 1}
    ask(qtbot, editor, checker, 0, "AB")
    checker.response()
    assert editor.form.rows()[0].problem_text() == ""
    assert not editor.bar.problems_button.isVisible()
    assert editor.arguments() == {"code": "AB", "n": 1}


def test_check_result_for_outdated_input_is_dropped(
    qtbot: QtBot, editor: ArgumentsEditor, checker: Checker
) -> None:
    ask(qtbot, editor, checker, 0, "abc")
    ask(qtbot, editor, checker, 0, "AB")
    checker.response(0)
    assert editor.form.rows()[0].problem_text() == ""
    write(editor, 0, "x")
    checker.response(1)
    assert editor.form.rows()[0].problem_text() == ""


def test_many_keystrokes_cause_one_check(qtbot: QtBot, editor: ArgumentsEditor, checker: Checker) -> None:
    ask(qtbot, editor, checker, 0, "many keys in a row")
    assert [value for value, _ in checker.input_requests] == [{"code": "many keys in a row"}]


def test_problems_can_be_stepped_through(qtbot: QtBot, editor: ArgumentsEditor, checker: Checker) -> None:
    ask(qtbot, editor, checker, 0, "abc")
    checker.response()
    assert (
        editor.bar.problems_button.text() == "1 problem"
    )  # what is only missing is not held against them yet
    seen = []
    for _ in range(3):
        QTest.mouseClick(editor.bar.problems_button, LEFT)
        seen += [
            position
            for position, row in enumerate(editor.form.rows())
            if row.isAncestorOf(row.window().focusWidget())
        ]
    assert sorted(seen[:2]) == [0, 2]
    assert seen[2] == seen[0]
    assert editor.bar.problems_button.text() == "2 problems"
    assert editor.form.rows()[2].problem_text() == "Is required, but not set"


def test_keyboard_steps_to_the_next_problem_too(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    write(editor, 2, "x")
    editor.form.rows()[0].slot.editor.widget.setFocus()
    QTest.keyClick(editor.window().focusWidget(), Qt.Key.Key_F8)
    assert editor.form.rows()[2].slot.editor.widget.hasFocus()


def test_unchecked_parts_are_reported(qtbot: QtBot, editor: ArgumentsEditor, checker: Checker) -> None:
    ask(qtbot, editor, checker, 0, "AB")
    checker.input_requests[-1][1](Verdict(unchecked="Not checked: the check took more than 2 s."))
    assert editor.bar.message() == "Not checked: the check took more than 2 s."


def test_findings_of_a_check_are_marked_in_the_json_too(
    qtbot: QtBot, editor: ArgumentsEditor, checker: Checker
) -> None:
    editor.set_arguments({"n": 1, "day": "tomorrow"})
    editor.show_json()
    qtbot.waitUntil(lambda: bool(checker.input_requests))
    checker.response()
    assert list(editor.json_view.box.gutter.marks()) == [2]
    editor.show_form()
    assert editor.form.rows()[1].problem_text() != ""


def test_check_result_after_the_editor_is_gone_is_harmless(
    qtbot: QtBot, editor: ArgumentsEditor, checker: Checker
) -> None:
    ask(qtbot, editor, checker, 0, "abc")
    late = checker.input_requests[-1][1]
    editor.set_schema({"type": "object"})
    late(Verdict((FieldError("/code", "is wrong"),)))
    assert editor.problems() == []


def test_all_fields_are_filled_with_examples_and_cleared(editor: ArgumentsEditor) -> None:
    editor.fill_with_example()
    value = editor.arguments()
    assert value.keys() == {"code", "day", "n"}
    assert validate(SCHEMA, value) == Verdict()
    editor.clear()
    assert editor.arguments(force=True) == {}
