"""Raw JSON inside a form: shows every value, and text that is not JSON yet."""

from __future__ import annotations

from PySide6.QtCore import QTimer

from inspector.qt.forms.editor import Editor, OnChange, unwritten_words
from inspector.qt.forms.look import Look
from inspector.qt.forms.textbox import TextBox
from inspector.schema.fields import Field
from inspector.schema.jsontext import write
from inspector.schema.values import ABSENT, Draft, Unreadable, json_from_text

# Up to this size text is parsed on each key press; longer text when typing pauses or on demand.
_READ_AT_ONCE = 32 * 1024
_PAUSE_MS = 300


class JsonEditor(Editor):
    """A box of JSON text. Takes JSON drafts, and `Unreadable`."""

    def __init__(self, look: Look, field: Field, on_change: OnChange) -> None:
        self._on_change = on_change
        self._is_setting = False
        self._draft: Draft = ABSENT
        self._is_read = True
        self.edit = self.widget = TextBox(look.mono)
        self.edit.setPlaceholderText(unwritten_words(field, ABSENT))
        self.edit.textChanged.connect(self._on_text_changed)
        self._pause = QTimer(self.edit, interval=_PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(on_change)

    def draft(self) -> Draft:
        if not self._is_read:
            self._draft = json_from_text(self.edit.text())
            self._is_read = True
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        self._draft = draft
        self._is_setting = True
        self.edit.set_text(json_text(draft))
        self._is_setting = False
        self._is_read = True
        self._pause.stop()
        return True

    def _on_text_changed(self) -> None:
        if self._is_setting:
            return
        self._is_read = False
        if self.edit.document().characterCount() > _READ_AT_ONCE:
            self._pause.start()
        else:
            self._on_change()


def json_text(draft: Draft) -> str:
    """Return the text that `json_from_text` parses as this draft."""
    if draft is ABSENT:
        return ""
    return draft.text if isinstance(draft, Unreadable) else write(draft)  # type: ignore[arg-type]
