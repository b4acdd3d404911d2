"""Thin lines above a view that say in which state it is, each with the button that ends that state."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel


class Strips(QWidget):
    """One line per topic, in the order of their first message."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._strips: dict[str, _Strip] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.hide()

    def say(
        self,
        about: str,
        words: str,
        action: QAction | None = None,
        tone: Tone = "wait",
        other: QAction | None = None,
    ) -> None:
        """Show a message about a topic; it replaces an earlier one about the same."""
        strip = self._strips.get(about)
        if strip is None or strip.action is not action:
            self.take_back(about)
            strip = self._strips[about] = _Strip(self._theme, action, tone, other)
            self._column.addWidget(strip)
        strip.words.setText(words)
        strip.show()
        self.show()

    def take_back(self, about: str) -> None:
        strip = self._strips.pop(about, None)
        if strip is not None:
            self._column.removeWidget(strip)
            strip.hide()
            strip.deleteLater()
        self.setVisible(bool(self._strips))

    def text(self, about: str) -> str:
        """Return the message about a topic, "" if none."""
        strip = self._strips.get(about)
        return strip.words.text() if strip is not None else ""


class _Strip(QWidget):
    def __init__(self, theme: Theme, action: QAction | None, tone: Tone, other: QAction | None) -> None:
        super().__init__()
        self._theme = theme
        self._tone: Tone = tone
        self.action = action
        self.words = PlainLabel(theme, elide=Qt.TextElideMode.ElideRight)  # else it would widen the window
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, 0, SPACE_2, 0)
        row.setSpacing(SPACE_2)
        row.addWidget(self.words)
        for each in (action, other):
            if each is not None:
                row.addWidget(ActionButton(each, "quiet"))
        row.addStretch(1)
        self.setFixedHeight(theme.row_height() + 4)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint(self._tone))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color(self._tone))
