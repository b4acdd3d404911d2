"""A value that may be secret: hidden until the person asks for this one."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.redact import MASK
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.clipboard import SecretCopy
from inspector.qt.widgets.labels import PlainLabel


class SecretValue(QWidget):
    """A masked value with buttons to reveal it and, after confirmation, to copy it.

    Signals:
        toggled: The user revealed or hid it; carries whether it is shown.
    """

    toggled = Signal(bool)

    def __init__(
        self, theme: Theme, name: str, value: str, *, is_shown: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name, self._value = name, value
        self._is_shown = is_shown
        self.label = PlainLabel(theme, mono=True, wrap=True)  # copied by the button, which asks first
        self.label.setAccessibleName(name)
        self.show_action = QAction("Show", self)
        self.show_action.triggered.connect(self._on_toggled)
        self.copy_action = QAction("Copy", self)
        self.copy_action.setToolTip(f"Copy the {name}, after a question")
        self.copy_action.triggered.connect(self._on_copy)
        self.copying = SecretCopy(theme)
        row = QHBoxLayout()
        row.setSpacing(SPACE_1)
        row.addWidget(self.label, 1)
        for action in (self.show_action, self.copy_action):
            row.addWidget(ActionButton(action, "quiet"), 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_1)
        column.addLayout(row)
        column.addWidget(self.copying)
        self._update()

    def set_value(self, value: str) -> None:
        """Set the value; a different one is hidden again."""
        if value != self._value:
            self._value, self._is_shown = value, False
            self.copying.close_question()
            self._update()

    def _on_toggled(self) -> None:
        self._is_shown = not self._is_shown
        self._update()
        self.toggled.emit(self._is_shown)

    def _on_copy(self) -> None:
        self.copying.ask(f"the {self._name}", lambda: self._value)

    def _update(self) -> None:
        self.label.setText(self._value if self._is_shown else f"{MASK} ({len(self._value):,} characters)")
        self.show_action.setText("Hide" if self._is_shown else "Show")
        self.show_action.setToolTip(f"{'Hide' if self._is_shown else 'Show'} the {self._name}")
