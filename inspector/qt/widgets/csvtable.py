"""Rows of cells that somebody sent: a plain table with a header, numbered rows and nothing to sort."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QTableView, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.theme import SPACE_4, Theme
from inspector.qt.widgets.itemviews import dress_table
from inspector.qt.widgets.labels import plain_tooltip

_NOWHERE = QModelIndex()
_LOOKED_AT = 50  # rows used to estimate column widths
_WIDEST = 40  # characters


class CsvTable(QTableView):
    """A table for `set_table`; Ctrl+C copies the selected cells, separated by tabs."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cells = _CellsModel()
        self.setModel(self._cells)
        self.setAccessibleName(name)
        dress_table(self, theme)
        self.setFont(theme.mono_font(0.95))
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.horizontalHeader().setStretchLastSection(False)
        self.setFrameShape(QTableView.Shape.NoFrame)

    def set_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._cells.set_table(header, rows)
        character = self.fontMetrics().horizontalAdvance("0")
        for column, length in enumerate(_lengths(header, rows)):
            self.setColumnWidth(column, SPACE_4 + character * min(max(length, 4), _WIDEST))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.chosen_text())
        else:
            super().keyPressEvent(event)

    def chosen_text(self) -> str:
        """Return the selected cells, one line per row."""
        lines: dict[int, list[str]] = {}
        for index in sorted(self.selectedIndexes(), key=lambda each: (each.row(), each.column())):
            lines.setdefault(index.row(), []).append(self._cells.cell(index.row(), index.column()))
        return "\n".join("\t".join(cells) for cells in lines.values())


class _CellsModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self._header: Sequence[str] = ()
        self._rows: Sequence[Sequence[str]] = ()
        self._width = 0

    def set_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.beginResetModel()
        self._header, self._rows = header, rows
        self._width = max(len(header), max(map(len, rows), default=0))
        self.endResetModel()

    def cell(self, row: int, column: int) -> str:
        cells = self._rows[row]
        return cells[column] if column < len(cells) else ""

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        return 0 if parent.isValid() else self._width

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(self.cell(index.row(), index.column()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(self.cell(index.row(), index.column()))
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation is Qt.Orientation.Vertical:
            return section + 1
        return one_line(self._header[section]) if section < len(self._header) else ""


def _lengths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    lengths: list[int] = []
    for cells in (header, *rows[:_LOOKED_AT]):
        lengths += [0] * (len(cells) - len(lengths))
        for column, cell in enumerate(cells):
            lengths[column] = max(lengths[column], len(cell))
    return lengths
