"""What every row of a form has: a value's slot, the menu of its states, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel, QMenu, QVBoxLayout, QWidget

from inspector.qt.forms.choiceeditors import CheckListEditor, choices_of
from inspector.qt.forms.editor import Kit, OnChange, Problems
from inspector.qt.forms.filling import Filling
from inspector.qt.forms.jsonfieldeditor import JsonEditor
from inspector.qt.forms.look import ERROR, set_label_text, small_label
from inspector.qt.forms.slot import Slot
from inspector.qt.forms.statemenu import Offer, offers
from inspector.qt.forms.texteditors import LineEditor, LongTextEditor, NumberEditor
from inspector.qt.theme import SPACE_1
from inspector.schema.fields import Field
from inspector.schema.values import Draft, FormError, Unreadable, draft_of, finish

STATE_KEY = "Ctrl+Down"


class ValueRow(QWidget):
    """A value's place in a form. `on_change` is called after each change by the user.

    A subclass lays out its parts in `column` and creates `slot` there.
    """

    slot: Slot
    is_optional = True

    def __init__(self, kit: Kit, on_change: OnChange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kit = kit
        self._on_change = on_change
        self._problem: QLabel | None = None
        self._filling: Filling | None = None
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE_1)

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

    def show_problems(self, problems: Problems, pointer: str) -> None:
        """Show the problem of this value and let the editor mark problems inside it."""
        self.slot.show_problems(problems, pointer)
        problem = problems.get(pointer, "")
        if self._problem is None and problem:
            self._problem = small_label(self._kit.look, "", ERROR)
            self.column.insertWidget(self._problem_place(), self._problem)
        if self._problem is not None:
            set_label_text(self._problem, problem[:1].upper() + problem[1:])
            self._problem.setVisible(bool(problem))

    def mark_touched(self) -> None:
        """From now on, also report missing values, here and inside."""
        self.slot.editor.mark_touched()

    def problem_text(self) -> str:
        """Return the problem shown for this value, "" if none."""
        return self._problem.text() if self._problem is not None else ""

    def at(self, path: Sequence[str]) -> QWidget:
        return self.slot.at(path)

    def open_state_menu(self) -> QMenu:
        """Open the menu of the value's states and alternative editors."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for offer in offers(self.field, is_optional=self.is_optional):
            menu.addAction(offer.words).setData(offer)
        menu.addAction("Fill with an example").triggered.connect(self._on_example_chosen)
        menu.addSeparator()
        self._add_views(menu)
        menu.triggered.connect(self._on_offer_chosen)
        menu.popup(self._menu_corner() - QPoint(menu.sizeHint().width(), 0))
        return menu

    def put(self, draft: Draft) -> None:
        """Set a value the user chose from a menu or a button."""
        self.slot.set_draft(draft)
        self.slot.editor.set_focus()
        self.on_slot_changed()

    def on_slot_changed(self) -> None:
        if self._filling is not None:
            self._filling.cancel()  # the user's edit takes precedence
        self.show_state()
        self._on_change()

    def _menu_corner(self) -> QPoint:
        return self.mapToGlobal(self.rect().topRight())

    def _problem_place(self) -> int:
        return self.column.count()

    def _add_views(self, menu: QMenu) -> None:
        """Add the alternative editors to the menu."""
        editor = self.slot.editor
        is_line = isinstance(editor, LineEditor) and not isinstance(editor, NumberEditor)
        if is_line or isinstance(editor, LongTextEditor):
            menu.addAction("Write several lines").triggered.connect(self.slot.set_several_lines)
        if isinstance(editor, CheckListEditor):
            menu.addAction("Edit as a list").triggered.connect(self._on_rows_chosen)
        elif choices_of(self.field) is not None and not self.slot.is_raw:
            menu.addAction("Edit as checks").triggered.connect(self._on_field_chosen)
        if self.slot.is_raw:
            action = menu.addAction("Edit as a field")
            action.setEnabled(not isinstance(editor.draft(), Unreadable))
            action.triggered.connect(self._on_field_chosen)
        elif not isinstance(editor, JsonEditor):
            menu.addAction("Edit as JSON").triggered.connect(self._on_raw_chosen)

    def _on_offer_chosen(self, action: QAction) -> None:
        offer = action.data()
        if isinstance(offer, Offer):
            self.put(offer.draft)

    def _on_example_chosen(self) -> None:
        field = self.field
        self._filling = self._filling or Filling(self)
        self._filling.begin(field, lambda value: self.put(draft_of(field, value)))

    def _on_raw_chosen(self) -> None:
        try:
            whole = finish(self.field, self.slot.draft())
        except FormError:
            return  # a part is invalid JSON, and marked: it would be lost
        self.slot.set_raw(whole)
        self.on_slot_changed()

    def _on_rows_chosen(self) -> None:
        self.slot.set_rows()
        self.on_slot_changed()

    def _on_field_chosen(self) -> None:
        self.slot.set_draft(self.slot.draft())
        self.on_slot_changed()
