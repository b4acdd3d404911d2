"""JSON Schema form for one object: `SchemaForm`, its editor factory and its tab order.

The factory lists the editors for each kind of field. Tab follows the layout: Qt's own order is that of
creation, which would put rows added or scrolled to later behind all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import shiboken6
from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLayout, QScrollArea, QWidget

from inspector.base.json.values import JSONObject
from inspector.qt.forms.schema.choice_editors import (
    DATE_TIME_FORMATS,
    BooleanEditor,
    CheckListEditor,
    ChoiceEditor,
    ConstEditor,
    DateTimeEditor,
    FileEditor,
    PasswordEditor,
    choices_of,
    const_text,
    fits_in_segments,
)
from inspector.qt.forms.schema.editor import Editor, EditorMaker, OnChange
from inspector.qt.forms.schema.field_row import FieldRow
from inspector.qt.forms.schema.list_editor import ListEditor, TupleEditor
from inspector.qt.forms.schema.map_editor import MapEditor
from inspector.qt.forms.schema.object_editor import MemberRows, ObjectEditor
from inspector.qt.forms.schema.text_editors import (
    JsonEditor,
    LineEditor,
    LinesEditor,
    LongJsonEditor,
    LongTextEditor,
    NumberEditor,
)
from inspector.qt.forms.schema.union_editor import UnionEditor
from inspector.qt.forms.schema.value_row import STATE_KEY, ValueRow, ValueSlot, show_error
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import bind_keys
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import ERROR, FormStyle, small_label
from inspector.schema.check import check
from inspector.schema.fields import (
    BooleanField,
    ChoiceField,
    ConstField,
    Field,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.values import (
    ABSENT,
    Draft,
    FieldError,
    Resolve,
    combined_errors,
    json_of,
    resolve_draft,
)

SUBMIT_KEYS = (QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter"))
_SCROLL_DELAYS_MS = (0, 50, 200)
_LEGEND = "* required"
_NO_ARGUMENTS = "This tool takes no arguments."
# Created before the first paint; the other rows as they come into view.
_ROWS_AT_ONCE = 40


class SchemaForm(QWidget):
    """Widgets for the members of an object, and the value they hold.

    What was passed to `set_value` is returned by `value` exactly, key order included, until it is edited;
    keys without a row are kept. The form does not scroll by itself. Without `submit_keys` it leaves
    Ctrl+Return to the window: two shortcuts with the same keys would disable each other. `warnings` maps
    member names to messages shown beside their fields. With `takes_own_keys`, keys that the schema allows but
    does not name can be added.

    Signals:
        value_changed: The user changed something; not emitted by `set_value`.
        submitted: Ctrl+Return was pressed inside the form.
    """

    value_changed = Signal()
    submitted = Signal()

    def __init__(
        self,
        theme: Theme,
        field: ObjectField,
        parent: QWidget | None = None,
        *,
        submit_keys: bool = True,
        warnings: Mapping[str, str] | None = None,
        takes_own_keys: bool = False,
    ) -> None:
        super().__init__(parent)
        self._field = field
        self._factory = SchemaEditorFactory(theme, warnings=warnings, takes_own_keys=takes_own_keys)
        self._resolve: Resolve | None = None
        self._validation_errors: Sequence[FieldError] = ()
        self._is_final = False  # the validation of the current value found everything
        self._errors: list[FieldError] | None = None  # cache, until something is edited
        self._column = vbox(
            self,
            *(small_label(self._factory.style, note) for note in self._notes()),
            gap=SPACE_4,
            margin=(SPACE_3, SPACE_4),
        )
        self._error_label = small_label(self._factory.style, "", ERROR)
        self._error_label.hide()
        self._column.addWidget(self._error_label)
        self._members: MemberRows | None = None
        self._variants: ValueSlot | None = None
        if field.union is not None:
            self._variants = ValueSlot(self._factory, field.union, self._column, self._on_changed)
        else:
            self._members = MemberRows(self._factory, field, self._on_changed)
            self._column.addWidget(self._members)
        self._column.addStretch(1)
        if submit_keys:
            on_submit_keys(self, self.submitted)
        bind_keys(self, STATE_KEY, self._on_state_key)
        self._focused_row: FieldRow | None = None
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._on_focus_changed)

    @property
    def field(self) -> ObjectField:
        return self._field

    @property
    def members(self) -> MemberRows | None:
        """The outermost members; of the selected variant if there are several."""
        if self._members is not None or self._variants is None:
            return self._members
        slot = self._variants.editor.slot if isinstance(self._variants.editor, UnionEditor) else None
        return getattr(slot.editor, "members", None) if slot is not None else None

    @property
    def variants(self) -> UnionEditor | None:
        """The variant picker of the arguments, if there are several variants."""
        editor = self._variants.editor if self._variants is not None else None
        return editor if isinstance(editor, UnionEditor) else None

    def rows(self) -> list[FieldRow]:
        """Return the rows of the outermost members, in the schema's order."""
        return self.members.rows() if self.members is not None else []

    def value(self) -> JSONObject:
        """Return the value as it would be sent, valid or not.

        Raises FormError while a part of it cannot be sent at all.
        """
        value = json_of(self._field, self._draft())
        return value if isinstance(value, dict) else {}

    def set_value(self, value: JSONObject) -> None:
        """Show a value. Its parts are not copied: do not modify them afterwards."""
        self._factory.reset_budget()
        self._validation_errors, self._is_final, self._errors = (), False, None
        if self._members is not None:
            self._members.set_draft(dict(value))
        elif self._variants is not None:
            self._variants.set_draft(value or ABSENT)
        self._show_errors()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return move_focus(self, forward) or super().focusNextPrevChild(forward)

    def errors(self) -> list[FieldError]:
        """Return the immediate errors of the fields, in form order."""
        if self._errors is None:
            resolved = resolve_draft(self._draft(), self._resolve)
            self._errors = resolved.errors(check(self._field, resolved.draft))
        return self._errors

    def set_resolve(self, resolve: Resolve | None) -> None:
        """Set how `${name}` is resolved: fields are checked as they would be sent."""
        self._resolve, self._errors = resolve, None
        self._show_errors()

    def set_validation_errors(self, findings: Sequence[FieldError], *, is_final: bool = False) -> None:
        """Set the results of the full validation; if final, they decide until the next edit."""
        self._validation_errors, self._is_final = findings, is_final
        self._show_errors()

    def all_errors(self) -> list[FieldError]:
        """Return all known errors, one per pointer."""
        return combined_errors(self.errors(), self._validation_errors, is_final=self._is_final)

    def reveal_errors(self) -> None:
        """Also show missing values, and go to the first error."""
        if self.members is not None:
            self.members.mark_touched()
        self._show_errors()
        errors = self.all_errors()
        if errors:
            self.go_to(errors[0].pointer)

    def go_to(self, pointer: str) -> None:
        """Bring the value at `pointer` into view and focus it."""
        path = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        self._factory.reset_budget()
        whole = self._members or self._variants
        assert whole is not None
        widget = whole.at(path)
        row = _row_around(widget, self)
        if row is not None:
            row.mark_touched()
            self._show_errors()
        if row is not None and row.slot.editor.widget is widget:
            row.slot.editor.set_focus()
        else:
            widget.setFocus()
        # The row, or rows above it, may just have been created: its position is final later.
        for pause in _SCROLL_DELAYS_MS:
            QTimer.singleShot(pause, widget, lambda: _scroll_to(row or widget))

    def _draft(self) -> Draft:
        if self._members is not None:
            return self._members.draft()
        return self._variants.draft() if self._variants is not None else ABSENT

    def _on_changed(self) -> None:
        self._errors, self._is_final = None, False
        self._show_errors()
        self.value_changed.emit()

    def _show_errors(self) -> None:
        errors = {error.pointer: error.problem for error in self.all_errors()}
        whole = self._members or self._variants
        if whole is not None:
            whole.show_errors(errors, "")
        show_error(self._error_label, errors.get("", ""))

    def error_text(self) -> str:
        """Return the error shown for the whole object, "" if none."""
        return self._error_label.text()

    def _notes(self) -> Sequence[str]:
        field = self._field
        if field.union is not None:
            return ()
        has_rows = field.members or field.rest is not None or field.conditions
        notes = field.notes or (() if has_rows else (_NO_ARGUMENTS,))
        return (*notes, _LEGEND) if any(member.required for member in field.members) else notes

    def _on_focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        previous, self._focused_row = self._focused_row, _field_row_around(new, self)
        if previous is not None and shiboken6.isValid(previous):
            previous.set_focused(False)
        if self._focused_row is not None:
            self._focused_row.set_focused(True)

    def _on_state_key(self) -> None:
        """Open the menu of the innermost focused value."""
        row = _row_around(QApplication.focusWidget(), self)
        if row is not None:
            row.open_state_menu()


def _field_row_around(widget: QWidget | None, form: QWidget) -> FieldRow | None:
    row = _row_around(widget, form)
    while row is not None and not isinstance(row, FieldRow):
        row = _row_around(row.parentWidget(), form)
    return row


def _row_around(widget: QWidget | None, form: QWidget) -> ValueRow | None:
    while widget is not None and widget is not form:
        if isinstance(widget, ValueRow):
            return widget
        widget = widget.parentWidget()
    return None


def _scroll_to(widget: QWidget) -> None:
    focused = QApplication.focusWidget()
    if focused is None or not (focused is widget or widget.isAncestorOf(focused)):
        return  # the user has moved on
    outer = widget.parentWidget()
    while outer is not None and not isinstance(outer, QScrollArea):
        outer = outer.parentWidget()
    if outer is not None:
        outer.ensureWidgetVisible(widget, 0, SPACE_4)


def on_submit_keys(widget: QWidget, submitted: SignalInstance) -> None:
    """Let Ctrl+Return anywhere inside `widget` emit `submitted`."""
    for keys in SUBMIT_KEYS:
        bind_keys(widget, keys, submitted.emit)


class SchemaEditorFactory:
    """Creates the editors of a form, at one depth."""

    def __init__(
        self,
        theme: Theme,
        outer: SchemaEditorFactory | None = None,
        warnings: Mapping[str, str] | None = None,
        takes_own_keys: bool = False,
        tag: str = "",
    ) -> None:
        self.tag = tag
        self.takes_own_keys: bool = outer.takes_own_keys if outer is not None else takes_own_keys
        self.style: FormStyle = outer.style if outer is not None else FormStyle.of(theme)
        self.depth: int = 0
        self.warnings: Mapping[str, str] = warnings or {}
        self._theme = theme
        self._budget: _Budget = outer._budget if outer is not None else _Budget()

    def nested(self) -> SchemaEditorFactory:
        inner = SchemaEditorFactory(self._theme, self)
        inner.depth = self.depth + 1
        return inner

    def tagged(self, tag: str) -> SchemaEditorFactory:
        same_level = SchemaEditorFactory(self._theme, self, tag=tag)
        same_level.depth = self.depth
        return same_level

    def claim_row(self) -> bool:
        return self._budget.take()

    def reset_budget(self) -> None:
        self._budget.left = _ROWS_AT_ONCE

    def makers(self, field: Field) -> Sequence[EditorMaker]:
        return (*self._own_makers(field), self._long_json, self._json)

    def _own_makers(self, field: Field) -> Sequence[EditorMaker]:
        match field:
            case TextField():
                return self._text_makers(field)
            case NumberField():
                return (lambda _, on_change: NumberEditor(self.style, field, on_change),)
            case BooleanField():
                return (lambda _, on_change: BooleanEditor(self.style, field, on_change),)
            case ConstField() if fits_in_segments(self.style, ("not set", const_text(field), "null")):
                return (lambda _, on_change: ConstEditor(self.style, field, on_change),)
            case ChoiceField():
                return (lambda _, on_change: ChoiceEditor(self.style, field, on_change),)
            case ListField():
                return self._list_makers(field)
            case TupleField():
                return (lambda _, on_change: TupleEditor(self, field, on_change),)
            case MapField():
                return (lambda _, on_change: MapEditor(self, field, on_change),)
            case ObjectField():
                return (lambda _, on_change: ObjectEditor(self, field, on_change),)
            case UnionField() if field.variants:
                return (lambda _, on_change: UnionEditor(self, field, on_change),)
        return ()

    def _text_makers(self, field: TextField) -> Sequence[EditorMaker]:
        if field.content_encoding == "base64":
            return (lambda _, on_change: FileEditor(self.style, field, on_change), self._long)
        if field.multiline:
            return (self._lines, self._long)
        if field.format == "password":
            return (
                lambda _, on_change: PasswordEditor(self.style, field, on_change),
                self._lines,
                self._long,
            )
        if field.format in DATE_TIME_FORMATS:
            return (
                lambda _, on_change: DateTimeEditor(self.style, field, on_change),
                self._lines,
                self._long,
            )
        return (self._line, self._lines, self._long)

    def _list_makers(self, field: ListField) -> Sequence[EditorMaker]:
        rows: EditorMaker = lambda _, on_change: ListEditor(self, field, on_change)  # noqa: E731
        choices = choices_of(field)
        if choices is None:
            return (rows,)
        return (lambda _, on_change: CheckListEditor(self.style, field, choices, on_change), rows)

    def _line(self, field: Field, on_change: OnChange) -> Editor:
        return LineEditor(self.style, field, on_change)

    def _lines(self, field: Field, on_change: OnChange) -> Editor:
        return LinesEditor(self.style, field, on_change)

    def _long(self, field: Field, on_change: OnChange) -> Editor:
        return LongTextEditor(self.style, field, on_change)

    def _long_json(self, field: Field, on_change: OnChange) -> Editor:
        return LongJsonEditor(self.style, field, on_change)

    def _json(self, field: Field, on_change: OnChange) -> Editor:
        return JsonEditor(self.style, field, on_change)


class _Budget:
    """The number of rows that may still be created in this turn of the event loop, at any depth."""

    left = _ROWS_AT_ONCE

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


def move_focus(form: QWidget, forward: bool) -> bool:
    """Move the focus to the next or previous widget; at an end of the form, to one outside.

    Return False if there is none.
    """
    stops = [widget for widget in _widgets_in(form) if _is_tab_stop(widget)]
    focused = form.focusWidget()
    here = next((position for position, widget in enumerate(stops) if widget is focused), None)
    if here is None:
        return False
    position = here + (1 if forward else -1)
    target = stops[position] if 0 <= position < len(stops) else _next_outside(form, focused, forward)
    if target is None:
        return False
    target.setFocus(Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason)
    return True


def _widgets_in(widget: QWidget) -> Iterator[QWidget]:
    """Yield the widgets inside, in layout order."""
    layout = widget.layout()
    if layout is not None:
        yield from _widgets_in_layout(layout)


def _widgets_in_layout(layout: QLayout) -> Iterator[QWidget]:
    for position in range(layout.count()):
        item = layout.itemAt(position)
        assert item is not None
        inner, widget = item.layout(), item.widget()
        if inner is not None:
            yield from _widgets_in_layout(inner)
        elif widget is not None and widget.isVisible():
            yield widget
            yield from _widgets_in(widget)


def _is_tab_stop(widget: QWidget) -> bool:
    takes_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return takes_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None


def _next_outside(form: QWidget, focused: QWidget, forward: bool) -> QWidget | None:
    widget: QWidget | None = focused
    while widget is not None:
        widget = widget.nextInFocusChain() if forward else widget.previousInFocusChain()
        if widget is None or widget is focused:
            return None
        if not form.isAncestorOf(widget) and _is_tab_stop(widget):
            return widget
    return None
