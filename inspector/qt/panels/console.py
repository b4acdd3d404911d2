"""What the server's process writes: stderr, stray lines on stdout, how it started and ended."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.bridge import Bridge
from inspector.qt.models.console import Column, ConsoleModel
from inspector.qt.theme import Theme
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_table


class ConsolePanel(QWidget):
    """One server's output. Follows the end while scrolled to it."""

    def __init__(self, bridge: Bridge, server: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = ConsoleModel(bridge.log, server, theme)
        self.model.refilter()
        self.table = QTableView()
        self.table.setAccessibleName(f"Output of {one_line(server)}")
        self.table.setModel(self.model)
        dress_table(self.table, theme)
        self._size_columns()
        self._gate = Gate(theme, self.table)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)  # the window copies other things
        copy.activated.connect(self._on_copy)
        bridge.traffic_grew.connect(self._on_traffic_grew)
        self._show_or_explain()

    def _size_columns(self) -> None:
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(Column.TEXT, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(Column.TIME, 110)
        self.table.setColumnWidth(Column.SOURCE, 72)

    def _on_traffic_grew(self, length: int) -> None:
        bar = self.table.verticalScrollBar()
        is_at_end = bar.value() >= bar.maximum() - 2
        self.model.extend(length)
        self._show_or_explain()
        if is_at_end:
            self.table.scrollToBottom()

    def _show_or_explain(self) -> None:
        if self.model.rowCount():
            self._gate.open()
        else:
            sentence = "What the server writes to stderr shows up here."
            self._gate.explain("empty", "console", "Nothing written yet", sentence)

    def _on_copy(self) -> None:
        rows = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        if rows:
            QGuiApplication.clipboard().setText("\n".join(self.model.line(row) for row in rows))
