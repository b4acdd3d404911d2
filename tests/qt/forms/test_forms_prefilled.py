"""Form elicitation: the widget for each primitive schema of every protocol version."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.choice_editors import (
    BooleanEditor,
    CheckListEditor,
    ChoiceEditor,
    DateTimeEditor,
)
from inspector.qt.forms.schema.editor import Editor
from inspector.qt.forms.schema.list_editor import ListEditor
from inspector.qt.forms.schema.text_editors import LineEditor, NumberEditor
from inspector.schema.values import prefilled
from tests.qt.forms.form_driver import LEFT, FormDriver, editor

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

LEVELS: JSONObject = {"type": "string", "enum": ["lo", "hi"], "enumNames": ["Low", "High"], "default": "hi"}
COLORS: JSONObject = {
    "type": "string",
    "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}],
    "default": "#0f0",
}
PLAIN: JSONObject = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["b"]}
TOPPINGS: JSONObject = {
    "type": "array",
    "minItems": 1,
    "maxItems": 2,
    "items": {
        "anyOf": [
            {"const": "ch", "title": "Cheese"},
            {"const": "ol", "title": "Olives"},
            {"const": "on", "title": "Onions"},
        ]
    },
}


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Create the application: a theme needs it."""


def options(choice: ChoiceEditor) -> list[str]:
    return [choice.box.itemText(position) for position in range(choice.box.count())]


def pick_choice(choice: ChoiceEditor, text: str) -> None:
    choice.box.setCurrentText(text)
    choice.box.activated.emit(choice.box.currentIndex())


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 5}, LineEditor),
        ({"type": "string", "format": "email"}, LineEditor),
        ({"type": "string", "format": "uri"}, LineEditor),
        ({"type": "string", "format": "date"}, DateTimeEditor),
        ({"type": "string", "format": "date-time"}, DateTimeEditor),
        ({"type": "number", "minimum": 0, "maximum": 1}, NumberEditor),
        ({"type": "integer", "default": 3}, NumberEditor),
        ({"type": "boolean", "default": True}, BooleanEditor),
        ({"type": "string", "enum": ["a", "b"]}, ChoiceEditor),
        (LEVELS, ChoiceEditor),
        (COLORS, ChoiceEditor),
        (PLAIN, CheckListEditor),
        (TOPPINGS, CheckListEditor),
    ],
)
def test_each_primitive_has_its_widget(qtbot: QtBot, schema: JSON, kind: type[Editor]) -> None:
    driver = FormDriver(qtbot, {"x": schema})
    assert type(driver.row("x").slot.editor) is kind


@pytest.mark.parametrize(
    ("schema", "text", "value"), [(LEVELS, "Low (lo)", "lo"), (COLORS, "Red (#f00)", "#f00")]
)
def test_a_titled_choice_shows_its_titles_and_sends_its_value(
    qtbot: QtBot, schema: JSON, text: str, value: str
) -> None:
    driver = FormDriver(qtbot, {"x": schema})
    choice = editor(driver, "x", ChoiceEditor)
    assert text in options(choice)
    pick_choice(choice, text)
    assert driver.form.value() == {"x": value}
    assert driver.form.errors() == []


def test_default_is_named_by_its_title_and_not_sent_until_accepted(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"level": LEVELS, "many": PLAIN, "on": {"type": "boolean", "default": True}})
    assert options(editor(driver, "level", ChoiceEditor))[0] == "not set (default: High (hi))"
    assert driver.form.value() == {}
    buttons = [driver.row(name).default_button for name in ("many", "on")]
    assert [button.text() for button in buttons if button] == ['use default: ["b"]', "use default: true"]
    for button in buttons:
        assert button is not None
        QTest.mouseClick(button, LEFT)
    assert driver.form.value() == {"many": ["b"], "on": True}
    assert [driver.state(name) for name in ("many", "on", "level")] == ["default", "default", "not set"]


def test_several_titled_choices_are_checked_by_title_and_sent_by_value(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": TOPPINGS})
    checks = editor(driver, "x", CheckListEditor).checks
    assert [check.text() for check in checks] == ["Cheese (ch)", "Olives (ol)", "Onions (on)"]
    for position in (2, 0, 1):
        checks[position].click()
    assert driver.form.value() == {"x": ["on", "ch", "ol"]}
    assert [str(error) for error in driver.form.errors()] == ["x: must have at most 2 items, has 3"]
    for check in checks:
        check.click()
    assert [str(error) for error in driver.form.errors()] == ["x: must have at least 1 item, has 0"]


def test_choice_list_that_allows_duplicates_is_edited_in_rows(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": PLAIN})
    driver.form.set_value({"x": ["b"]})
    driver.choose("x", "Edit as list")
    rows = editor(driver, "x", ListEditor)
    QTest.mouseClick(rows.add_button, LEFT)
    choice = rows.rows[1].slot.editor
    assert isinstance(choice, ChoiceEditor)
    pick_choice(choice, "b")
    assert driver.form.value() == {"x": ["b", "b"]}
    driver.choose("x", "Edit as checkboxes")
    assert driver.form.value() == {"x": ["b", "b"]}
    editor(driver, "x", ListEditor)
    driver.form.set_value({"x": ["a"]})
    driver.choose("x", "Edit as list")
    driver.choose("x", "Edit as checkboxes")
    assert [check.isChecked() for check in editor(driver, "x", CheckListEditor).checks] == [True, False]


def test_long_checkbox_title_does_not_widen_the_form(qtbot: QtBot) -> None:
    long: JSON = {
        "type": "array",
        "items": {"oneOf": [{"const": "a", "title": "wide " * 60}, {"const": "b"}]},
    }
    driver = FormDriver(qtbot, {"x": long})
    driver.form.rows()
    assert driver.form.minimumSizeHint().width() <= 400
    assert "wide wide" in editor(driver, "x", CheckListEditor).checks[0].accessibleName()


def test_reply_starts_with_the_defaults_of_all_fields(qtbot: QtBot) -> None:
    inside: JSON = {"type": "object", "properties": {"n": {"type": "number", "default": 0.5}, "m": {}}}
    properties: JSONObject = {
        "level": LEVELS,
        "many": PLAIN,
        "none": {"type": ["string", "null"], "default": None},
        "name": {"type": "string"},
        "inside": inside,
    }
    driver = FormDriver(qtbot, properties, required=["inside"])
    first = prefilled(driver.form.field)
    assert first == {"level": "hi", "many": ["b"], "none": None, "inside": {"n": 0.5}}
    driver.form.set_value(first)
    assert driver.form.value() == first
