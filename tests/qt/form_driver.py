"""A shown form, and hands to use it: what the tests of forms share."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.qt.forms.fieldrow import FieldRow
from inspector.qt.forms.form import SchemaForm
from inspector.qt.forms.listeditor import ListEditor
from inspector.qt.theme import Theme
from inspector.schema.build import build_form

ICONS = Path(__file__).parents[2] / "resources" / "icons"
LEFT = Qt.MouseButton.LeftButton


class FormDriver:
    """A shown form, and hands to use it."""

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

    def choose(self, name: str, words: str) -> None:
        """Pick an entry of the field's menu."""
        pick_from_menu(self.row(name).open_state_menu(), words)

    def list_editor(self, name: str) -> ListEditor:
        editor = self.row(name).slot.editor
        assert isinstance(editor, ListEditor)
        return editor


def pick_from_menu(menu: QMenu, words: str) -> None:
    action = next(action for action in menu.actions() if action.text() == words)
    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())
