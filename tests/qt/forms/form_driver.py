"""Test driver for schema forms: a shown form and the user actions on it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.editor import Editor
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.forms.schema.list_editor import ListEditor
from inspector.qt.forms.schema.map_editor import MapEditor, MapRow
from inspector.qt.forms.schema.object_editor import ObjectEditor
from inspector.qt.forms.schema.schema_form import SchemaForm
from inspector.qt.forms.schema.union_editor import UnionEditor
from inspector.qt.theme import Theme
from inspector.schema.builder import build_form

ICONS = Path(__file__).parents[3] / "resources" / "icons"
LEFT = Qt.MouseButton.LeftButton
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


class FormDriver:
    """A shown form and the user actions on it."""

    def __init__(self, qtbot: QtBot, properties: JSONObject, **more: JSON) -> None:
        self.bot = qtbot
        self.form = SchemaForm(Theme(ICONS), build_form({"type": "object", "properties": properties, **more}))
        qtbot.addWidget(self.form)
        self.form.resize(480, 600)
        with qtbot.waitActive(self.form):
            self.form.show()

    def row(self, name: str) -> FieldRow:
        return next(row for row in self.form.rows() if row.member.name == name)

    def line(self, name: str) -> QLineEdit:
        widget = self.row(name).slot.editor.widget
        assert isinstance(widget, QLineEdit)
        return widget

    def box(self, name: str) -> QPlainTextEdit:
        widget = self.row(name).slot.editor.widget
        assert isinstance(widget, QPlainTextEdit)
        return widget

    def type(self, widget: QWidget, keys: str) -> None:
        widget.setFocus()
        QTest.keyClicks(widget, keys)

    def state(self, name: str) -> str:
        return self.row(name).state_button.text().removesuffix(" ▾")

    def choose(self, name: str, text: str) -> None:
        """Pick an entry of the field's menu."""
        pick_from_menu(self.row(name).open_state_menu(), text)

    def list_editor(self, name: str) -> ListEditor:
        editor = self.row(name).slot.editor
        assert isinstance(editor, ListEditor)
        return editor


def pick_from_menu(menu: QMenu, text: str) -> None:
    action = next(action for action in menu.actions() if action.text() == text)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())


def editor(driver: FormDriver, name: str, kind: type[E]) -> E:
    found = driver.row(name).slot.editor
    assert isinstance(found, kind)
    return found


def pick(union: UnionEditor, title: str) -> None:
    """Click on a variant."""
    segments = union.picker.segments
    assert segments is not None
    titles = [segments.button(position).text() for position in range(len(union._options))]
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


def shown_texts(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel) if label.isVisible()]


def add_key(rows: MapEditor, key: str, value: str) -> MapRow:
    QTest.mouseClick(rows.add_button, LEFT)
    row = rows.map_rows.rows[-1]
    assert QApplication.focusWidget() is row.key_line
    QTest.keyClicks(row.key_line, key)
    QTest.keyClicks(row.slot.editor.widget, value)
    return row
