"""Base of all form rows: the editor slot of one value, its state menu, example and errors.

`ValueSlot` shows a draft in the first editor that returns it exactly. Absent, null, empty and default are
four different states; the label names the current one and the menu offers the others. Examples are
generated in slices of 8 ms: a schema can ask for a huge one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from PySide6.QtCore import QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QBoxLayout, QLabel, QMenu, QWidget

from inspector.base.json.text import same, write_line
from inspector.base.json.values import JSON, shorten
from inspector.base.plain_text import one_line
from inspector.qt.forms.schema.choice_editors import CheckListEditor, choices_of
from inspector.qt.forms.schema.editor import Editor, EditorFactory, Errors, OnChange
from inspector.qt.forms.schema.text_editors import (
    JsonEditor,
    LineEditor,
    LinesEditor,
    LongJsonEditor,
    LongTextEditor,
    NumberEditor,
    is_large,
)
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import ERROR, set_label_text, small_label
from inspector.schema.drafts import unwrapped
from inspector.schema.fields import (
    Field,
    JsonField,
    ListField,
    MapField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.samples import Steps, example_steps
from inspector.schema.values import (
    ABSENT,
    Draft,
    FormError,
    Pairs,
    Picked,
    Unreadable,
    draft_of,
    json_of,
)

STATE_KEY = "Ctrl+Down"
_RAW_LEVELS = 2  # the last editors of every field: for large JSON, and for any JSON
_EMPTY: tuple[tuple[type[Field], str, Draft], ...] = (
    (TextField, "Empty string", ""),
    (ListField, "Empty array", []),
    (TupleField, "Empty array", []),
    (ObjectField, "Empty object", {}),
    (MapField, "Empty object", Pairs()),
)
_MAX_VARIANTS = 8  # checked for empty values
_MAX_COMPARED_SIZE = 50  # parts; the state is recomputed on each key press
_SLICE_SECONDS = 0.008
_MIN_STEPS = 200  # an ordinary form is filled at once, also on a busy machine


class ValueRow(QWidget):
    """A value's place in a form. `on_change` is called after each change by the user.

    A subclass lays out its parts in `column` and creates `slot` there.
    """

    slot: ValueSlot
    is_optional = True

    def __init__(self, factory: EditorFactory, on_change: OnChange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._factory = factory
        self._on_change = on_change
        self._error_label: QLabel | None = None
        self._example_filler: ExampleFiller | None = None
        self.column = vbox(self, gap=SPACE_1)

    @property
    def field(self) -> Field:
        return self.slot.field

    def draft(self) -> Draft:
        return self.slot.draft()

    def set_draft(self, draft: Draft) -> None:
        self.slot.set_draft(draft)
        self.show_state()

    def show_state(self) -> None:
        """Show the state of the value in the row, if there is room."""

    def show_errors(self, errors: Errors, pointer: str) -> None:
        """Show the error of this value and let the editor mark errors inside it."""
        self.slot.show_errors(errors, pointer)
        error = errors.get(pointer, "")
        if self._error_label is None and error:
            self._error_label = small_label(self._factory.style, "", ERROR)
            self.column.insertWidget(self._error_position(), self._error_label)
        if self._error_label is not None:
            show_error(self._error_label, error)

    def mark_touched(self) -> None:
        """From now on, also report missing values, here and inside."""
        self.slot.editor.mark_touched()

    def error_text(self) -> str:
        """Return the error shown for this value, "" if none."""
        return self._error_label.text() if self._error_label is not None else ""

    def at(self, path: Sequence[str]) -> QWidget:
        return self.slot.at(path)

    def open_state_menu(self) -> QMenu:
        """Open the menu of the value's states and alternative editors."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for option in state_options(self.field, is_optional=self.is_optional):
            menu.addAction(option.text).setData(option)
        menu.addAction("Fill with example").triggered.connect(self._on_example_chosen)
        menu.addSeparator()
        self._add_views(menu)
        menu.triggered.connect(self._on_option_chosen)
        menu.popup(self._menu_corner() - QPoint(menu.sizeHint().width(), 0))
        return menu

    def put(self, draft: Draft) -> None:
        """Set a value the user chose from a menu or a button."""
        self.slot.set_draft(draft)
        self.slot.editor.set_focus()
        self.on_slot_changed()

    def on_slot_changed(self) -> None:
        if self._example_filler is not None:
            self._example_filler.cancel()  # the user's edit takes precedence
        self.show_state()
        self._on_change()

    def _menu_corner(self) -> QPoint:
        return self.mapToGlobal(self.rect().topRight())

    def _error_position(self) -> int:
        return self.column.count()

    def _add_views(self, menu: QMenu) -> None:
        """Add the alternative editors to the menu."""
        editor = self.slot.editor
        is_line = isinstance(editor, LineEditor) and not isinstance(editor, NumberEditor)
        if is_line or isinstance(editor, LongTextEditor):
            menu.addAction("Edit as multi-line text").triggered.connect(self.slot.set_multiline)
        if isinstance(editor, CheckListEditor):
            menu.addAction("Edit as list").triggered.connect(self._on_rows_chosen)
        elif choices_of(self.field) is not None and not self.slot.is_raw:
            menu.addAction("Edit as checkboxes").triggered.connect(self._on_field_chosen)
        if self.slot.is_raw:
            action = menu.addAction("Edit as field")
            action.setEnabled(not isinstance(editor.draft(), Unreadable))
            action.triggered.connect(self._on_field_chosen)
        elif not isinstance(editor, JsonEditor):
            menu.addAction("Edit as JSON").triggered.connect(self._on_raw_chosen)

    def _on_option_chosen(self, action: QAction) -> None:
        option = action.data()
        if isinstance(option, StateOption):
            self.put(option.draft)

    def _on_example_chosen(self) -> None:
        field = self.field
        self._example_filler = self._example_filler or ExampleFiller(self)
        self._example_filler.start(field, lambda value: self.put(draft_of(field, value)))

    def _on_raw_chosen(self) -> None:
        try:
            whole = json_of(self.field, self.slot.draft())
        except FormError:
            return  # a part is invalid JSON, and marked: it would be lost
        self.slot.set_raw(whole)
        self.on_slot_changed()

    def _on_rows_chosen(self) -> None:
        self.slot.show_as_rows()
        self.on_slot_changed()

    def _on_field_chosen(self) -> None:
        self.slot.set_draft(self.slot.draft())
        self.on_slot_changed()


def show_error(label: QLabel, problem: str) -> None:
    """Show an error as a sentence, or nothing."""
    set_label_text(label, problem[:1].upper() + problem[1:])
    label.setVisible(bool(problem))


class ValueSlot:
    """One value's place in a layout.

    Shows every draft, in the first of the field's editors that returns it exactly; the last one is raw
    JSON. `on_change` is called after each change by the user. Only a value that `is_optional` can be not set.
    """

    def __init__(
        self,
        factory: EditorFactory,
        field: Field,
        layout: QBoxLayout,
        on_change: OnChange,
        *,
        is_optional: bool = True,
    ) -> None:
        self.field = field
        self._is_optional = is_optional
        self._factory = factory
        self._layout = layout
        self._on_change = on_change
        self._makers = factory.makers(field)
        self._level = 0
        self._name = ""
        if isinstance(field, JsonField):
            self._level = len(self._makers) - 1  # about to be written, not large yet
        self.editor = self._make(self._level)
        layout.addWidget(self.editor.widget)

    @property
    def is_raw(self) -> bool:
        """True if the value is shown as JSON although the field has a dedicated editor."""
        return isinstance(self.editor, JsonEditor | LongJsonEditor) and not isinstance(self.field, JsonField)

    def set_name(self, name: str) -> None:
        """Set the accessible name, in whichever editor."""
        self._name = name
        self.editor.set_name(name)

    def draft(self) -> Draft:
        return self.editor.draft()

    def value_draft(self) -> Draft:
        """Return the draft as JSON for another field; raises FormError if it is not JSON."""
        return json_of(self.field, self.editor.draft())

    def set_draft(self, draft: Draft) -> None:
        self._show(draft, 0)

    def set_raw(self, draft: Draft) -> None:
        """Show a draft, JSON only, as JSON text, whatever the field."""
        self._show(draft, len(self._makers) - _RAW_LEVELS)

    def show_as_rows(self) -> None:
        """Show a list of choices row by row, where items can be duplicated and moved."""
        self._show(self.editor.draft(), 1)

    def set_multiline(self) -> None:
        """Switch a text to a multi-line editor without changing it."""
        self._edit_text(self.editor.draft())

    def set_field(self, field: Field, initial: Draft | None = None) -> None:
        """Use another field for the same value, or for `initial`; does nothing if the value is not JSON."""
        if field is self.field:
            return
        try:
            value = self.value_draft() if initial is None else initial
        except FormError:
            return
        had_focus = _has_focus(self.editor.widget)
        self.field, self._makers, self._level = field, self._factory.makers(field), -1
        self.set_draft(value)
        if had_focus:
            self.editor.set_focus()

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self.editor.show_errors(errors, pointer)

    def at(self, path: Sequence[str]) -> QWidget:
        return self.editor.at(path)

    def _make(self, level: int) -> Editor:
        return self._prepared(self._makers[level](self.field, self._on_change))

    def _prepared(self, editor: Editor) -> Editor:
        editor.on_outgrown = self._on_outgrown
        editor.set_optional(self._is_optional)
        return editor

    def _show(self, draft: Draft, first: int) -> None:
        for level in range(first, len(self._makers)):
            if level == len(self._makers) - _RAW_LEVELS:
                draft = self._as_json(draft)
                if not is_large(draft):
                    continue
            if level != self._level:
                self._replace_editor(self._make(level))
                self._level = level
            if self.editor.set_draft(draft):
                return

    def _as_json(self, draft: Draft) -> Draft:
        """Return the draft for raw JSON; `Unreadable` if a part of it cannot be sent."""
        if draft is ABSENT or isinstance(draft, Unreadable):
            return draft
        try:
            return json_of(self.field, draft)
        except FormError as exc:
            return Unreadable("", str(exc))

    def _on_outgrown(self, draft: Draft) -> None:
        """Switch editors when the value outgrew the current one or a long text is to be edited."""
        had_focus = _has_focus(self.editor.widget)
        if isinstance(self.editor, LongTextEditor):
            self._edit_text(draft)
        elif isinstance(self.editor, LongJsonEditor):
            self._show(draft, len(self._makers) - 1)
        else:
            self.set_draft(draft)
        if had_focus:
            self.editor.set_focus()
        self._on_change()

    def _edit_text(self, draft: Draft) -> None:
        had_focus = _has_focus(self.editor.widget)
        editor = self._prepared(
            LinesEditor(self._factory.style, self.field, self._on_change, max_length=None)
        )
        if not isinstance(self.field, TextField) or not editor.set_draft(draft):
            self.set_raw(draft)
            return
        self._replace_editor(editor)
        self._level = -1
        if had_focus:
            editor.set_focus()

    def _replace_editor(self, editor: Editor) -> None:
        old = self.editor.widget
        editor.set_name(self._name)
        self._layout.replaceWidget(old, editor.widget)
        old.hide()
        old.deleteLater()  # this may run inside its own signal
        self.editor = editor


def _has_focus(widget: QWidget) -> bool:
    focused = widget.window().focusWidget() if widget.isVisible() else None
    return focused is not None and (focused is widget or widget.isAncestorOf(focused))


@dataclass(frozen=True, slots=True)
class StateOption:
    """A menu entry: its label and the draft it sets."""

    text: str
    draft: Draft


def state_text(field: Field, draft: Draft) -> str:
    """Return a short label for the state, as shown beside the field."""
    value = unwrapped(draft)
    if value is ABSENT:
        return "not set"
    if isinstance(value, Unreadable):
        return "invalid JSON"
    if field.default is not ABSENT and _is_default(field, draft, value):
        return "default"
    if value is None:
        return "null"
    return "empty" if value in ("", [], {}) else "set"


def state_options(field: Field, *, is_optional: bool = True) -> Iterator[StateOption]:
    """Yield the values that can be set in one click, in menu order."""
    if is_optional:
        yield StateOption("Not set", ABSENT)
    if field.nullable or isinstance(field, JsonField):  # a JsonField may be nullable
        yield StateOption("Null", None)
    yield from _empties(field)
    if field.default is not ABSENT:
        yield StateOption(f"Default: {_shown(field.default)}", draft_of(field, field.default))
    for example in field.examples:
        yield StateOption(f"Example: {_shown(example)}", draft_of(field, example))


def _empties(field: Field) -> Iterator[StateOption]:
    """Yield the empty values of the field's type; of a union, of each variant's type."""
    if not isinstance(field, UnionField):
        yield from (StateOption(text, empty) for kind, text, empty in _EMPTY if isinstance(field, kind))
        return
    used: set[str] = set()
    for position, variant in enumerate(field.variants[:_MAX_VARIANTS]):
        for option in _empties(variant.field) if not isinstance(variant.field, UnionField) else ():
            if option.text not in used:
                used.add(option.text)
                yield StateOption(option.text, Picked(position, option.draft))


def _is_default(field: Field, draft: Draft, value: object) -> bool:
    default = field.default
    assert default is not ABSENT
    if isinstance(value, dict | list):
        if not isinstance(default, dict | list) or len(value) != len(default):
            return False
        if len(value) > _MAX_COMPARED_SIZE:
            return False
    elif isinstance(value, str) and value != default:
        return False
    try:
        whole = json_of(field, draft)
    except FormError:
        return False
    return whole is not ABSENT and same(whole, default)


def _shown(value: JSON) -> str:
    # In a menu, an ampersand marks the next letter as mnemonic unless doubled.
    return one_line(shorten(write_line(value), 60)).replace("&", "&&")


class ExampleFiller(QObject):
    """Generates one example at a time; a new one replaces the one in progress."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._slices: Steps[JSON] | None = None
        self._put: Callable[[JSON], None] | None = None
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._run_slice)

    @property
    def is_busy(self) -> bool:
        return self._slices is not None

    def start(self, field: Field, put: Callable[[JSON], None]) -> None:
        """Generate an example and pass it to `put`, usually at once, otherwise when done."""
        self._slices, self._put = example_steps(field), put
        self._timer.start()
        self._run_slice()

    def cancel(self) -> None:
        self._slices = self._put = None
        self._timer.stop()

    def _run_slice(self) -> None:
        slices, put = self._slices, self._put
        if slices is None or put is None:
            return
        until = time.perf_counter() + _SLICE_SECONDS
        try:
            for step in itertools.count():
                if step >= _MIN_STEPS and time.perf_counter() >= until:
                    return
                next(slices)
        except StopIteration as done:
            self.cancel()
            put(cast(JSON, done.value))
