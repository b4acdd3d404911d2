"""Rows of list items and map values, with move and remove buttons; lazy row creation.

`LazyRows` creates rows as they come into view and holds their place until then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from PySide6.QtCore import QRect, QSize, Qt, QTimer
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from inspector.qt.actions import native_keys
from inspector.qt.forms.schema.editor import EditorFactory, OnChange
from inspector.qt.forms.schema.value_row import STATE_KEY, ValueRow, ValueSlot
from inspector.qt.theme import ICON_SIZE, SPACE_1
from inspector.qt.widgets.layout import discard, hbox, vbox
from inspector.qt.widgets.text.labels import small_label
from inspector.schema.fields import (
    BooleanField,
    ConstField,
    Field,
    ListField,
    MapField,
    ObjectField,
    TupleField,
    UnionField,
)

# A row takes about 1 ms to create and another to show. A screenful is created at once; the rest when about
# to scroll into view, so that a form of 2,000 fields opens as fast as one of 20.
ROWS_AT_ONCE = 20
_SLICE_SECONDS = 0.010
_PIXELS_AHEAD = 600
_ROWS_AROUND = 8


class ItemRow(ValueRow):
    """A list item. `set_title` shows its position if there is room.

    Tab goes to `first`, which the caller lays out, before the editor. `is_wide` items take the full width,
    whatever their field. `is_fixed` items can be unset, but neither moved nor removed.
    """

    def __init__(
        self,
        factory: EditorFactory,
        field: Field,
        on_change: OnChange,
        *,
        is_fixed: bool = False,
        is_wide: bool = False,
        first: QWidget | None = None,
    ) -> None:
        super().__init__(factory, on_change)
        if first is not None:
            first.setParent(self)  # tab order is parenting order
        self.is_optional = is_fixed
        self.is_tall = is_wide or is_tall(field)
        self.head = hbox(None, gap=0)
        self.title_label: QLabel | None = None
        # A fixed-size editor stays at the left of its place.
        place = QWidget(self) if isinstance(field, BooleanField | ConstField) else None
        body = vbox(place, gap=SPACE_1)
        self.column.addLayout(self.head)
        if self.is_tall or is_fixed:
            self.title_label = small_label(factory.style, "")
            self.head.addWidget(self.title_label, 1)
        if self.is_tall:
            self.column.addLayout(body)
        elif is_fixed:
            line = hbox(None, (place or body, 1), gap=0)
            self.column.addLayout(line)
            self.head = line
        elif place is not None:
            self.head.addWidget(place, 1)
        else:
            self.head.addLayout(body, 1)
        self.slot = ValueSlot(factory, field, body, self.on_slot_changed, is_optional=is_fixed)
        self.head.addSpacing(SPACE_1)
        self.menu_button = self._button("more", f"Null, default, example, or JSON ({native_keys(STATE_KEY)})")
        self.menu_button.clicked.connect(self.open_state_menu)
        self.up_button = self._button("chevron-up", "Move up")
        self.down_button = self._button("chevron-down", "Move down")
        self.remove_button = self._button("close", "Remove")
        for button in (self.up_button, self.down_button, self.remove_button):
            button.setVisible(not is_fixed)

    def set_title(self, title: str) -> None:
        if self.title_label is not None and self.title_label.text() != title:
            self.title_label.setText(title)

    def _button(self, icon: str, text: str) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(text)
        button.setAccessibleName(text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._factory.style.theme.set_icon(button, icon, "muted")
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button


def is_tall(field: Field) -> bool:
    """Return whether a field needs its own full-width line, with its buttons above it."""
    if isinstance(field, UnionField):
        return not field.is_any and any(is_tall(variant.field) for variant in field.variants[:8])
    return isinstance(field, ListField | TupleField | ObjectField | MapField)


def focus_after_removal(nearest: list[ItemRow], otherwise: QWidget) -> None:
    """Focus the row that takes the place of a removed one."""
    (nearest[0].remove_button if nearest else otherwise).setFocus()


@dataclass(slots=True)
class _Part:
    """A part of the column: a row, or a placeholder for rows not created yet."""

    start: int
    end: int
    widget: QWidget
    is_row: bool


class LazyRows(QWidget):
    """Rows in a column, with placeholders for those not created yet.

    The owner knows their number (`count`), creates one (`make`) and says which exist (`existing`). It calls
    `reset` when the rows or their order change.
    """

    def __init__(
        self,
        factory: EditorFactory,
        count: Callable[[], int],
        existing: Callable[[int], QWidget | None],
        make: Callable[[int], QWidget],
        *,
        spacing: int,
        height: int,
    ) -> None:
        super().__init__()
        self._factory = factory
        self._count, self._existing, self._make = count, existing, make
        self._row_height = height + spacing  # approximate, for the scroll bar
        self._parts: list[_Part] = []
        self._column = vbox(self, gap=spacing)
        self._next_slice = QTimer(self, singleShot=True, interval=0)
        self._next_slice.timeout.connect(self._make_slice)

    def reset(self) -> None:
        """Insert the existing rows and create the first ones, as far as the budget allows."""
        self._clear()
        if self._count():
            self._parts = [self._placeholder(0, self._count())]
            self._column.addWidget(self._parts[0].widget)
        for position in range(self._count()):
            if self._existing(position) is not None:
                self._put(position)
        for position in range(min(ROWS_AT_ONCE, self._count())):
            if self._existing(position) is None:
                if not self._factory.claim_row():
                    break
                self._put(position)

    def make_all(self) -> None:
        for position in range(self._count()):
            self._put(position)

    def show_row(self, position: int) -> None:
        """Create a row and its neighbors, so that it stays in place when scrolled to."""
        for near in range(max(0, position - _ROWS_AROUND), min(self._count(), position + _ROWS_AROUND + 1)):
            self._put(near)

    def paintEvent(self, event: QPaintEvent) -> None:
        if any(not part.is_row for part in self._parts):
            self._next_slice.start()

    def _make_slice(self) -> None:
        """Create rows for placeholders in or near the view, for a limited time."""
        self._factory.reset_budget()
        area = self.visibleRegion().boundingRect().adjusted(0, 0, 0, _PIXELS_AHEAD)
        end = perf_counter() + _SLICE_SECONDS
        for part in [part for part in self._parts if not part.is_row]:
            for position in self._positions_in(part, area):
                self._put(position)
                if perf_counter() >= end:
                    self._next_slice.start()
                    return

    def _positions_in(self, part: _Part, area: QRect) -> range:
        """Return the rows of a placeholder that would be in view."""
        box = part.widget.geometry()
        if area.isEmpty() or not box.intersects(area):
            return range(0)
        first = part.start + max(0, area.top() - box.top()) // self._row_height
        last = part.start + max(0, area.bottom() - box.top()) // self._row_height
        return range(min(first, part.end - 1), min(last + 1, part.end))

    def _put(self, position: int) -> None:
        """Insert a row at its place, creating it if needed."""
        at = bisect_right(self._parts, position, key=lambda part: part.start) - 1
        placeholder = self._parts[at]
        if placeholder.is_row:
            return
        row = self._existing(position) or self._make(position)
        parts = [_Part(position, position + 1, row, True)]
        self._column.insertWidget(at + 1, row)
        if position + 1 < placeholder.end:
            parts.append(self._placeholder(position + 1, placeholder.end))
            self._column.insertWidget(at + 2, parts[1].widget)
        if placeholder.start < position:
            placeholder.end = position
            self._fit(placeholder)
            parts.insert(0, placeholder)
        else:
            discard(placeholder.widget)
        self._parts[at : at + 1] = parts

    def _placeholder(self, start: int, end: int) -> _Part:
        placeholder = _Part(start, end, QWidget(self), False)
        self._fit(placeholder)
        return placeholder

    def _fit(self, placeholder: _Part) -> None:
        height = self._row_height * (placeholder.end - placeholder.start) - self._column.spacing()
        placeholder.widget.setFixedHeight(min(max(1, height), 16_000_000))

    def _clear(self) -> None:
        for part in self._parts:
            if part.is_row:
                self._column.removeWidget(part.widget)
            else:
                discard(part.widget)
        self._parts = []
