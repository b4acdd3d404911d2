"""One item of a list in a form, or one value of a map: its editor, and buttons to move and remove it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from inspector.qt.forms.editor import Kit, OnChange
from inspector.qt.forms.look import small_label
from inspector.qt.forms.slot import Slot
from inspector.qt.forms.valuerow import STATE_KEY, ValueRow
from inspector.qt.theme import ICON_SIZE, SPACE_1
from inspector.schema.fields import Field


class ItemRow(ValueRow):
    """An item; a `title` names its place where that has a meaning of its own.

    `is_fixed` items stand at their place for good: they can be not set, but neither moved nor removed.
    """

    def __init__(
        self, kit: Kit, field: Field, on_change: OnChange, *, title: str = "", is_fixed: bool = False
    ) -> None:
        super().__init__(kit, on_change)
        self.is_optional = is_fixed
        if title:
            self.column.addWidget(small_label(kit.look, title))
        self.line = QHBoxLayout()
        self.line.setSpacing(0)
        body = QVBoxLayout()
        body.setSpacing(SPACE_1)
        self.line.addLayout(body, 1)
        self.column.addLayout(self.line)
        self.slot = Slot(kit, field, body, self.on_slot_changed)
        self.line.addSpacing(SPACE_1)
        self.menu_button = self._button("more", f"Null, default, example, or JSON ({STATE_KEY})")
        self.menu_button.clicked.connect(self.open_state_menu)
        self.up_button = self._button("chevron-up", "Move up")
        self.down_button = self._button("chevron-down", "Move down")
        self.remove_button = self._button("close", "Remove")
        for button in (self.up_button, self.down_button, self.remove_button):
            button.setVisible(not is_fixed)

    def _button(self, icon: str, words: str) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(words)
        button.setAccessibleName(words)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._kit.look.theme.dress(button, icon, "muted")
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return button


def focus_after_removal(rows: list[ItemRow], place: int, otherwise: QWidget) -> None:
    """The keyboard goes to what stands where the removed row was."""
    (rows[min(place, len(rows) - 1)].remove_button if rows else otherwise).setFocus()
