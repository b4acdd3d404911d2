"""Editor for objects with arbitrary keys: rows of a key and a value.

More than 500 keys are left to raw JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from inspector.base.units import plural
from inspector.qt.forms.schema.editor import Editor, EditorFactory, Errors, OnChange
from inspector.qt.forms.schema.item_rows import ItemRow, LazyRows, focus_after_removal
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.layout import IndentedBlock, vbox
from inspector.qt.widgets.text.labels import MUTED, FormStyle, mark_error, small_label
from inspector.qt.widgets.text.text_box import TextLine, is_plain_line
from inspector.schema.fields import JsonField, MapField, UnionField
from inspector.schema.values import ABSENT, Absent, Draft, Pairs, child, initial_draft

MAX_ROWS = 500
_ROW_HEIGHT = 32
_NOT_ALLOWED = JsonField(reason="The schema does not allow this key.")
_NO_KEY = "is not sent until it has a key"
_RESERVED_KEY = "is already a field above"


class MapEditor(Editor):
    """A map: not set, null, or rows. More than MAX_ROWS keys are left to raw JSON."""

    stated = ("set", "null", "empty")

    def __init__(self, factory: EditorFactory, field: MapField, on_change: OnChange) -> None:
        self._on_change = on_change
        self._empty_state: Absent | None = ABSENT
        self._is_set = False
        self.map_rows = self.widget = MapRows(factory, field, self._on_rows_changed)
        self.add_button = self.map_rows.add_button
        self._show_state()

    def draft(self) -> Draft:
        return Pairs(self.map_rows.pairs()) if self._is_set else self._empty_state

    def set_draft(self, draft: Draft) -> bool:
        if isinstance(draft, dict):
            draft = Pairs(tuple(draft.items()))
        if draft is not ABSENT and draft is not None and not isinstance(draft, Pairs):
            return False
        pairs = draft.rows if isinstance(draft, Pairs) else ()
        if len(pairs) > MAX_ROWS or not all(is_plain_line(key) for key, _ in pairs):
            return False
        self._is_set = isinstance(draft, Pairs)
        self._empty_state = None if draft is None else ABSENT
        self.map_rows.set_pairs(pairs)
        self._show_state()
        return True

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self.map_rows.show_errors(errors, pointer)

    def at(self, path: Sequence[str]) -> QWidget:
        return self.map_rows.at(path) or self.widget

    def _on_rows_changed(self) -> None:
        self._is_set = True
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        text = "empty object" if self._is_set else "null" if self._empty_state is None else ""
        has_rows = bool(self._is_set and self.map_rows.pairs())
        self.add_button.setText("Add key" if has_rows or not text else f"Add key ({text})")


class MapRows(QWidget):
    """The rows of a map and a button to add one.

    `on_change` is called after each change by the user.
    """

    def __init__(
        self, factory: EditorFactory, field: MapField, on_change: OnChange, reserved: Collection[str] = ()
    ) -> None:
        super().__init__()
        self.field = field
        self.reserved = reserved
        self._factory = factory.nested()
        self._on_change = on_change
        self._pairs: list[tuple[str, Draft]] = []  # of rows not created yet
        self._rows: list[MapRow | None] = []
        self._errors: Errors = {}
        self._pointer = ""
        self._frame = IndentedBlock(factory.depth)
        self._frame.set_indented(True)
        self._lazy = LazyRows(
            self._factory,
            lambda: len(self._rows),
            lambda position: self._rows[position],
            self._make,
            spacing=SPACE_1,
            height=_ROW_HEIGHT,
        )
        self._heads = ColumnHeads(factory.style, lambda: next(filter(None, self._rows), None))
        self._frame.column.addWidget(self._heads)
        self._frame.column.addWidget(self._lazy)
        self.add_button = QPushButton("Add key")
        factory.style.theme.set_icon(self.add_button, "plus", "muted")
        self.add_button.clicked.connect(self.add)
        self._heading = small_label(factory.style, "")
        self._heading.setFont(factory.style.title)
        self._heading.hide()
        vbox(self, self._heading, self._frame, (self.add_button, 0, Qt.AlignmentFlag.AlignLeft), gap=SPACE_1)
        self.setFocusProxy(self.add_button)

    def set_heading(self, text: str) -> None:
        """Set a heading, shown while there are rows."""
        self._heading.setText(text)
        self._show_state()

    @property
    def rows(self) -> list[MapRow]:
        """All rows; creates the missing ones."""
        self._lazy.make_all()
        return [row for row in self._rows if row is not None]

    def pairs(self) -> tuple[tuple[str, Draft], ...]:
        both = zip(self._rows, self._pairs, strict=True)
        return tuple(pair if row is None else (row.key, row.sent_draft()) for row, pair in both)

    def set_pairs(self, pairs: Sequence[tuple[str, Draft]]) -> None:
        for row in self._rows:
            if row is not None:
                row.hide()
                row.deleteLater()
        self._rows = [None] * len(pairs)
        self._pairs = list(pairs)
        self._lazy.reset()
        self._show_state()

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self._errors, self._pointer = errors, pointer
        for row in self._rows:
            if row is not None:
                self._show_row_errors(row)

    def at(self, path: Sequence[str]) -> QWidget | None:
        position = next(
            (position for position, (key, _) in enumerate(self.pairs()) if path and key == path[0]), None
        )
        return self._row_at(position).at(path[1:]) if position is not None else None

    def add(self) -> MapRow:
        """Add a row and focus its key."""
        self._pairs.append(("", initial_draft(self.field.value_for("") or self.field.value or _NOT_ALLOWED)))
        self._rows.append(None)
        self._lazy.reset()
        self._show_state()
        row = self._row_at(len(self._rows) - 1)
        row.is_new = row.has_initial_value = True
        row.key_line.setFocus()
        self._on_change()
        return row

    def _make(self, position: int) -> MapRow:
        key, draft = self._pairs[position]
        row = MapRow(self._factory, self.field, key, self._on_change)
        row.set_draft(draft)
        row.remove_button.clicked.connect(partial(self._on_remove_clicked, row))
        self._rows[position] = row
        self._show_row_errors(row)
        self._heads.update()
        return row

    def _row_at(self, position: int) -> MapRow:
        self._lazy.show_row(position)
        row = self._rows[position]
        assert row is not None
        return row

    def _show_row_errors(self, row: MapRow) -> None:
        position = child(self._pointer, row.key)
        if row.lacks_key:
            row.show_errors({position: _NO_KEY} if row.was_edited else {}, position)
        elif row.key in self.reserved:
            row.show_errors({position: f"{row.key} {_RESERVED_KEY}"}, position)
        else:
            row.show_errors(self._errors, position)

    def _on_remove_clicked(self, row: MapRow, _checked: bool = False) -> None:
        position = self._rows.index(row)
        del self._rows[position], self._pairs[position]
        self._heads.update()
        row.hide()
        row.deleteLater()
        self._lazy.reset()
        nearest: list[ItemRow] = [one for one in self._rows[position:] or self._rows[-1:] if one is not None]
        focus_after_removal(nearest, self.add_button)
        self._show_state()
        self._on_change()

    def _show_state(self) -> None:
        self._frame.setVisible(bool(self._rows))
        self._heading.setVisible(bool(self._rows and self._heading.text()))
        most = self.field.max_properties if not self.reserved else None  # the fields above count too
        allowed = MAX_ROWS if most is None else min(MAX_ROWS, most)
        self.add_button.setEnabled(len(self._rows) < allowed)
        self.add_button.setToolTip("" if self.add_button.isEnabled() else f"At most {plural(allowed, 'key')}")


class ColumnHeads(QWidget):
    """The heads "Key" and "Value", painted above the columns of the first row.

    A value with its own line has none.
    """

    def __init__(self, style: FormStyle, first_row: Callable[[], MapRow | None]) -> None:
        super().__init__()
        self._first_row = first_row
        self.setFont(style.small)
        self.setFixedHeight(QFontMetrics(style.small).height())

    def columns(self) -> list[tuple[int, str]]:
        """Return the heads with their left edges."""
        row = self._first_row()
        if row is None:
            return []
        columns: list[tuple[QWidget, str]] = [(row.key_line, "Key")]
        if not row.is_tall:
            columns.append((row.slot.editor.widget, "Value"))
        origin = self.mapToGlobal(QPoint())
        return [(widget.mapToGlobal(QPoint()).x() - origin.x(), text) for widget, text in columns]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(MUTED))
        for left, text in self.columns():
            painter.drawText(left, self.fontMetrics().ascent(), text)


class MapRow(ItemRow):
    """A key and its value. The kind of the value may depend on the key."""

    def __init__(self, factory: EditorFactory, map_field: MapField, key: str, on_change: OnChange) -> None:
        field = map_field.value_for(key) or _NOT_ALLOWED
        key_line = TextLine(key)
        is_wide = isinstance(field, UnionField | JsonField)
        super().__init__(factory, field, on_change, is_wide=is_wide, first=key_line)
        self._map = map_field
        self.is_new = self.was_edited = self.has_initial_value = False
        self.up_button.hide()
        self.down_button.hide()
        self.key_line = key_line
        self.key_line.setFont(factory.style.mono)
        self.key_line.setPlaceholderText("key")
        self.key_line.setAccessibleName("Key")
        self.slot.set_name("Value")
        self.key_line.textEdited.connect(self._on_key_edited)
        if self.is_tall:
            self.head.insertWidget(0, self.key_line, 1)
            assert self.title_label is not None
            self.title_label.hide()
        else:
            self.head.insertWidget(0, self.key_line, 2)
            self.head.insertSpacing(1, SPACE_1)
            self.head.setStretch(2, 3)

    @property
    def key(self) -> str:
        return self.key_line.text()

    @property
    def lacks_key(self) -> bool:
        """True if the row was added and no key was typed yet, which differs from the key ""."""
        return self.is_new and not self.key

    def sent_draft(self) -> Draft:
        return ABSENT if self.lacks_key else self.draft()

    def show_errors(self, errors: Errors, pointer: str) -> None:
        super().show_errors(errors, pointer)
        mark_error(self.key_line, pointer in errors)

    def on_slot_changed(self) -> None:
        self.was_edited, self.has_initial_value = True, False
        super().on_slot_changed()

    def _on_key_edited(self) -> None:
        self.is_new = False
        field = self._map.value_for(self.key) or _NOT_ALLOWED
        if self.has_initial_value and field is not self.slot.field:
            self.slot.set_field(field, initial_draft(field))
        else:
            self.slot.set_field(field)
        self._on_change()
