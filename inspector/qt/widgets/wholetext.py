"""A text of somebody else's that a person decides about: shown whole, however long it is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from inspector.base.plaintext import visible
from inspector.qt.theme import Theme

_MOST_LINES = 14


class WholeText(QPlainTextEdit):
    """A read-only monospace text, as tall as its lines up to a limit, then scrolling.

    Nothing is cut off: long lines wrap and count as several. Hidden characters are shown as tokens.
    """

    def __init__(
        self,
        theme: Theme,
        text: str,
        name: str,
        *,
        most_lines: int = _MOST_LINES,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._most_lines = most_lines
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setProperty("kind", "input")
        self.setFont(theme.mono_font())
        self.setAccessibleName(name)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setPlainText(visible(text))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        lines = min(int(self.document().size().height()), self._most_lines)  # plain text is measured in lines
        around = 2 * int(self.document().documentMargin()) + self.height() - self.viewport().height()
        height = self.fontMetrics().lineSpacing() * max(1, lines) + around + 2  # or Qt scrolls by one line
        if height != self.height():
            self.setFixedHeight(height)
