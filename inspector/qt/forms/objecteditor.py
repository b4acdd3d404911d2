"""An object inside a form."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from inspector.qt.forms.editors import Editor, Kit, OnChange, Problems, unwritten_words
from inspector.qt.forms.members import Members
from inspector.qt.theme import SPACE_1, SPACE_4
from inspector.schema.fields import ObjectField
from inspector.schema.values import ABSENT, Absent, Draft


class ObjectEditor(Editor):
    """A nested object; its rows are made when it is first set."""

    def __init__(self, kit: Kit, field: ObjectField, on_change: OnChange) -> None:
        self._kit = kit
        self._field = field
        self._on_change = on_change
        self._unwritten: Absent | None = ABSENT
        self._is_set = False
        self.members: Members | None = None
        self._frame = self.widget = _Indented()
        self.fill_button = QPushButton()
        self.fill_button.clicked.connect(self._on_fill_clicked)
        self._frame.column.addWidget(self.fill_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._show_state()

    def draft(self) -> Draft:
        return self.members.draft() if self._is_set and self.members is not None else self._unwritten

    def set_draft(self, draft: Draft) -> bool:
        if draft is not ABSENT and draft is not None and not isinstance(draft, dict):
            return False
        self._unwritten = None if draft is None else ABSENT
        self._is_set = isinstance(draft, dict)
        if isinstance(draft, dict):
            self._made_members().set_draft(draft)
        self._show_state()
        return True

    def show_problems(self, problems: Problems, pointer: str) -> None:
        if self.members is not None and self._is_set:
            self.members.show_problems(problems, pointer)

    def mark_touched(self) -> None:
        if self.members is not None:
            self.members.mark_touched()

    def _made_members(self) -> Members:
        if self.members is None:
            self.members = Members(self._kit, self._field, self._on_change)
            self._frame.column.addWidget(self.members)
        return self.members

    def _on_fill_clicked(self) -> None:
        self.set_draft({})
        self._on_change()

    def _show_state(self) -> None:
        words = unwritten_words(self._field, self._unwritten)
        self.fill_button.setText("Fill in" if words == "not set" else f"Fill in ({words})")
        self.fill_button.setVisible(not self._is_set)
        self._frame.set_indented(self._is_set)
        if self.members is not None:
            self.members.setVisible(self._is_set)


class _Indented(QWidget):
    """What belongs to a nested object stands right of one thin line."""

    def __init__(self) -> None:
        super().__init__()
        self._is_indented = False
        self.column = QVBoxLayout(self)
        self.set_indented(False)

    def set_indented(self, indented: bool) -> None:
        self._is_indented = indented
        self.column.setContentsMargins(SPACE_4 if indented else 0, SPACE_1 if indented else 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_indented:
            QPainter(self).fillRect(0, 0, 1, self.height(), self.palette().color(QPalette.ColorRole.Mid))
