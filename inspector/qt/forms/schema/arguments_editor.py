"""Arguments editor: the schema form and JSON text as two views of one value, and validation.

Switching views is lossless. Full validation against the schema runs 250 ms after the last change and before
a value is sent, in a worker process with a time limit: the schema comes from the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import shiboken6
from PySide6.QtCore import QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QMenu, QScrollArea, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.json.text import same
from inspector.base.json.values import JSON, JSONObject
from inspector.base.units import plural
from inspector.qt.bridge import Bridge
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.forms.schema.schema_form import SchemaForm, on_submit_keys
from inspector.qt.forms.schema.value_row import ExampleFiller
from inspector.qt.theme import ICON_SIZE, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import Segments, TextButton, bind_keys
from inspector.qt.widgets.layout import STRETCH, Pages, WidgetHolder, hbox, vbox
from inspector.qt.widgets.text.labels import ERROR, MUTED, FormStyle, set_label_text, small_label
from inspector.schema.builder import build_form
from inspector.schema.check import MISSING, check
from inspector.schema.fields import ObjectField
from inspector.schema.references import resolve_pointer
from inspector.schema.validation import ValidationResult, pack, validate_packed
from inspector.schema.values import (
    ABSENT,
    Draft,
    FieldError,
    FormError,
    Resolve,
    ResolvedDraft,
    combined_errors,
    resolve_draft,
)

NEXT_ERROR_KEY = "F8"
VALIDATION_DELAY_MS = 250
_FORM, _JSON = 0, 1
_FITTED_HEIGHT = 220
_MIN_HEIGHT = 20  # it scrolls: what is below must not make the window grow

Validate = Callable[[JSON, JSONObject, Callable[[ValidationResult], None]], None]
"""Validates a value asynchronously; calls back on the UI thread at most once."""


@dataclass(frozen=True, slots=True)
class EditorState:
    """What is typed in an ArgumentsEditor, for another one.

    `arguments` are those of the form, None while the JSON text is shown. `text` is the JSON text as written,
    "" if there is none.
    """

    arguments: JSONObject | None
    text: str


class ArgumentsEditor(QWidget):
    """A form and a JSON text for the same arguments, with a switch between them.

    Switching is lossless: the spelling of numbers and the order of keys are kept, and the JSON text comes
    back as written if the form changed nothing. What cannot be parsed stays in the view it was written in.
    Without `submit_keys`, Ctrl+Return is left to the window, which may have a command for it. With
    `validate`, the value is fully validated when typing pauses, in addition to the fields' immediate
    checks. With `fit_content`, it is as tall as its content, for a page that scrolls as a whole.

    Signals:
        value_changed: The user changed something in either view.
        submitted: Ctrl+Return was pressed.
        errors_changed: Carries the number of known errors.
    """

    value_changed = Signal()
    submitted = Signal()
    errors_changed = Signal(int)

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        submit_keys: bool = True,
        validate: Validate | None = None,
        fit_content: bool = False,
        takes_own_keys: bool = False,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._takes_own_keys = takes_own_keys
        self._submit_keys = submit_keys
        self._resolve: Resolve | None = None
        self._resolved = ResolvedDraft({}, {})  # the value last validated in full
        self._verdict = ValidationResult()
        self._asks_for_missing = False
        self._current_error = -1  # the last one visited
        style = FormStyle.of(theme)
        self.bar = ArgumentsBar(style)
        self.switch = self.bar.switch
        self.json_view = JsonTextView(style)
        self._form_area = WidgetHolder() if fit_content else _scroll_area()
        if fit_content:
            self.json_view.box.setMinimumHeight(_FITTED_HEIGHT)
        self._views = Pages((self._form_area, self.json_view))
        self._parsed_text: JSONObject | None = None  # the parsed JSON text, once read
        self._example_filler = ExampleFiller(self)
        self._validation = DelayedValidation(self)
        self._validation.set_validate(validate, self._value_or_none)
        self._lay_out()
        self._connect()
        self.form = self._new_form(ObjectField())

    def set_schema(self, schema: JSON, warnings: Mapping[str, str] | None = None) -> None:
        """Start over with the form for a schema; without a form for it, in the JSON view.

        `warnings` maps member names to messages shown beside their fields.
        """
        self._example_filler.cancel()
        self._validation.set_schema(schema)
        self._verdict, self._asks_for_missing = ValidationResult(), False
        self.form = self._new_form(build_form(schema), warnings)
        self._parsed_text = None
        self.json_view.set_field(self.form.field)
        self.json_view.set_value({})
        field = self.form.field
        has_form = bool(field.members or field.union or field.rest or field.conditions) or not field.notes
        self._show_view(_FORM if has_form else _JSON)
        if not has_form:
            self.bar.show_message(" ".join(field.notes), MUTED)
        self._show_errors()

    def arguments(self, *, force: bool = False) -> JSONObject:
        """Return the arguments to send. Raises FormError, and shows why, if an error is known.

        With `force`, raise only when there is nothing to send: a debugger must be able to send invalid
        arguments, but not invalid JSON.
        """
        value = self._current()
        if not self._validation.is_current:
            self._verdict = ValidationResult()  # of an earlier value
        errors = [] if force else self.all_errors()
        if not errors:
            return value
        self._reveal()
        raise FormError(errors)

    def submit(self, decide: Callable[[tuple[FieldError, ...]], None]) -> JSONObject:
        """Return the arguments to send, and call `decide` with their errors once they are validated.

        Later edits do not change the result. Raises FormError if an error is known now. Errors are shown in
        either case.
        """
        value = self.arguments()
        if self._validation.is_current:
            decide(())
            return value
        resolved = resolve_draft(value, self._resolve)

        def on_verdict(verdict: ValidationResult) -> None:
            errors = tuple(resolved.errors(verdict.errors))
            if errors and shiboken6.isValid(self):
                self._reveal()
            decide(errors)

        self._validation.validate_now(on_verdict)
        return value

    def set_arguments(self, arguments: JSONObject) -> None:
        """Show arguments in the current view."""
        self._example_filler.cancel()
        self._parsed_text = None
        self._verdict, self._asks_for_missing = ValidationResult(), False
        if self.is_json_shown():
            self.json_view.set_value(arguments)
        else:
            self.form.set_value(arguments)  # the other view takes them when it is shown
        self.bar.show_message("")
        self._validation.value_changed()
        self._show_errors()

    def state(self) -> EditorState | None:
        """Return what is typed; None if an entry of the form cannot be read, so only the form has it."""
        if self.is_json_shown():
            return EditorState(None, self.json_view.text())
        try:
            arguments = self.form.value()
        except FormError:
            return None
        is_as_written = self._parsed_text is not None and same(self._parsed_text, arguments)
        return EditorState(arguments, self.json_view.text() if is_as_written else "")

    def restore(self, state: EditorState) -> None:
        """Show what was typed in another editor, in the same view."""
        if state.arguments is None:
            self._example_filler.cancel()
            self._show_view(_JSON)
            self.json_view.set_text(state.text)
            self._validation.value_changed()
            self._show_errors()
            return
        if state.text:
            self.json_view.set_text(state.text)
        self.set_arguments(state.arguments)
        self._parsed_text = state.arguments if state.text else None

    def fill_with_example(self) -> None:
        """Replace the content with a plausible example."""
        self._example_filler.start(
            self.form.field, lambda value: self._put(value if isinstance(value, dict) else {})
        )
        if self._example_filler.is_busy:
            self.bar.show_message("Generating an example…", MUTED)

    def clear(self) -> None:
        self._put({})

    def _put(self, value: JSONObject) -> None:
        self.set_arguments(value)
        self.value_changed.emit()

    def _current(self) -> JSONObject:
        return self.json_view.read_object() if self.is_json_shown() else self.form.value()

    def _value_or_none(self) -> JSONObject | None:
        """Return the value as it would be sent, None if it cannot be read."""
        try:
            self._resolved = resolve_draft(self._current(), self._resolve)
        except FormError:
            return None
        resolved = self._resolved.draft
        return resolved if isinstance(resolved, dict) else None

    def set_resolve(self, resolve: Resolve | None) -> None:
        """Set how `${name}` is resolved: validation checks what would be sent."""
        self._resolve = resolve
        self.form.set_resolve(resolve)
        self._verdict = ValidationResult()
        self._validation.value_changed()
        self._show_errors()

    def errors(self) -> list[FieldError]:
        """Return type and parse errors of the current view."""
        if not self.is_json_shown():
            return self.form.errors()
        try:
            resolved = resolve_draft(self.json_view.read_object(), self._resolve)
            return resolved.errors(check(self.form.field, resolved.draft))
        except FormError as exc:
            return list(exc.errors)

    def all_errors(self) -> list[FieldError]:
        """Return all known errors including the full validation's, one per pointer."""
        return combined_errors(self.errors(), self._verdict.errors, is_final=self._is_decided())

    def _is_decided(self) -> bool:
        """True if the full validation of the current value found everything."""
        return self._validation.is_checked and self._verdict.is_final

    def go_to_next_error(self) -> None:
        """Bring the errors into view one after the other, in the form or in the text."""
        self._asks_for_missing = True
        errors = self._show_errors()
        if not errors:
            return
        self._current_error = (self._current_error + 1) % len(errors)
        view = self.json_view if self.is_json_shown() else self.form
        view.go_to(errors[self._current_error].pointer)

    def _reveal(self) -> None:
        self._asks_for_missing = True
        self._current_error = 0
        errors = self._show_errors()
        if not self.is_json_shown():
            self.form.reveal_errors()
        elif errors:
            self.json_view.go_to(errors[0].pointer)

    def _show_errors(self) -> list[FieldError]:
        """Show the errors. Missing values are not reported until the user asks for errors."""
        errors = self.all_errors()
        if not self._asks_for_missing:
            errors = [error for error in errors if error.problem != MISSING]
        if self.is_json_shown():
            self.json_view.show_errors(errors)
        self.bar.show_errors(len(errors))
        self.errors_changed.emit(len(errors))
        return errors

    def _on_validated(self, verdict: ValidationResult) -> None:
        verdict = replace(verdict, errors=tuple(self._resolved.errors(verdict.errors)))
        self._verdict = verdict
        errors = () if self.is_json_shown() else verdict.errors
        self.form.set_validation_errors(errors, is_final=verdict.is_final)
        self.bar.show_message(verdict.unchecked, MUTED)
        self._show_errors()

    def set_focus(self) -> None:
        """Focus the first input."""
        rows = self.form.rows()
        if self.is_json_shown():
            self.json_view.box.setFocus()
        elif rows:
            rows[0].slot.editor.set_focus()
        else:
            self.form.setFocus()

    def is_json_shown(self) -> bool:
        return self._views.index() == _JSON

    def show_json(self) -> bool:
        """Switch to JSON; on an unparsable entry show why, stay in the form and return False."""
        if self.is_json_shown():
            return True
        try:
            value = self.form.value()
        except FormError as exc:
            self._refuse(_FORM, f"Can't switch views: {exc}")
            return False
        if self._parsed_text is None or not same(self._parsed_text, value):
            self.json_view.set_value(value)
        self._show_view(_JSON)
        self._show_errors()
        return True

    def show_form(self) -> bool:
        """Switch to the form; if the text is no object show why, stay in JSON and return False."""
        if not self.is_json_shown():
            return True
        try:
            self._parsed_text = self.json_view.read_object()
        except FormError:
            self._refuse(_JSON, "")
            return False
        self.form.set_value(self._parsed_text)
        self.form.set_validation_errors(self._verdict.errors, is_final=self._is_decided())
        self._show_view(_FORM)
        self._show_errors()
        return True

    def _on_view_chosen(self, view: int) -> None:
        if view == _JSON:
            self.show_json()
        else:
            self.show_form()

    def _show_view(self, view: int) -> None:
        self._views.choose(view)
        self.switch.choose(view)
        self.bar.show_message("")

    def _refuse(self, view: int, message: str) -> None:
        self.switch.choose(view)
        self.bar.show_message(message)

    def _new_form(self, field: ObjectField, warnings: Mapping[str, str] | None = None) -> SchemaForm:
        form = SchemaForm(
            self._theme,
            field,
            submit_keys=self._submit_keys,
            warnings=warnings,
            takes_own_keys=self._takes_own_keys,
        )
        form.set_resolve(self._resolve)
        form.value_changed.connect(self._on_form_edited)
        form.submitted.connect(self.submitted)
        self._form_area.setWidget(form)  # deletes the previous one
        return form

    def _on_form_edited(self) -> None:
        self._on_edited()
        self._show_errors()

    def _on_edited(self) -> None:
        self._example_filler.cancel()  # the user's edit takes precedence
        self.bar.show_message("")
        self._current_error = -1
        self._drop_outdated_errors()
        self._validation.value_changed()
        self.value_changed.emit()

    def _drop_outdated_errors(self) -> None:
        """Drop the validation errors of changed values; the others stay visible until the next result."""
        errors, before = self._verdict.errors, self._resolved.draft
        if not errors:
            return
        try:
            after = resolve_draft(self.form.value(), self._resolve).draft
            kept = [error for error in errors if _part(before, error.pointer) == _part(after, error.pointer)]
        except FormError:
            kept = []
        self._verdict = ValidationResult(() if self.is_json_shown() else tuple(kept))
        self.form.set_validation_errors(self._verdict.errors)

    def _connect(self) -> None:
        self.bar.view_chosen.connect(self._on_view_chosen)
        self.bar.next_error_requested.connect(self.go_to_next_error)
        self.bar.example_requested.connect(self.fill_with_example)
        self.bar.clear_requested.connect(self.clear)
        self.json_view.text_changed.connect(self._on_edited)
        self.json_view.text_read.connect(self._show_errors)
        self._validation.checked.connect(self._on_validated)
        bind_keys(self, NEXT_ERROR_KEY, self.go_to_next_error)
        if self._submit_keys:
            for part in (self.bar, self.json_view):
                on_submit_keys(part, self.submitted)

    def _lay_out(self) -> None:
        vbox(self, self.bar, (self._views, 1), gap=0)


def _part(value: Draft, pointer: str) -> Draft:
    try:
        return resolve_pointer(pointer, value)  # type: ignore[arg-type]  # a resolved value is JSON
    except LookupError:
        return ABSENT


def _scroll_area() -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setMinimumHeight(_MIN_HEIGHT)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area


class ArgumentsBar(QWidget):
    """The view switch, a message, the number of errors and a menu.

    Signals:
        view_chosen: Carries 0 for the form, 1 for JSON.
        next_error_requested: The user wants to see the next error.
        example_requested: Fill everything with an example.
        clear_requested: Clear everything.
    """

    view_chosen = Signal(int)
    next_error_requested = Signal()
    example_requested = Signal()
    clear_requested = Signal()

    def __init__(self, style: FormStyle) -> None:
        super().__init__()
        self.switch = Segments(style.theme, ("Form", "JSON"))
        self.switch.setAccessibleName("Argument view")
        self.switch.chosen.connect(self.view_chosen)
        self._message = small_label(style, "", ERROR)
        self.errors_button = TextButton(plural(0, "error"), style.small, ERROR)
        self.errors_button.setToolTip("Go to the next error (F8)")
        self.errors_button.setAccessibleName("Go to the next error")
        self.errors_button.clicked.connect(self.next_error_requested)
        self.errors_button.hide()
        self.menu_button = QToolButton()
        style.theme.set_icon(self.menu_button, "more", "muted")
        self.menu_button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.menu_button.setAccessibleName("More actions for all arguments")
        self.menu_button.setToolTip("Fill with example, or clear")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu_button.setMenu(self._make_menu())
        hbox(
            self,
            self.switch,
            (self._message, 1),
            (STRETCH, 0),
            (self.errors_button, 0, Qt.AlignmentFlag.AlignVCenter),
            self.menu_button,
            margin=(SPACE_3, SPACE_2),
        )

    def show_message(self, message: str, role: QPalette.ColorRole = ERROR) -> None:
        self._message.setForegroundRole(role)
        set_label_text(self._message, message)
        self._message.setVisible(bool(message))

    def message(self) -> str:
        """Return the current message, "" if none."""
        return self._message.text()

    def show_errors(self, count: int) -> None:
        self.errors_button.setText(plural(count, "error"))
        self.errors_button.setVisible(count > 0)
        self.errors_button.updateGeometry()

    def _make_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.addAction("Fill with example").triggered.connect(self.example_requested)
        menu.addAction("Clear all").triggered.connect(self.clear_requested)
        return menu


class DelayedValidation(QObject):
    """Validates after each pause in typing and drops results for outdated values.

    Signals:
        checked: Carries the ValidationResult on the current value.
    """

    checked = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._schema: JSON = True
        self._sequence_number = 0
        self.is_checked = False
        self._validate: Validate | None = None
        self._value: Callable[[], JSONObject | None] = lambda: None
        self._delay = QTimer(self, singleShot=True, interval=VALIDATION_DELAY_MS)
        self._delay.timeout.connect(self.validate_now)

    @property
    def is_current(self) -> bool:
        """True if the result for the current value is known, or if there is no validator."""
        return self.is_checked or self._validate is None

    def set_schema(self, schema: JSON) -> None:
        self._schema = schema
        self._invalidate()
        self._delay.stop()

    def set_validate(self, validate: Validate | None, value: Callable[[], JSONObject | None]) -> None:
        """Set the validator and its input; `value` returns None if there is nothing to check."""
        self._validate, self._value = validate, value

    def value_changed(self) -> None:
        """Invalidate pending results and validate again soon."""
        self._invalidate()
        if self._validate is not None:
            self._delay.start()

    def validate_now(self, then: Callable[[ValidationResult], None] | None = None) -> None:
        """Validate the current value; `then` gets the result even if the value changes meanwhile."""
        self._delay.stop()
        value = self._value()
        if value is None or self._validate is None:
            return
        self._invalidate()
        self._validate(self._schema, value, partial(self._on_validated, self._sequence_number, then))

    def _invalidate(self) -> None:
        self._sequence_number += 1
        self.is_checked = False

    def _on_validated(
        self,
        sequence_number: int,
        then: Callable[[ValidationResult], None] | None,
        verdict: ValidationResult,
    ) -> None:
        if shiboken6.isValid(self) and sequence_number == self._sequence_number:
            self.is_checked = True
            self.checked.emit(verdict)
        if then is not None:
            then(verdict)


class SchemaValidator:
    """The validator of an ArgumentsEditor: a callable, run in another process with a time limit."""

    def __init__(self, bridge: Bridge, owner: QObject) -> None:
        self._bridge = bridge
        self._owner = owner

    def __call__(
        self, schema: JSON, value: JSONObject, on_verdict: Callable[[ValidationResult], None]
    ) -> None:
        if not self._bridge.is_closed:
            self._bridge.start("check arguments", self._check(schema, value, on_verdict), self._owner)

    async def _check(
        self, schema: JSON, value: JSONObject, on_verdict: Callable[[ValidationResult], None]
    ) -> None:
        try:
            data = pack(schema, value)
            verdict = await self._bridge.ask(lambda engine: engine.work_limited(validate_packed, data))
        except UserError as exc:
            verdict = ValidationResult(unchecked=exc.summary)
        except RecursionError:
            verdict = ValidationResult(
                unchecked="The schema or the arguments are nested too deeply to check."
            )
        on_verdict(verdict)
