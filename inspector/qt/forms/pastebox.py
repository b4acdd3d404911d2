"""A box that takes whatever a person has: they paste it, type it, or drop a file where the box is."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QTextOption
from PySide6.QtWidgets import QWidget

from inspector.qt.forms.longlines import GOES_ON
from inspector.qt.forms.textbox import TextBox
from inspector.qt.theme import Theme

PROMPT = "npx -y @modelcontextprotocol/server-everything"


class PasteBox(TextBox):
    """A text box for pasting.

    Return finishes a single line; in several lines it adds one, and Ctrl+Return finishes. Drops are left to
    the parent, which knows how to handle files.

    Signals:
        entered: The user finished the input.
    """

    entered = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, lines: tuple[int, int]) -> None:
        super().__init__(theme.mono_font(), parent, lines=lines)
        self.setPlaceholderText(PROMPT)
        self.setAccessibleName("Command, URL or configuration")
        self.setAcceptDrops(False)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def put(self, text: str) -> None:
        """Set the text as if it had been pasted."""
        self.set_text(text.replace("\r\n", "\n").replace(GOES_ON, ""))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        is_forced = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        wants_line = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if is_return and not wants_line and (is_forced or "\n" not in self.text().strip()):
            event.accept()
            self.entered.emit()
        else:
            super().keyPressEvent(event)
