"""A text of somebody else's that a person decides about: shown whole, however long it is."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit, QWidget

from inspector.base.plaintext import visible
from inspector.qt.theme import SPACE_4, Theme

_MOST_LINES = 14


class WholeText(QPlainTextEdit):
    """Read only, in the fixed font, as high as its lines up to a bound and then scrolled: nothing is cut off.

    Hidden characters are shown as tokens.
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
        super().__init__(visible(text), parent)
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setProperty("kind", "input")
        self.setFont(theme.mono_font())
        self.setAccessibleName(name)
        lines = min(self.blockCount(), _MOST_LINES)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * lines + SPACE_4)
