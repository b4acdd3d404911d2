"""Base model for tables over traffic log rows, and safe tool tips for item views.

`LogRowsModel` keeps its own list of row numbers: a QSortFilterProxyModel is asked about every row one by
one and takes seconds for a million. `plain_tip` escapes text: Qt renders a tool tip that looks like HTML
as HTML and loads the files it names.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from inspector.base.json.values import shorten
from inspector.base.plain_text import escape_html, one_line
from inspector.traffic.log import TrafficLog

Index: TypeAlias = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()  # the invisible root, parent of all rows of a table


class LogRowsModel(QAbstractTableModel):
    """A table over some rows of the log. Subclasses say which rows, and what their cells show."""

    columns: tuple[str, ...] = ()

    def __init__(self, log: TrafficLog) -> None:
        super().__init__()
        self._log = log
        self._rows = array("q")
        self._seen = 0
        self._first = 0

    def matching(self, numbers: range) -> Iterable[int]:
        """Return which of these log rows belong here, in order."""
        raise NotImplementedError

    def refilter(self) -> None:
        """Select the rows again after the condition changed."""
        self.beginResetModel()
        self._seen = len(self._log)
        first = max(self._first, self._log.first)
        self._rows = array("q", self.matching(range(first, self._seen)))
        self.endResetModel()

    def extend(self, length: int) -> None:
        """Extend to this length of the log. A stale, smaller length is ignored."""
        self._drop_old_rows()
        first = max(self._seen, self._first, self._log.first)
        new = array("q", self.matching(range(first, length)))
        self._seen = max(self._seen, length)
        if new:
            first = len(self._rows)
            self.beginInsertRows(ROOT, first, first + len(new) - 1)
            self._rows.extend(new)
            self.endInsertRows()

    def _drop_old_rows(self) -> None:
        """Remove the rows that the log has dropped from memory."""
        count = bisect_left(self._rows, self._log.first)
        if count:
            self.beginRemoveRows(ROOT, 0, count - 1)
            del self._rows[:count]
            self.endRemoveRows()

    def clear_view(self) -> None:
        """Show only rows from now on. The log keeps everything."""
        self._first = len(self._log)
        self.refilter()

    @property
    def is_cleared(self) -> bool:
        """True if older rows are hidden by `clear_view`."""
        return self._first > self._log.first

    def number(self, row: int) -> int:
        """Return the log row number of a shown row."""
        return self._rows[row]

    def find_row(self, number: int) -> int | None:
        """Return where a log row is shown, by binary search."""
        position = bisect_left(self._rows, number)
        return position if position < len(self._rows) and self._rows[position] == number else None

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(section)
        return None

    def alignment(self, column: int) -> Qt.AlignmentFlag:
        """Return the alignment of a column's cells and header."""
        return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def plain_tip(text: str) -> str:
    """Return a tool tip that shows exactly this text."""
    return f"<span>{escape_html(one_line(shorten(text, 500)))}</span>"
