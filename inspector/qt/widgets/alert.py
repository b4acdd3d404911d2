"""What went wrong here, below the thing that it is about: the cause, the next step, a button that does it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import PlainLabel


class Alert(QWidget):
    """Any number of wrapped messages, one per topic; hidden if there are none."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: dict[str, _Line] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self.hide()

    def say(
        self,
        about: str,
        words: str,
        next_step: str = "",
        actions: Sequence[QAction] = (),
        tone: Tone = "warn",
    ) -> None:
        """Show a message about a topic; it replaces an earlier one about the same."""
        text = f"{words} {next_step}".strip()
        known = self._lines.get(about)
        if known is not None and known.words.text() == text:
            return
        self.close_about(about)
        line = self._lines[about] = _Line(self._theme, text, actions, tone)
        self._column.addWidget(line)
        self.show()

    def close_about(self, about: str) -> None:
        line = self._lines.pop(about, None)
        if line is not None:
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.setVisible(bool(self._lines))

    def close_all(self) -> None:
        for about in tuple(self._lines):
            self.close_about(about)

    def text(self, about: str) -> str:
        """Return the message about a topic, "" if none."""
        return self._lines[about].words.text() if about in self._lines else ""


class _Line(QWidget):
    def __init__(self, theme: Theme, text: str, actions: Sequence[QAction], tone: Tone) -> None:
        super().__init__()
        self._theme = theme
        self._tone: Tone = tone
        self.words = PlainLabel(theme, text, wrap=True, selectable=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, SPACE_1)
        row.setSpacing(SPACE_2)
        row.addWidget(self.words, 1)
        for action in actions:
            button = ActionButton(action)
            button.setAutoDefault(False)
            row.addWidget(button)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.tokens.tint(self._tone))
        painter.fillRect(0, 0, 3, self.height(), self._theme.color(self._tone))
