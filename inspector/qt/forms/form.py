"""The form for an object: `SchemaForm`."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.qt.forms.fieldrow import STATE_KEY, FieldRow
from inspector.qt.forms.kit import FormKit
from inspector.qt.forms.look import small_label
from inspector.qt.forms.members import Members
from inspector.qt.theme import SPACE_4, Theme
from inspector.schema.check import check
from inspector.schema.fields import ObjectField
from inspector.schema.values import FieldError, finish

SUBMIT_KEYS = (QKeySequence("Ctrl+Return"), QKeySequence("Ctrl+Enter"))
_NOTHING_TO_FILL_IN = "Nothing to fill in: no arguments are described."


class SchemaForm(QWidget):
    """Widgets for the members of an object, and the value they hold.

    What `set_value` was given comes back from `value` exactly, key order included, until it is edited; keys
    that the form has no row for are kept. The form does not scroll by itself. Without `submit_keys` it leaves
    Ctrl+Return to the window: two shortcuts of the same keys would silence each other.

    Signals:
        value_changed: The person changed something; not emitted by `set_value`.
        submitted: Ctrl+Return was pressed inside the form.
    """

    value_changed = Signal()
    submitted = Signal()

    def __init__(
        self, theme: Theme, field: ObjectField, parent: QWidget | None = None, *, submit_keys: bool = True
    ) -> None:
        super().__init__(parent)
        self._field = field
        kit = FormKit(theme)
        self.members = Members(kit, field, self._on_changed)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_4, SPACE_4, SPACE_4)
        column.setSpacing(SPACE_4)
        for note in field.notes or (() if field.members else (_NOTHING_TO_FILL_IN,)):
            column.addWidget(small_label(kit.look, note))
        column.addWidget(self.members)
        column.addStretch(1)
        if submit_keys:
            on_submit_keys(self, self.submitted)
        _shortcut(self, QKeySequence(STATE_KEY)).activated.connect(self._on_state_key)

    @property
    def field(self) -> ObjectField:
        return self._field

    def rows(self) -> list[FieldRow]:
        """The rows of the outermost members, in the schema's order."""
        return self.members.rows()

    def value(self) -> JSONObject:
        """What would be sent, right or wrong; raises FormError while a raw JSON entry is not JSON."""
        value = finish(self._field, self.members.draft())
        assert isinstance(value, dict)
        return value

    def set_value(self, value: JSONObject) -> None:
        """Show a value instead of what is there. The parts of it are kept, not copied: do not change them."""
        self.members.set_draft(dict(value))
        self._show_errors()

    def errors(self) -> list[FieldError]:
        """What does not fit the schema, in the order of the form."""
        return check(self._field, self.members.draft())

    def reveal_errors(self) -> None:
        """Say in place also what is missing, and go to the first thing that is wrong."""
        self.members.mark_touched()
        self._show_errors()
        wrong = next((row for row in self.rows() if row.problem_text()), None)
        if wrong is not None:
            wrong.slot.editor.widget.setFocus()

    def _on_changed(self) -> None:
        self._show_errors()
        self.value_changed.emit()

    def _show_errors(self) -> None:
        problems: dict[str, str] = {}
        for error in self.errors():
            problems.setdefault(error.pointer, error.problem)
        self.members.show_problems(problems, "")

    def _on_state_key(self) -> None:
        """Open the menu of the innermost field that has the focus."""
        widget = QApplication.focusWidget()
        while widget is not None and widget is not self:
            if isinstance(widget, FieldRow):
                widget.open_state_menu()
                return
            widget = widget.parentWidget()


def on_submit_keys(widget: QWidget, submitted: SignalInstance) -> None:
    """Let Ctrl+Return anywhere inside `widget` emit `submitted`."""
    for keys in SUBMIT_KEYS:
        _shortcut(widget, keys).activated.connect(submitted)


def _shortcut(widget: QWidget, keys: QKeySequence) -> QShortcut:
    shortcut = QShortcut(keys, widget)
    shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    return shortcut
