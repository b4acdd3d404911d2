"""The form for an object: `SchemaForm`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QTimer, Signal, SignalInstance
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.qt.forms import taborder
from inspector.qt.forms.fieldrow import FieldRow
from inspector.qt.forms.kit import FormKit
from inspector.qt.forms.look import small_label
from inspector.qt.forms.members import Members
from inspector.qt.forms.slot import Slot
from inspector.qt.forms.unioneditor import UnionEditor
from inspector.qt.forms.valuerow import STATE_KEY, ValueRow
from inspector.qt.theme import SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.keys import on_keys
from inspector.schema.check import check
from inspector.schema.fields import ObjectField
from inspector.schema.standins import Resolve, resolve_draft
from inspector.schema.values import ABSENT, Draft, FieldError, finish

SUBMIT_KEYS = (QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter"))
_PAUSES_MS = (0, 50, 200)
_NOTHING_TO_FILL_IN = "Nothing to fill in: no arguments are described."


class SchemaForm(QWidget):
    """Widgets for the members of an object, and the value they hold.

    What was passed to `set_value` is returned by `value` exactly, key order included, until it is edited;
    keys without a row are kept. The form does not scroll by itself. Without `submit_keys` it leaves
    Ctrl+Return to the window: two shortcuts with the same keys would disable each other. `warnings` maps
    member names to messages shown beside their fields.

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
    ) -> None:
        super().__init__(parent)
        self._field = field
        self._kit = FormKit(theme, warnings=warnings)
        self._resolve: Resolve | None = None
        self._findings: Sequence[FieldError] = ()
        self._errors: list[FieldError] | None = None  # cache, until something is edited
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(SPACE_3, SPACE_4, SPACE_3, SPACE_4)
        self._column.setSpacing(SPACE_4)
        for note in self._notes():
            self._column.addWidget(small_label(self._kit.look, note))
        self._members: Members | None = None
        self._variants: Slot | None = None
        if field.union is not None:
            self._variants = Slot(self._kit, field.union, self._column, self._on_changed)
        else:
            self._members = Members(self._kit, field, self._on_changed)
            self._column.addWidget(self._members)
        self._column.addStretch(1)
        if submit_keys:
            on_submit_keys(self, self.submitted)
        on_keys(self, STATE_KEY, self._on_state_key)

    @property
    def field(self) -> ObjectField:
        return self._field

    @property
    def members(self) -> Members | None:
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
        value = finish(self._field, self._draft())
        return value if isinstance(value, dict) else {}

    def set_value(self, value: JSONObject) -> None:
        """Show a value. Its parts are not copied: do not modify them afterwards."""
        self._kit.renew()
        self._findings, self._errors = (), None
        if self._members is not None:
            self._members.set_draft(dict(value))
        elif self._variants is not None:
            self._variants.set_draft(value or ABSENT)
        self._show_errors()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return taborder.step(self, forward) or super().focusNextPrevChild(forward)

    # -------------------------------------------------------------- what is wrong

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

    def set_findings(self, findings: Sequence[FieldError]) -> None:
        """Set the results of the full validation, shown where there is no other error."""
        self._findings = findings
        self._show_errors()

    def problems(self) -> list[FieldError]:
        """Return all known problems, one per pointer."""
        problems: dict[str, FieldError] = {}
        for error in (*self.errors(), *self._findings):
            problems.setdefault(error.pointer, error)
        return list(problems.values())

    def reveal_errors(self) -> None:
        """Also show missing values, and go to the first problem."""
        if self.members is not None:
            self.members.mark_touched()
        self._show_errors()
        problems = self.problems()
        if problems:
            self.go_to(problems[0].pointer)

    def go_to(self, pointer: str) -> None:
        """Bring the value at `pointer` into view and focus it."""
        path = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        self._kit.renew()
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
        for pause in _PAUSES_MS:
            QTimer.singleShot(pause, widget, lambda: _scroll_to(row or widget))

    def _draft(self) -> Draft:
        if self._members is not None:
            return self._members.draft()
        return self._variants.draft() if self._variants is not None else ABSENT

    def _on_changed(self) -> None:
        self._errors = None
        self._show_errors()
        self.value_changed.emit()

    def _show_errors(self) -> None:
        problems = {error.pointer: error.problem for error in self.problems()}
        whole = self._members or self._variants
        if whole is not None:
            whole.show_problems(problems, "")

    def _notes(self) -> Sequence[str]:
        field = self._field
        if field.union is not None:
            return ()
        has_rows = field.members or field.rest is not None or field.conditions
        return field.notes or (() if has_rows else (_NOTHING_TO_FILL_IN,))

    def _on_state_key(self) -> None:
        """Open the menu of the innermost focused value."""
        row = _row_around(QApplication.focusWidget(), self)
        if row is not None:
            row.open_state_menu()


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
        on_keys(widget, keys, submitted.emit)
