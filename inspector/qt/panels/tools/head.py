"""What a tool says about itself: its name, its hints, its description."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.engine.toolhints import ToolHints
from inspector.protocol.types import Malformed, Tool
from inspector.qt.panels.tools.hintwords import HintWord, hint_words
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel, plain_tooltip

_LONGEST_DESCRIPTION = 600
_MOST_HINTS = 3


class ToolHead(QWidget):
    """The tool's title and description, from the server: plain text, limited in length."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading(theme)
        self._name = Muted(theme)
        self.description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.hints = [Badge(theme) for _ in range(_MOST_HINTS)]
        self._lay_out()

    def show_tool(self, tool: Tool) -> None:
        self._show_words(tool.title or tool.name, tool.name if tool.title else "", tool.description)
        self._show_hints(hint_words(ToolHints.of(tool)))

    def show_malformed(self, item: Malformed) -> None:
        """Show why a list entry cannot be called."""
        self._show_words("Not usable", "", f"{item.reason}.")
        self._show_hints([])

    def _show_words(self, title: str, name: str, description: str) -> None:
        self._title.setText(one_line(title))
        self._name.setText(one_line(name))
        self._name.setVisible(bool(name))
        self.description.setText(description.strip()[:_LONGEST_DESCRIPTION])
        self.description.setVisible(bool(description.strip()))

    def _show_hints(self, words: list[HintWord]) -> None:
        for badge in self.hints:
            badge.set_text("")
        for badge, word in zip(self.hints, words, strict=False):
            badge.set_text(word.text, word.tone)
            badge.setToolTip(plain_tooltip(word.tip))
            badge.setAccessibleDescription(word.tip)

    def _lay_out(self) -> None:
        title = QHBoxLayout()
        title.setSpacing(SPACE_2)
        title.addWidget(self._title)
        title.addWidget(self._name, 1)
        hints = QHBoxLayout()
        hints.setSpacing(SPACE_1)
        for badge in self.hints:
            hints.addWidget(badge)
        hints.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, 0, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(title)
        column.addLayout(hints)
        column.addWidget(self.description)
