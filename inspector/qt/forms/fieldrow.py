"""One member of an object in a form: head, editor, description, and what is wrong with it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.forms.editors import JsonEditor, Kit, LineEditor, NumberEditor, OnChange, Problems
from inspector.qt.forms.fieldhead import FieldHead
from inspector.qt.forms.look import ERROR, MUTED, set_label_text, small_label
from inspector.qt.forms.slot import Slot
from inspector.qt.forms.statemenu import Offer, offers, state_words
from inspector.qt.forms.textbutton import TextButton
from inspector.qt.theme import SPACE_1
from inspector.schema.check import MISSING
from inspector.schema.fields import Field, JsonField, Member
from inspector.schema.values import ABSENT, Draft, FormError, Unreadable, finish

STATE_KEY = "Ctrl+Down"


class FieldRow(QWidget):
    """A member with everything that belongs to it. `on_change` is called after each change by the person.

    That a required value is missing is said only once the field was touched: a fresh form is not wrong yet.
    """

    def __init__(self, kit: Kit, member: Member, on_change: OnChange, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.member = member
        self._was_touched = False
        self._kit = kit
        self._on_change = on_change
        self._problem: QLabel | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        head = QHBoxLayout()
        head.setSpacing(SPACE_1)
        self._column.addLayout(head)
        # The editor is made before the buttons: Tab goes in the order of making.
        self.slot = Slot(kit, member.field, self._column, self._on_slot_changed)
        self.slot.editor.widget.setAccessibleName(one_line(member.field.title or member.name))
        head.addWidget(FieldHead(kit.look, member, self))
        self.default_button = self._make_default_button(head)
        self.state_button = self._make_state_button(head)
        if help_text := _help_text(member.field):
            self._column.addWidget(small_label(kit.look, help_text))
        self._show_state()

    def draft(self) -> Draft:
        return self.slot.draft()

    def set_draft(self, draft: Draft) -> None:
        self._was_touched = False
        self.slot.set_draft(draft)
        self._show_state()

    def show_problems(self, problems: Problems, pointer: str) -> None:
        """Say what is wrong here, and let the editor mark what is wrong inside it."""
        if problems.get(pointer) == MISSING and not self._was_touched:
            problems = {}  # what is not there has nothing wrong inside it either
        self.slot.show_problems(problems, pointer)
        problem = problems.get(pointer, "")
        if self._problem is None and problem:
            self._problem = small_label(self._kit.look, "", ERROR)
            self._column.insertWidget(2, self._problem)
        if self._problem is not None:
            set_label_text(self._problem, problem[:1].upper() + problem[1:])
            self._problem.setVisible(bool(problem))

    def mark_touched(self) -> None:
        """From now on say also that something is missing, here and inside."""
        self._was_touched = True
        self.slot.editor.mark_touched()

    def problem_text(self) -> str:
        """What is said to be wrong with this field, if anything."""
        return self._problem.text() if self._problem is not None else ""

    def open_state_menu(self) -> QMenu:
        """The field's states, to choose from."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for offer in offers(self.member.field):
            menu.addAction(offer.words).setData(offer)
        menu.addSeparator()
        self._add_views(menu)
        menu.triggered.connect(self._on_offer_chosen)
        corner = self.state_button.mapToGlobal(self.state_button.rect().bottomRight())
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))
        return menu

    def _add_views(self, menu: QMenu) -> None:
        """Other ways of editing the same value."""
        editor = self.slot.editor
        if isinstance(editor, LineEditor) and not isinstance(editor, NumberEditor):
            menu.addAction("Write several lines").triggered.connect(self._on_lines_chosen)
        if self.slot.is_raw:
            action = menu.addAction("Edit as a field")
            action.setEnabled(not isinstance(editor.draft(), Unreadable))
            action.triggered.connect(self._on_field_chosen)
        elif not isinstance(editor, JsonEditor):
            menu.addAction("Edit as JSON").triggered.connect(self._on_raw_chosen)

    def _on_offer_chosen(self, action: QAction) -> None:
        offer = action.data()
        if isinstance(offer, Offer):
            self._put(offer.draft)

    def _on_default_clicked(self) -> None:
        self._put(self.member.field.default)

    def _on_lines_chosen(self) -> None:
        self.slot.set_several_lines()

    def _on_raw_chosen(self) -> None:
        try:
            whole = finish(self.member.field, self.slot.draft())
        except FormError:
            return  # a part is not JSON, and marked as such: it would be lost
        self.slot.set_raw(whole)
        self._on_slot_changed()

    def _on_field_chosen(self) -> None:
        self.slot.set_draft(self.slot.draft())
        self._on_slot_changed()

    def _put(self, draft: Draft) -> None:
        """Change the value for the person, who chose it from a menu or a button."""
        self.slot.set_draft(draft)
        self.slot.editor.widget.setFocus()
        self._on_slot_changed()

    def _on_slot_changed(self) -> None:
        self._was_touched = True
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        draft = self.slot.draft()
        words = state_words(self.member.field, draft)
        self.state_button.setText(f"{words}, as JSON ▾" if self.slot.is_raw else f"{words} ▾")
        self.state_button.updateGeometry()
        if self.default_button is not None:
            self.default_button.setVisible(draft is ABSENT)

    def _make_default_button(self, head: QHBoxLayout) -> TextButton | None:
        if self.member.field.default is ABSENT:
            return None
        button = self._small_button("use default", QPalette.ColorRole.Link)
        button.clicked.connect(self._on_default_clicked)
        head.addWidget(button)
        return button

    def _make_state_button(self, head: QHBoxLayout) -> TextButton:
        button = self._small_button("", MUTED)
        button.setToolTip(f"Not set, null, empty, default, or JSON ({STATE_KEY})")
        button.clicked.connect(self.open_state_menu)
        head.addWidget(button)
        return button

    def _small_button(self, text: str, role: QPalette.ColorRole) -> TextButton:
        button = TextButton(text, self._kit.look.small, role, self)
        # Tab goes from editor to editor; STATE_KEY opens the menu from the keyboard.
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return button


def _help_text(field: Field) -> str:
    """The server's description, then what we have to say about the field."""
    reason = f"Written as JSON: {field.reason}" if isinstance(field, JsonField) else ""
    return "\n".join(text for text in (field.description.strip(), reason, *field.notes) if text)
