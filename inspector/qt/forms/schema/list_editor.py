"""Editors for lists and tuples: one row per item, to add, remove and move.

More than 500 items are left to raw JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.forms.schema.editor import Editor, EditorFactory, Errors, OnChange
from inspector.qt.forms.schema.item_rows import ItemRow, LazyRows, focus_after_removal
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.layout import IndentedBlock, vbox
from inspector.schema.fields import Field, JsonField, ListField, TupleField, summary
from inspector.schema.values import ABSENT, Absent, Draft, child, initial_draft

MAX_ROWS = 500
_ROW_HEIGHT = 32
_ONE_TOO_MANY = JsonField(reason="The schema allows no item at this position.")


class ItemsEditor(Editor):
    """The common base of lists and tuples. More than MAX_ROWS items are left to raw JSON.

    Rows are created as they come into view; until then an item only has its draft.
    """

    stated = ("set", "null", "empty")

    def __init__(self, factory: EditorFactory, field: ListField | TupleField, on_change: OnChange) -> None:
        self._factory = factory.nested()
        self._field = field
        self._on_change = on_change
        self._empty_state: Absent | None = ABSENT
        self._is_set = False
        self._drafts: list[Draft] = []  # of items without a row yet
        self._rows: list[ItemRow | None] = []
        self._errors: Errors = {}
        self._pointer = ""
        self.widget = QWidget()
        self._frame = IndentedBlock(factory.depth)
        self._lazy = LazyRows(
            self._factory,
            lambda: len(self._rows),
            lambda position: self._rows[position],
            self._make,
            spacing=SPACE_1,
            height=_ROW_HEIGHT,
        )
        self._frame.column.addWidget(self._lazy)
        self._frame.set_indented(True)
        self.add_button = QPushButton()
        factory.style.theme.set_icon(self.add_button, "plus", "muted")
        self.add_button.clicked.connect(self._on_add_clicked)
        vbox(self.widget, self._frame, (self.add_button, 0, Qt.AlignmentFlag.AlignLeft), gap=SPACE_1)
        self.widget.setFocusProxy(self.add_button)
        self._show_state()

    @property
    def rows(self) -> list[ItemRow]:
        """All rows; creates the missing ones."""
        self._lazy.make_all()
        return self._existing()

    def draft(self) -> Draft:
        if not self._is_set:
            return self._empty_state
        pairs = zip(self._rows, self._drafts, strict=True)
        return [draft if row is None else row.draft() for row, draft in pairs]

    def set_draft(self, draft: Draft) -> bool:
        items = draft if isinstance(draft, list) else []
        if (draft is not ABSENT and draft is not None and items is not draft) or len(items) > MAX_ROWS:
            return False
        self._is_set = items is draft
        self._empty_state = None if draft is None else ABSENT
        self._set_items(list(items))
        return True

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self._errors, self._pointer = errors, pointer
        for position, row in enumerate(self._rows):
            if row is not None:
                row.show_errors(errors, child(pointer, position))

    def mark_touched(self) -> None:
        for row in self._existing():
            row.mark_touched()

    def at(self, path: Sequence[str]) -> QWidget:
        if not path or not path[0].isdecimal() or int(path[0]) >= len(self._rows):
            return self.widget
        return self._row_at(int(path[0])).at(path[1:])

    def _field_at(self, position: int) -> Field:
        raise NotImplementedError

    def _make_row(self, position: int) -> ItemRow:
        row = ItemRow(self._factory, self._field_at(position), self._on_change)
        row.up_button.clicked.connect(partial(self._on_move_clicked, row, -1))
        row.down_button.clicked.connect(partial(self._on_move_clicked, row, 1))
        row.remove_button.clicked.connect(partial(self._on_remove_clicked, row))
        return row

    def _set_items(self, items: list[Draft]) -> None:
        for row in self._rows[len(items) :]:
            _drop(row)
        del self._rows[len(items) :]
        self._rows += [None] * (len(items) - len(self._rows))
        self._drafts = items
        for row, item in zip(self._rows, items, strict=True):
            if row is not None:
                row.set_draft(item)
        self._lazy.reset()
        self._show_state()

    def _make(self, position: int) -> ItemRow:
        row = self._make_row(position)
        row.set_draft(self._drafts[position])
        if self._errors:
            row.show_errors(self._errors, child(self._pointer, position))
        self._rows[position] = row
        self._show_buttons()
        return row

    def _existing(self) -> list[ItemRow]:
        return [row for row in self._rows if row is not None]

    def _row_at(self, position: int) -> ItemRow:
        self._lazy.show_row(position)
        row = self._rows[position]
        assert row is not None
        return row

    def _on_add_clicked(self) -> None:
        self._is_set = True
        self._drafts.append(initial_draft(self._field_at(len(self._rows))))
        self._rows.append(None)
        self._lazy.reset()
        self._row_at(len(self._rows) - 1).slot.editor.set_focus()
        self._finish_change()

    def _on_move_clicked(self, row: ItemRow, step: int, _checked: bool = False) -> None:
        """Swap two neighbors; the focus follows, so that moving further takes one key."""
        other = self._row_at(self._rows.index(row) + step)
        mine, theirs = row.draft(), other.draft()
        row.set_draft(theirs)
        other.set_draft(mine)
        (other.up_button if step < 0 else other.down_button).setFocus()
        self._finish_change()

    def _on_remove_clicked(self, row: ItemRow, _checked: bool = False) -> None:
        position = self._rows.index(row)
        del self._rows[position], self._drafts[position]
        _drop(row)
        self._lazy.reset()
        nearest = [one for one in self._rows[position:] or self._removable() if one is not None]
        focus_after_removal(nearest, self.add_button)
        self._finish_change()

    def _removable(self) -> list[ItemRow | None]:
        return self._rows[-1:]

    def _finish_change(self) -> None:
        self._show_state()
        self._on_change()

    @property
    def _max_rows(self) -> int:
        return MAX_ROWS if self._field.max_items is None else min(MAX_ROWS, self._field.max_items)

    def _can_add(self) -> bool:
        return len(self._rows) < self._max_rows or not self._is_set

    def _add_text(self) -> str:
        return "Add item"

    def _show_state(self) -> None:
        has_rows = bool(self._rows)
        text = "empty array" if self._is_set else "null" if self._empty_state is None else ""
        add = self._add_text()
        self.add_button.setText(add if has_rows or not text else f"{add} ({text})")
        self.add_button.setEnabled(self._can_add())
        self.add_button.setToolTip("" if self._can_add() else f"At most {plural(self._max_rows, 'item')}")
        self._frame.setVisible(has_rows)
        self._show_buttons()

    def _show_buttons(self) -> None:
        for position, row in enumerate(self._rows):
            if row is not None:
                row.up_button.setEnabled(position > 0)
                row.down_button.setEnabled(position < len(self._rows) - 1)
                title = one_line(row.field.title) or (summary(row.field) if row.is_optional else "")
                row.set_title(f"{position + 1}. {title}" if title else f"{position + 1}.")
                row.slot.set_name(title or f"Item {position + 1}")


class ListEditor(ItemsEditor):
    """An editor for a list of values of one type."""

    def __init__(self, factory: EditorFactory, field: ListField, on_change: OnChange) -> None:
        self._list = field
        super().__init__(factory, field, on_change)

    def _field_at(self, position: int) -> Field:
        return self._list.item

    def _add_text(self) -> str:
        title = one_line(self._list.item.title) if self._is_set else ""
        return f"Add {title}".replace("&", "&&") if 0 < len(title) <= 40 else "Add item"


class TupleEditor(ItemsEditor):
    """An editor for a list with a type for each of the first positions; more items may follow."""

    def __init__(self, factory: EditorFactory, field: TupleField, on_change: OnChange) -> None:
        self._tuple = field
        super().__init__(factory, field, on_change)

    def draft(self) -> Draft:
        draft = super().draft()
        if isinstance(draft, list):
            while draft and draft[-1] is ABSENT:
                draft.pop()  # unset positions at the end are omitted
        return draft

    def _field_at(self, position: int) -> Field:
        return self._tuple.item_at(position) or _ONE_TOO_MANY

    def _set_items(self, items: list[Draft]) -> None:
        missing = len(self._tuple.items) - len(items) if self._is_set else 0
        super()._set_items(items + [ABSENT] * missing)

    def _make_row(self, position: int) -> ItemRow:
        field = self._field_at(position)
        if position >= len(self._tuple.items):
            return super()._make_row(position)
        return ItemRow(self._factory, field, self._on_change, is_fixed=True)

    def _on_add_clicked(self) -> None:
        if self._is_set:
            super()._on_add_clicked()
            return
        self._is_set = True
        self._set_items([])
        if self._rows:
            self._row_at(0).slot.editor.set_focus()
        self._finish_change()

    def _removable(self) -> list[ItemRow | None]:
        return self._rows[len(self._tuple.items) :][-1:]

    def _can_add(self) -> bool:
        return not self._is_set or (super()._can_add() and self._tuple.rest is not None)

    def _add_text(self) -> str:
        return "Add item" if self._is_set else "Fill in"

    def _show_state(self) -> None:
        super()._show_state()
        self.add_button.setVisible(not self._is_set or self._tuple.rest is not None)

    def _show_buttons(self) -> None:
        super()._show_buttons()
        first = self._rows[len(self._tuple.items) :][:1]
        if first and first[0] is not None:
            first[0].up_button.setEnabled(False)  # the items above it are fixed


def _drop(row: ItemRow | None) -> None:
    if row is not None:
        row.hide()
        row.deleteLater()
