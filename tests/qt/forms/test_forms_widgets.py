"""Forms driven by keys, clicks and menus, and the value they send."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.choice_editors import BooleanEditor, ChoiceEditor, PasswordEditor
from inspector.qt.forms.schema.field_row import FieldRow, LongDescription
from inspector.qt.forms.schema.item_rows import ROWS_AT_ONCE
from inspector.qt.forms.schema.list_editor import MAX_ROWS
from inspector.qt.forms.schema.object_editor import ObjectEditor
from inspector.qt.forms.schema.schema_form import SchemaForm
from inspector.qt.forms.schema.text_editors import LinesEditor
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.controls import TextButton
from inspector.schema.builder import build_form
from inspector.schema.values import FormError
from tests.qt.forms.form_driver import FormDriver, editor, pick_from_menu, shown_texts

# The offscreen platform says so of raising windows and grabbing keys; it is not about our widgets.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Create the application: a theme needs it."""


def test_fresh_form_sends_nothing_and_shows_no_errors(qtbot: QtBot) -> None:
    driver = FormDriver(
        qtbot, {"a": {"type": "string"}, "b": {"type": "integer", "default": 5}}, required=["a"]
    )
    assert driver.form.value() == {}
    driver.form.set_value({})
    assert driver.row("a").error_text() == ""
    assert not driver.line("a").property("state")
    assert [str(error) for error in driver.form.errors()] == ["a: is required but not set"]


def test_typed_text_is_sent_and_every_change_is_signaled(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"title": {"type": "string"}})
    with qtbot.waitSignal(driver.form.value_changed):
        driver.type(driver.line("title"), "a <b>")
    assert driver.form.value() == {"title": "a <b>"}
    assert driver.state("title") == "set"


def test_absent_empty_null_and_default_are_four_different_things(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": {"type": ["string", "null"], "default": "d", "examples": ["e & f"]}})
    seen: list[tuple[str, JSONObject]] = []
    for labels in ("Empty string", "Null", 'Default: "d"', 'Example: "e && f"', "Not set"):
        driver.choose("x", labels)
        seen.append((driver.state("x"), driver.form.value()))
    assert seen == [
        ("empty", {"x": ""}), ("null", {"x": None}), ("default", {"x": "d"}), ("set", {"x": "e & f"}),
        ("not set", {}),
    ]  # fmt: skip


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "format": "markdown"}])
def test_a_cleared_text_is_not_set_and_the_empty_string_is_one_click_away(
    qtbot: QtBot, schema: JSONObject
) -> None:
    driver = FormDriver(qtbot, {"x": schema}, required=["x"])
    row = driver.row("x")
    text = row.slot.editor.widget
    assert "send empty string" not in [button.text() for button in row.findChildren(TextButton)]
    driver.type(text, "a")
    QTest.keyClick(text, Qt.Key.Key_Backspace)
    assert driver.form.value() == {}
    assert (text.property("placeholderText"), driver.state("x")) == ("not set", "not set")
    assert row.empty_button is not None
    QTest.mouseClick(row.empty_button, LEFT)
    assert driver.form.value() == {"x": ""}
    assert (text.property("placeholderText"), row.empty_button.isVisible()) == ("empty string", False)


def test_a_cleared_text_in_a_list_is_the_empty_string(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": {"type": "array", "items": {"type": "string"}}})
    driver.form.set_value({"x": ["a"]})
    line = driver.list_editor("x").rows[0].slot.editor.widget
    driver.type(line, "b")
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    QTest.keyClick(line, Qt.Key.Key_Backspace)
    assert driver.form.value() == {"x": [""]}


def test_a_default_is_sent_only_after_one_click(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"n": {"type": "integer", "default": 10}})
    assert driver.line("n").placeholderText() == "not set (default: 10)"
    assert driver.form.value() == {}
    button = driver.row("n").default_button
    assert button is not None
    QTest.mouseClick(button, LEFT)
    assert driver.form.value() == {"n": 10}
    assert not button.isVisible()


@pytest.mark.parametrize("digits", ["9007199254740993", "1" * 60, "-0.1234567890123456789", "1e400", "1.10"])
def test_a_typed_number_is_kept_digit_for_digit(qtbot: QtBot, digits: str) -> None:
    driver = FormDriver(qtbot, {"n": {"type": "number"}})
    driver.type(driver.line("n"), digits)
    assert write(driver.form.value(), indent=0) == f'{{\n"n": {digits}\n}}'


def test_invalid_number_is_reported_below_the_field_until_corrected(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"count": {"type": "integer"}})
    line = driver.line("count")
    driver.type(line, "abc")
    assert driver.row("count").error_text() == "Must be an integer, got 'abc'"
    assert line.property("state") == "error"
    assert [str(error) for error in driver.form.errors()] == ["count: must be an integer, got 'abc'"]
    line.selectAll()
    driver.type(line, "12")
    assert driver.form.value() == {"count": 12}
    assert not driver.row("count").error_text()


def test_boolean_is_unset_true_or_false(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"deep": {"type": "boolean"}})
    editor = driver.row("deep").slot.editor
    assert isinstance(editor, BooleanEditor)
    values = []
    for index in (1, 2, 0):
        QTest.mouseClick(editor.segments.button(index), LEFT)
        values.append(driver.form.value())
    assert values == [{"deep": True}, {"deep": False}, {}]
    QTest.keyClick(editor.segments.button(0), Qt.Key.Key_Right)
    assert driver.form.value() == {"deep": True}


def test_choices_of_any_json_type_are_distinguished(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"c": {"enum": ["red", "1", 1, True, "null", None, {"k": []}]}})
    editor = driver.row("c").slot.editor
    assert isinstance(editor, ChoiceEditor)
    box: QComboBox = editor.box
    labels = [box.itemText(index) for index in range(box.count())]
    assert labels == ["not set", "null", "red", '"1"', "1", "true", '"null"', '{"k": []}']
    for index, expected in ((3, '"1"'), (4, "1"), (1, "null")):
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_Home)
        for _ in range(index):
            QTest.keyClick(box, Qt.Key.Key_Down)
        assert write(driver.form.value()["c"]) == expected
    QTest.keyClick(box, Qt.Key.Key_Home)
    assert driver.form.value() == {}


def test_items_are_added_typed_moved_and_removed(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"tags": {"type": "array", "items": {"type": "string"}}})
    editor = driver.list_editor("tags")
    for word in ("one", "two", "three"):
        QTest.mouseClick(editor.add_button, LEFT)
        focused = QApplication.focusWidget()
        assert focused is editor.rows[-1].slot.editor.widget
        QTest.keyClicks(focused, word)
    QTest.mouseClick(editor.rows[2].up_button, LEFT)
    assert driver.form.value() == {"tags": ["one", "three", "two"]}
    QTest.mouseClick(editor.rows[0].remove_button, LEFT)
    assert driver.form.value() == {"tags": ["three", "two"]}
    for _ in range(2):
        QTest.mouseClick(editor.rows[0].remove_button, LEFT)
    assert (driver.form.value(), driver.state("tags")) == ({"tags": []}, "empty")
    driver.choose("tags", "Not set")
    assert driver.form.value() == {}


def test_invalid_item_says_so_in_its_row(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"ids": {"type": "array", "items": {"type": ["integer", "null"]}}})
    editor = driver.list_editor("ids")
    QTest.mouseClick(editor.add_button, LEFT)
    assert [error.pointer for error in driver.form.errors()] == ["/ids/0"]
    driver.type(editor.rows[0].slot.editor.widget, "x")
    assert editor.rows[0].error_text() == "Must be an integer, got 'x'"
    pick_from_menu(editor.rows[0].open_state_menu(), "Null")
    assert driver.form.value() == {"ids": [None]}
    assert driver.form.errors() == []


def test_a_long_list_is_left_to_raw_json_and_kept(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"ids": {"type": "array", "items": {"type": "integer"}}})
    many: list[JSON] = list(range(MAX_ROWS + 1))
    driver.form.set_value({"ids": many})
    assert driver.state("ids") == "set, as JSON"
    assert driver.form.value() == {"ids": many}


def test_nested_object_is_filled_in_and_removed(qtbot: QtBot) -> None:
    inner: JSON = {"type": "object", "required": ["f"], "properties": {"f": {"type": "string"}}}
    driver = FormDriver(qtbot, {"filter": inner})
    editor = driver.row("filter").slot.editor
    assert isinstance(editor, ObjectEditor)
    QTest.mouseClick(editor.fill_button, LEFT)
    assert driver.form.value() == {"filter": {}}
    assert editor.members is not None
    driver.type(editor.members.rows()[0].slot.editor.widget, "name")
    assert driver.form.value() == {"filter": {"f": "name"}}
    driver.choose("filter", "Not set")
    assert driver.form.value() == {}


def test_invalid_raw_json_shows_the_position_and_is_not_sent(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"any": {"type": "mystery"}})
    box = driver.box("any")
    driver.type(box, '{"a": ')
    assert driver.row("any").error_text() == "Line 1, column 7: a value is missing"
    with pytest.raises(FormError, match="any: Line 1, column 7"):
        driver.form.value()
    driver.type(box, "1}")
    assert driver.form.value() == {"any": {"a": 1}}
    assert driver.row("any").error_text() == ""


def test_field_can_be_switched_to_json_and_back(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"n": {"type": "integer"}})
    driver.type(driver.line("n"), "5")
    driver.choose("n", "Edit as JSON")
    driver.box("n").selectAll()
    driver.type(driver.box("n"), '"text"')
    assert driver.form.value() == {"n": "text"}
    assert driver.row("n").error_text() == "Must be an integer, got 'text'"
    driver.box("n").selectAll()
    driver.type(driver.box("n"), "7")
    driver.choose("n", "Edit as field")
    assert driver.line("n").text() == "7"


def test_pasted_multi_line_text_keeps_its_lines(qtbot: QtBot, qapp: QApplication) -> None:
    driver = FormDriver(qtbot, {"body": {"type": "string"}})
    line = driver.line("body")
    line.setFocus()
    qapp.clipboard().setText("one\ntwo\u00a0three\n")
    line.paste()
    assert driver.form.value() == {"body": "one\ntwo\u00a0three\n"}
    assert isinstance(driver.row("body").slot.editor, LinesEditor)
    driver.type(driver.box("body"), "end")
    assert driver.form.value() == {"body": "one\ntwo\u00a0three\nend"}


def test_pasted_text_longer_than_the_line_edit_limit_is_not_truncated(
    qtbot: QtBot, qapp: QApplication
) -> None:
    driver = FormDriver(qtbot, {"body": {"type": "string"}})
    driver.line("body").setFocus()
    qapp.clipboard().setText("x" * 50_000)
    driver.line("body").paste()
    assert driver.form.value() == {"body": "x" * 50_000}


def test_missing_values_are_named_on_validation_and_get_the_focus(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"a": {"type": "string"}, "b": {"type": "string"}}, required=["b"])
    driver.form.reveal_errors()
    assert driver.row("b").error_text() == "Is required but not set"
    assert driver.line("b").hasFocus()


def test_keys_the_form_does_not_know_are_named_and_kept(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}})
    driver.form.set_value({"zz": [1], "c": "3", "yy": None})
    driver.type(driver.line("b"), "2")
    driver.type(driver.line("a"), "1")
    assert list(driver.form.value().items()) == [
        ("a", "1"),
        ("b", "2"),
        ("zz", [1]),
        ("c", "3"),
        ("yy", None),
    ]
    shown = [label.text() for label in driver.form.findChildren(QLabel) if label.isVisible()]
    assert "Also sent, without a field: zz, yy. Edit as JSON." in shown


def test_tab_goes_from_editor_to_editor(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"a": {"type": "string", "default": "x"}, "b": {"type": "integer"}})
    driver.line("a").setFocus()
    QTest.keyClick(driver.line("a"), Qt.Key.Key_Tab)
    assert driver.line("b").hasFocus()


@pytest.mark.parametrize("kind", ["string", "boolean", "any"])
def test_control_return_submits_from_any_field(qtbot: QtBot, kind: str) -> None:
    schema: JSON = {} if kind == "any" else {"type": kind}
    driver = FormDriver(qtbot, {"x": schema})
    driver.row("x").slot.editor.widget.setFocus()
    focused = QApplication.focusWidget()
    assert focused is not None
    with qtbot.waitSignal(driver.form.submitted):
        QTest.keyClick(focused, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert driver.form.value() == {}


def test_the_state_menu_opens_from_the_keyboard(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": {"type": "string"}})
    driver.line("x").setFocus()
    QTest.keyClick(driver.line("x"), Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    texts = [action.text() for action in menu.actions() if not action.isSeparator()]
    menu.close()
    assert texts == [
        "Not set", "Empty string", "Fill with example", "Edit as multi-line text", "Edit as JSON",
    ]  # fmt: skip


def test_server_text_is_never_rendered_as_markup(qtbot: QtBot) -> None:
    markup = "<img src='/etc/hostname'><b>x</b>\u202e"
    driver = FormDriver(qtbot, {markup: {"type": "string", "title": markup, "description": markup * 40}})
    for label in driver.form.findChildren(QLabel):
        assert label.textFormat() is Qt.TextFormat.PlainText
    for widget in driver.form.findChildren(QWidget):
        assert "<img" not in widget.toolTip()
        assert "\u202e" not in widget.toolTip() + widget.accessibleName()


def test_only_the_first_of_two_hundred_fields_have_widgets(qtbot: QtBot) -> None:
    kinds: list[JSON] = [
        {"type": "string", "description": "Words."}, {"type": "integer", "default": 1}, {"type": "boolean"},
        {"enum": ["a", "b"]}, {"type": "array", "items": {"type": "string"}},
    ]  # fmt: skip
    schema: JSON = {"properties": {f"p{index}": kinds[index % 5] for index in range(200)}}
    form = SchemaForm(Theme(ICONS), build_form(schema))
    qtbot.addWidget(form)
    assert 0 < len(form.findChildren(FieldRow)) <= ROWS_AT_ONCE


def test_rows_not_built_yet_keep_their_values(qtbot: QtBot) -> None:
    names = [f"p{index}" for index in range(5 * ROWS_AT_ONCE)]
    driver = FormDriver(qtbot, {name: {"type": "integer"} for name in names})
    value: JSONObject = {names[-1]: "wrong", names[0]: 2**70}
    driver.form.set_value(value)
    assert len(driver.form.findChildren(FieldRow)) < len(names)
    assert write(driver.form.value()) == write(value)
    assert driver.row(names[-1]).error_text() == "Must be an integer, got 'wrong'"
    assert write(driver.form.value()) == write(value)


def test_the_wheel_scrolls_past_a_choice_without_changing_it(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"c": {"enum": ["a", "b"]}})
    driver.form.set_value({"c": "a"})
    editor = driver.row("c").slot.editor
    assert isinstance(editor, ChoiceEditor)
    middle = QPointF(editor.box.rect().center())
    wheel = QWheelEvent(
        middle, editor.box.mapToGlobal(middle), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(editor.box, wheel)
    assert driver.form.value() == {"c": "a"}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "5"), ({"type": "integer"}, ""), ({"type": "integer"}, True),
        ({"type": "string"}, 5), ({"type": "boolean"}, 1), ({"enum": [1, 2]}, 1.0), ({"enum": ["a"]}, "b"),
        ({"type": "string"}, None),
        ({"type": "array", "items": {"type": "string"}}, {"a": 1}), ({"properties": {"a": {}}}, [1]),
    ],
)  # fmt: skip
def test_value_an_editor_cannot_show_exactly_is_shown_as_json(
    qtbot: QtBot, schema: JSON, value: JSON
) -> None:
    driver = FormDriver(qtbot, {"x": schema})
    driver.form.set_value({"x": value})
    assert write(driver.form.value()["x"]) == write(value)
    if value is not None:
        assert driver.box("x").toPlainText() == write(value)
        assert driver.state("x").endswith("as JSON")


def test_password_is_masked_and_shown_on_demand(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"p": {"type": "string", "format": "password"}})
    password = editor(driver, "p", PasswordEditor)
    driver.type(password.line, "secret")
    assert password.line.echoMode() is QLineEdit.EchoMode.Password
    QTest.mouseClick(password.show_button, LEFT)
    assert password.line.echoMode() is QLineEdit.EchoMode.Normal
    assert driver.form.value() == {"p": "secret"}


def test_deprecated_and_write_only_fields_say_so(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"a": {"type": "string", "deprecated": True, "writeOnly": True}})
    assert (
        "Deprecated: the server may stop accepting it.\nWrite-only: the server does not return it."
        in shown_texts(driver.form)
    )


def test_a_state_that_the_editor_tells_is_not_named_again(qtbot: QtBot) -> None:
    driver = FormDriver(
        qtbot,
        {
            "text": {"type": "string", "default": "d"},
            "deep": {"type": "boolean"},
            "items": {"type": "array", "items": {"type": "string"}},
        },
    )
    text, deep, items = (driver.row(name).state_button for name in ("text", "deep", "items"))
    width = text.width()
    driver.row("items").slot.editor.set_focus()
    assert (text.shown_text(), deep.shown_text(), items.shown_text()) == ("", "", "not set ▾")
    driver.line("text").setFocus()
    assert (text.shown_text(), deep.shown_text(), text.width()) == ("▾", "", width)
    driver.row("deep").slot.editor.set_focus()
    assert (text.shown_text(), deep.shown_text()) == ("", "▾")
    QTest.mouseMove(driver.line("text"))
    qtbot.waitUntil(lambda: text.shown_text() == "▾")
    assert (text.accessibleName(), text.width()) == ("State: not set", width)
    driver.choose("text", 'Default: "d"')
    assert text.shown_text() == "default ▾"


def test_the_mark_of_required_fields_is_explained_once(qtbot: QtBot) -> None:
    properties: JSONObject = {"a": {"type": "string"}, "b": {"type": "string"}}
    required = FormDriver(qtbot, properties, required=["a", "b"])
    assert shown_texts(required.form).count("* required") == 1
    assert "* required" not in shown_texts(FormDriver(qtbot, properties).form)


def test_a_long_description_shows_three_lines_and_the_rest_on_demand(qtbot: QtBot) -> None:
    text = "This sentence describes the field. " * 30
    driver = FormDriver(
        qtbot, {"a": {"type": "string", "description": text, "deprecated": True}, "b": {"type": "string"}}
    )
    description = driver.row("a").findChild(LongDescription)
    assert description is not None
    label, button = description.label, description.more_button
    three_lines = 3 * label.fontMetrics().lineSpacing()
    qtbot.waitUntil(lambda: 0 < label.height() <= three_lines)
    assert "Deprecated: the server may stop accepting it." in shown_texts(driver.row("a"))
    QTest.mouseClick(button, LEFT)
    assert (button.text(), label.text()) == ("Show less", text.strip())
    qtbot.waitUntil(lambda: label.height() > 2 * three_lines)
    QTest.mouseClick(button, LEFT)
    qtbot.waitUntil(lambda: label.height() <= three_lines)
    driver.form.resize(8000, 600)
    qtbot.waitUntil(button.isHidden)
    assert driver.row("b").findChild(LongDescription) is None


def test_many_fields_are_filtered_and_keep_their_values(qtbot: QtBot) -> None:
    properties: JSONObject = {f"field_{n}": {"type": "string"} for n in range(20)}
    properties["last"] = {"type": "string", "description": "The end of the range.", "maxLength": 1}
    driver = FormDriver(qtbot, properties)
    members = driver.form.members
    assert members is not None
    driver.type(driver.line("field_3"), "x")
    assert members.filter_line is not None
    driver.type(members.filter_line, "RANGE")
    members.filter_line.settle()
    assert [row.member.name for row in driver.form.rows() if row.isVisible()] == ["last"]
    assert not [row for row in driver.form.findChildren(FieldRow) if row.isVisible()][1:]
    driver.type(driver.line("last"), "too long")
    driver.type(members.filter_line, "?")
    members.filter_line.settle()
    assert "No field matches." in shown_texts(driver.form)
    assert driver.form.value() == {"field_3": "x", "last": "too long"}
    driver.form.reveal_errors()
    assert (members.filter_line.text(), len(driver.form.rows())) == ("", 21)
    assert QApplication.focusWidget() is driver.line("last")


def test_optional_fields_of_a_large_object_are_folded_behind_the_required_ones(qtbot: QtBot) -> None:
    properties: JSONObject = {f"field_{n}": {"type": "string"} for n in range(40)}
    driver = FormDriver(qtbot, properties, required=["field_7", "field_9"])
    members = driver.form.members
    assert members is not None

    def shown() -> list[str]:
        rows = driver.form.rows()
        QApplication.processEvents()  # layouts show new rows in the next round
        return [row.member.name for row in rows if row.isVisible()]

    assert shown() == ["field_7", "field_9"]
    assert members.fold_button.text() == "Show 38 optional fields"
    members.fold_button.click()
    assert len(shown()) == 40
    assert shown()[:3] == ["field_7", "field_9", "field_0"]
    driver.type(driver.line("field_3"), "x")
    members.fold_button.click()
    assert shown() == ["field_7", "field_9", "field_3"]
    assert members.draft() == {"field_3": "x"}
    driver.form.set_value({"field_30": "y"})
    assert shown() == ["field_7", "field_9", "field_30"]
    assert members.filter_line is not None
    driver.type(members.filter_line, "field_1")
    members.filter_line.settle()
    assert shown()[0] == "field_1"
    assert not members.fold_button.isVisible()


def test_error_in_a_folded_field_unfolds_the_others(qtbot: QtBot) -> None:
    properties: JSONObject = {f"field_{n}": {"type": "string"} for n in range(40)}
    driver = FormDriver(qtbot, properties, required=["field_7"])
    members = driver.form.members
    assert members is not None
    members.at(["field_20"])
    assert members.fold_button.text() == "Hide optional fields without a value"
    assert len(driver.form.rows()) == 40


def test_few_fields_have_no_filter(qtbot: QtBot) -> None:
    members = FormDriver(qtbot, {"a": {"type": "string"}}).form.members
    assert members is not None
    assert members.filter_line is None
