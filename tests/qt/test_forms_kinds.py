"""Each kind of field, driven by hand: variants, maps, places, conditions, moments, files."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QDate, Qt, QTime
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.qt.forms.choiceeditors import CheckListEditor, ConstEditor
from inspector.qt.forms.editor import Editor
from inspector.qt.forms.listeditor import ListEditor, TupleEditor
from inspector.qt.forms.mapeditor import MapEditor, MapRow
from inspector.qt.forms.objecteditor import ObjectEditor
from inspector.qt.forms.pickededitors import FileEditor, MomentEditor
from inspector.qt.forms.unioneditor import UnionEditor
from inspector.schema.jsontext import write
from inspector.schema.values import FormError
from tests.qt.form_driver import LEFT, FormDriver, pick_from_menu

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

E = TypeVar("E", bound=Editor)
TARGET: JSONObject = {
    "oneOf": [
        {
            "title": "File",
            "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
            "required": ["kind", "path"],
        },
        {
            "title": "Web page",
            "properties": {"kind": {"const": "web"}, "url": {"type": "string"}, "path": {"type": "string"}},
            "required": ["kind", "url"],
        },
    ]
}


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """A theme needs the application first."""


def editor(driver: FormDriver, name: str, kind: type[E]) -> E:
    found = driver.row(name).slot.editor
    assert isinstance(found, kind)
    return found


def pick(union: UnionEditor, title: str) -> None:
    """Click on a variant."""
    segments = union.picker.segments
    assert segments is not None
    titles = [segments.button(place).text() for place in range(len(union._offered))]
    QTest.mouseClick(segments.button(titles.index(title)), LEFT)


def part(editor: Editor | None, name: str) -> QLineEdit:
    """The line of a member of an object."""
    assert isinstance(editor, ObjectEditor)
    assert editor.members is not None
    row = next(row for row in editor.members.rows() if row.member.name == name)
    line = row.slot.editor.widget
    assert isinstance(line, QLineEdit)
    return line


def inner(union: UnionEditor) -> Editor:
    assert union.slot is not None
    return union.slot.editor


def shown_words(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.isVisible()]


# ------------------------------------------------------------------ variants


def test_a_variant_is_picked_named_by_its_constant_and_filled_in(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    union = editor(driver, "target", UnionEditor)
    assert driver.form.value() == {}
    pick(union, "File")
    driver.type(part(inner(union), "path"), "/tmp")
    assert driver.form.value() == {"target": {"kind": "file", "path": "/tmp"}}
    assert driver.form.errors() == []


def test_each_variant_keeps_what_was_typed_in_it(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    union = editor(driver, "target", UnionEditor)
    pick(union, "File")
    driver.type(part(inner(union), "path"), "a")
    pick(union, "Web page")
    assert driver.form.value() == {"target": {"path": "a", "kind": "web"}}
    driver.type(part(inner(union), "url"), "b")
    pick(union, "File")
    assert driver.form.value() == {"target": {"kind": "file", "path": "a"}}
    pick(union, "not set")
    assert driver.form.value() == {}
    pick(union, "Web page")
    assert driver.form.value()["target"] == {"path": "a", "kind": "web", "url": "b"}


@pytest.mark.parametrize(
    ("value", "variant"), [({"kind": "web"}, 1), ({"url": "u"}, 1), ({"path": "p", "kind": "file"}, 0)]
)
def test_the_variant_of_a_given_value_is_found(qtbot: QtBot, value: JSONObject, variant: int) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.form.set_value({"target": value})
    union = editor(driver, "target", UnionEditor)
    assert union.picker.segments is not None
    assert union.picker.segments.index() == variant + 1
    assert driver.form.value() == {"target": value}


def test_what_a_variant_does_not_know_is_kept_named_and_removed_when_asked_to(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.form.set_value({"target": {"own": 1, "kind": "web", "url": "u"}})
    assert "Also sent, not in the schema: own. Edit as JSON." in shown_words(driver.form)
    assert driver.form.value() == {"target": {"own": 1, "kind": "web", "url": "u"}}
    found = inner(editor(driver, "target", UnionEditor))
    assert isinstance(found, ObjectEditor)
    assert found.members is not None
    QTest.mouseClick(found.members.remove_button, LEFT)
    assert driver.form.value() == {"target": {"kind": "web", "url": "u"}}


def test_a_list_of_types_is_a_union_with_null_as_a_state(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": {"type": ["integer", "boolean", "null"]}})
    union = editor(driver, "x", UnionEditor)
    pick(union, "null")
    assert driver.form.value() == {"x": None}
    pick(union, "whole number")
    assert driver.form.value() == {}
    driver.type(inner(union).widget, "12345678901234567890123")
    assert driver.form.value() == {"x": 12345678901234567890123}
    assert (driver.state("x"), driver.row("x").problem_text()) == ("set", "")


def test_arguments_of_several_shapes_have_a_form(qtbot: QtBot) -> None:
    branches: list[JSON] = [
        {"title": "By id", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        {"title": "By name", "type": "object", "properties": {"name": {"type": "string"}}},
    ]
    driver = FormDriver(qtbot, {}, oneOf=branches)
    union = driver.form.variants
    assert union is not None
    pick(union, "By name")
    driver.type(part(inner(union), "name"), "x")
    assert driver.form.value() == {"name": "x"}
    driver.form.set_value({"id": 7})
    assert union.picker.segments is not None
    assert union.picker.segments.index() == 1
    assert driver.form.value() == {"id": 7}


def test_a_constant_is_set_with_one_click(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"k": {"const": {"a": 1}}})
    const = editor(driver, "k", ConstEditor)
    QTest.mouseClick(const.segments.button(1), LEFT)
    assert driver.form.value() == {"k": {"a": 1}}


# ------------------------------------------------------------------ maps and lists


def add_key(rows: MapEditor, key: str, value: str) -> MapRow:
    QTest.mouseClick(rows.add_button, LEFT)
    row = rows.map_rows.rows[-1]
    assert QApplication.focusWidget() is row.key_line
    QTest.keyClicks(row.key_line, key)
    QTest.keyClicks(row.slot.editor.widget, value)
    return row


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
    assert row.problem_text() == "Is not sent before it has a key"
    driver.form.set_value({"env": {"": "x"}})
    assert driver.form.value() == {"env": {"": "x"}}


def test_a_key_that_is_there_twice_or_not_allowed_is_said_in_its_row(qtbot: QtBot) -> None:
    schema: JSON = {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "propertyNames": {"maxLength": 2},
    }
    driver = FormDriver(qtbot, {"m": schema})
    rows = editor(driver, "m", MapEditor)
    add_key(rows, "a", "1")
    second = add_key(rows, "a", "2")
    assert second.problem_text() == "Is there twice: an object has each key once"
    with pytest.raises(FormError, match="is there twice"):
        driver.form.value()
    QTest.keyClicks(second.key_line, "bc")
    assert second.problem_text() == "The key takes at most 2 characters, has 3"
    assert driver.form.value() == {"m": {"a": 1, "abc": 2}}


def test_the_kind_of_a_value_follows_its_key(qtbot: QtBot) -> None:
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
    assert row.problem_text() == "Must be a number, got '5'"
    pick_from_menu(row.open_state_menu(), "Fill with an example")
    assert driver.form.value() == {"m": {"n_x": 1}}
    assert driver.form.errors() == []


def test_an_object_with_fields_takes_other_keys_too_but_not_those_of_its_fields(qtbot: QtBot) -> None:
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
    assert rows.rows[0].problem_text() == "A is a field of its own above"


def test_places_of_a_tuple_are_filled_and_more_items_added(qtbot: QtBot) -> None:
    schema: JSON = {
        "type": "array",
        "prefixItems": [{"type": "integer", "title": "From"}, {"type": "string"}],
        "items": {"type": "boolean"},
    }
    driver = FormDriver(qtbot, {"t": schema})
    places = editor(driver, "t", TupleEditor)
    QTest.mouseClick(places.add_button, LEFT)
    assert driver.form.value() == {"t": []}
    driver.type(places.rows[1].slot.editor.widget, "x")
    assert driver.form.errors()[0].pointer == "/t/0"
    driver.type(places.rows[0].slot.editor.widget, "1")
    QTest.mouseClick(places.add_button, LEFT)
    assert driver.form.value() == {"t": [1, "x", False]}
    QTest.mouseClick(places.rows[2].remove_button, LEFT)
    assert driver.form.value() == {"t": [1, "x"]}


def test_several_of_a_few_choices_are_checked(qtbot: QtBot) -> None:
    schema: JSON = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True}
    driver = FormDriver(qtbot, {"c": schema})
    checks = editor(driver, "c", CheckListEditor)
    driver.form.set_value({"c": ["c", "a"]})
    assert driver.form.value() == {"c": ["c", "a"]}
    QTest.mouseClick(checks.checks[1], LEFT, pos=checks.checks[1].rect().center())
    assert driver.form.value() == {"c": ["c", "a", "b"]}
    for place in (2, 0, 1):
        checks.checks[place].click()
    assert (driver.form.value(), driver.state("c")) == ({"c": []}, "empty")
    driver.form.set_value({"c": ["d", "a"]})
    assert driver.form.value() == {"c": ["d", "a"]}
    assert isinstance(driver.row("c").slot.editor, ListEditor)


def test_an_item_can_be_null_an_example_or_json(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"l": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 3}}})
    items = driver.list_editor("l")
    QTest.mouseClick(items.add_button, LEFT)
    for words, expected in (("Null", None), ("Fill with an example", 3), ("Edit as JSON", 3)):
        pick_from_menu(items.rows[0].open_state_menu(), words)
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


# ------------------------------------------------------------------ conditions


def test_members_come_and_go_with_what_they_depend_on_and_keep_what_was_typed(qtbot: QtBot) -> None:
    condition: JSONObject = {
        "if": {"properties": {"on": {"const": True}}, "required": ["on"]},
        "then": {"properties": {"level": {"type": "integer"}}, "required": ["level"]},
    }
    driver = FormDriver(qtbot, {"on": {"type": "boolean"}, "name": {"type": "string"}}, **condition)
    assert [row.member.name for row in driver.form.rows()] == ["on", "name"]
    switch = driver.row("on").slot.editor
    QTest.mouseClick(switch.widget.button(1), LEFT)  # type: ignore[attr-defined]
    assert [row.member.name for row in driver.form.rows()] == ["on", "name", "level"]
    assert driver.row("on").slot.editor is switch
    driver.type(driver.line("level"), "5")
    assert driver.form.value() == {"on": True, "level": 5}
    QTest.mouseClick(switch.widget.button(2), LEFT)  # type: ignore[attr-defined]
    assert driver.form.value() == {"on": False}
    assert "Kept, but not sent while it does not apply: level." in shown_words(driver.form)
    QTest.mouseClick(switch.widget.button(1), LEFT)  # type: ignore[attr-defined]
    assert driver.form.value() == {"on": True, "level": 5}
    assert driver.line("level").isVisible()


def test_typing_on_in_a_field_that_brings_others_does_not_lose_the_keyboard(qtbot: QtBot) -> None:
    properties: JSONObject = {"card": {"type": "string"}, "address": {"type": "string"}}
    driver = FormDriver(qtbot, properties, dependentRequired={"card": ["address"]})
    driver.type(driver.line("card"), "4")
    assert [str(error) for error in driver.form.errors()] == ["address: is required, but not set"]
    assert driver.line("card").hasFocus()
    driver.type(driver.line("card"), "2")
    assert driver.form.value() == {"card": "42"}


# ------------------------------------------------------------------ moments and files


@pytest.mark.parametrize(
    ("format_name", "written", "picked"),
    [
        ("date", "2024-02-28", "2025-12-31"),
        ("date-time", "2024-02-28T10:00:00+02:00", "2025-12-31T01:02:03Z"),
        ("time", "10:00:00Z", "01:02:03Z"),
    ],
)
def test_a_moment_is_typed_freely_or_picked(
    qtbot: QtBot, format_name: str, written: str, picked: str
) -> None:
    driver = FormDriver(qtbot, {"m": {"type": "string", "format": format_name}})
    moment = editor(driver, "m", MomentEditor)
    driver.type(moment.line, written)
    assert driver.form.value() == {"m": written}
    picker = moment.open_picker()
    if format_name != "time":
        assert picker.calendar.selectedDate() == QDate(2024, 2, 28)
    picker.calendar.setSelectedDate(QDate(2025, 12, 31))
    picker.clock.setTime(QTime(1, 2, 3))
    QTest.mouseClick(picker.set_button, LEFT)
    assert driver.form.value() == {"m": picked}
    driver.type(moment.line, " or so")
    assert driver.form.value() == {"m": f"{picked} or so"}


def test_a_file_is_sent_in_base64_with_its_size_shown(qtbot: QtBot, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    (tmp_path / "data.bin").write_bytes(content)
    driver = FormDriver(qtbot, {"f": {"type": "string", "contentEncoding": "base64"}})
    file = editor(driver, "f", FileEditor)
    driver.type(file.line, "aGk=")
    assert file.size_label.text() == "2 B in 4 characters of base64"
    file.take_file(str(tmp_path / "data.bin"))
    assert driver.form.value() == {"f": base64.b64encode(content).decode()}
    assert file.size_label.text() == "data.bin, 10 KiB"
    file.take_file(str(tmp_path / "missing"))
    assert "was not taken: No such file" in file.size_label.text()
    assert driver.form.value() == {"f": base64.b64encode(content).decode()}


def test_an_example_fills_a_field(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.choose("target", "Fill with an example")
    target = driver.form.value()["target"]
    assert isinstance(target, dict)
    assert target["kind"] == "file"
    assert driver.form.errors() == []


def test_tab_goes_from_a_key_to_its_value(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"env": {"type": "object", "additionalProperties": {"type": "string"}}})
    row = add_key(editor(driver, "env", MapEditor), "A", "1")
    qtbot.waitUntil(row.isVisible)
    row.key_line.setFocus()
    QTest.keyClick(row.key_line, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is row.slot.editor.widget


def test_tab_goes_through_an_added_row_before_the_fields_below_it(qtbot: QtBot) -> None:
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


def test_everything_that_can_be_reached_has_a_name_for_those_who_cannot_see_it(qtbot: QtBot) -> None:
    properties: JSONObject = {
        "text": {"type": "string"}, "long": {"type": "string"}, "n": {"type": "number"},
        "b": {"type": "boolean"},
        "enum": {"enum": ["a", "b"]}, "const": {"const": 1}, "day": {"type": "string", "format": "date"},
        "file": {"type": "string", "contentEncoding": "base64"}, "any": {}, "target": TARGET,
        "list": {"type": "array", "items": {"type": "string"}}, "map": {"type": "object"},
        "checks": {"type": "array", "uniqueItems": True, "items": {"enum": ["x", "y"]}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}]}, "odd": {"type": "mystery"},
    }  # fmt: skip
    driver = FormDriver(qtbot, properties)
    driver.form.set_value(
        {
            "long": "x" * 50_000,
            "any": 1,
            "target": {"kind": "web"},
            "list": ["a"],
            "map": {"k": "v"},
            "pair": [],
        }
    )
    driver.form.rows()
    controls = (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit)
    nameless = [
        f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
        for widget in driver.form.findChildren(QWidget)
        if isinstance(widget, controls)
        and not widget.objectName().startswith("qt_")
        and not QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
    ]
    assert nameless == []
