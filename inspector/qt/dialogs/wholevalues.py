"""Two values side by side, whole: what a line of a comparison has no room for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QWidget

from inspector.base.jsonvalue import JSON, pretty
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_6, Theme
from inspector.qt.widgets.labels import PlainLabel
from inspector.traffic.compare.diff import Cut


class WholeValues(QWidget):
    """Two values in full, wrapped and scrollable.

    Strings are shown as is, with hidden characters made visible; other values as JSON.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.left, self.right = (PlainLabel(theme, wrap=True, selectable=True) for _ in range(2))
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_6, SPACE_1, 0, 0)
        row.setSpacing(0)
        for label, name in ((self.left, "Baseline, whole"), (self.right, "Now, whole")):
            label.setAccessibleName(name)
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            label.setContentsMargins(SPACE_2, SPACE_1, SPACE_3, SPACE_2)
            row.addWidget(_scrolled(label), 1)
        theme.changed.connect(self.update)

    def show_values(self, left: JSON | Cut, right: JSON | Cut) -> None:
        self.left.setText(_text(left))
        self.right.setText(_text(right))

    def clear(self) -> None:
        self.show_values("", "")

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(0, 0, self.width(), 1, self._theme.color("line"))


def _scrolled(label: PlainLabel) -> QScrollArea:
    scroll = QScrollArea()
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setWidget(label)
    return scroll


def _text(value: JSON | Cut) -> str:
    if value is None:
        return ""
    if isinstance(value, Cut):
        return value.text
    try:
        return value if isinstance(value, str) else pretty(value)
    except RecursionError:
        return "It is nested too deeply to be shown here."
