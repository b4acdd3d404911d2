"""Widgets side by side, as one."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractButton, QComboBox, QHBoxLayout, QSpinBox, QWidget

from inspector.qt.theme import SPACE_2


def in_a_row(*widgets: QWidget, fills: bool = True) -> QWidget:
    """Lay out widgets in a row. With `fills`, wide ones take the free space; else it is last."""
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(SPACE_2)
    for widget in widgets:
        row.addWidget(
            widget, 0 if not fills or isinstance(widget, QAbstractButton | QComboBox | QSpinBox) else 1
        )
    if not fills:
        row.addStretch(1)
    return holder
