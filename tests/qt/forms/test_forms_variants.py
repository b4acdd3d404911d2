"""Fields that depend on other values: variants and conditions."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
)
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.choice_editors import ConstEditor
from inspector.qt.forms.schema.object_editor import ObjectEditor
from inspector.qt.forms.schema.schema_form import SchemaForm
from inspector.qt.forms.schema.union_editor import UnionEditor
from inspector.qt.forms.schema.value_row import state_options
from inspector.qt.theme import Theme
from inspector.schema.builder import build_form
from tests.qt.forms.form_driver import ICONS, LEFT, TARGET, FormDriver, editor, inner, part, pick, shown_texts

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Create the application: a theme needs it."""


def test_variant_is_selected_named_by_its_constant_and_filled_in(qtbot: QtBot) -> None:
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
def test_matching_variant_of_a_given_value_is_selected(qtbot: QtBot, value: JSONObject, variant: int) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.form.set_value({"target": value})
    union = editor(driver, "target", UnionEditor)
    assert union.picker.segments is not None
    assert union.picker.segments.index() == variant + 1
    assert driver.form.value() == {"target": value}


def test_properties_unknown_to_a_variant_are_kept_listed_and_removed_on_request(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.form.set_value({"target": {"own": 1, "kind": "web", "url": "u"}})
    assert "Also sent, without a field: own. Edit as JSON." in shown_texts(driver.form)
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
    pick(union, "integer")
    assert driver.form.value() == {}
    driver.type(inner(union).widget, "12345678901234567890123")
    assert driver.form.value() == {"x": 12345678901234567890123}
    assert (driver.state("x"), driver.row("x").error_text()) == ("set", "")


@pytest.mark.parametrize(
    ("schema", "empties"),
    [
        ({"type": ["string", "integer", "null"]}, {"Null": None, "Empty string": ""}),
        ({}, {"Null": None, "Empty string": "", "Empty object": {}, "Empty array": []}),
        ({"anyOf": [{"type": "array"}, TARGET]}, {"Empty array": []}),
        ({"type": "mystery"}, {"Null": None}),
    ],
)
def test_null_and_empty_values_can_be_selected_for_every_allowed_type(
    qtbot: QtBot, schema: JSON, empties: JSONObject
) -> None:
    driver = FormDriver(qtbot, {"x": schema})
    options = [offer.text for offer in state_options(driver.row("x").field)]
    assert options == ["Not set", *empties]
    for text, value in empties.items():
        driver.choose("x", text)
        assert driver.form.value() == {"x": value}
        assert driver.state("x") == ("null" if value is None else "empty")
    driver.choose("x", "Not set")
    assert driver.form.value() == {}


def test_arguments_with_several_shapes_have_a_form(qtbot: QtBot) -> None:
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


def test_an_example_fills_a_field(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    driver.choose("target", "Fill with example")
    target = driver.form.value()["target"]
    assert isinstance(target, dict)
    assert target["kind"] == "file"
    assert driver.form.errors() == []


def test_dependent_fields_appear_and_disappear_and_keep_their_input(qtbot: QtBot) -> None:
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
    assert "Not sent while it does not apply: level." in shown_texts(driver.form)
    QTest.mouseClick(switch.widget.button(1), LEFT)  # type: ignore[attr-defined]
    assert driver.form.value() == {"on": True, "level": 5}
    assert driver.line("level").isVisible()


def test_typing_in_a_field_that_reveals_others_keeps_the_focus(qtbot: QtBot) -> None:
    properties: JSONObject = {"card": {"type": "string"}, "address": {"type": "string"}}
    driver = FormDriver(qtbot, properties, dependentRequired={"card": ["address"]})
    driver.type(driver.line("card"), "4")
    assert [str(error) for error in driver.form.errors()] == ["address: is required but not set"]
    assert driver.line("card").hasFocus()
    driver.type(driver.line("card"), "2")
    assert driver.form.value() == {"card": "42"}


def test_null_of_a_variant_can_be_picked(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"x": {"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}})
    pick(editor(driver, "x", UnionEditor), "null")
    assert driver.form.value() == {"x": None}
    assert driver.form.errors() == []


def test_constant_arguments_can_be_picked(qtbot: QtBot) -> None:
    form = SchemaForm(Theme(ICONS), build_form({"enum": [{"a": 1}, {"a": 2}]}))
    qtbot.addWidget(form)
    assert form.variants is not None
    form.variants.pick(1)
    assert form.value() == {"a": 2}
    assert form.errors() == []


def test_the_constant_that_tells_variants_apart_is_hidden_while_the_picker_shows_it(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"target": TARGET})
    union = editor(driver, "target", UnionEditor)

    def visible_members() -> list[str]:
        editor = inner(union)
        assert isinstance(editor, ObjectEditor)
        assert editor.members is not None
        return [row.member.name for row in editor.members.rows() if row.isVisible()]

    pick(union, "Web page")
    assert visible_members() == ["url", "path"]
    assert QApplication.focusWidget() is not None
    assert driver.form.value() == {"target": {"kind": "web"}}
    driver.form.set_value({"target": {"kind": "ftp", "url": "x"}})
    assert "kind" in visible_members()
    driver.form.set_value({"target": {"kind": "file", "path": "x"}})
    assert visible_members() == ["path"]
