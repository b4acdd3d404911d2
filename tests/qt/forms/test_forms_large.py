"""Forms for large or hostile schemas and large values: they open quickly and lose nothing."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea
from pytestqt.qtbot import QtBot

from inspector.base.json.text import write
from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.forms.schema.list_editor import ListEditor
from inspector.qt.forms.schema.text_editors import LineEditor, LinesEditor, LongJsonEditor, LongTextEditor
from inspector.qt.theme import Theme
from tests.qt.forms.form_driver import ICONS, LEFT, FormDriver

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

KINDS: list[JSON] = [
    {"type": "string", "description": "Words."}, {"type": "integer", "default": 1}, {"type": "boolean"},
    {"enum": ["a", "b"]}, {"type": "array", "items": {"type": "string"}},
    {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"a": {}}}]},
]  # fmt: skip
MANY: JSONObject = {
    "type": "object",
    "properties": {f"p{position}": KINDS[position % len(KINDS)] for position in range(2000)}
    | {"p1998": {"type": "string", "minLength": 1}},
}


@pytest.fixture
def editor(qtbot: QtBot) -> ArgumentsEditor:
    editor = ArgumentsEditor(Theme(ICONS))
    qtbot.addWidget(editor)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    return editor


def test_schema_with_two_thousand_properties_opens_with_only_the_visible_rows(
    editor: ArgumentsEditor,
) -> None:
    editor.set_schema(MANY)
    QApplication.processEvents()
    assert len(editor.form.findChildren(FieldRow)) < 100


def test_last_of_two_thousand_fields_is_reached_without_building_the_others(
    qtbot: QtBot, editor: ArgumentsEditor
) -> None:
    editor.set_schema(MANY)
    editor.set_arguments({"p1998": ""})
    editor.go_to_next_error()
    focused = editor.window().focusWidget()
    row = next(row for row in editor.form.findChildren(FieldRow) if row.isAncestorOf(focused))
    assert row.member.name == "p1998"
    scroll = editor.findChild(QScrollArea)
    assert isinstance(scroll, QScrollArea)
    qtbot.waitUntil(lambda: not row.visibleRegion().isEmpty())
    assert scroll.verticalScrollBar().value() > 1000
    assert len(editor.form.findChildren(FieldRow)) < 200
    QTest.keyClicks(focused, "x")
    assert editor.arguments() == {"p1998": "x"}


def test_rows_are_built_as_they_scroll_into_view(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    editor.set_schema(MANY)
    editor.set_arguments({"p1998": "end"})
    scroll = editor.findChild(QScrollArea)
    assert isinstance(scroll, QScrollArea)
    QApplication.processEvents()
    scroll.verticalScrollBar().setValue(scroll.verticalScrollBar().maximum())

    def last() -> FieldRow | None:
        return next((row for row in editor.form.findChildren(FieldRow) if row.member.name == "p1998"), None)

    qtbot.waitUntil(lambda: last() is not None)
    row = last()
    assert row is not None
    assert isinstance(row.slot.editor, LineEditor)
    assert row.slot.editor.line.text() == "end"
    assert len(editor.form.findChildren(FieldRow)) < 300


def nested(depth: int) -> JSON:
    schema: JSON = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def nested_value(depth: int) -> JSONObject:
    value: JSONObject = {}
    for _ in range(depth):
        value = {"a": value}
    return value


HOSTILE: dict[str, tuple[JSON, JSONObject]] = {
    "a thousand levels": (nested(1000), nested_value(300)),
    "endless reference": ({"$ref": "#"}, {"a": 1}),
    "tree of trees": (
        {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}},
        {"kids": [{"kids": [{"kids": [{}] * 30}] * 10}] * 10},
    ),
    "slow pattern": ({"properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}, {"x": "a" * 40 + "!"}),
    "outside": ({"properties": {"x": {"$ref": "http://127.0.0.1:1/x"}}}, {"x": [1]}),
    "false": ({"properties": {"x": False}}, {"x": 1}),
    "long names": ({"properties": {"n" * 5000: {"title": "t" * 5000, "description": "d" * 50_000}}}, {}),
    "many variants": ({"properties": {"x": {"anyOf": [{"const": n} for n in range(5000)]}}}, {"x": 4999}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_opens_and_keeps_the_value(editor: ArgumentsEditor, name: str) -> None:
    schema, value = HOSTILE[name]
    editor.set_schema(schema)
    editor.set_arguments(value)
    QApplication.processEvents()
    assert write(editor.arguments(force=True)) == write(value)
    assert editor.show_json()
    assert write(editor.arguments(force=True)) == write(value)


TREES: JSONObject = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#"}, "name": {"type": "string"},
    },
    "required": ["a", "b", "c", "name"],
}  # fmt: skip


def test_endless_example_is_generated_in_steps_and_terminates(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    editor.set_schema(TREES)
    with qtbot.waitSignal(editor.value_changed, timeout=30_000):
        editor.fill_with_example()
        assert editor.bar.message() == "Generating an example…", "the event loop runs meanwhile"
    assert not editor.bar.message()
    value = editor.arguments(force=True)
    assert value["name"] == "text"
    assert 10_000 < len(write(value)) < 1_000_000


def test_input_typed_meanwhile_is_not_overwritten_by_the_example(
    qtbot: QtBot, editor: ArgumentsEditor
) -> None:
    editor.set_schema(TREES)
    editor.fill_with_example()
    editor.set_arguments({"name": "mine"})
    assert not editor._example_filler.is_busy
    assert editor.arguments(force=True) == {"name": "mine"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^((a{1000}){1000}){1000}$"},
        {"type": "string", "pattern": "^((){9999}){9999}$"},
        {"type": "array", "minItems": 50, "items": {"type": "array", "minItems": 50, "items": TREES}},
        {"type": "array", "items": {"type": "integer"}, "default": list(range(200_000))},
        {
            "type": "array",
            "minItems": 50,
            "items": {"type": "integer", "examples": [-1] * 9_000, "minimum": 0},
        },
    ],
)
def test_example_of_a_hostile_schema_terminates(qtbot: QtBot, editor: ArgumentsEditor, schema: JSON) -> None:
    editor.set_schema({"type": "object", "properties": {"x": schema}})
    with qtbot.waitSignal(editor.value_changed, timeout=30_000):
        editor.fill_with_example()
    assert "x" in editor.arguments(force=True)


def test_parts_of_a_deep_schema_missing_from_the_form_are_reported(
    qtbot: QtBot, editor: ArgumentsEditor
) -> None:
    editor.set_schema({"properties": {"x": {"$ref": "http://127.0.0.1:1/x"}}})
    labels = [label.text() for label in editor.form.findChildren(QLabel)]
    assert any("external and never fetched" in text for text in labels)


def test_pasting_a_megabyte_into_a_line_shows_its_length(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"t": {"type": "string"}})
    text = "x" * 700_000
    QApplication.clipboard().setText(text)
    driver.line("t").setFocus()
    QTest.keyClick(driver.line("t"), Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    QApplication.processEvents()
    assert driver.form.value() == {"t": text}
    long = driver.row("t").slot.editor
    assert isinstance(long, LongTextEditor)
    assert long.size_label.text() == "700,000 characters"
    QTest.mouseClick(long.edit_button, LEFT)
    assert isinstance(driver.row("t").slot.editor, LinesEditor)
    QTest.keyClicks(driver.box("t"), "end")
    QApplication.processEvents()
    assert driver.form.value() == {"t": f"{text}end"}


def test_text_that_outgrows_its_field_while_pasting_is_kept_in_full(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"t": {"type": "string", "format": "markdown"}})
    driver.type(driver.box("t"), "start")
    QTest.keyClick(driver.box("t"), Qt.Key.Key_Return)
    QApplication.clipboard().setText("line\n" * 10_000)
    driver.box("t").paste()
    assert driver.form.value() == {"t": "start\n" + "line\n" * 10_000}
    assert isinstance(driver.row("t").slot.editor, LongTextEditor)


def test_large_list_is_summarized_and_edited_as_json_on_request(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"l": {"type": "array", "items": {"type": "integer"}}})
    many: list[JSON] = list(range(20_000))
    driver.form.set_value({"l": many})
    long = driver.row("l").slot.editor
    assert isinstance(long, LongJsonEditor)
    assert long.size_label.text() == "Array of 20,000 items"
    assert driver.form.value() == {"l": many}
    QTest.mouseClick(long.edit_button, LEFT)
    assert driver.box("l").toPlainText().startswith("[\n  0,")
    assert driver.form.value() == {"l": many}


def test_items_not_built_yet_can_be_moved_and_removed(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"l": {"type": "array", "items": {"type": "integer"}}})
    driver.form.set_value({"l": list(range(300))})
    items = driver.row("l").slot.editor
    assert isinstance(items, ListEditor)
    assert driver.form.value() == {"l": list(range(300))}
    QTest.mouseClick(items.rows[0].remove_button, LEFT)
    QTest.mouseClick(items.rows[0].down_button, LEFT)
    assert driver.form.value() == {"l": [2, 1, *range(3, 300)]}
