"""A list in a form: a row for each item, to add, remove and move."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from inspector.qt.forms.editors import Editor, Kit, OnChange, Problems, unwritten_words
from inspector.qt.forms.look import ERROR, set_label_text, small_label
from inspector.qt.forms.slot import Slot
from inspector.qt.theme import ICON_SIZE, SPACE_1
from inspector.schema.fields import BooleanField, ChoiceField, Field, ListField, NumberField, TextField
from inspector.schema.values import ABSENT, Absent, Draft, child

MOST_ROWS = 200


class ItemRow(QWidget):
    """One item: its editor, and buttons to move and remove it."""

    def __init__(self, kit: Kit, field: Field, on_change: OnChange) -> None:
        super().__init__()
        self._kit = kit
        self._problem: QLabel | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        line, body = QHBoxLayout(), QVBoxLayout()
        line.setSpacing(0)
        line.addLayout(body, 1)
        self._column.addLayout(line)
        self.slot = Slot(kit, field, body, on_change)
        self.null_button = self._button(line, "null", "Make this item null")
        self.null_button.setVisible(field.nullable and isinstance(field, TextField | NumberField))
        self.up_button = self._icon_button(line, "chevron-up", "Move up")
        self.down_button = self._icon_button(line, "chevron-down", "Move down")
        self.remove_button = self._icon_button(line, "close", "Remove")

    def show_problems(self, problems: Problems, pointer: str) -> None:
        self.slot.show_problems(problems, pointer)
        problem = problems.get(pointer, "")
        if self._problem is None and problem:
            self._problem = small_label(self._kit.look, "", ERROR)
            self._column.addWidget(self._problem)
        if self._problem is not None:
            set_label_text(self._problem, problem[:1].upper() + problem[1:])
            self._problem.setVisible(bool(problem))

    def problem_text(self) -> str:
        """What is said to be wrong with this item, if anything."""
        return self._problem.text() if self._problem is not None else ""

    def _button(self, line: QHBoxLayout, text: str, words: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setToolTip(words)
        button.setAccessibleName(words)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def _icon_button(self, line: QHBoxLayout, icon: str, words: str) -> QToolButton:
        button = self._button(line, "", words)
        self._kit.look.theme.dress(button, icon, "muted")
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        return button


class ListEditor(Editor):
    """A list of values of one kind. More than MOST_ROWS items are left to raw JSON."""

    def __init__(self, kit: Kit, field: ListField, on_change: OnChange) -> None:
        self._kit = kit
        self._field = field
        self._on_change = on_change
        self._unwritten: Absent | None = ABSENT
        self._is_set = False
        self.rows: list[ItemRow] = []
        self.widget = QWidget()
        self._column = QVBoxLayout(self.widget)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self.add_button = QPushButton()
        kit.look.theme.dress(self.add_button, "plus", "muted")
        self.add_button.clicked.connect(self._on_add_clicked)
        self._column.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeft)
        self._show_state()

    def draft(self) -> Draft:
        return [row.slot.draft() for row in self.rows] if self._is_set else self._unwritten

    def set_draft(self, draft: Draft) -> bool:
        items = draft if isinstance(draft, list) else []
        if (draft is not ABSENT and draft is not None and items is not draft) or len(items) > MOST_ROWS:
            return False
        self._is_set = items is draft
        self._unwritten = None if draft is None else ABSENT
        while len(self.rows) > len(items):
            self._drop(self.rows[-1])
        while len(self.rows) < len(items):
            self._append()
        for row, item in zip(self.rows, items, strict=True):
            row.slot.set_draft(item)
        self._show_state()
        return True

    def show_problems(self, problems: Problems, pointer: str) -> None:
        for index, row in enumerate(self.rows):
            row.show_problems(problems, child(pointer, index))

    def _append(self) -> ItemRow:
        row = ItemRow(self._kit, self._field.item, self._on_change)
        row.null_button.clicked.connect(partial(self._on_null_clicked, row))
        row.up_button.clicked.connect(partial(self._on_move_clicked, row, -1))
        row.down_button.clicked.connect(partial(self._on_move_clicked, row, 1))
        row.remove_button.clicked.connect(partial(self._on_remove_clicked, row))
        self._column.insertWidget(len(self.rows), row)
        self.rows.append(row)
        return row

    def _drop(self, row: ItemRow) -> None:
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _on_add_clicked(self) -> None:
        row = self._append()
        row.slot.set_draft(_first_draft(self._field.item))
        self._is_set = True
        self._finish_change()
        row.slot.editor.widget.setFocus()

    def _on_null_clicked(self, row: ItemRow, _checked: bool = False) -> None:
        row.slot.set_draft(None)
        self._finish_change()

    def _on_move_clicked(self, row: ItemRow, step: int, _checked: bool = False) -> None:
        """Exchange the values of two neighbours; focus goes along, so that moving on takes one key."""
        other = self.rows[self.rows.index(row) + step]
        mine, theirs = row.slot.draft(), other.slot.draft()
        row.slot.set_draft(theirs)
        other.slot.set_draft(mine)
        (other.up_button if step < 0 else other.down_button).setFocus()
        self._finish_change()

    def _on_remove_clicked(self, row: ItemRow, _checked: bool = False) -> None:
        index = self.rows.index(row)
        self._drop(row)
        (self.rows[min(index, len(self.rows) - 1)].remove_button if self.rows else self.add_button).setFocus()
        self._finish_change()

    def _finish_change(self) -> None:
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        words = "empty list" if self._is_set else unwritten_words(self._field, self._unwritten)
        self.add_button.setText("Add item" if self.rows or words == "not set" else f"Add item ({words})")
        self.add_button.setEnabled(len(self.rows) < MOST_ROWS)
        for index, row in enumerate(self.rows):
            row.up_button.setEnabled(index > 0)
            row.down_button.setEnabled(index < len(self.rows) - 1)


def _first_draft(field: Field) -> Draft:
    """What a new item starts as: its default, else the plainest value there is; a number must be written."""
    if field.default is not ABSENT:
        return field.default
    match field:
        case TextField():
            return ""
        case BooleanField():
            return False
        case ChoiceField():
            return field.choices[0]
    return ABSENT
