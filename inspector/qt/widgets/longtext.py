"""A text of somebody else's, to be read in place: of a long one the beginning, the rest at a click."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.qt.theme import Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import LABEL_LIMIT, PlainLabel

_CHARACTERS, _LINES = 1_000, 12


class LongText(QWidget):
    """A long text in limited space, so that it pushes nothing important out of view."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self._beginning = _beginning(text)
        self.label = PlainLabel(theme, self._beginning, wrap=True, selectable=True)
        self.more_action = QAction("Show all", self)
        self.more_action.triggered.connect(self.show_all)
        self._more = ActionButton(self.more_action, "quiet")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.label)
        column.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        if self._beginning == text:
            self._more.hide()
        if len(text) > LABEL_LIMIT:
            self.more_action.setText(f"Show the first {LABEL_LIMIT:,} characters")

    def show_all(self) -> None:
        self.label.setText(self._text)
        self._more.hide()


def _beginning(text: str) -> str:
    lines = text.split("\n", _LINES)
    cut = "\n".join(lines[:_LINES])[:_CHARACTERS]
    return cut if cut == text else f"{cut.rstrip()}…"
