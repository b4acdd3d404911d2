"""Arguments as a form or as JSON, whichever the person prefers: `ArgumentsEditor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.qt.forms.argumentsbar import ArgumentsBar
from inspector.qt.forms.checking import Checking, Validate
from inspector.qt.forms.filling import Filling
from inspector.qt.forms.form import SchemaForm, on_submit_keys
from inspector.qt.forms.jsontextview import JsonTextView
from inspector.qt.forms.look import MUTED, Look
from inspector.qt.forms.pages import Pages, Place
from inspector.qt.theme import Theme
from inspector.qt.widgets.keys import on_keys
from inspector.schema.build import build_form
from inspector.schema.check import MISSING, check
from inspector.schema.fields import ObjectField
from inspector.schema.jsontext import same
from inspector.schema.standins import Resolve, Resolved, resolve_draft
from inspector.schema.validate import Verdict
from inspector.schema.values import FieldError, FormError

NEXT_PROBLEM_KEY = "F8"
_FORM, _JSON = 0, 1
_FITTED_HEIGHT = 220
_LEAST_HEIGHT = 20  # it scrolls: what is below must not make the window grow


class ArgumentsEditor(QWidget):
    """A form and a JSON text for the same arguments, with a switch between them.

    Switching is lossless: the spelling of numbers and the order of keys are kept, and the JSON text comes
    back as written if the form changed nothing. What cannot be parsed stays in the view it was written in.
    Without `submit_keys`, Ctrl+Return is left to the window, which may have a command for it. With
    `validate`, the value is fully validated when typing pauses, in addition to the fields' immediate
    checks. With `fits`, it is as tall as its content, for a page that scrolls as a whole.

    Signals:
        value_changed: The user changed something in either view.
        submitted: Ctrl+Return was pressed.
        problems_changed: Carries the number of known problems.
    """

    value_changed = Signal()
    submitted = Signal()
    problems_changed = Signal(int)

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        submit_keys: bool = True,
        validate: Validate | None = None,
        fits: bool = False,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._submit_keys = submit_keys
        self._resolve: Resolve | None = None
        self._resolved = Resolved({}, {})  # the value last validated in full
        self._verdict = Verdict()
        self._asks_for_missing = False
        self._problem = -1  # the last one visited
        look = Look.of(theme)
        self.bar = ArgumentsBar(look)
        self.switch = self.bar.switch
        self.json_view = JsonTextView(look)
        self._place = Place() if fits else _scrolling()
        if fits:
            self.json_view.box.setMinimumHeight(_FITTED_HEIGHT)
        self._views = Pages((self._place, self.json_view))
        self._written: JSONObject | None = None  # the parsed JSON text, once read
        self._filling = Filling(self)
        self._checking = Checking(self)
        self._checking.set_validate(validate, self._value_or_none)
        self._lay_out()
        self._connect()
        self.form = self._new_form(ObjectField())

    def set_schema(self, schema: JSON, warnings: Mapping[str, str] | None = None) -> None:
        """Start over with the form for a schema; without a form for it, in the JSON view.

        `warnings` maps member names to messages shown beside their fields.
        """
        self._filling.cancel()
        self._checking.set_schema(schema)
        self._verdict, self._asks_for_missing = Verdict(), False
        self.form = self._new_form(build_form(schema), warnings)
        self._written = None
        self.json_view.set_field(self.form.field)
        self.json_view.set_value({})
        field = self.form.field
        has_form = bool(field.members or field.union or field.rest or field.conditions) or not field.notes
        self._show_view(_FORM if has_form else _JSON)
        if not has_form:
            self.bar.say(" ".join(field.notes), MUTED)
        self._show_problems()

    # -------------------------------------------------------------- the value

    def arguments(self, *, anyway: bool = False) -> JSONObject:
        """Return the arguments to send. Raises FormError, and shows why, if a problem is known.

        With `anyway`, raise only when there is nothing to send: a debugger must be able to send invalid
        arguments, but not invalid JSON.
        """
        value = self._current()
        errors = [] if anyway else self.problems()
        if not errors:
            return value
        self._reveal()
        raise FormError(errors)

    def set_arguments(self, arguments: JSONObject) -> None:
        """Show arguments in the current view."""
        self._filling.cancel()
        self._written = None
        self._verdict, self._asks_for_missing = Verdict(), False
        if self.is_json_shown():
            self.json_view.set_value(arguments)
        else:
            self.form.set_value(arguments)  # the other view takes them when it is shown
        self.bar.say("")
        self._checking.value_changed()
        self._show_problems()

    def fill_with_example(self) -> None:
        """Replace the content with a plausible example."""
        self._filling.begin(
            self.form.field, lambda value: self._put(value if isinstance(value, dict) else {})
        )
        if self._filling.is_busy:
            self.bar.say("Making an example…", MUTED)

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
        meant = self._resolved.draft
        return meant if isinstance(meant, dict) else None

    # -------------------------------------------------------------- what is wrong

    def set_resolve(self, resolve: Resolve | None) -> None:
        """Set how `${name}` is resolved: validation checks what would be sent."""
        self._resolve = resolve
        self.form.set_resolve(resolve)
        self._verdict = Verdict()
        self._checking.value_changed()
        self._show_problems()

    def errors(self) -> list[FieldError]:
        """Return type and parse errors of the current view."""
        if not self.is_json_shown():
            return self.form.errors()
        try:
            resolved = resolve_draft(self.json_view.read_object(), self._resolve)
            return resolved.errors(check(self.form.field, resolved.draft))
        except FormError as exc:
            return list(exc.errors)

    def problems(self) -> list[FieldError]:
        """Return all known problems including the full validation's, one per pointer."""
        found: dict[str, FieldError] = {}
        for error in (*self.errors(), *self._verdict.errors):
            found.setdefault(error.pointer, error)
        return list(found.values())

    def go_to_next_problem(self) -> None:
        """Bring the problems into view one after the other, in the form or in the text."""
        self._asks_for_missing = True
        problems = self._show_problems()
        if not problems:
            return
        self._problem = (self._problem + 1) % len(problems)
        view = self.json_view if self.is_json_shown() else self.form
        view.go_to(problems[self._problem].pointer)

    def _reveal(self) -> None:
        self._asks_for_missing = True
        self._problem = 0
        problems = self._show_problems()
        if not self.is_json_shown():
            self.form.reveal_errors()
        elif problems:
            self.json_view.go_to(problems[0].pointer)

    def _show_problems(self) -> list[FieldError]:
        """Show the problems. Missing values are not reported until the user asks for problems."""
        problems = self.problems()
        if not self._asks_for_missing:
            problems = [error for error in problems if error.problem != MISSING]
        if self.is_json_shown():
            self.json_view.show_problems(problems)
        self.bar.show_problems(len(problems))
        self.problems_changed.emit(len(problems))
        return problems

    def _on_checked(self, verdict: Verdict) -> None:
        verdict = replace(verdict, errors=tuple(self._resolved.errors(verdict.errors)))
        self._verdict = verdict
        self.form.set_findings(() if self.is_json_shown() else verdict.errors)
        self.bar.say(verdict.unchecked, MUTED)
        self._show_problems()

    # -------------------------------------------------------------- the views

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
            self._refuse(_FORM, f"Not switched: {exc}")
            return False
        if self._written is None or not same(self._written, value):
            self.json_view.set_value(value)
        self._show_view(_JSON)
        self._show_problems()
        return True

    def show_form(self) -> bool:
        """Switch to the form; if the text is no object show why, stay in JSON and return False."""
        if not self.is_json_shown():
            return True
        try:
            self._written = self.json_view.read_object()
        except FormError:
            self._refuse(_JSON, "")
            return False
        self.form.set_value(self._written)
        self.form.set_findings(self._verdict.errors)
        self._show_view(_FORM)
        self._show_problems()
        return True

    def _on_view_chosen(self, view: int) -> None:
        if view == _JSON:
            self.show_json()
        else:
            self.show_form()

    def _show_view(self, view: int) -> None:
        self._views.choose(view)
        self.switch.choose(view)
        self.bar.say("")

    def _refuse(self, view: int, message: str) -> None:
        self.switch.choose(view)
        self.bar.say(message)

    def _new_form(self, field: ObjectField, warnings: Mapping[str, str] | None = None) -> SchemaForm:
        form = SchemaForm(self._theme, field, submit_keys=self._submit_keys, warnings=warnings)
        form.set_resolve(self._resolve)
        form.value_changed.connect(self._on_form_edited)
        form.submitted.connect(self.submitted)
        self._place.setWidget(form)  # deletes the previous one
        return form

    def _on_form_edited(self) -> None:
        self._on_edited()
        self._show_problems()

    def _on_edited(self) -> None:
        self._filling.cancel()  # the user's edit takes precedence
        self.bar.say("")
        self._problem = -1
        self._checking.value_changed()
        self.value_changed.emit()

    def _connect(self) -> None:
        self.bar.view_chosen.connect(self._on_view_chosen)
        self.bar.problem_wanted.connect(self.go_to_next_problem)
        self.bar.example_wanted.connect(self.fill_with_example)
        self.bar.clearing_wanted.connect(self.clear)
        self.json_view.text_changed.connect(self._on_edited)
        self.json_view.text_read.connect(self._show_problems)
        self._checking.checked.connect(self._on_checked)
        on_keys(self, NEXT_PROBLEM_KEY, self.go_to_next_problem)
        if self._submit_keys:
            for part in (self.bar, self.json_view):
                on_submit_keys(part, self.submitted)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.bar)
        column.addWidget(self._views, 1)


def _scrolling() -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setMinimumHeight(_LEAST_HEIGHT)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
