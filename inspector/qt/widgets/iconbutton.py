"""An action as a small icon; its words are the tool tip and the accessible name."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QToolButton

from inspector.qt.theme import ICON_SIZE


def icon_button(action: QAction) -> QToolButton:
    """Create a button for an action with an icon."""
    button = QToolButton()
    button.setDefaultAction(action)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    return button
