"""One setting in the dialog: what it is called, what it does, and what to change it with."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFont
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from inspector.base.jsonvalue import JSON
from inspector.config.settingstable import Setting
from inspector.qt.dialogs.settingeditors import SettingEditor, make_editor
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, PlainLabel

_TOP_RIGHT = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight


class SettingRow(QWidget):
    """A setting's title and description; `_put` adds the control on the right."""

    def __init__(self, setting: Setting, theme: Theme) -> None:
        super().__init__()
        self.setting = setting
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, SPACE_2, 0, SPACE_3)
        self._grid.setHorizontalSpacing(SPACE_4)
        self._grid.setVerticalSpacing(SPACE_1)
        self._grid.setColumnStretch(0, 1)
        self._grid.addWidget(_Title(theme, setting.title), 0, 0)
        self._grid.addWidget(Muted(theme, setting.sentence, wrap=True), 1, 0)

    def _put(self, *widgets: QWidget) -> None:
        holder = QWidget()
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        for widget in widgets:
            row.addWidget(widget)
        self._grid.addWidget(holder, 0, 1, 2, 1, _TOP_RIGHT)


class ValueRow(SettingRow):
    """A setting with a value. A value other than the default can be reset.

    Signals:
        edited: The user chose another value; carries it.
    """

    edited = Signal(object)

    def __init__(self, setting: Setting, theme: Theme) -> None:
        super().__init__(setting, theme)
        self.value: JSON = None
        self.editor: SettingEditor = make_editor(setting, theme)
        self.reset_action = QAction("Reset", self)
        self.reset_action.setToolTip("As it was at first")
        self.reset_button = _button(self.reset_action, "quiet")
        self.reset_button.setAccessibleName(f"Reset: {setting.title}")
        kept = self.reset_button.sizePolicy()
        kept.setRetainSizeWhenHidden(True)  # keeps the editors aligned
        self.reset_button.setSizePolicy(kept)
        self._put(self.reset_button, self.editor)
        self.editor.edited.connect(self._on_edited)
        self.reset_action.triggered.connect(lambda: self._on_edited(setting.default))
        self.setEnabled(False)

    def show_value(self, value: JSON) -> None:
        self.value = value
        self.editor.show_value(value)
        self.reset_button.setVisible(value != self.setting.default)
        self.setEnabled(True)

    def _on_edited(self, value: JSON) -> None:
        if value != self.value:
            self.value = value  # the next value is compared with this one
            self.edited.emit(value)


class CommandRow(SettingRow):
    """A setting with its own window."""

    def __init__(self, setting: Setting, theme: Theme, action: QAction) -> None:
        super().__init__(setting, theme)
        self.button = _button(action, "plain")
        self._put(self.button)


class PlaceRow(SettingRow):
    """The path of a file or folder of MCP Lens. Hidden if there is none.

    Signals:
        folder_requested: The user wants to see the folder.
    """

    folder_requested = Signal()

    def __init__(self, setting: Setting, theme: Theme, path: str) -> None:
        super().__init__(setting, theme)
        self.path = PlainLabel(theme, path, wrap=True, selectable=True, mono=True)
        self._grid.addWidget(self.path, 2, 0)
        self.open_action = QAction("Open folder", self)
        self.open_action.triggered.connect(lambda: self.folder_requested.emit())
        button = _button(self.open_action, "plain")
        button.setAccessibleName(f"Open folder: {setting.title}")
        self._put(button)


class _Title(PlainLabel):
    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme, text, wrap=True)

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.0, QFont.Weight.DemiBold)


def _button(action: QAction, kind: str) -> ActionButton:
    button = ActionButton(action, "quiet" if kind == "quiet" else "plain")
    button.setAutoDefault(False)  # Return in a field must not press it
    return button
