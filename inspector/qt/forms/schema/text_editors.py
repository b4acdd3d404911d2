"""Editors for text, numbers and raw JSON, and placeholders for values too large for a form.

The raw JSON editor shows every value, and text that is not valid JSON yet. A large text or JSON value is
summarized and edited on demand.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from inspector.base.json.text import same, write
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.forms.schema.editor import ALL_STATES, Editor, OnChange, placeholder_text
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import FormStyle, set_label_text, small_label
from inspector.qt.widgets.text.text_box import MAX_LINE_LENGTH, TextBox, TextLine, is_plain_line
from inspector.schema.fields import Field, NumberField, TextField
from inspector.schema.values import (
    ABSENT,
    Absent,
    Draft,
    Unreadable,
    json_from_text,
    number_from_text,
    text_from_number,
)

MAX_SHOWN_LENGTH = 20_000
_PREVIEW = 300
_HINTS = {
    "date": "2026-11-16",
    "date-time": "2026-11-16T14:03:07Z",
    "time": "14:03:07Z",
    "duration": "P1DT2H30M",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "json-pointer": "/a/0",
    "uri": "https://example.org/path",
    "uri-reference": "../path",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
# Up to this size text is parsed on each key press; longer text when typing pauses or on demand.
_MAX_PARSED_AT_ONCE = 32 * 1024
_PAUSE_MS = 300
_MAX_PARTS = 2000
_MAX_CHARACTERS = 100_000


class LineEditor(Editor):
    """A single line of text. The placeholder distinguishes not set (ABSENT), null and empty."""

    stated = ALL_STATES

    def __init__(self, style: FormStyle, field: Field, on_change: OnChange) -> None:
        self._field = field
        self._on_change = on_change
        self._empty_state: Absent | None = ABSENT  # the state shown while nothing is typed
        self._is_set = False
        self.line = self.widget = TextLine()
        self._show_state()
        self.line.textEdited.connect(self._on_text_edited)
        self.line.overflowed.connect(self._on_overflowed)

    def draft(self) -> Draft:
        return self._value(self.line.text()) if self._is_set else self._empty_state

    def set_draft(self, draft: Draft) -> bool:
        text = self._text(draft)
        if text is None:
            return False
        self._is_set = draft is not ABSENT and draft is not None
        self._empty_state = None if draft is None else ABSENT
        self.line.setText(text)
        self._show_state()
        return self.line.text() == text

    def write(self, text: str) -> None:
        """Set a text the user picked from a list."""
        self.line.setText(text)
        self._on_text_edited()

    def _value(self, text: str) -> Draft:
        return text

    def _text(self, draft: Draft) -> str | None:
        """Return a draft's text, None if it cannot be a single line."""
        if draft is ABSENT or draft is None:
            return ""
        return draft if isinstance(draft, str) and is_plain_line(draft) else None

    def _on_text_edited(self) -> None:
        if not is_plain_line(self.line.text()):
            self._on_overflowed(self.line.text())
            return
        self._is_set = bool(self.line.text()) or not self.is_optional
        self._empty_state = ABSENT
        self._show_state()
        self._on_change()

    def _on_overflowed(self, text: str) -> None:
        if self.on_outgrown is not None:
            self.on_outgrown(self._value(text))

    def _show_state(self) -> None:
        if self._is_set:
            self.line.setPlaceholderText("empty string")
        else:
            self.line.setPlaceholderText(_with_hint(self._field, self._empty_state))


class NumberEditor(LineEditor):
    """A number as text: no spin box, which would stop at 2³¹ and round decimals."""

    def __init__(self, style: FormStyle, field: NumberField, on_change: OnChange) -> None:
        super().__init__(style, field, on_change)
        self.line.setFont(style.mono)

    def _value(self, text: str) -> Draft:
        return number_from_text(text)

    def _text(self, draft: Draft) -> str | None:
        if draft is ABSENT or draft is None:
            return ""
        if isinstance(draft, bool) or not isinstance(draft, int | float | str):
            return None
        text = text_from_number(draft)
        back = number_from_text(text)
        fits = (
            len(text) <= MAX_LINE_LENGTH and is_plain_line(text) and back is not ABSENT and same(back, draft)
        )
        return text if fits else None

    def _on_text_edited(self) -> None:
        self._is_set = bool(self.line.text().strip())
        self._empty_state = ABSENT
        self._show_state()
        self._on_change()


def _with_hint(field: Field, state: Absent | None) -> str:
    """Return the state, with an example of the field's format."""
    text = placeholder_text(field, state)
    hint = _HINTS.get(field.format, "") if isinstance(field, TextField) else ""
    return f"{text}, like {hint}" if hint and state is ABSENT and field.default is ABSENT else text


class LinesEditor(Editor):
    """Multi-line text; without `max_length`, of any length."""

    stated = ALL_STATES

    def __init__(
        self, style: FormStyle, field: Field, on_change: OnChange, max_length: int | None = MAX_SHOWN_LENGTH
    ) -> None:
        self._field = field
        self._on_change = on_change
        self._max_length = max_length
        self._empty_state: Absent | None = ABSENT
        self._is_set = False
        self._is_setting = False
        self.edit = self.widget = TextBox(style.theme.ui_font())
        self._show_state()
        self.edit.textChanged.connect(self._on_text_changed)

    def draft(self) -> Draft:
        return self.edit.text() if self._is_set else self._empty_state

    def set_draft(self, draft: Draft) -> bool:
        if draft is not ABSENT and draft is not None and not isinstance(draft, str):
            return False
        if isinstance(draft, str) and self._is_too_long(len(draft)):
            return False
        self._is_set = isinstance(draft, str)
        self._empty_state = None if draft is None else ABSENT
        self._is_setting = True
        is_exact = self.edit.set_text(draft if isinstance(draft, str) else "")
        self._is_setting = False
        self._show_state()
        return is_exact

    def set_focus(self) -> None:
        self.edit.setFocus()
        self.edit.moveCursor(QTextCursor.MoveOperation.End)

    def _is_too_long(self, length: int) -> bool:
        return self._max_length is not None and length > self._max_length

    def _on_text_changed(self) -> None:
        if self._is_setting:
            return
        self._is_set = not self.edit.document().isEmpty() or not self.is_optional
        self._empty_state = ABSENT
        self._show_state()
        if self._is_too_long(self.edit.document().characterCount()) and self.on_outgrown is not None:
            self.on_outgrown(self.edit.text())
        else:
            self._on_change()

    def _show_state(self) -> None:
        text = "empty string" if self._is_set else placeholder_text(self._field, self._empty_state)
        self.edit.setPlaceholderText(text)


class LongTextEditor(Editor):
    """A text too long for a form: shows its length and beginning, and is edited on demand.

    `on_outgrown` is called for that too, with the unchanged text.
    """

    def __init__(self, style: FormStyle, field: Field, on_change: OnChange) -> None:
        self._draft: str = ""
        self.widget = QWidget()
        self.size_label = QLabel()
        self.size_label.setTextFormat(Qt.TextFormat.PlainText)
        self._preview = small_label(style, "")
        self._preview.setFont(style.small_mono)
        self._preview.setWordWrap(False)
        self._preview.setMinimumWidth(1)  # the row is as wide as the form, not as its text
        self.edit_button = QPushButton("Edit as text")
        self.edit_button.clicked.connect(self._on_edit_clicked)
        line = hbox(None, self.size_label, self.edit_button, STRETCH)
        vbox(self.widget, line, self._preview, gap=SPACE_1)
        self.widget.setFocusProxy(self.edit_button)

    def draft(self) -> Draft:
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        if not isinstance(draft, str):
            return False
        self._draft = draft
        lines = draft.count("\n") + 1
        text = plural(len(draft), "character")
        self.size_label.setText(text if lines == 1 else f"{text}, {plural(lines, 'line')}")
        set_label_text(self._preview, one_line(shorten(draft[: _PREVIEW * 2], _PREVIEW)))
        return True

    def _on_edit_clicked(self) -> None:
        if self.on_outgrown is not None:
            self.on_outgrown(self._draft)


class JsonEditor(Editor):
    """A box of JSON text. Takes JSON drafts, and `Unreadable`."""

    stated = ALL_STATES

    def __init__(self, style: FormStyle, field: Field, on_change: OnChange) -> None:
        self._on_change = on_change
        self._is_setting = False
        self._draft: Draft = ABSENT
        self._is_read = True
        self.edit = self.widget = TextBox(style.mono)
        self.edit.setPlaceholderText(placeholder_text(field, ABSENT))
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
        if self.edit.document().characterCount() > _MAX_PARSED_AT_ONCE:
            self._pause.start()
        else:
            self._on_change()


def json_text(draft: Draft) -> str:
    """Return the text that `json_from_text` parses as this draft."""
    if draft is ABSENT:
        return ""
    return draft.text if isinstance(draft, Unreadable) else write(draft)  # type: ignore[arg-type]


class LongJsonEditor(Editor):
    """Takes any JSON; `on_outgrown` is called when the user wants to edit it."""

    def __init__(self, style: FormStyle, field: Field, on_change: OnChange) -> None:
        self._draft: Draft = ABSENT
        self.widget = QWidget()
        self.size_label = QLabel()
        self.size_label.setTextFormat(Qt.TextFormat.PlainText)
        self.edit_button = QPushButton("Edit as JSON")
        self.edit_button.clicked.connect(self._on_edit_clicked)
        hbox(self.widget, self.size_label, self.edit_button, STRETCH)
        self.widget.setFocusProxy(self.edit_button)

    def draft(self) -> Draft:
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        if not is_large(draft):
            return False
        self._draft = draft
        self.size_label.setText(_label(draft))
        return True

    def _on_edit_clicked(self) -> None:
        if self.on_outgrown is not None:
            self.on_outgrown(self._draft)


def _label(draft: Draft) -> str:
    if isinstance(draft, list):
        return f"Array of {plural(len(draft), 'item')}"
    if isinstance(draft, dict):
        return f"Object with {plural(len(draft), 'key')}"
    return "Large value"


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
            if len(part) > _MAX_PARTS:
                return True
            left.extend(part.values() if isinstance(part, dict) else part)
        if parts > _MAX_PARTS or characters > _MAX_CHARACTERS:
            return True
    return False
