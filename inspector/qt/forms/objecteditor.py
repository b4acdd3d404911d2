"""An object inside a form."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.qt.forms.editor import Editor, Kit, OnChange, Problems
from inspector.qt.forms.indent import Indented
from inspector.qt.forms.members import Members
from inspector.schema.fields import ObjectField
from inspector.schema.start import start
from inspector.schema.values import ABSENT, Absent, Draft


class ObjectEditor(Editor):
    """A nested object. Its rows are created when it is first set, so a schema may be recursive."""

    def __init__(self, kit: Kit, field: ObjectField, on_change: OnChange) -> None:
        self._kit = kit
        self._field = field
        self._on_change = on_change
        self._unwritten: Absent | None = ABSENT
        self._is_set = False
        self._was_touched = False
        self.members: Members | None = None
        self._frame = self.widget = Indented(kit.depth)
        self.fill_button = QPushButton()
        kit.look.theme.dress(self.fill_button, "plus", "muted")
        self.fill_button.clicked.connect(self._on_fill_clicked)
        self._frame.column.addWidget(self.fill_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.widget.setFocusProxy(self.fill_button)
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

    def at(self, path: Sequence[str]) -> QWidget:
        return self.members.at(path) if self.members is not None and self._is_set else self.widget

    def set_focus(self) -> None:
        rows = self.members.rows() if self.members is not None and self._is_set else []
        if rows:
            rows[0].slot.editor.set_focus()
        else:
            self.fill_button.setFocus()

    def _made_members(self) -> Members:
        if self.members is None:
            self.members = Members(self._kit.deeper(), self._field, self._on_change)
            self._frame.column.addWidget(self.members)
        return self.members

    def _on_fill_clicked(self) -> None:
        first = start(self._field)
        self.set_draft(first if isinstance(first, dict) else {})
        self._on_change()
        self.set_focus()

    def _show_state(self) -> None:
        self.fill_button.setText("Fill in (null)" if self._unwritten is None else "Fill in")
        self.fill_button.setVisible(not self._is_set)
        self._frame.set_indented(self._is_set)
        if self.members is not None:
            self.members.setVisible(self._is_set)
