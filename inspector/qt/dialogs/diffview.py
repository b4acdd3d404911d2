"""The table of a comparison: two aligned columns."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from inspector.qt.forms.difflines import SIGN_WIDTH, LineDelegate
from inspector.qt.models.diffrows import Column, DiffRowsModel
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_table


class DiffView(QTableView):
    """The table of differences. A click or Return opens a folded row.

    Signals:
        menu_requested: A row was right-clicked; carries the row and the position on the screen.
    """

    menu_requested = Signal(int, QPoint)

    def __init__(self, model: DiffRowsModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.setAccessibleName("Differences")
        self.setModel(model)
        dress_table(self, theme)
        self.setItemDelegate(LineDelegate(theme, self))
        self.setFont(theme.mono_font())
        self.horizontalHeader().hide()
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header = self.horizontalHeader()
        header.setMinimumSectionSize(SIGN_WIDTH)
        for column in (Column.LEFT, Column.RIGHT):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(Column.SIGN, SIGN_WIDTH)
        self.customContextMenuRequested.connect(self._on_menu_requested)

    def go_to_change(self, step: int) -> int | None:
        """Go to the next difference, or with -1 the previous one, wrapping; return its number."""
        places = self._model.changes()
        if not places:
            return None
        here = self.currentIndex().row()
        if step > 0:
            number = next((each for each, place in enumerate(places) if place > here), 0)
        else:
            before = [each for each, place in enumerate(places) if place < here]
            number = before[-1] if before else len(places) - 1
        self._choose(places[number])
        return number

    def toggle(self, row: int) -> bool:
        """Open or fold a row without scrolling."""
        bar = self.verticalScrollBar()
        scrolled = bar.value()
        if not self._model.toggle(row):
            return False
        bar.setValue(scrolled)
        self.setCurrentIndex(self._model.index(min(row, self._model.rowCount() - 1), Column.LEFT))
        return True

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and event.button() is Qt.MouseButton.LeftButton:
            self.toggle(index.row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_return = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if not (is_return and self.currentIndex().isValid() and self.toggle(self.currentIndex().row())):
            super().keyPressEvent(event)

    def _choose(self, row: int) -> None:
        index = self._model.index(row, Column.LEFT)
        self.setCurrentIndex(index)
        self.scrollTo(index, QTableView.ScrollHint.PositionAtCenter)

    def _on_menu_requested(self, place: QPoint) -> None:
        index = self.indexAt(place)
        if index.isValid():
            self.menu_requested.emit(index.row(), self.viewport().mapToGlobal(place))
