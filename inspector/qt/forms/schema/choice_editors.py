"""Editors for picked values: choices, booleans, constants, check lists, dates, files.

Dates and times can be typed or picked from a calendar; file contents (Base64) typed or read from a file.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QDate, QDateTime, QPoint, QSize, Qt, QTime, QTimeZone
from PySide6.QtGui import QFocusEvent, QFontMetrics, QWheelEvent
from PySide6.QtWidgets import (
    QCalendarWidget,
    QCheckBox,
    QComboBox,
    QCompleter,
    QFileDialog,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QTimeEdit,
    QWidget,
)

from inspector.base.json.text import JSONTextError, read, same, write_line
from inspector.base.json.values import JSON, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.qt.forms.schema.editor import ALL_STATES, Editor, Errors, OnChange, placeholder_text
from inspector.qt.forms.schema.text_editors import LineEditor
from inspector.qt.theme import SPACE_1, SPACE_2
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import (
    ERROR,
    MUTED,
    FormStyle,
    mark_error,
    plain_tooltip,
    set_label_text,
    small_label,
)
from inspector.qt.widgets.text.text_box import is_plain_line
from inspector.schema.fields import BooleanField, ChoiceField, ConstField, Field, ListField, TextField
from inspector.schema.values import ABSENT, Absent, Draft

MAX_CHECKS = 40
_MAX_UNSEARCHED = 30
MAX_FILE_SIZE = 32 * 1024 * 1024
DATE_TIME_FORMATS = ("date", "date-time", "time")
_PATTERNS = {"date": "yyyy-MM-dd", "time": "HH:mm:ss'Z'"}
MAX_SEGMENTS_WIDTH = 340
_SEGMENT_PADDING = 22
_MIN_CHECK_WIDTH = 60


class ChoiceEditor(Editor):
    """A drop-down of the choices, including "not set" (and null)."""

    stated = ALL_STATES

    def __init__(self, style: FormStyle, field: ChoiceField, on_change: OnChange) -> None:
        labels = field.labels or ("",) * len(field.choices)
        texts = [choice_text(*pair) for pair in zip(field.choices, labels, strict=True)]
        options: list[tuple[str, Draft]] = [(_not_set_text(field, texts), ABSENT)]
        if field.nullable:
            options.append(("null", None))
        options += zip(texts, field.choices, strict=True)
        self._drafts = [draft for _, draft in options]
        self.box = self.widget = QuietComboBox()
        self.box.addItems([text for text, _ in options])
        if len(options) > _MAX_UNSEARCHED:
            self.box.make_searchable()
        self.box.activated.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.box.currentIndex()]

    def set_draft(self, draft: Draft) -> bool:
        position = _position_of(draft, self._drafts)
        if position is not None:
            self.box.setCurrentIndex(position)
        return position is not None


class SegmentsEditor(Editor):
    """Buttons side by side, for a few short values."""

    stated = ALL_STATES

    def __init__(self, style: FormStyle, options: Sequence[tuple[str, Draft]], on_change: OnChange) -> None:
        self._drafts = [draft for _, draft in options]
        self.segments = Segments(style.theme, [text.replace("&", "&&") for text, _ in options])
        self.widget = self.segments
        self.segments.chosen.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.segments.index()]

    def set_draft(self, draft: Draft) -> bool:
        position = _position_of(draft, self._drafts)
        if position is not None:
            self.segments.choose(position)
        return position is not None


class BooleanEditor(SegmentsEditor):
    """An editor for not set, true, false (and null)."""

    def __init__(self, style: FormStyle, field: BooleanField, on_change: OnChange) -> None:
        options: list[tuple[str, Draft]] = [("not set", ABSENT), ("true", True), ("false", False)]
        super().__init__(style, options + ([("null", None)] if field.nullable else []), on_change)


class ConstEditor(SegmentsEditor):
    """An editor for a constant: set or not set."""

    def __init__(self, style: FormStyle, field: ConstField, on_change: OnChange) -> None:
        options: list[tuple[str, Draft]] = [("not set", ABSENT), (const_text(field), field.value)]
        super().__init__(style, options + ([("null", None)] if field.nullable else []), on_change)


class CheckListEditor(Editor):
    """Check boxes for any of the choices, each once.

    Rejects lists with other values or duplicates. Where the schema allows duplicates, the row's menu offers
    to edit the list in rows instead.
    """

    def __init__(self, style: FormStyle, field: ListField, choices: ChoiceField, on_change: OnChange) -> None:
        self._on_change = on_change
        self._choices = choices.choices
        self._empty_state: Absent | None = ABSENT
        self._picked: list[JSON] | None = None
        self.widget = QWidget()
        column = vbox(self.widget, gap=SPACE_1)
        labels = choices.labels or ("",) * len(choices.choices)
        texts = [choice_text(*pair) for pair in zip(self._choices, labels, strict=True)]
        self.checks = [ShortCheckBox(text) for text in texts]
        for check in self.checks:
            check.clicked.connect(self._on_clicked)
            column.addWidget(check, 0, Qt.AlignmentFlag.AlignLeft)
        self.widget.setFocusProxy(self.checks[0])

    def draft(self) -> Draft:
        return list(self._picked) if self._picked is not None else self._empty_state

    def set_draft(self, draft: Draft) -> bool:
        positions: list[int] = []
        if isinstance(draft, list):
            found = [_position_of(item, self._choices) for item in draft]
            positions = [position for position in found if position is not None]
            if len(positions) < len(found) or len(set(positions)) < len(positions):
                return False
        elif draft is not ABSENT and draft is not None:
            return False
        self._empty_state = None if draft is None else ABSENT
        self._picked = (
            [self._choices[position] for position in positions] if isinstance(draft, list) else None
        )
        for position, check in enumerate(self.checks):
            check.setChecked(position in positions)
        return True

    def _on_clicked(self) -> None:
        """Keep checked values in place; append new ones in the schema's order."""
        chosen = [
            choice for choice, check in zip(self._choices, self.checks, strict=True) if check.isChecked()
        ]
        remaining = [one for one in self._picked or [] if _position_of(one, chosen) is not None]
        self._picked = remaining + [one for one in chosen if _position_of(one, remaining) is None]
        self._on_change()


class ShortCheckBox(QCheckBox):
    """A check box that elides its text: it must not make the form wider than its window."""

    def __init__(self, text: str) -> None:
        super().__init__(text.replace("&", "&&"))
        self.setAccessibleName(text)
        self.setToolTip(plain_tooltip(text))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(_MIN_CHECK_WIDTH, super().minimumSizeHint().height())

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        super().initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self)
        option.text = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, room.width(), Qt.TextFlag.TextShowMnemonic
        )


class QuietComboBox(QComboBox):
    """A combo box that ignores the wheel, so that scrolling the form changes no choice."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # As wide as the form, whatever the choices; measuring each of them would also be slow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def make_searchable(self) -> None:
        """Let typing filter the list; only its texts are accepted."""
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        completer, line = self.completer(), self.lineEdit()
        assert completer is not None
        assert line is not None
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        line.editingFinished.connect(self._on_search_finished)
        self.setToolTip("Type to search")

    def _on_search_finished(self) -> None:
        self.setEditText(self.itemText(self.currentIndex()))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if (line := self.lineEdit()) is not None:
            line.selectAll()  # typing searches instead of adding to the current choice

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class DateTimeEditor(LineEditor):
    """An RFC 3339 date, time or both: free text, or Pick… inserts a valid one."""

    def __init__(self, style: FormStyle, field: TextField, on_change: OnChange) -> None:
        super().__init__(style, field, on_change)
        self._format = field.format
        self.pick_button = QPushButton("Pick…")
        self.pick_button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab skips it
        self.pick_button.clicked.connect(self.open_picker)
        self.widget = _beside(self.line, self.pick_button)

    def set_name(self, name: str) -> None:
        self.line.setAccessibleName(name)

    def open_picker(self) -> DateTimePicker:
        """Open the picker below the line, set to the typed value."""
        picker = DateTimePicker(self._format, self.line)
        picker.set_text(self.line.text())
        picker.set_button.clicked.connect(lambda: self._set_from(picker))
        picker.move(self.line.mapToGlobal(QPoint(0, self.line.height() + 2)))
        picker.show()
        return picker

    def show_errors(self, errors: Errors, pointer: str) -> None:
        mark_error(self.line, pointer in errors)

    def _set_from(self, picker: DateTimePicker) -> None:
        self.write(picker.text())
        picker.close()
        self.line.setFocus()


class PasswordEditor(LineEditor):
    """A masked text, shown on demand."""

    def __init__(self, style: FormStyle, field: TextField, on_change: OnChange) -> None:
        super().__init__(style, field, on_change)
        self.show_button = QPushButton("Show")
        self.show_button.setCheckable(True)
        self.show_button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab skips it
        self.show_button.toggled.connect(self._on_toggled)
        self.widget = _beside(self.line, self.show_button)
        self._on_toggled(False)

    def set_name(self, name: str) -> None:
        self.line.setAccessibleName(name)

    def show_errors(self, errors: Errors, pointer: str) -> None:
        mark_error(self.line, pointer in errors)

    def _on_toggled(self, is_shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if is_shown else QLineEdit.EchoMode.Password
        self.line.setEchoMode(mode)
        self.show_button.setText("Hide" if is_shown else "Show")


class DateTimePicker(QWidget):
    """A popup with a calendar, a clock or both. Times are in UTC, which is unambiguous."""

    def __init__(self, format_name: str, owner: QWidget) -> None:
        super().__init__(owner, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._format = format_name
        self.calendar = QCalendarWidget()
        self.calendar.setVerticalHeaderFormat(QCalendarWidget.VerticalHeaderFormat.NoVerticalHeader)
        self.clock = QTimeEdit()
        self.clock.setDisplayFormat("HH:mm:ss")
        self.clock.setAccessibleName("Time (UTC)")
        self.calendar.setVisible(format_name != "time")
        self.clock.setVisible(format_name != "date")
        self.set_button = QPushButton("Set")
        self.set_button.setDefault(True)
        self.now_button = QPushButton("Today" if format_name == "date" else "Now")
        self.now_button.clicked.connect(self._on_now_clicked)
        line = hbox(None, self.clock, self.now_button, self.set_button, gap=-1)
        vbox(self, self.calendar, line, gap=-1, margin=SPACE_2)

    def set_text(self, text: str) -> None:
        """Set the moment from text; the current time if it cannot be parsed."""
        if self._format == "time":
            time = QTime.fromString(text.rstrip("Zz")[:8], "HH:mm:ss")
            moment = QDateTime(QDate.currentDate(), time, QTimeZone.utc()) if time.isValid() else QDateTime()
        else:
            moment = QDateTime.fromString(text, Qt.DateFormat.ISODate)
        self._show(moment.toUTC() if moment.isValid() else QDateTime.currentDateTimeUtc())

    def text(self) -> str:
        moment = QDateTime(self.calendar.selectedDate(), self.clock.time(), QTimeZone.utc())
        return moment.toString(_PATTERNS.get(self._format, "yyyy-MM-dd'T'HH:mm:ss'Z'"))

    def _on_now_clicked(self) -> None:
        self._show(QDateTime.currentDateTimeUtc())

    def _show(self, moment: QDateTime) -> None:
        self.calendar.setSelectedDate(moment.date())
        self.clock.setTime(moment.time())


class FileEditor(Editor):
    """Base64 text for a file's content: typed while it is short, or read from a file."""

    stated = ALL_STATES

    def __init__(self, style: FormStyle, field: TextField, on_change: OnChange) -> None:
        self._on_change = on_change
        self._long: str | None = None  # text too long for the line
        self._line = LineEditor(style, field, self._on_line_changed)
        self._line.on_outgrown = self._on_long
        self.line = self._line.line
        self.line.setFont(style.mono)
        self._media_type = field.content_media_type
        self.choose_button = QPushButton("Choose file…")
        self.choose_button.clicked.connect(self.open_dialog)
        self.size_label = small_label(style, "")
        self.widget = QWidget()
        vbox(self.widget, _beside(self.line, self.choose_button), self.size_label, gap=SPACE_1)
        self.widget.setFocusProxy(self.line)
        self._show_size()

    def set_optional(self, is_optional: bool) -> None:
        super().set_optional(is_optional)
        self._line.set_optional(is_optional)

    def draft(self) -> Draft:
        return self._long if self._long is not None else self._line.draft()

    def set_draft(self, draft: Draft) -> bool:
        is_long = isinstance(draft, str) and not is_plain_line(draft)
        if not self._line.set_draft(ABSENT if is_long else draft):
            return False
        self._long = draft if is_long and isinstance(draft, str) else None
        self.line.setVisible(self._long is None)
        self._show_size()
        return True

    def show_errors(self, errors: Errors, pointer: str) -> None:
        mark_error(self.line, pointer in errors)

    def set_name(self, name: str) -> None:
        self.line.setAccessibleName(name)

    def open_dialog(self) -> QFileDialog:
        dialog = QFileDialog(self.widget, "Choose a file to send")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.load_file)
        dialog.open()
        return dialog

    def load_file(self, name: str) -> None:
        """Load a file's content; shows an error if the file cannot be used."""
        try:
            data = _content(Path(name))
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else exc
            self._show_message(f"Could not use {name}: {reason}. Choose another file.", is_error=True)
            return
        self.set_draft(base64.b64encode(data).decode("ascii"))
        self._show_message(f"{Path(name).name}, {size(len(data))}{self._media_type_suffix()}")
        self._on_change()

    def _on_line_changed(self) -> None:
        self._show_size()
        self._on_change()

    def _on_long(self, draft: Draft) -> None:
        self.set_draft(draft)
        self._on_change()

    def _show_size(self) -> None:
        draft = self.draft()
        if not isinstance(draft, str) or not draft:
            self._show_message(f"Base64{self._media_type_suffix()}" if self._media_type else "Base64")
            return
        try:
            content = base64.b64decode(draft, validate=True)
        except (binascii.Error, ValueError):
            self._show_message(f"{len(draft):,} characters, not valid base64", is_error=True)
        else:
            self._show_message(
                f"{size(len(content))} in {len(draft):,} characters of base64{self._media_type_suffix()}"
            )

    def _media_type_suffix(self) -> str:
        return f", for {self._media_type}" if self._media_type else ""

    def _show_message(self, text: str, *, is_error: bool = False) -> None:
        self.size_label.setForegroundRole(ERROR if is_error else MUTED)
        set_label_text(self.size_label, text)


def _content(path: Path) -> bytes:
    if path.stat().st_size > MAX_FILE_SIZE:
        raise ValueError(f"it is larger than {size(MAX_FILE_SIZE)}")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_SIZE + 1)  # a device reports size 0 but never ends
    if len(data) > MAX_FILE_SIZE:
        raise ValueError(f"it is larger than {size(MAX_FILE_SIZE)}")
    return data


def _beside(line: QWidget, button: QPushButton) -> QWidget:
    whole = QWidget()
    hbox(whole, (line, 1), button, (STRETCH, 0), gap=SPACE_1)
    whole.setFocusProxy(line)
    return whole


def fits_in_segments(style: FormStyle, labels: Sequence[str], max_width: int = MAX_SEGMENTS_WIDTH) -> bool:
    """Return whether the labels fit side by side in a narrow form."""
    if sum(map(len, labels)) > 60:
        return False
    metrics = QFontMetrics(style.theme.ui_font())
    return sum(metrics.horizontalAdvance(label) + _SEGMENT_PADDING for label in labels) <= max_width


def choices_of(field: Field) -> ChoiceField | None:
    """Return the choices of a list that can be shown as check boxes, else None."""
    if not isinstance(field, ListField):
        return None
    item = field.item
    is_usable = isinstance(item, ChoiceField) and not item.nullable and len(item.choices) <= MAX_CHECKS
    return item if is_usable and isinstance(item, ChoiceField) else None


def _not_set_text(field: ChoiceField, texts: Sequence[str]) -> str:
    """Return the text shown while nothing is picked, with the default's label if there is one."""
    position = None if field.default is ABSENT else _position_of(field.default, field.choices)
    return placeholder_text(field, ABSENT) if position is None else f"not set (default: {texts[position]})"


def const_text(field: ConstField) -> str:
    return choice_text(field.value, field.labels[0] if field.labels else "")


def choice_text(choice: JSON, label: str) -> str:
    """Return a choice's label; a string that looks like another JSON value is quoted."""
    text = choice if isinstance(choice, str) and not _looks_like_json(choice) else write_line(choice)
    shown = one_line(shorten(text, 200))
    return f"{one_line(label)} ({shown})" if label and label != text else shown


def _looks_like_json(text: str) -> bool:
    try:
        read(text)
    except JSONTextError:
        return not text.strip()
    return True


def _position_of(draft: Draft, drafts: Sequence[Draft]) -> int | None:
    return next((position for position, one in enumerate(drafts) if _same_draft(one, draft)), None)


def _same_draft(one: Draft, other: Draft) -> bool:
    if not _is_json(one) or not _is_json(other):
        return one is other
    return same(one, other)  # type: ignore[arg-type]  # choices are JSON


def _is_json(draft: Draft) -> bool:
    """Return whether a leaf editor's draft is JSON, not a marker such as ABSENT."""
    return draft is None or isinstance(draft, bool | int | float | str | list | dict)
