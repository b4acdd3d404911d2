"""Rows of maps, lists and tuples, driven by user actions."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QWidget,
)
from pytestqt.qtbot import QtBot

from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.choice_editors import CheckListEditor
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.forms.schema.list_editor import ListEditor, TupleEditor
from inspector.qt.forms.schema.map_editor import MapEditor
from inspector.qt.forms.schema.object_editor import ObjectEditor
from inspector.qt.forms.schema.schema_form import SchemaForm
from inspector.qt.forms.schema.text_editors import NumberEditor
from inspector.qt.forms.schema.union_editor import UnionEditor
from inspector.qt.theme import Theme
from inspector.schema.builder import build_form
from inspector.schema.values import FormError
from tests.qt.forms.form_driver import ICONS, LEFT, FormDriver, add_key, editor, inner, part, pick_from_menu

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Create the application: a theme needs it."""


def test_keys_are_added_renamed_and_removed(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"env": {"type": "object", "additionalProperties": {"type": "string"}}})
    rows = editor(driver, "env", MapEditor)
    first = add_key(rows, "A", "1")
    add_key(rows, "B", "2")
    assert driver.form.value() == {"env": {"A": "1", "B": "2"}}
    QTest.keyClicks(first.key_line, "A")
    QTest.mouseClick(rows.map_rows.rows[1].remove_button, LEFT)
    assert driver.form.value() == {"env": {"AA": "1"}}
    QTest.mouseClick(rows.map_rows.rows[0].remove_button, LEFT)
    assert (driver.form.value(), driver.state("env")) == ({"env": {}}, "empty")


def test_a_row_without_a_key_is_not_sent_and_says_so(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"env": {"type": "object", "additionalProperties": {"type": "string"}}})
    row = add_key(editor(driver, "env", MapEditor), "", "1")
    assert driver.form.value() == {"env": {}}
    assert row.error_text() == "Is not sent until it has a key"
    driver.form.set_value({"env": {"": "x"}})
    assert driver.form.value() == {"env": {"": "x"}}


def test_duplicate_or_forbidden_key_is_reported_in_its_row(qtbot: QtBot) -> None:
    schema: JSON = {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "propertyNames": {"maxLength": 2},
    }
    driver = FormDriver(qtbot, {"m": schema})
    rows = editor(driver, "m", MapEditor)
    add_key(rows, "a", "1")
    second = add_key(rows, "a", "2")
    assert second.error_text() == "Is a duplicate key"
    with pytest.raises(FormError, match="is a duplicate key"):
        driver.form.value()
    QTest.keyClicks(second.key_line, "bc")
    assert second.error_text() == "The key must have at most 2 characters, has 3"
    assert driver.form.value() == {"m": {"a": 1, "abc": 2}}


def test_value_type_follows_its_key(qtbot: QtBot) -> None:
    schema: JSON = {
        "type": "object",
        "patternProperties": {"^n_": {"type": "number"}},
        "additionalProperties": {"type": "string"},
    }
    driver = FormDriver(qtbot, {"m": schema})
    rows = editor(driver, "m", MapEditor)
    row = add_key(rows, "x", "5")
    assert driver.form.value() == {"m": {"x": "5"}}
    row.key_line.selectAll()
    QTest.keyClicks(row.key_line, "n_x")
    assert row.key_line.hasFocus()
    assert driver.form.value() == {"m": {"n_x": "5"}}
    assert row.error_text() == "Must be a number, got '5'"
    pick_from_menu(row.open_state_menu(), "Fill with example")
    assert driver.form.value() == {"m": {"n_x": 1}}
    assert driver.form.errors() == []


def test_object_with_fields_accepts_extra_keys_except_its_field_names(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"a": {"type": "string"}}, additionalProperties={"type": "integer"})
    driver.form.set_value({"z": 1, "a": "x"})
    assert write(driver.form.value()) == write({"z": 1, "a": "x"})
    assert driver.form.members is not None
    rows = driver.form.members.key_rows
    assert rows is not None
    QTest.keyClicks(rows.rows[0].key_line, "z")
    assert driver.form.value() == {"a": "x", "zz": 1}
    rows.rows[0].key_line.selectAll()
    QTest.keyClicks(rows.rows[0].key_line, "a")
    with pytest.raises(FormError):
        driver.form.value()
    assert rows.rows[0].error_text() == "A is already a field above"


def test_tuple_positions_are_filled_and_extra_items_added(qtbot: QtBot) -> None:
    schema: JSON = {
        "type": "array",
        "prefixItems": [{"type": "integer", "title": "From"}, {"type": "string"}],
        "items": {"type": "boolean"},
    }
    driver = FormDriver(qtbot, {"t": schema})
    positions = editor(driver, "t", TupleEditor)
    QTest.mouseClick(positions.add_button, LEFT)
    assert driver.form.value() == {"t": []}
    driver.type(positions.rows[1].slot.editor.widget, "x")
    assert driver.form.errors()[0].pointer == "/t/0"
    driver.type(positions.rows[0].slot.editor.widget, "1")
    QTest.mouseClick(positions.add_button, LEFT)
    assert driver.form.value() == {"t": [1, "x", False]}
    QTest.mouseClick(positions.rows[2].remove_button, LEFT)
    assert driver.form.value() == {"t": [1, "x"]}


def test_multiple_choices_are_checked(qtbot: QtBot) -> None:
    schema: JSON = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True}
    driver = FormDriver(qtbot, {"c": schema})
    checks = editor(driver, "c", CheckListEditor)
    driver.form.set_value({"c": ["c", "a"]})
    assert driver.form.value() == {"c": ["c", "a"]}
    QTest.mouseClick(checks.checks[1], LEFT, pos=checks.checks[1].rect().center())
    assert driver.form.value() == {"c": ["c", "a", "b"]}
    for position in (2, 0, 1):
        checks.checks[position].click()
    assert (driver.form.value(), driver.state("c")) == ({"c": []}, "empty")
    driver.form.set_value({"c": ["d", "a"]})
    assert driver.form.value() == {"c": ["d", "a"]}
    assert isinstance(driver.row("c").slot.editor, ListEditor)


def test_an_item_can_be_null_an_example_or_json(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"l": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 3}}})
    items = driver.list_editor("l")
    QTest.mouseClick(items.add_button, LEFT)
    for text, expected in (("Null", None), ("Fill with example", 3), ("Edit as JSON", 3)):
        pick_from_menu(items.rows[0].open_state_menu(), text)
        assert driver.form.value() == {"l": [expected]}
    assert items.rows[0].slot.is_raw


def test_a_tree_opens_level_by_level(qtbot: QtBot) -> None:
    tree: JSON = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    }
    driver = FormDriver(qtbot, {"root": {"$ref": "#/$defs/tree"}}, **{"$defs": {"tree": tree}})
    node = editor(driver, "root", ObjectEditor)
    QTest.mouseClick(node.fill_button, LEFT)
    for _ in range(3):
        assert node.members is not None
        kids = node.members.rows()[0].slot.editor
        assert isinstance(kids, ListEditor)
        QTest.mouseClick(kids.add_button, LEFT)
        child = kids.rows[0].slot.editor
        assert isinstance(child, ObjectEditor)
        if child.members is None:
            QTest.mouseClick(child.fill_button, LEFT)
        node = child
    assert driver.form.value() == {"root": {"kids": [{"kids": [{"kids": [{}]}]}]}}


def test_tab_goes_from_a_key_to_its_value(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"env": {"type": "object", "additionalProperties": {"type": "string"}}})
    row = add_key(editor(driver, "env", MapEditor), "A", "1")
    qtbot.waitUntil(row.isVisible)
    row.key_line.setFocus()
    QTest.keyClick(row.key_line, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is row.slot.editor.widget


def test_tab_visits_an_added_row_before_the_fields_below_it(qtbot: QtBot) -> None:
    tags: JSON = {"type": "array", "items": {"type": "string"}}
    driver = FormDriver(qtbot, {"tags": tags, "last": {"type": "string"}})
    items = driver.list_editor("tags")
    QTest.mouseClick(items.add_button, LEFT)
    qtbot.waitUntil(items.rows[0].isVisible)
    seen: list[QWidget | None] = []
    items.rows[0].slot.editor.widget.setFocus()
    for _ in range(4):
        QTest.keyClick(driver.form.window().focusWidget(), Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    row = items.rows[0]
    assert seen == [row.menu_button, row.remove_button, items.add_button, driver.line("last")]
    QTest.keyClick(driver.line("last"), Qt.Key.Key_Backtab)
    assert QApplication.focusWidget() is items.add_button


def test_value_follows_the_key_in_an_open_map(qtbot: QtBot) -> None:
    schema: JSON = {"type": "object", "patternProperties": {"^n_": {"type": "integer"}}}
    driver = FormDriver(qtbot, {"m": schema})
    row = add_key(editor(driver, "m", MapEditor), "n_a", "5")
    assert isinstance(row.slot.editor, NumberEditor)
    assert driver.form.value() == {"m": {"n_a": 5}}
    assert driver.form.errors() == []


def test_no_more_items_are_offered_than_the_schema_allows(qtbot: QtBot) -> None:
    items: JSON = {"type": "array", "items": {"type": "string"}, "maxItems": 1}
    keys: JSON = {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 1}
    driver = FormDriver(qtbot, {"items": items, "keys": keys})
    listed, mapped = driver.list_editor("items"), editor(driver, "keys", MapEditor)
    for button in (listed.add_button, mapped.add_button):
        assert button.isEnabled()
        QTest.mouseClick(button, LEFT)
        assert not button.isEnabled()
    assert (listed.add_button.toolTip(), mapped.add_button.toolTip()) == ("At most 1 item", "At most 1 key")


def test_own_keys_are_added_to_an_open_object(qtbot: QtBot) -> None:
    field = build_form({"type": "object", "properties": {"a": {"type": "string"}}})
    form = SchemaForm(Theme(ICONS), field, takes_own_keys=True)
    qtbot.addWidget(form)
    with qtbot.waitActive(form):
        form.show()
    assert form.members is not None
    rows = form.members.key_rows
    assert rows is not None
    QTest.mouseClick(rows.add_button, LEFT)
    row = rows.rows[0]
    QTest.keyClicks(row.key_line, "own")
    union = row.slot.editor
    assert isinstance(union, UnionEditor)
    QTest.keyClicks(inner(union).widget, "text")
    assert form.value() == {"own": "text"}
    assert form.errors() == []
    form.set_value({"b": [1], "a": "x"})
    assert write(form.value()) == write({"b": [1], "a": "x"})


def test_closed_objects_take_no_own_keys(qtbot: QtBot) -> None:
    form = SchemaForm(Theme(ICONS), build_form({"additionalProperties": False}), takes_own_keys=True)
    qtbot.addWidget(form)
    assert form.members is not None
    assert form.members.key_rows is None


def test_a_required_object_is_open_and_sent_once_a_member_is_edited(qtbot: QtBot) -> None:
    point: JSONObject = {
        "type": "object",
        "properties": {"kind": {"const": "point"}, "name": {"type": "string"}},
        "required": ["kind"],
    }
    driver = FormDriver(qtbot, {"a": point, "b": point, "c": point}, required=["a", "b"])
    first, second, optional = (editor(driver, name, ObjectEditor) for name in "abc")
    driver.form.set_value({})
    assert driver.form.value() == {}
    assert (driver.state("a"), optional.members) == ("not set", None)
    driver.type(part(first, "name"), "x")
    assert driver.form.value() == {"a": {"kind": "point", "name": "x"}}
    QTest.mouseClick(second.fill_button, LEFT)
    assert driver.form.value()["b"] == {"kind": "point"}
    driver.choose("a", "Not set")
    assert "a" not in driver.form.value()
    assert (part(first, "name").isVisible(), part(first, "name").text()) == (True, "")


def test_required_objects_that_contain_themselves_open_a_few_levels_deep(qtbot: QtBot) -> None:
    node: JSON = {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    driver = FormDriver(
        qtbot, {"next": {"$ref": "#/$defs/node"}}, required=["next"], **{"$defs": {"node": node}}
    )
    assert len(driver.form.findChildren(FieldRow)) <= 5
    assert driver.form.value() == {}


def test_keys_and_values_of_a_map_have_column_heads(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"m": {"type": "object", "additionalProperties": {"type": "string"}}})
    rows = editor(driver, "m", MapEditor).map_rows
    assert rows._heads.columns() == []
    driver.form.set_value({"m": {"a": "1", "b": "2"}})
    QApplication.processEvents()
    first = rows.rows[0]
    value = first.slot.editor.widget
    assert rows._heads.columns() == [(first.key_line.x(), "Key"), (value.x(), "Value")]
    QTest.mouseClick(first.remove_button, LEFT)
    assert [text for _, text in rows._heads.columns()] == ["Key", "Value"]
    QTest.mouseClick(rows.rows[0].remove_button, LEFT)
    assert not rows._heads.isVisible()


def test_booleans_of_a_list_are_in_a_column_at_the_left(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"flags": {"type": "array", "items": {"type": "boolean"}}})
    driver.form.set_value({"flags": [True, False]})
    driver.form.resize(900, 400)
    QApplication.processEvents()
    rows = driver.list_editor("flags").rows
    assert [row.slot.editor.widget.mapTo(row, QPoint()).x() for row in rows] == [0, 0]
    assert rows[0].remove_button.geometry().right() >= rows[0].width() - 2
