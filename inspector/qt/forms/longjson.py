"""A JSON value too large to be laid out in a form: what it is; edited when asked for."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from inspector.base.units import plural
from inspector.qt.forms.editor import Editor, OnChange
from inspector.qt.forms.look import Look
from inspector.qt.theme import SPACE_2
from inspector.schema.fields import Field
from inspector.schema.values import ABSENT, Draft, Unreadable

_MOST_PARTS = 2000
_MOST_CHARACTERS = 100_000


def is_large(draft: Draft) -> bool:
    """Return whether the JSON text is too long for a form; checks a limited number of parts."""
    left: list[object] = [draft]
    parts = characters = 0
    while left:
        part = left.pop()
        parts += 1
        if isinstance(part, str):
            characters += len(part)
        elif isinstance(part, Unreadable):
            characters += len(part.text)
        elif isinstance(part, list | dict):
            if len(part) > _MOST_PARTS:
                return True
            left.extend(part.values() if isinstance(part, dict) else part)
        if parts > _MOST_PARTS or characters > _MOST_CHARACTERS:
            return True
    return False


class LongJsonEditor(Editor):
    """Takes any JSON; `on_outgrown` is called when the user wants to edit it."""

    def __init__(self, look: Look, field: Field, on_change: OnChange) -> None:
        self._draft: Draft = ABSENT
        self.widget = QWidget()
        self.size_label = QLabel()
        self.size_label.setTextFormat(Qt.TextFormat.PlainText)
        self.edit_button = QPushButton("Edit as JSON")
        self.edit_button.clicked.connect(self._on_edit_clicked)
        line = QHBoxLayout(self.widget)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACE_2)
        line.addWidget(self.size_label)
        line.addWidget(self.edit_button)
        line.addStretch(1)
        self.widget.setFocusProxy(self.edit_button)

    def draft(self) -> Draft:
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        if not is_large(draft):
            return False
        self._draft = draft
        self.size_label.setText(_words(draft))
        return True

    def _on_edit_clicked(self) -> None:
        if self.on_outgrown is not None:
            self.on_outgrown(self._draft)


def _words(draft: Draft) -> str:
    if isinstance(draft, list):
        return f"A list of {plural(len(draft), 'item')}"
    if isinstance(draft, dict):
        return f"An object of {plural(len(draft), 'key')}"
    return "A large value"
