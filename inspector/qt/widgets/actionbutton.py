"""Buttons that stand for an action: its words, its state, one place that decides both."""

from __future__ import annotations

from typing import Literal

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.qt.widgets.labels import plain_tooltip

ButtonKind = Literal["plain", "primary", "danger", "quiet"]


class ActionButton(QPushButton):
    """A push button that shows and triggers a QAction (Qt offers this for tool buttons only).

    `kind` selects the style: at most one `primary` in view; `danger` for destructive actions; `quiet` is a
    link in a strip.
    """

    def __init__(self, action: QAction, kind: ButtonKind = "plain", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = action
        self.setProperty("kind", kind)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._on_action_changed)
        self._on_action_changed()

    def _on_action_changed(self) -> None:
        action = self._action
        self.setText(action.text())
        self.setEnabled(action.isEnabled())
        self.setToolTip(plain_tooltip(action.toolTip() if action.toolTip() != action.iconText() else ""))
        self.setAccessibleName(action.iconText())
