"""What a server's processes wrote during a call besides messages: stderr, and stray lines on stdout."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from inspector.qt.models.console import Column, ConsoleModel
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_table
from inspector.traffic.log import TrafficLog


class CallOutput(QTableView):
    """Log rows, one line each, as in the Console."""

    def __init__(self, log: TrafficLog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines = ConsoleModel(log, "", theme)
        self.setModel(self.lines)
        self.setAccessibleName("Output during the call")
        dress_table(self, theme)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.horizontalHeader().setSectionResizeMode(Column.TEXT, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(Column.TIME, 110)
        self.setColumnWidth(Column.SOURCE, 72)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._on_copy)

    def show_rows(self, rows: Sequence[int]) -> None:
        self.lines.show_rows(rows)

    def _on_copy(self) -> None:
        rows = sorted(index.row() for index in self.selectionModel().selectedRows())
        if rows:
            QGuiApplication.clipboard().setText("\n".join(self.lines.line(row) for row in rows))
