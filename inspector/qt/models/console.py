"""What a server writes besides messages: stderr, stray lines on stdout, its process starting and ending."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import IntEnum

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.base.units import full_time, time_of_day
from inspector.qt.models.logrows import Index, LogRowsModel
from inspector.qt.theme import Theme
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

_LONGEST = 2000
_WORDS = {
    RecordKind.TEXT: "stdout",
    RecordKind.INVALID: "stdout",
    RecordKind.STDERR: "stderr",
    RecordKind.PROCESS: "process",
    RecordKind.LOCAL: "lens",
}


class Column(IntEnum):
    TIME = 0
    SOURCE = 1
    TEXT = 2


class ConsoleModel(LogRowsModel):
    """One server's output, one line per row."""

    columns = ("Time", "Source", "Text")

    def __init__(self, log: TrafficLog, server: str, theme: Theme) -> None:
        super().__init__(log)
        self._server = server
        self._theme = theme

    def matching(self, numbers: range) -> Iterable[int]:
        log, server = self._log, self._log.server_number(self._server)
        return (number for number in numbers if log.kind(number) in _WORDS and log.server(number) == server)

    def show_rows(self, rows: Iterable[int]) -> None:
        """Show exactly these rows of the log."""
        self.beginResetModel()
        self._rows = array("q", rows)
        self.endResetModel()

    def line(self, row: int) -> str:
        """Return the whole line in displayable form."""
        return one_line(self._log.raw(self._rows[row]).decode(errors="replace"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        number, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(number, column)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._color(number, column)
        if role == Qt.ItemDataRole.FontRole and column == Column.TEXT:
            return self._theme.mono_font()
        if role == Qt.ItemDataRole.ToolTipRole and column == Column.TIME:
            return full_time(self._log.wall_ns(number))
        return None

    def _cell(self, number: int, column: int) -> str:
        if column == Column.TIME:
            return time_of_day(self._log.wall_ns(number))
        if column == Column.SOURCE:
            return _WORDS[RecordKind(self._log.kind(number))]
        text = self._log.raw(number)[: _LONGEST * 4].decode(errors="replace")
        return shorten(one_line(text), _LONGEST)

    def _color(self, number: int, column: int) -> QColor:
        kind = self._log.kind(number)
        if column == Column.TIME:
            return self._theme.color("muted")
        if kind in (RecordKind.TEXT, RecordKind.INVALID):
            return self._theme.color("warn")
        if kind == RecordKind.LOCAL:
            return self._theme.color("error")
        return self._theme.color("muted" if kind == RecordKind.PROCESS else "text")
