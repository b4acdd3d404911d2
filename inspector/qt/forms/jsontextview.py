"""Arguments written as JSON, with the place of the first error below the text."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.base.units import size
from inspector.qt.forms.look import ERROR, Look, mark_error, set_label_text, small_label
from inspector.qt.forms.textbox import TextBox
from inspector.qt.theme import SPACE_1, SPACE_4
from inspector.schema.jsontext import JSONTextError, read, write
from inspector.schema.keywords import kind_of
from inspector.schema.values import FieldError, FormError

# Text is read at each key press only while that takes no time a person would notice.
_LARGEST_CHECKED_AT_ONCE = 256 * 1024


class JsonTextView(QWidget):
    """A text box for one JSON object.

    Signals:
        text_changed: The person changed the text; not emitted by `set_value`.
    """

    text_changed = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_setting = False
        self.box = TextBox(look.mono)
        self.box.grow_freely()
        self.box.setLineWrapMode(self.box.LineWrapMode.NoWrap)
        self.box.setAccessibleName("Arguments as JSON")
        self.error_label = small_label(look, "", ERROR)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_1, SPACE_4, SPACE_4)
        column.setSpacing(SPACE_1)
        column.addWidget(self.box, 1)
        column.addWidget(self.error_label)
        self.box.textChanged.connect(self._on_text_changed)
        self.set_value({})

    def text(self) -> str:
        return self.box.text()

    def set_value(self, value: JSONObject) -> None:
        self._is_setting = True
        self.box.set_text(write(value))
        self._is_setting = False

    def read_object(self) -> JSONObject:
        """The object that is written; raises FormError, and says so below the text, when it is none."""
        try:
            value = read(self.text())
        except JSONTextError as exc:
            self._say(str(exc))
            raise FormError([FieldError("", str(exc))]) from exc
        if not isinstance(value, dict):
            problem = f"Arguments are written as an object in {{ }}; this is {kind_of(value)}."
            self._say(problem)
            raise FormError([FieldError("", problem)])
        self._say("")
        return value

    def _on_text_changed(self) -> None:
        self._check()
        if not self._is_setting:
            self.text_changed.emit()

    def _check(self) -> None:
        length = self.box.document().characterCount()
        if length > _LARGEST_CHECKED_AT_ONCE:
            self._say(f"Checked when sent: {size(length)} is too much to check at each key press.")
            return
        try:
            self.read_object()
        except FormError:
            return  # it is said below the text already

    def _say(self, problem: str) -> None:
        set_label_text(self.error_label, problem)
        self.error_label.setVisible(bool(problem))
        mark_error(self.box, bool(problem))
