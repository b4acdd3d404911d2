"""Arguments as a form or as JSON, whichever the person prefers: `ArgumentsEditor`."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.qt.forms.form import SchemaForm, on_submit_keys
from inspector.qt.forms.jsontextview import JsonTextView
from inspector.qt.forms.look import ERROR, MUTED, Look, set_label_text, small_label
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.segments import Segments
from inspector.schema.build import build_form
from inspector.schema.check import check
from inspector.schema.fields import ObjectField
from inspector.schema.jsontext import same
from inspector.schema.values import FieldError, FormError

_FORM, _JSON = 0, 1


class ArgumentsEditor(QWidget):
    """A form and a JSON text for the same arguments, with a switch between them.

    Switching loses nothing: not the spelling of a number, not the order of keys, and the JSON text comes
    back as it was written when the form changed nothing. What cannot be read stays where it was written.
    Without `submit_keys` Ctrl+Return is left to the window, whose command it may be.

    Signals:
        value_changed: The person changed something in either view.
        submitted: Ctrl+Return was pressed.
    """

    value_changed = Signal()
    submitted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, submit_keys: bool = True) -> None:
        super().__init__(parent)
        self._theme = theme
        self._submit_keys = submit_keys
        look = Look.of(theme)
        self.switch = Segments(theme, ("Form", "JSON"))
        self.switch.setAccessibleName("Show the arguments as")
        self.switch.chosen.connect(self._on_view_chosen)
        self._message = small_label(look, "", ERROR)
        self.json_view = JsonTextView(look)
        self.json_view.text_changed.connect(self._on_edited)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._views = QStackedWidget()
        self._views.addWidget(self._scroll)
        self._views.addWidget(self.json_view)
        self._written: JSONObject | None = None  # what the JSON view's text stands for, once read
        self._lay_out()
        self.form = self._new_form(ObjectField())

    def set_schema(self, schema: JSON) -> None:
        """Start over with the form for a schema; without a form for it, in the JSON view."""
        self.form = self._new_form(build_form(schema))
        self._written = None
        self.json_view.set_value({})
        field = self.form.field
        has_form = bool(field.members or field.union or field.rest or field.conditions) or not field.notes
        self._show_view(_FORM if has_form else _JSON)
        if not has_form:
            self._say(" ".join(self.form.field.notes), MUTED)

    def arguments(self, *, anyway: bool = False) -> JSONObject:
        """What to send. Raises FormError, and shows why, when something is wrong.

        With `anyway`, only when there is nothing to send at all: a debugger must be able to send wrong
        arguments, but not text that is no JSON.
        """
        value = self._current()
        errors = [] if anyway else check(self.form.field, value)
        if not errors:
            return value
        self._reveal(errors)
        raise FormError(errors)

    def errors(self) -> list[FieldError]:
        """What does not fit the schema, or cannot be read, in whichever view it was written."""
        if not self.is_json_shown():
            return self.form.errors()
        try:
            return check(self.form.field, self.json_view.read_object())
        except FormError as exc:
            return list(exc.errors)

    def set_arguments(self, arguments: JSONObject) -> None:
        """Show arguments in the current view."""
        self._written = None
        self.form.set_value(arguments)
        self.json_view.set_value(arguments)
        self._say("")

    def is_json_shown(self) -> bool:
        return self._views.currentIndex() == _JSON

    def show_json(self) -> bool:
        """Go to the JSON view; False (and still in the form, with the reason) when an entry is not JSON."""
        try:
            value = self.form.value()
        except FormError as exc:
            self._refuse(_FORM, f"Not switched: {exc}")
            return False
        if self._written is None or not same(self._written, value):
            self.json_view.set_value(value)
        self._show_view(_JSON)
        return True

    def show_form(self) -> bool:
        """Go to the form; False (and still in the JSON view, with the reason) when that is no object."""
        try:
            self._written = self.json_view.read_object()
        except FormError:
            self._refuse(_JSON, "")
            return False
        self.form.set_value(self._written)
        self._show_view(_FORM)
        return True

    def _current(self) -> JSONObject:
        return self.json_view.read_object() if self.is_json_shown() else self.form.value()

    def _reveal(self, errors: list[FieldError]) -> None:
        if self.is_json_shown():
            self._say(str(errors[0]))
        else:
            self.form.reveal_errors()

    def _on_view_chosen(self, view: int) -> None:
        if view == _JSON and not self.is_json_shown():
            self.show_json()
        elif view == _FORM and self.is_json_shown():
            self.show_form()

    def _show_view(self, view: int) -> None:
        self._views.setCurrentIndex(view)
        self.switch.choose(view)
        self._say("")

    def _refuse(self, view: int, message: str) -> None:
        self.switch.choose(view)
        self._say(message)

    def _say(self, message: str, role: QPalette.ColorRole = ERROR) -> None:
        self._message.setForegroundRole(role)
        set_label_text(self._message, message)
        self._message.setVisible(bool(message))

    def _new_form(self, field: ObjectField) -> SchemaForm:
        form = SchemaForm(self._theme, field, submit_keys=self._submit_keys)
        form.value_changed.connect(self._on_edited)
        form.submitted.connect(self.submitted)
        self._scroll.setWidget(form)  # deletes the one before
        return form

    def _on_edited(self) -> None:
        self._say("")
        self.value_changed.emit()

    def _lay_out(self) -> None:
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_4, SPACE_2, SPACE_4, SPACE_2)
        row.setSpacing(SPACE_3)
        row.addWidget(self.switch)
        row.addWidget(self._message, 1)
        row.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(bar)
        column.addWidget(self._views, 1)
        if self._submit_keys:
            for part in (bar, self.json_view):
                on_submit_keys(part, self.submitted)
