"""Keys that do something while the keyboard is in a widget, or in one inside of it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget


def on_keys(
    widget: QWidget, keys: str | QKeySequence | QKeySequence.StandardKey, act: Callable[[], object]
) -> QShortcut:
    shortcut = QShortcut(QKeySequence(keys), widget)
    shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    shortcut.activated.connect(act)
    return shortcut
