"""What is different from the time before, line by line or member by member: `ChangesTable`."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from inspector.qt.forms.difflines import SIGN_WIDTH, LineDelegate
from inspector.qt.models.diffrows import Column, DiffRowsModel
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_table
from inspector.traffic.compare.diff import Diff

_TOGGLES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class ChangesTable(QTableView):
    """A diff table: before on the left, now on the right. Return or a click opens a folded row."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = DiffRowsModel(theme)
        self.setModel(self.rows)
        self.setAccessibleName("What changed since the time before")
        dress_table(self, theme)
        self.setItemDelegate(LineDelegate(theme, self))
        self.setFont(theme.mono_font())
        self.setFrameShape(QTableView.Shape.NoFrame)
        header = self.horizontalHeader()
        header.hide()
        header.setMinimumSectionSize(SIGN_WIDTH)
        for column in (Column.LEFT, Column.RIGHT):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(Column.SIGN, SIGN_WIDTH)
        self.clicked.connect(self._on_clicked)

    async def show_diff(self, diff: Diff) -> None:
        await self.rows.show(diff)

    def go_to_first(self) -> None:
        """Scroll to the first difference, past the equal rows above it."""
        if places := self.rows.changes():
            index = self.rows.index(places[0], Column.LEFT)
            self.setCurrentIndex(index)
            self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if not (event.key() in _TOGGLES and index.isValid() and self.rows.toggle(index.row())):
            super().keyPressEvent(event)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.rows.toggle(index.row())
