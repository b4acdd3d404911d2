"""One item of a list in a form, or one value of a map: its editor, and buttons to move and remove it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from inspector.qt.forms.editor import Kit, OnChange
from inspector.qt.forms.look import small_label
from inspector.qt.forms.slot import Slot
from inspector.qt.forms.valuerow import STATE_KEY, ValueRow
from inspector.qt.theme import ICON_SIZE, SPACE_1
from inspector.schema.fields import Field, ListField, MapField, ObjectField, TupleField, UnionField


def is_tall(field: Field) -> bool:
    """Return whether a field needs its own full-width line, with its buttons above it."""
    if isinstance(field, UnionField):
        return not field.is_any and any(is_tall(variant.field) for variant in field.variants[:8])
    return isinstance(field, ListField | TupleField | ObjectField | MapField)


class ItemRow(ValueRow):
    """A list item. `set_title` shows its position if there is room.

    Tab goes to `first`, which the caller lays out, before the editor. `is_wide` items take the full width,
    whatever their field. `is_fixed` items can be unset, but neither moved nor removed.
    """

    def __init__(
        self,
        kit: Kit,
        field: Field,
        on_change: OnChange,
        *,
        is_fixed: bool = False,
        is_wide: bool = False,
        first: QWidget | None = None,
    ) -> None:
        super().__init__(kit, on_change)
        if first is not None:
            first.setParent(self)  # tab order is parenting order
        self.is_optional = is_fixed
        self.is_tall = is_wide or is_tall(field)
        self.head = QHBoxLayout()
        self.head.setSpacing(0)
        self.title_label: QLabel | None = None
        body = QVBoxLayout()
        body.setSpacing(SPACE_1)
        self.column.addLayout(self.head)
        if self.is_tall or is_fixed:
            self.title_label = small_label(kit.look, "")
            self.head.addWidget(self.title_label, 1)
        if self.is_tall:
            self.column.addLayout(body)
        elif is_fixed:
            line = QHBoxLayout()
            line.setSpacing(0)
            line.addLayout(body, 1)
            self.column.addLayout(line)
            self.head = line
        else:
            self.head.addLayout(body, 1)
        self.slot = Slot(kit, field, body, self.on_slot_changed)
        self.head.addSpacing(SPACE_1)
        self.menu_button = self._button("more", f"Null, default, example, or JSON ({STATE_KEY})")
        self.menu_button.clicked.connect(self.open_state_menu)
        self.up_button = self._button("chevron-up", "Move up")
        self.down_button = self._button("chevron-down", "Move down")
        self.remove_button = self._button("close", "Remove")
        for button in (self.up_button, self.down_button, self.remove_button):
            button.setVisible(not is_fixed)

    def set_title(self, title: str) -> None:
        if self.title_label is not None and self.title_label.text() != title:
            self.title_label.setText(title)

    def _button(self, icon: str, words: str) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(words)
        button.setAccessibleName(words)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._kit.look.theme.dress(button, icon, "muted")
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button


def focus_after_removal(nearest: list[ItemRow], otherwise: QWidget) -> None:
    """Focus the row that takes the place of a removed one."""
    (nearest[0].remove_button if nearest else otherwise).setFocus()
