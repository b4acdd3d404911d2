"""What is inside a list or an object stands right of one thin line."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3

_WIDE_LEVELS = 4


class Indented(QWidget):
    """An indentable column. Deeper levels are indented less, to leave room for the form."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self._is_indented = False
        self._margin = SPACE_3 if depth < _WIDE_LEVELS else SPACE_2 if depth < 2 * _WIDE_LEVELS else SPACE_1
        self.column = QVBoxLayout(self)
        self.set_indented(False)

    def set_indented(self, indented: bool) -> None:
        self._is_indented = indented
        self.column.setContentsMargins(self._margin if indented else 0, SPACE_1 if indented else 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_indented:
            QPainter(self).fillRect(0, 0, 1, self.height(), self.palette().color(QPalette.ColorRole.Mid))
