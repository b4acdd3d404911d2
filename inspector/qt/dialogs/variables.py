"""Editor for the call variables: the values of `${name}` in arguments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFrame,
    QLineEdit,
    QScrollArea,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONError, to_wire
from inspector.config.calls.variables import is_name
from inspector.config.json_file import read_exactly
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_NAME_WIDTH = 180


class VariablesDialog(QDialog):
    """The editor of the variables.

    Signals:
        saved: The variables were saved.
    """

    help_page = "tools"
    saved = Signal()

    def __init__(
        self, bridge: Bridge, theme: Theme, parent: QWidget | None = None, *, folder: Path | None = None
    ) -> None:
        """`folder` is the one to show first; None for the default folder."""
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._folder_path = folder
        self._before: dict[str, JSON] = {}
        self.folder = QComboBox()
        self.folder.setAccessibleName("Folder whose calls use these variables")
        self.folder.hide()
        self.rows: list[VariableRow] = []
        self.setWindowTitle("Call variables")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(560, 380)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self._error.hide()
        self.add_action = self._action("Add variable", self.add_row)
        self.save_action = self._action("Save", self._on_save)
        self._cancel_action = self._action("Cancel", self.reject)
        self._column = vbox(None)
        self._lay_out()
        self.save_action.setEnabled(False)
        bridge.start_when_attached("variables", self._load())

    def error_text(self) -> str:
        return self._error.text()

    def add_row(self, name: str = "", text: str = "") -> VariableRow:
        row = VariableRow(self._theme, name, text)
        row.remove_action.triggered.connect(lambda: self._remove(row))
        self.rows.append(row)
        self._column.insertWidget(self._column.count() - 1, row)
        if not name:
            row.name.setFocus()
        return row

    async def _load(self) -> None:
        folders = await self._bridge.ask(lambda engine: engine.calls.saved())
        if not shiboken6.isValid(self):
            return  # closed meanwhile
        for folder in folders:
            self.folder.addItem(folder.name, folder.path)
        self.folder.setVisible(len(folders) > 1)  # calls of a folder only use its own variables
        self._choose_folder()
        await self._load_values()
        if shiboken6.isValid(self):
            self.folder.currentIndexChanged.connect(self._on_folder_changed)

    def _choose_folder(self) -> None:
        paths = [self.folder.itemData(row) for row in range(self.folder.count())]
        if self._folder_path in paths:
            self.folder.setCurrentIndex(paths.index(self._folder_path))

    def _on_folder_changed(self) -> None:
        if self.folder.currentData() == self._folder_path:
            return
        if self._typed() != self._before:
            self._choose_folder()
            self._fail("You have unsaved changes. Save them before you switch folders.")
            return
        self._error.hide()
        self.save_action.setEnabled(False)
        self._bridge.start("variables", self._load_values())

    async def _load_values(self) -> None:
        folder: Path | None = self.folder.currentData()
        self._folder_path = folder
        values = await self._bridge.ask(lambda engine: engine.calls.variable_values(folder))
        if not shiboken6.isValid(self):
            return  # closed meanwhile
        for row in tuple(self.rows):
            self._remove(row)
        self._before = values
        for name, value in values.items():
            self.add_row(name, value_text(value))
        if not values:
            self.add_row()
        self.save_action.setEnabled(True)

    def _remove(self, row: VariableRow) -> None:
        self.rows.remove(row)
        discard(row)

    def _typed(self) -> dict[str, JSON]:
        return {row.name.text().strip(): parse_value(row.value.text()) for row in self.rows if row.is_used()}

    def _on_save(self) -> None:
        typed = self._typed()
        invalid = next((name for name in typed if not is_name(name)), None)
        if invalid is not None:
            self._fail(
                f"“{invalid}” is not a valid name. Start with a letter; letters, digits, _ . - may follow."
            )
            return
        if len(typed) < sum(row.is_used() for row in self.rows):
            self._fail("Two variables have the same name. Rename one of them.")
            return
        self._bridge.start("save variables", self._save(typed))

    async def _save(self, typed: dict[str, JSON]) -> None:
        folder: Path | None = self.folder.currentData()
        try:
            await self._bridge.ask(partial(_save, folder, self._before, typed))
        except UserError as exc:
            if not shiboken6.isValid(self):
                raise
            self._fail(str(exc))
            return
        if shiboken6.isValid(self):
            self.saved.emit()
            self.accept()

    def _fail(self, text: str) -> None:
        self._error.setText(text)
        self._error.show()

    def _action(self, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        return action

    def _lay_out(self) -> None:
        inside = QWidget()
        inside.setLayout(self._column)
        self._column.addStretch(1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        save = ActionButton(self.save_action, "primary")
        save.setDefault(True)
        buttons = hbox(
            None, ActionButton(self.add_action), STRETCH, ActionButton(self._cancel_action), save, gap=-1
        )
        text = (
            "${name} in an argument is replaced when the call is sent. Values are JSON; other text is sent "
            "as a string."
        )
        vbox(
            self,
            Heading(self._theme, "Call variables"),
            MutedLabel(self._theme, text, wrap=True),
            self.folder,
            (scroll, 1),
            self._error,
            buttons,
            gap=SPACE_3,
            margin=SPACE_4,
        )


async def _save(
    folder: Path | None, before: Mapping[str, JSON], now: Mapping[str, JSON], engine: Engine
) -> None:
    """Save the variables that changed. Raises UserError."""
    for name in before.keys() - now.keys():
        await engine.calls.remove_variable(name, folder)
    for name, value in now.items():
        if name not in before or before[name] != value:
            await engine.calls.set_variable(name, value, folder)


class VariableRow(QWidget):
    """One variable."""

    def __init__(self, theme: Theme, name: str, text: str) -> None:
        super().__init__()
        self.name = QLineEdit(name, placeholderText="name")
        self.name.setFont(theme.mono_font())
        self.name.setFixedWidth(_NAME_WIDTH)
        self.name.setAccessibleName("Variable name")
        self.value = QLineEdit(text, placeholderText="value")
        self.value.setFont(theme.mono_font())
        self.value.setAccessibleName("Variable value")
        self.remove_action = QAction("Remove", self)
        theme.set_icon(self.remove_action, "trash")
        hbox(self, self.name, (self.value, 1), icon_button(self.remove_action))

    def is_used(self) -> bool:
        return bool(self.name.text().strip())


def value_text(value: JSON) -> str:
    """Return a value as editable text: a string as is, unless it would parse as something else."""
    if isinstance(value, str) and parse_value(value) == value:
        return value
    return to_wire(value).decode()


def parse_value(text: str) -> JSON:
    """Parse typed text: JSON if valid, otherwise a string."""
    try:
        return read_exactly(text)
    except JSONError:
        return text
