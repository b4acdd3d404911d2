"""One editor for each kind of leaf field, and the contract that all editors keep.

An editor shows a draft (`schema.values`) and gives it back exactly, or refuses it: the row then takes the
next editor, down to raw JSON, which shows anything. So nothing is lost by being shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit, QSizePolicy, QWidget

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.plaintext import one_line
from inspector.qt.forms.look import Look, mark_error
from inspector.qt.widgets.segments import Segments
from inspector.schema.fields import BooleanField, ChoiceField, Field, NumberField
from inspector.schema.jsontext import JSONTextError, read, same, write, write_line
from inspector.schema.values import (
    ABSENT,
    Absent,
    Draft,
    Unreadable,
    json_from_text,
    number_from_text,
    text_from_number,
)

OnChange = Callable[[], None]
Problems = Mapping[str, str]
"""Error texts by JSON pointer."""

_LONGEST_LINE = 2000
_LONGEST_PASTE = 100_000_000  # Qt would cut a pasted text at 32,767 characters
_LINES_SHOWN = (2, 12)


class Editor:
    """What edits one value: a widget, and the draft in it.

    `on_change` is called after each change by the person, not by `set_draft`.
    """

    widget: QWidget

    def draft(self) -> Draft:
        raise NotImplementedError

    def set_draft(self, draft: Draft) -> bool:
        """Show a draft; False when `draft()` could not give exactly this one back."""
        raise NotImplementedError

    def has_outgrown(self) -> bool:
        """Whether what was typed or pasted needs a larger editor to be seen as it is."""
        return False

    def mark_touched(self) -> None:
        """From now on, say also what is missing inside."""

    def show_problems(self, problems: Problems, pointer: str) -> None:
        """Mark the places that are wrong; `pointer` is where this editor stands."""
        mark_error(self.widget, pointer in problems)


class Kit(Protocol):
    """What makes editors. Lists and objects are given it, since their parts may be of any kind."""

    @property
    def look(self) -> Look: ...

    def editor(self, field: Field, on_change: OnChange) -> Editor:
        """The editor that fits a field best."""


class LineEditor(Editor):
    """Text on one line. No text yet (ABSENT), null and the empty text are told apart by the placeholder."""

    def __init__(self, look: Look, field: Field, on_change: OnChange) -> None:
        self._field = field
        self._on_change = on_change
        self._unwritten: Absent | None = ABSENT  # what stands there while nothing is written
        self._written = False
        self.line = self.widget = QLineEdit()
        self.line.setMaxLength(_LONGEST_PASTE)
        self._show_state()
        self.line.textEdited.connect(self._on_text_edited)

    def draft(self) -> Draft:
        return self._value(self.line.text()) if self._written else self._unwritten

    def set_draft(self, draft: Draft) -> bool:
        text = self._text(draft)
        if text is None:
            return False
        self._written = draft is not ABSENT and draft is not None
        self._unwritten = None if draft is None else ABSENT
        self.line.setText(text)
        self._show_state()
        return self.line.text() == text

    def has_outgrown(self) -> bool:
        return not _is_plain_line(self.line.text())

    def _value(self, text: str) -> Draft:
        return text

    def _text(self, draft: Draft) -> str | None:
        """The text that stands for a draft, or None when no line of text does."""
        if draft is ABSENT or draft is None:
            return ""
        return draft if isinstance(draft, str) and _is_plain_line(draft) else None

    def _on_text_edited(self) -> None:
        self._written = True
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        if self._written:
            self.line.setPlaceholderText("empty text")
        else:
            self.line.setPlaceholderText(unwritten_words(self._field, self._unwritten))


class NumberEditor(LineEditor):
    """A number as text: no spin box, which would stop at 2³¹ and round decimals."""

    def __init__(self, look: Look, field: NumberField, on_change: OnChange) -> None:
        super().__init__(look, field, on_change)
        self.line.setFont(look.mono)

    def has_outgrown(self) -> bool:
        return False  # no number needs a second line

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
            len(text) <= _LONGEST_LINE and _is_plain_line(text) and back is not ABSENT and same(back, draft)
        )
        return text if fits else None

    def _on_text_edited(self) -> None:
        self._written = bool(self.line.text().strip())
        self._unwritten = ABSENT
        self._show_state()
        self._on_change()


class ChoiceEditor(Editor):
    """A drop-down of the choices, with "not set" (and null) among them."""

    def __init__(self, look: Look, field: ChoiceField, on_change: OnChange) -> None:
        labels = field.labels or ("",) * len(field.choices)
        offered: list[tuple[str, Draft]] = [(unwritten_words(field, ABSENT), ABSENT)]
        if field.nullable:
            offered.append(("null", None))
        for choice, label in zip(field.choices, labels, strict=True):
            offered.append((choice_words(choice, label), choice))
        self._drafts = [draft for _, draft in offered]
        self.box = self.widget = _QuietComboBox()
        self.box.addItems([words for words, _ in offered])
        self.box.activated.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.box.currentIndex()]

    def set_draft(self, draft: Draft) -> bool:
        for index, offered in enumerate(self._drafts):
            if _same_draft(offered, draft):
                self.box.setCurrentIndex(index)
                return True
        return False


class BooleanEditor(Editor):
    """not set, true, false (and null) side by side."""

    def __init__(self, look: Look, field: BooleanField, on_change: OnChange) -> None:
        self._drafts: list[Draft] = [ABSENT, True, False]
        labels = ["not set", "true", "false"]
        if field.nullable:
            self._drafts.append(None)
            labels.append("null")
        self.segments = Segments(look.theme, labels)
        self.widget = self.segments
        self.segments.chosen.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.segments.index()]

    def set_draft(self, draft: Draft) -> bool:
        for index, offered in enumerate(self._drafts):
            if offered is draft:
                self.segments.choose(index)
                return True
        return False


class LinesEditor(Editor):
    """Text of several lines."""

    def __init__(self, look: Look, field: Field, on_change: OnChange) -> None:
        self._field = field
        self._on_change = on_change
        self._unwritten: Absent | None = ABSENT
        self._written = False
        self._is_setting = False
        self.edit = self.widget = input_box(look.theme.ui_font())
        self._show_state()
        self.edit.textChanged.connect(self._on_text_changed)

    def draft(self) -> Draft:
        return raw_text(self.edit) if self._written else self._unwritten

    def set_draft(self, draft: Draft) -> bool:
        if draft is not ABSENT and draft is not None and not isinstance(draft, str):
            return False
        self._written = isinstance(draft, str)
        self._unwritten = None if draft is None else ABSENT
        self._is_setting = True
        self.edit.setPlainText(draft if isinstance(draft, str) else "")
        self._is_setting = False
        self._show_state()
        return not isinstance(draft, str) or raw_text(self.edit) == draft

    def _on_text_changed(self) -> None:
        fit_height(self.edit)
        if not self._is_setting:
            self._written = True
            self._show_state()
            self._on_change()

    def _show_state(self) -> None:
        words = "empty text" if self._written else unwritten_words(self._field, self._unwritten)
        self.edit.setPlaceholderText(words)


class JsonEditor(Editor):
    """Raw JSON: shows every value, and text that is not JSON yet."""

    def __init__(self, look: Look, field: Field, on_change: OnChange) -> None:
        self._on_change = on_change
        self._is_setting = False
        self._draft: Draft = ABSENT
        self.edit = self.widget = input_box(look.mono)
        self.edit.setPlaceholderText(unwritten_words(field, ABSENT))
        self.edit.textChanged.connect(self._on_text_changed)

    def draft(self) -> Draft:
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        self._draft = draft
        self._is_setting = True
        self.edit.setPlainText(_json_text(draft))
        self._is_setting = False
        return True

    def _on_text_changed(self) -> None:
        fit_height(self.edit)
        if not self._is_setting:
            self._draft = json_from_text(raw_text(self.edit))
            self._on_change()


class _QuietComboBox(QComboBox):
    """Scrolling the form with the wheel must not change a choice that happens to pass by."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # As wide as the form, whatever is offered; measuring every choice would also take long.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def input_box(font: QFont) -> QPlainTextEdit:
    """A text box that grows with its text, and lets Tab go on to the next field."""
    box = QPlainTextEdit()
    box.setProperty("kind", "input")
    box.setFont(font)
    box.document().setDocumentMargin(1)  # text starts where that of a line edit does
    box.setTabChangesFocus(True)
    fit_height(box)
    return box


def fit_height(box: QPlainTextEdit) -> None:
    least, most = _LINES_SHOWN
    lines = min(max(box.blockCount(), least), most)
    box.setFixedHeight(lines * box.fontMetrics().lineSpacing() + 12)


def raw_text(box: QPlainTextEdit) -> str:
    """The text as written; `toPlainText` would turn no-break spaces into spaces."""
    return box.document().toRawText().replace("\u2029", "\n")


def unwritten_words(field: Field, state: Absent | None) -> str:
    """What an entry says while nothing is written in it."""
    if state is None:
        return "null"
    if field.default is ABSENT:
        return "not set"
    return f"not set (default: {one_line(shorten(write_line(field.default), 60))})"


def choice_words(choice: JSON, label: str) -> str:
    """A choice as offered; a text that could be taken for another JSON value is quoted."""
    words = choice if isinstance(choice, str) and not _looks_like_json(choice) else write_line(choice)
    shown = one_line(shorten(words, 200))
    return f"{one_line(label)} ({shown})" if label and label != words else shown


def _looks_like_json(text: str) -> bool:
    try:
        read(text)
    except JSONTextError:
        return not text.strip()
    return True


def _json_text(draft: Draft) -> str:
    if draft is ABSENT:
        return ""
    return draft.text if isinstance(draft, Unreadable) else write(draft)  # type: ignore[arg-type]


def _same_draft(one: Draft, other: Draft) -> bool:
    if isinstance(one, Absent | Unreadable) or isinstance(other, Absent | Unreadable):
        return one == other
    return same(one, other)  # type: ignore[arg-type]  # choices are JSON


def _is_plain_line(text: str) -> bool:
    return len(text) <= _LONGEST_LINE and text.isprintable()
