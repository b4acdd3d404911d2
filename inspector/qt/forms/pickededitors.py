"""Text that can be typed or picked: dates and times from a calendar, contents from a file."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from PySide6.QtCore import QDate, QDateTime, QPoint, Qt, QTime, QTimeZone
from PySide6.QtWidgets import (
    QCalendarWidget,
    QFileDialog,
    QHBoxLayout,
    QPushButton,
    QTimeEdit,
    QVBoxLayout,
    QWidget,
)

from inspector.base.units import size
from inspector.qt.forms.editor import Editor, OnChange, Problems
from inspector.qt.forms.look import ERROR, MUTED, Look, mark_error, set_label_text, small_label
from inspector.qt.forms.textbox import is_plain_line
from inspector.qt.forms.texteditors import LineEditor
from inspector.qt.theme import SPACE_1, SPACE_2
from inspector.schema.fields import TextField
from inspector.schema.values import ABSENT, Draft

LARGEST_FILE = 32 * 1024 * 1024
PICKED_FORMATS = ("date", "date-time", "time")
_PATTERNS = {"date": "yyyy-MM-dd", "time": "HH:mm:ss'Z'"}


class MomentEditor(LineEditor):
    """An RFC 3339 date, time or both: free text, or Pick… inserts a valid one."""

    def __init__(self, look: Look, field: TextField, on_change: OnChange) -> None:
        super().__init__(look, field, on_change)
        self._format = field.format
        self.pick_button = QPushButton("Pick…")
        self.pick_button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # Tab skips it
        self.pick_button.clicked.connect(self.open_picker)
        self.widget = _beside(self.line, self.pick_button)

    def set_name(self, name: str) -> None:
        self.line.setAccessibleName(name)

    def open_picker(self) -> MomentPicker:
        """Open the picker below the line, set to the typed value."""
        picker = MomentPicker(self._format, self.line)
        picker.set_text(self.line.text())
        picker.set_button.clicked.connect(lambda: self._take(picker))
        picker.move(self.line.mapToGlobal(QPoint(0, self.line.height() + 2)))
        picker.show()
        return picker

    def show_problems(self, problems: Problems, pointer: str) -> None:
        mark_error(self.line, pointer in problems)

    def _take(self, picker: MomentPicker) -> None:
        self.write(picker.text())
        picker.close()
        self.line.setFocus()


class MomentPicker(QWidget):
    """A popup with a calendar, a clock or both. Times are in UTC, which is unambiguous."""

    def __init__(self, format_name: str, owner: QWidget) -> None:
        super().__init__(owner, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._format = format_name
        self.calendar = QCalendarWidget()
        self.calendar.setVerticalHeaderFormat(QCalendarWidget.VerticalHeaderFormat.NoVerticalHeader)
        self.clock = QTimeEdit()
        self.clock.setDisplayFormat("HH:mm:ss")
        self.clock.setAccessibleName("Time, UTC")
        self.calendar.setVisible(format_name != "time")
        self.clock.setVisible(format_name != "date")
        self.set_button = QPushButton("Set")
        self.set_button.setDefault(True)
        self.now_button = QPushButton("Today" if format_name == "date" else "Now")
        self.now_button.clicked.connect(self._on_now_clicked)
        line = QHBoxLayout()
        for part in (self.clock, self.now_button, self.set_button):
            line.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_2, SPACE_2, SPACE_2, SPACE_2)
        column.addWidget(self.calendar)
        column.addLayout(line)

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

    def __init__(self, look: Look, field: TextField, on_change: OnChange) -> None:
        self._on_change = on_change
        self._long: str | None = None  # text too long for the line
        self._line = LineEditor(look, field, self._on_line_changed)
        self._line.on_outgrown = self._on_long
        self.line = self._line.line
        self.line.setFont(look.mono)
        self._media_type = field.content_media_type
        self.choose_button = QPushButton("Choose file…")
        self.choose_button.clicked.connect(self.open_dialog)
        self.size_label = small_label(look, "")
        self.widget = QWidget()
        column = QVBoxLayout(self.widget)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_1)
        column.addWidget(_beside(self.line, self.choose_button))
        column.addWidget(self.size_label)
        self.widget.setFocusProxy(self.line)
        self._say_size()

    def draft(self) -> Draft:
        return self._long if self._long is not None else self._line.draft()

    def set_draft(self, draft: Draft) -> bool:
        is_long = isinstance(draft, str) and not is_plain_line(draft)
        if not self._line.set_draft(ABSENT if is_long else draft):
            return False
        self._long = draft if is_long and isinstance(draft, str) else None
        self.line.setVisible(self._long is None)
        self._say_size()
        return True

    def show_problems(self, problems: Problems, pointer: str) -> None:
        mark_error(self.line, pointer in problems)

    def set_name(self, name: str) -> None:
        self.line.setAccessibleName(name)

    def open_dialog(self) -> QFileDialog:
        dialog = QFileDialog(self.widget, "Choose a file to send")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.take_file)
        dialog.open()
        return dialog

    def take_file(self, name: str) -> None:
        """Load a file's content; shows an error if the file cannot be used."""
        try:
            data = _content(Path(name))
        except (OSError, ValueError) as exc:
            reason = exc.strerror if isinstance(exc, OSError) else exc
            self._say(f"{name} was not taken: {reason}. Choose another file.", is_wrong=True)
            return
        self.set_draft(base64.b64encode(data).decode("ascii"))
        self._say(f"{Path(name).name}, {size(len(data))}{self._kind()}")
        self._on_change()

    def _on_line_changed(self) -> None:
        self._say_size()
        self._on_change()

    def _on_long(self, draft: Draft) -> None:
        self.set_draft(draft)
        self._on_change()

    def _say_size(self) -> None:
        draft = self.draft()
        if not isinstance(draft, str) or not draft:
            self._say(f"Base64{self._kind()}" if self._media_type else "Base64")
            return
        try:
            content = base64.b64decode(draft, validate=True)
        except (binascii.Error, ValueError):
            self._say(f"{len(draft):,} characters, which are not base64", is_wrong=True)
        else:
            self._say(f"{size(len(content))} in {len(draft):,} characters of base64{self._kind()}")

    def _kind(self) -> str:
        return f", for {self._media_type}" if self._media_type else ""

    def _say(self, words: str, *, is_wrong: bool = False) -> None:
        self.size_label.setForegroundRole(ERROR if is_wrong else MUTED)
        set_label_text(self.size_label, words)


def _content(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"it is larger than {size(LARGEST_FILE)}")
    with path.open("rb") as file:
        data = file.read(LARGEST_FILE + 1)  # a device reports size 0 but never ends
    if len(data) > LARGEST_FILE:
        raise ValueError(f"it is larger than {size(LARGEST_FILE)}")
    return data


def _beside(line: QWidget, button: QPushButton) -> QWidget:
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(SPACE_1)
    row.addWidget(line, 1)
    row.addWidget(button)
    row.addStretch(0)
    whole.setFocusProxy(line)
    return whole
