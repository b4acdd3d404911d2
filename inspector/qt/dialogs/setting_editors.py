"""Editors for the kinds of settings: flag, number, choice, PATH, list of names.

A value is emitted when the user has finished editing, not on each key press.
"""

from __future__ import annotations

import os
import re

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QLineEdit, QWidget

from inspector.base.json.values import JSON
from inspector.config.preferences.settings import Kind, Setting
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.layout import vbox

# Wait after the last step: going from 30 days to 20 must not delete for 29.
_DELAY_MS = 1_000
_NUMBER_WIDTH, _NAMES_WIDTH = 130, 260


class SettingEditor(QWidget):
    """Base class for the editor of one setting.

    Signals:
        edited: The user finished editing; carries the value.
    """

    edited = Signal(object)

    def __init__(self, setting: Setting, control: QWidget) -> None:
        super().__init__()
        self.setting = setting
        self.control = control
        control.setAccessibleName(setting.title)
        self.setFocusProxy(control)
        self.rows = vbox(self, control, gap=SPACE_1)

    def show_value(self, value: JSON) -> None:
        """Show `value` without emitting `edited`."""
        raise NotImplementedError

    def emit_pending(self) -> None:
        """Emit a pending value now."""


class FlagEditor(SettingEditor):
    def __init__(self, setting: Setting) -> None:
        self.box = QCheckBox("On")
        super().__init__(setting, self.box)
        self.box.clicked.connect(lambda is_on: self.edited.emit(bool(is_on)))

    def show_value(self, value: JSON) -> None:
        self.box.setChecked(value is True)


class NumberEditor(SettingEditor):
    def __init__(self, setting: Setting) -> None:
        self.box = _NumberBox(setting)
        super().__init__(setting, self.box)
        self._timer = QTimer(self, interval=_DELAY_MS, singleShot=True)
        self._timer.timeout.connect(self.emit_pending)
        self._emitted: float | None = None
        self.box.valueChanged.connect(lambda _: self._timer.start())
        self.box.editingFinished.connect(self.emit_pending)

    def show_value(self, value: JSON) -> None:
        self._timer.stop()
        self._emitted = float(value) if isinstance(value, int | float) else 0.0
        self.box.blockSignals(True)
        self.box.setValue(self._emitted)
        self.box.blockSignals(False)
        self._emitted = self.box.value()

    def emit_pending(self) -> None:
        self._timer.stop()
        self.box.interpretText()
        value = self.box.value()
        if value == self._emitted:
            return
        self._emitted = value
        is_none = self.setting.default is None and not value
        self.edited.emit(None if is_none else int(value) if value == int(value) else value)


class _NumberBox(QDoubleSpinBox):
    """A number box without trailing zeros. The mouse wheel scrolls the page instead."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setDecimals(0 if setting.is_integer else 3)
        self.setRange(setting.minimum, setting.maximum)
        self.setSuffix(f" {setting.unit}")
        self.setSpecialValueText(setting.zero_text)
        self.setGroupSeparatorShown(True)
        self.setKeyboardTracking(False)  # typing 300 must not emit 3, then 30
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedWidth(_NUMBER_WIDTH)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)

    def textFromValue(self, value: float) -> str:
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").removesuffix(point) if point in text else text

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class ChoiceEditor(SettingEditor):
    def __init__(self, setting: Setting, theme: Theme) -> None:
        self.segments = Segments(theme, [text for _, text in setting.choices])
        self._values = [value for value, _ in setting.choices]
        super().__init__(setting, self.segments)
        self.segments.chosen.connect(lambda index: self.edited.emit(self._values[index]))

    def show_value(self, value: JSON) -> None:
        if isinstance(value, str) and value in self._values:
            self.segments.choose(self._values.index(value))


class NamesEditor(SettingEditor):
    """An editor for names; commas, spaces and semicolons separate them, for pasted lists."""

    def __init__(self, setting: Setting) -> None:
        self.line = QLineEdit()
        self.line.setPlaceholderText("none")
        self.line.setFixedWidth(_NAMES_WIDTH)
        super().__init__(setting, self.line)
        self._emitted: list[str] = []
        self.line.editingFinished.connect(self.emit_pending)

    def show_value(self, value: JSON) -> None:
        self._emitted = [str(name) for name in value] if isinstance(value, list) else []
        self.line.setText(", ".join(self._emitted))

    def emit_pending(self) -> None:
        names = list(dict.fromkeys(filter(None, re.split(r"[\s,;]+", self.line.text()))))
        if names != self._emitted:
            self._emitted = names
            self.edited.emit(names)


class PathEditor(SettingEditor):
    """An editor for the choices of a PATH; the last segment shows a field for another PATH."""

    def __init__(self, setting: Setting, theme: Theme) -> None:
        self._values = [value for value, _ in setting.choices]
        self.segments = Segments(theme, [*(text for _, text in setting.choices), "Custom"])
        super().__init__(setting, self.segments)
        self.line = QLineEdit()
        self.line.setPlaceholderText(f"/opt/tools/bin{os.pathsep}${{PATH}}")
        self.line.setAccessibleName(f"{setting.title}: custom")
        self.line.setFixedWidth(_NAMES_WIDTH)
        self.line.setVisible(False)
        self.rows.setAlignment(self.segments, Qt.AlignmentFlag.AlignRight)
        self.rows.addWidget(self.line)
        self._emitted = ""
        self.segments.chosen.connect(self._on_chosen)
        self.line.editingFinished.connect(self.emit_pending)

    def show_value(self, value: JSON) -> None:
        has_begun = self.segments.index() == len(self._values) and not self.line.text().strip()
        if has_begun and value == self._emitted:
            return  # the user chose Custom and has not written the PATH yet
        self._emitted = str(value)
        is_custom = self._emitted not in self._values
        self.segments.choose(len(self._values) if is_custom else self._values.index(self._emitted))
        if is_custom:
            self.line.setText(self._emitted)
        self.line.setVisible(is_custom)

    def emit_pending(self) -> None:
        text = self.line.text().strip()
        if self.segments.index() == len(self._values) and text and text != self._emitted:
            self._emitted = text
            self.edited.emit(text)

    def _on_chosen(self, index: int) -> None:
        is_custom = index == len(self._values)
        self.line.setVisible(is_custom)
        if is_custom:
            self.line.setFocus()
            self.emit_pending()
        else:
            self._emitted = self._values[index]
            self.edited.emit(self._emitted)


def make_editor(setting: Setting, theme: Theme) -> SettingEditor:
    if setting.kind is Kind.FLAG:
        return FlagEditor(setting)
    if setting.kind is Kind.NUMBER:
        return NumberEditor(setting)
    if setting.kind is Kind.CHOICE:
        return ChoiceEditor(setting, theme)
    if setting.kind is Kind.PATH:
        return PathEditor(setting, theme)
    assert setting.kind is Kind.NAMES
    return NamesEditor(setting)
