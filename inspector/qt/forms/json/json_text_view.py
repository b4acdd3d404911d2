"""Editor for one JSON object: errors are marked in the text, the first is shown below it.

Texts up to 32 KiB are parsed on each change, up to 4 MiB when typing pauses, larger ones only when sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from inspector.base.json.text import JSONTextError, read, write
from inspector.base.json.values import JSONObject
from inspector.base.units import size
from inspector.qt.forms.json.completion import locate, suggestions
from inspector.qt.forms.json.json_edit import JsonEdit, Mark
from inspector.qt.theme import SPACE_1, SPACE_3, SPACE_4
from inspector.qt.widgets.inputs.completion import Suggestion
from inspector.qt.widgets.inputs.controls import bind_keys
from inspector.qt.widgets.inputs.search import FindBar
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import ERROR, FormStyle, mark_error, set_label_text, small_label
from inspector.schema.fields import ObjectField
from inspector.schema.keywords import kind_of
from inspector.schema.values import FieldError, FormError

# Text is parsed on each key press while that is not noticeable; longer text in pauses.
_MAX_PARSED_AT_ONCE = 32 * 1024
_MAX_PARSED_IN_PAUSES = 4 * 1024 * 1024
_PAUSE_MS = 300


class JsonTextView(QWidget):
    """An editor for one JSON object. `what` names its content.

    Signals:
        text_changed: The user changed the text; not emitted by `set_value`.
        text_read: The text was parsed or failed to: at once, or for a long text after a pause.
    """

    text_changed = Signal()
    text_read = Signal()

    def __init__(self, style: FormStyle, what: str = "Arguments", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._what = what
        self._field = ObjectField()
        self._value: JSONObject | None = None  # last parsed value, while the text is unchanged
        self.box = JsonEdit(style.theme)
        self.box.setAccessibleName(f"{what} as JSON")
        self.box.set_completer(self._completions)
        self.find_bar = FindBar(style.theme, self.box)
        self.find_bar.closed.connect(self.box.setFocus)
        self.error_label = small_label(style, "", ERROR)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._check)
        vbox(
            self,
            self.find_bar,
            (self.box, 1),
            self.error_label,
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_1, SPACE_3, SPACE_4),
        )
        self.box.edited.connect(self._on_edited)
        bind_keys(self, QKeySequence.StandardKey.Find, self.find_bar.open_bar)
        self.set_value({})

    def set_field(self, field: ObjectField) -> None:
        """Set the field that completions are taken from."""
        self._field = field

    def text(self) -> str:
        return self.box.text()

    def set_text(self, text: str) -> None:
        """Show a text as it was written, valid or not."""
        self.box.set_text(text)
        self._value = None
        self._check_soon()

    def set_value(self, value: JSONObject) -> None:
        self.box.set_text(write(value))
        self._value = value
        self._show_message("")

    def read_object(self) -> JSONObject:
        """Return the object; raises FormError, and shows why, if the text is not one."""
        if self._value is not None:
            return self._value
        try:
            value = read(self.text())
        except JSONTextError as exc:
            self._show_message(str(exc))
            self._mark_syntax(exc)
            raise FormError([FieldError("", str(exc))]) from exc
        if not isinstance(value, dict):
            message = f"{self._what} must be a JSON object {{ }}; this is {kind_of(value)}."
            self._show_message(message)
            raise FormError([FieldError("", message)])
        self._show_message("")
        self._value = value
        return value

    def show_errors(self, errors: Sequence[FieldError]) -> None:
        """Mark the errors in the text and show the first one below."""
        if self._value is None:
            return  # not parsed; already reported
        positions = self._locate(errors)
        marks = [
            Mark(*positions[error.pointer], error.problem) for error in errors if error.pointer in positions
        ]
        self.box.set_marks(marks)
        self._show_message(str(errors[0]) if errors else "")

    def go_to(self, pointer: str) -> None:
        """Bring the value at `pointer` into view."""
        position = self._locate([FieldError(pointer, "")]).get(pointer)
        if position is not None:
            self.box.go_to(position[0])
        else:
            self.box.setFocus()

    def _locate(self, errors: Sequence[FieldError]) -> dict[str, tuple[int, int]]:
        """Return the places of the values; for a missing one, the bracket that should contain it."""
        pointers = [error.pointer for error in errors]
        parents = {pointer: pointer.rpartition("/")[0] for pointer in pointers}
        text = self.text()
        found = locate(text, {*pointers, *parents.values()})
        positions: dict[str, tuple[int, int]] = {}
        for pointer, parent in parents.items():
            if pointer in found:
                start, end = found[pointer].start, found[pointer].end
                line_end = text.find("\n", start, end)  # of a multi-line value, mark the first line
                positions[pointer] = (start, end if line_end < 0 else line_end)
            elif parent in found:
                positions[pointer] = (found[parent].start, found[parent].start + 1)
        return positions

    def _completions(self, text: str, offset: int) -> Sequence[Suggestion]:
        return suggestions(self._field, text, offset)

    def _on_edited(self) -> None:
        self._value = None
        self.find_bar.refresh()
        self.text_changed.emit()
        self._check_soon()

    def _check_soon(self) -> None:
        """Parse a short text at once, a long one after a pause, a huge one not before it is sent."""
        self._pause.stop()
        length = self.box.document().characterCount()
        if length <= _MAX_PARSED_AT_ONCE:
            self._check()
        elif length <= _MAX_PARSED_IN_PAUSES:
            self._pause.start()
        else:
            self._show_message(f"Too large to check while typing ({size(length)}); checked when sent.")

    def _check(self) -> None:
        with suppress(FormError):  # shown below the text
            self.read_object()
        self.text_read.emit()

    def _mark_syntax(self, error: JSONTextError) -> None:
        if not error.line:
            return
        lines = self.text().split("\n", error.line)[: error.line]
        start = sum(len(line) + 1 for line in lines[:-1]) + error.column - 1
        self.box.set_marks([Mark(start, start + 1, error.problem)])

    def _show_message(self, message: str) -> None:
        set_label_text(self.error_label, message)
        self.error_label.setVisible(bool(message))
        mark_error(self.box, bool(message))
